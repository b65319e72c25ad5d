"""The descendants of one keeper, and which of them it must spare.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os

from look import Process, children, read, seen

CALM_LOOKS = 3  # scans in a row that must find nothing when ECHILD cannot be had
OTHER_RUN = "the keeper of another run"
OTHER_PANE = "another's pane"
SERVES_OTHERS = "a tmux server with other people's panes"
SHARED = "shared with another session"


class Kin:
    """The descendants of one keeper."""

    def __init__(self, keeper: int, rundir: str, rules: list[str]) -> None:
        self.keeper = keeper
        self.rundir = rundir
        self.run = os.path.basename(rundir)
        split = [rule.split(":", 2) for rule in rules]
        self.keep = [pattern for word, _, pattern in split if word == "keep"]
        self.shared = [(programs, pattern) for word, programs, pattern in split if word != "keep"]
        self.agent = 0  # its pid: no rule spares the agent itself
        self.found: list[Process] = []
        self.spared: list[tuple[Process, str]] = []
        self.calm = 0

    def walk(self) -> list[Process]:
        """Every descendant that is this run's to end."""
        self.found, self.spared = [], []
        helpers: list[Process] = []
        self.collect(self.keeper, helpers)
        mine = {process.pid for process in (*self.found, *helpers)}
        while helpers:  # judged last: only now it is known which sessions are our own
            helper = helpers.pop()
            if self.in_use(helper, mine):
                self.spared.append((helper, SHARED))
            else:
                self.found.append(helper)
                self.collect(helper.pid, helpers)
        return self.found

    def collect(self, root: int, helpers: list[Process]) -> None:
        """Sorts everything below `root`; a helper that others may use is left undecided."""
        todo = [(root, False)]
        while todo:
            parent, is_others = todo.pop()
            for pid in children(parent):
                process = seen(pid)
                if process is None:
                    continue
                why = self.spare_reason(process, below_others=is_others)
                if why:
                    self.spared.append((process, why))
                elif self.patterns_shared(process) and pid != self.agent:
                    helpers.append(process)
                elif self.serves_others(process):
                    self.spared.append((process, SERVES_OTHERS))
                    todo.append((pid, not self.stamped(pid)))
                else:
                    self.found.append(process)
                    todo.append((pid, False))

    def spare_reason(self, process: Process, *, below_others: bool) -> str:
        if process.pid == self.agent:
            return ""
        if is_other_keeper(process, self.rundir):
            return OTHER_RUN
        if below_others and not self.stamped(process.pid):
            return OTHER_PANE
        for pattern in self.keep:
            if matches(process.command(), pattern):
                return "kept: " + pattern
        return ""

    def patterns_shared(self, process: Process) -> list[tuple[str, str]]:
        """The rules under which this may be a vendor's helper that serves several sessions."""
        return [rule for rule in self.shared if matches(process.command(), rule[1])]

    def in_use(self, helper: Process, mine: set[int]) -> bool:
        """Whether a process of nobody in `mine` runs a program that the helper serves."""
        rules = self.patterns_shared(helper)
        programs = {program for names, _ in rules for program in names.split(",")}
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in mine:
                continue
            argv = read(f"/proc/{entry}/cmdline").split(b"\0")[:2]
            if any(os.path.basename(os.fsdecode(part)) in programs for part in argv):
                user = seen(int(entry))
                if user and not self.patterns_shared(user):  # a helper does not need a helper
                    return True
        return False

    def serves_others(self, process: Process) -> bool:
        """A tmux server of the agent's own brands every pane; in another a pane must bear it."""
        if not process.name().startswith("tmux: server"):
            return False
        branded = self.stamped(process.pid)
        panes = [seen(pid) for pid in children(process.pid)]
        return any(
            is_other_keeper(pane, self.rundir) or not (branded or self.stamped(pane.pid))
            for pane in panes
            if pane
        )

    def stamped(self, pid: int) -> bool:
        return f"QUELL_RUN={self.run}".encode() in read(f"/proc/{pid}/environ").split(b"\0")

    def other_keepers(self, session: int) -> list[Process]:
        """Keepers of other runs that share this session, and so the terminal."""
        return [p for p, why in self.spared if why == OTHER_RUN and p.sid == session]

    def only_spared_left(self) -> bool:
        """True once several looks in a row found spared processes and nothing else."""
        if not self.spared:
            self.calm = 0
            return False
        self.calm = 0 if self.walk() else self.calm + 1
        return self.calm >= CALM_LOOKS


def is_other_keeper(process: Process, rundir: str) -> bool:
    """Whether this is the keeper of another run, by its own journal, not by its name."""
    argv = process.argv()
    for at, script in enumerate(argv[:-1]):
        directory = argv[at + 1]
        if script.endswith("/keeper.py") and directory != rundir:
            first = read(directory + "/journal").split(b"\n", 1)[0].split(b"\t")
            return first[:3] == [b"keeper", str(process.pid).encode(), str(process.start).encode()]
    return False


def matches(command: str, pattern: str) -> bool:
    import fnmatch  # only when a rule exists: it costs more than the rest of this file

    return fnmatch.fnmatchcase(command, pattern)
