"""The descendants of one keeper, and which of them it must spare.

Belongs to the keeper and runs as lonely as it does: stdlib only, no import of quell.
"""

import os

from look import children, children_by_scan, read, seen

CALM_LOOKS = 3  # scans in a row that must find nothing when ECHILD cannot be had


class Kin:
    """The descendants of one keeper."""

    def __init__(self, keeper, rundir, rules):
        self.keeper = keeper
        self.rundir = rundir
        self.run = os.path.basename(rundir)
        self.rules = [tuple(rule.split(":", 2)) for rule in rules]
        self.found = []
        self.spared = []
        self.calm = 0

    def walk(self):
        """Every descendant that is this run's to end."""
        self.found, self.spared = [], []
        self.collect(self.keeper, None)
        return self.found

    def collect(self, parent, server):
        listed = children(parent)
        for pid in children_by_scan(parent) if listed is None else listed:
            process = seen(pid)
            if process is None:
                continue
            why = self.spare_reason(process, server)
            if why:
                self.spared.append((process, why))
                continue
            if not self.serves_others(process):
                self.found.append(process)
                self.collect(pid, None)
                continue
            self.spared.append((process, "a tmux server with other people's panes"))
            self.collect(pid, process)

    def spare_reason(self, process, server):
        if is_other_keeper(process, self.rundir):
            return "the keeper of another run"
        if server is not None and not self.stamped(process.pid):
            return "another's pane"
        for word, programs, pattern in self.rules:
            if matches(process.command(), pattern):
                if word == "keep":
                    return "kept: " + pattern
                if in_use(programs.split(","), {p.pid for p in self.found}, process.pid):
                    return "shared with another session"
        return ""

    def serves_others(self, process):
        """A tmux server brands nobody: panes under it may be other people's."""
        if not process.name().startswith("tmux: server"):
            return False
        panes = [seen(pid) for pid in children(process.pid) or []]
        return any(
            is_other_keeper(pane, self.rundir) or not self.stamped(pane.pid)
            for pane in panes
            if pane
        )

    def stamped(self, pid):
        return f"QUELL_RUN={self.run}".encode() in read(f"/proc/{pid}/environ").split(b"\0")

    def only_spared_left(self):
        """True once several looks in a row found spared processes and nothing else."""
        if not self.spared:
            self.calm = 0
            return False
        self.calm = 0 if self.walk() else self.calm + 1
        return self.calm >= CALM_LOOKS


def is_other_keeper(process, rundir):
    """Whether this is the keeper of another run, by its own journal, not by its name."""
    argv = process.argv()
    for script, directory in zip(argv, argv[1:], strict=False):
        if script.endswith("/keeper.py") and directory != rundir:
            first = read(directory + "/journal").split(b"\n", 1)[0].split(b"\t")
            return first[:3] == [b"keeper", str(process.pid).encode(), str(process.start).encode()]
    return False


def matches(command, pattern):
    import fnmatch  # only when a rule exists: it costs more than the rest of this file

    return fnmatch.fnmatchcase(command, pattern)


def in_use(programs, mine, helper):
    """Whether a process that is not of this run runs one of `programs`."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in mine and int(entry) != helper:
            argv = read(f"/proc/{entry}/cmdline").split(b"\0")[:2]
            if any(os.path.basename(os.fsdecode(part)) in programs for part in argv):
                return True
    return False
