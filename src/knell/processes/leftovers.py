"""Lists what agents that knell did not start have left behind.

A process is listed if it has lost its parent and an agent started it, which its environment shows,
or if it is itself an agent's program without a terminal. Words in a command line prove nothing:
a tmux server may have been given the path of an agent's program. It is ended only if a person
names its PID.
"""

import fnmatch
import itertools
import json
import os
from collections.abc import Sequence

from knell.core.conversation import conversation_root
from knell.core.kind import Kind, program_word
from knell.core.process import FoundProcess
from knell.processes.os import system
from knell.processes.table import Table, member

# These hold a person's terminals, even if an agent started them: they are never listed.
TERMINAL_SERVERS = ("tmux: server", "screen", "zellij", "kitty", "wezterm")


def foreign_leftovers(kinds: Sequence[Kind]) -> list[FoundProcess]:
    """Processes of this user that agents left; the agents' programs are known by their kinds."""
    look = _Look(kinds)
    return [member(row, what) for row in look.table.rows.values() if (what := look.leftover(row))]


class _Look:
    """One scan of the machine, and the agents that are alive in it."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.table = table = Table()
        self.kinds = kinds
        self.spared = {pid for pids in table.stamps.values() for pid in pids}
        self.spared |= {os.getpid(), *table.ancestors(os.getpid())}
        # The parents of orphans: init, and a user's systemd, which gets them instead.
        rows = table.rows.values()
        self.reapers = {1} | {row.pid for row in rows if row.name == "systemd" and row.ppid == 1}
        mine = [row for row in rows if system.owner_of(row.pid) == os.getuid()]
        self.argv = {row.pid: system.argv_of(row.pid) for row in mine}
        self.agents = {
            pid: kind for pid, argv in self.argv.items() for kind in kinds if kind.runs_in(argv)
        }
        self.sessions = {name for pid in self.agents for name in self._sessions_of(pid)}

    def leftover(self, row: system.Process) -> str:
        """What was left behind; empty: the process is none, or nothing shows that it is one."""
        argv = self.argv.get(row.pid, ())
        if not argv or row.pid in self.spared or row.ppid in self.agents:
            return ""
        if row.name.lower().startswith(TERMINAL_SERVERS) or _is_knell(argv):
            return ""
        kind = self.agents.get(row.pid)
        if kind and self._is_in_use(row.pid, kind):
            return ""
        left = self._left_by(row)
        if left or kind is None or row.tty or row.ppid not in self.reapers:
            return left
        return kind.name

    def _left_by(self, row: system.Process) -> str:
        parent = self.table.rows.get(row.ppid)
        # A process is in its parent's session or leads one of its own: else the parent is not the
        # one that started it, but has got it when that one died.
        adopted = parent is not None and row.sid not in (row.pid, parent.sid)
        if not adopted and row.ppid not in self.reapers:
            return ""
        env = system.environment_of(row.pid)
        for kind in self.kinds:
            started_it = any(name in env for name in kind.child_env)
            if started_it and env.get(kind.session_env, "") not in self.sessions:
                return f"left by {kind.name}"
        return ""

    def _is_in_use(self, pid: int, kind: Kind) -> bool:
        """Whether it is a daemon of the vendor's, and a session is alive that it may serve."""
        lines = {one: " ".join(argv) for one, argv in self.argv.items()}
        for helper in kind.helpers:
            daemons = [one for one in lines if fnmatch.fnmatchcase(lines[one], helper.pattern)]
            others = (program_word(self.argv[one]) for one in lines if one not in daemons)
            if pid in daemons and any(os.path.basename(one) in helper.serves for one in others):
                return True
        return False

    def _sessions_of(self, pid: int) -> set[str]:
        """The ids of the sessions in a live agent, as far as it shows them: in its command line, in
        the file that it keeps of itself, and in what is below it."""
        kind = self.agents[pid]
        below = self.table.family([pid], set()) if kind.session_env else []
        found = {system.environment_of(child).get(kind.session_env, "") for child in below[1:]}
        return {*found, *self.argv[pid], _session_on_file(kind, pid)} - {""}


def _session_on_file(kind: Kind, pid: int) -> str:
    if not kind.live_file:
        return ""
    root = conversation_root(kind, system.environment_of(pid), tuple)
    path = os.path.join(root, kind.live_file.replace("{pid}", str(pid)))
    try:
        with open(path, encoding="utf-8") as file:
            return str(json.load(file)["sessionId"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def _is_knell(argv: Sequence[str]) -> bool:
    program = program_word(argv)
    as_module = ("-m", "knell") in itertools.pairwise(argv)
    return as_module or os.path.basename(program) == "knell" or "/knell/processes/keeper" in program
