"""A process, what a look at one shows, and nothing that looks."""

from typing import NamedTuple

LAST_PID = 2**31 - 1


class ProcessId(NamedTuple):
    """Which process: a bare pid is reused within seconds on a busy machine, this is not."""

    pid: int
    start: int  # clock ticks after boot
    boot: str
    inode: int = 0  # of its pidfd: unique where the kernel has pidfs, else 0

    def same_as(self, other: "ProcessId") -> bool:
        """Start time has 10 ms grain, so the inode decides where both sides know it."""
        if (self.pid, self.start, self.boot) != (other.pid, other.start, other.boot):
            return False
        return not (self.inode and other.inode) or self.inode == other.inode


def process_text(process: ProcessId | None) -> str:
    """One line that `process_from_text` reads back; empty for None."""
    if process is None:
        return ""
    return f"{process.pid}:{process.start}:{process.boot}:{process.inode}"


def process_from_text(text: str | None) -> ProcessId | None:
    """The process written by `process_text`; None for empty, ValueError for anything else."""
    if not text:
        return None
    pid, start, boot, inode = text.split(":")
    found = ProcessId(int(pid), int(start), boot, int(inode))
    if not 0 <= found.pid <= LAST_PID:
        raise ValueError(text)
    return found


class Alive(NamedTuple):
    process: ProcessId
    state: str = "?"  # the kernel's letter


class Gone(NamedTuple):
    why: str = "exited"  # or: reused, rebooted


class Leftovers(NamedTuple):
    """The agent itself is gone, these processes of its run are not."""

    pids: tuple[int, ...]


class Unknown(NamedTuple):
    """The look failed. Not seeing is not dying."""

    why: str


Sighting = Alive | Leftovers | Gone | Unknown


class Member(NamedTuple):
    """One process of a run, and how we know that it belongs there."""

    process: ProcessId
    command: str
    via: str  # keeper, agent, tree, stamp, session, group, ledger, cgroup
    parent: int = 0
    state: str = "?"
