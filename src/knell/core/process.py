"""A process, what a look at one shows, and nothing that looks."""

from typing import NamedTuple

LAST_PID = 2**31 - 1
KEEPER = "knell-keeper"  # as keepers call themselves (processes/keeper/keeper.py)
# Terminal programs that start a command for every process that asks them to.
MULTIPLEXERS = (
    *("tmux: server", "kitty", "wezterm-gui", "wezterm-mux-ser", "screen", "zellij", "alacritty"),
    *("foot", "ghostty", "gnome-terminal-", "konsole", "ptyxis-agent", "urxvtd", "xfce4-terminal"),
)


class ProcessId(NamedTuple):
    """Which process: a bare pid is reused within seconds on a busy machine, this is not."""

    pid: int
    start: int  # clock ticks after boot
    boot: str  # its id, a slash, and the PID namespace: a pid counts only within both
    inode: int = 0  # of its pidfd: unique where the kernel has pidfs, else 0

    def same_as(self, other: "ProcessId") -> bool:
        """Start time has 10 ms grain, so the inode decides where both sides know it."""
        if (self.pid, self.start, self.boot) != (other.pid, other.start, other.boot):
            return False
        return not (self.inode and other.inode) or self.inode == other.inode


class Alive(NamedTuple):
    process: ProcessId
    state: str = "?"  # the kernel's letter


class Gone(NamedTuple):
    why: str = "exited"  # or: reused, rebooted


class Unknown(NamedTuple):
    """The look failed. Not seeing is not dying."""

    why: str


class Ancestor(NamedTuple):
    """One process of the line from this one up to init."""

    pid: int
    name: str
    session: int
    terminal: int  # the number of its controlling device; 0: none
    start: int  # clock ticks after boot


class FoundProcess(NamedTuple):
    """A process that a look found, and how we know whose it is."""

    process: ProcessId
    command: str
    via: str  # keeper, agent, tree, stamp, session, group, ledger, cgroup
    parent: int = 0
    state: str = "?"
