"""Asks a tmux server about its panes, where /proc does not tell, and closes panes in it.

The keeper imports it too: standard library only, no import of knell.
"""

import _socket  # the same class as in socket, which costs more than all this
import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Given = Mapping[str, str]  # the environment that tmux gives to a pane

SECONDS = 3.0  # that tmux may take to answer
SETTLED = 1.0  # seconds that it may take to serve the clients before
FRESH = 10.0  # seconds for which an answer holds
AGAIN = 0.002  # seconds between two looks at a client that is exiting
PIECE = 65_536  # bytes
TERM = 15  # in signal, which costs more than all this
LISTENS = b" 00010000 "  # the flag of a listening socket in /proc/net/unix
NEEDED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "HOME")  # not our stamp: tmux is not of the run
SPLIT = "|"  # tmux shows tabs as something else


class PaneEnvironments:
    """What tmux gave to each pane: as /proc shows it, or as the server tells.

    A program may replace its environment (`exec env -i`), or write its title over it, as servers
    do; and what `pipe-pane` starts has that of the server, whoever asked for it."""

    def __init__(
        self, environment_of: "Callable[[int], Mapping[str, str]]", names: "tuple[str, ...]"
    ) -> None:
        self.environment_of = environment_of
        self.names = names  # of the variables that the server is asked for
        self.asked: dict[tuple[int, int], tuple[float, Given | None]] = {}
        self.dead: dict[int, tuple[float, list[Given]]] = {}

    def of(self, server: int, pane: int) -> "Mapping[str, str] | None":
        """The variables that tmux gave to this pane; None if they are unknown."""
        env = self.environment_of(pane)
        inside = env.get("TMUX")
        if inside and f",{server}," in inside:
            return env
        if inside and inside != self.environment_of(server).get("TMUX"):
            return env  # it counts as another PID namespace does
        if not is_fresh(self.asked.get((server, pane))):
            self.asked[server, pane] = time.monotonic(), None
            self.ask(server)
        return self.asked[server, pane][1]

    def of_dead(self, server: int) -> "list[Given]":
        """Of the panes that it shows though their programs have exited (remain-on-exit)."""
        if not is_fresh(self.dead.get(server)):
            self.ask(server)
        return self.dead[server][1]

    def ask(self, server: int) -> None:
        told, now = told_of(server, self.names), time.monotonic()
        if told:
            self.asked |= {(server, pane): (now, given) for pane, given in told.living.items()}
        self.dead[server] = now, told.dead if told else self.dead.get(server, (now, []))[1]


def is_fresh(answer: "tuple[float, object] | None") -> bool:
    return answer is not None and time.monotonic() - answer[0] <= FRESH


class Told:
    """What tmux gives to the session that each pane is in."""

    def __init__(self) -> None:
        self.living: dict[int, Given] = {}  # by the pid in the pane
        self.dead: list[Given] = []


class OpenPanes:
    """The panes of a run in tmux servers that live on, until they are closed: a hook may start a
    dead one again for ever, and a client that was killed may have asked for one."""

    def __init__(self, environments: PaneEnvironments) -> None:
        self.environments = environments
        self.servers: set[int] = set()
        self.open: set[tuple[int, str]] = set()  # server and pane

    def note(self, server: int, pane: int) -> None:
        """Remembers the pane. Call it while its program lives."""
        env = self.environments.of(server, pane) or {}
        self.servers.add(server)
        self.open |= {(server, env["TMUX_PANE"])} if "TMUX_PANE" in env else set()

    def close(self) -> None:
        close_panes(self.open)
        self.open.clear()

    def settle(self, others: "Iterable[int]" = ()) -> None:
        """Closes them, and waits until all these servers have done what clients asked that have
        been killed since."""
        self.close()
        for server in {*self.servers, *others}:
            settle(server)


def socket_of(server: int) -> str:
    """Where a server listens, as the kernel has it; empty if that is not told."""
    try:
        with open(f"/proc/{server}/net/unix", "rb") as file:  # of its network namespace
            listed = [line.split(None, 7) for line in file if LISTENS in line]
        paths = {b"socket:[%s]" % words[6]: words[-1] for words in listed if words[7:]}
        for fd in os.listdir(f"/proc/{server}/fd"):
            if found := paths.get(os.readlink(os.fsencode(f"/proc/{server}/fd/{fd}"))):
                return os.fsdecode(found.rstrip(b"\n"))
    except OSError:
        pass
    return ""


def is_awake(server: int) -> bool:
    """Whether a server can answer: an ending does not wait for a frozen one."""
    try:
        with open(f"/proc/{server}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"T", b"t", b"Z", b"X")
    except OSError:
        return not os.path.exists("/proc/self")  # it is gone; or nobody tells


def told_of(server: int, names: "Iterable[str]") -> "Told | None":
    """None if this server does not answer. A pane that is in several sessions counts for the oldest
    of them: whoever joins or links it later has not opened it."""
    names = ("TMUX_PANE", *names)
    shown = ("#{pane_id}", *(f"#{{{name}}}" for name in names[1:]))
    form = SPLIT.join(("#{pid}", "#{session_id}", "#{pane_dead}", "#{pane_pid}", *shown))
    answer = ask(server, "list-panes", "-a", "-F", form)
    if answer is None:
        return None
    lines = [line.split(SPLIT) for line in answer.splitlines()]
    found: dict[str, tuple[bool, int, Given]] = {}
    for number, session, dead, pid, *values in sorted(lines, key=session_number, reverse=True):
        if number != str(server):  # another one has taken its path, or another namespace counts
            return None
        if len(values) == len(names):
            given = {n: v for n, v in zip(names, values, strict=True) if v}
            given["TMUX"] = f",{server},{session[1:]}"
            found[values[0]] = dead == "1", int(pid), given
    told = Told()
    told.living = {pid: given for dead, pid, given in found.values() if not dead}
    told.dead = [given for dead, _, given in found.values() if dead]
    return told


def session_number(line: "list[str]") -> int:
    number = line[1][1:] if len(line) > 1 else ""
    return int(number) if number.isdecimal() else 0


def close_panes(opened: "Iterable[tuple[int, str]]") -> None:
    """Closes those of them that are still there, so that no hook starts them again."""
    by_server: dict[int, set[str]] = {}
    for server, pane in opened:
        by_server.setdefault(server, set()).add(pane)
    for server, panes in by_server.items():
        told = told_of(server, ()) or Told()
        there = {one["TMUX_PANE"] for one in (*told.living.values(), *told.dead)} & panes
        words = [word for pane in sorted(there) for word in (";", "kill-pane", "-t", pane)]
        if there:
            ask(server, *words[1:])


def settle(server: int) -> None:
    """Returns when the server has served all clients that came before: it takes them in turn, and
    hangs up on one that says nothing. So what a killed client has asked for is done, or is not."""
    if not is_awake(server):
        return
    asked = _socket.socket(_socket.AF_UNIX)
    try:
        asked.settimeout(SETTLED)
        asked.connect(os.fsencode(socket_of(server)))
        asked.shutdown(_socket.SHUT_WR)
        asked.recv(1)
    except OSError:
        pass  # it hangs, or cannot be reached
    finally:
        asked.close()


def ask(server: int, *words: str) -> str | None:
    """What the command prints; None if it fails or takes too long.

    Only of a server of this user: a server may have its clients execute what it likes."""
    socket = socket_of(server) if is_awake(server) else ""
    try:
        if os.stat(socket).st_uid != os.getuid():
            return None
        client, inlet = start_client(["tmux", "-u", "-S", socket, *words])
    except OSError:
        return None
    until = time.monotonic() + SECONDS
    text = read_to_end(inlet, until)
    status = exit_status(client, until)
    return os.fsdecode(text) if text is not None and status == 0 else None


def start_client(argv: "list[str]") -> "tuple[int, int]":
    """Its pid, and where its output can be read."""
    inlet, outlet = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, outlet, 1),
    ]
    env = {name: os.environ[name] for name in NEEDED if name in os.environ}
    try:
        return os.posix_spawnp(argv[0], argv, env, file_actions=actions), inlet
    except OSError:
        os.close(inlet)
        raise
    finally:
        os.close(outlet)


def read_to_end(inlet: int, until: float, wake: int = -1) -> bytes | None:
    """Everything up to its end, which is then closed; None if that takes too long, or if TERM comes
    by `wake`. An ending may hold a thousand descriptors, and select takes none above 1023."""
    poll = select.poll()
    poll.register(inlet, select.POLLIN)
    if wake >= 0:
        poll.register(wake, select.POLLIN)
    text = b""
    try:
        while (left := until - time.monotonic()) > 0:
            ready = [fd for fd, _ in poll.poll(left * 1000)]
            if wake in ready and TERM in os.read(wake, 4096):
                return None
            part = os.read(inlet, PIECE) if inlet in ready else None
            if part == b"":
                return text
            text += part or b""
        return None
    finally:
        os.close(inlet)


def exit_status(client: int, until: float) -> int:
    """Of a client that has closed its output, and so is exiting; after that time it is killed. The
    kernel throws it away if whoever started us ignores SIGCHLD: then what it said must do."""
    try:
        while time.monotonic() < until:
            pid, status = os.waitpid(client, os.WNOHANG)
            if pid:
                return status
            select.select([], [], [], AGAIN)
        os.kill(client, 9)  # unless it has exited: then this changes nothing
        return os.waitpid(client, 0)[1]
    except (ChildProcessError, ProcessLookupError):
        return 0
