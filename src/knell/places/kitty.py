"""kitty: windows of a running kitty, spoken to over its remote-control socket.

Not through `kitty @`, which costs half a second a call. A window's number is not enough to know it
again, because numbers start over with every kitty: `Place.session` holds a variable, `NAME=value`,
that the window's own process must show in its environment.
"""

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from knell.core.errors import NoSuchAgent, PlaceFailed
from knell.core.ports.terminal import Absent, Launch, PaneSighting, Present
from knell.core.process import Unknown
from knell.core.run import Place
from knell.places.commands import NoAnswer, NotListening, connect, pause, peer_pid
from knell.places.panes import Panes

if TYPE_CHECKING:
    import socket

TAG = "KNELL_PANE"
KITTY_KEY = "KITTY_PUBLIC_KEY"  # drawn anew by every kitty, known to all its windows
SCREEN_LINES = 250

_BEGIN, _END = b"\x1bP@kitty-cmd", b"\x1b\\"
# The oldest protocol that has all that knell uses: kitty refuses a newer one than its own.
_VERSION = (0, 14, 2)
_HINT = (
    "put `allow_remote_control socket-only` and `listen_on unix:/tmp/kitty` into kitty.conf,"
    " start kitty again, and run knell inside it"
)


class Window(NamedTuple):
    number: str
    pid: int
    env: dict[str, str]  # empty once its process has ended, or where kitty may not look
    argv: tuple[str, ...]  # known even then
    command: str


class Reply(NamedTuple):
    server_pid: int
    text: str


class Kitty(Panes):
    name, show_pane, kill_pane = "kitty", "focus-window", "close-window"

    def __init__(self, env: Mapping[str, str], timeout: float = 5.0) -> None:
        super().__init__(timeout)
        self._listen_on = env.get("KITTY_LISTEN_ON", "")

    def open(self, launch: Launch) -> Place:
        """A new tab that executes `launch.argv`, without taking the focus."""
        server = self._address(launch.server)
        tag = f"{TAG}={launch.run}"
        self._call(server, "ls")  # a frozen kitty would open it later, after knell gave up
        opened = self._call(
            server,
            "launch",
            type="tab",  # in a new OS window if there is none
            args=launch.argv,
            cwd=launch.cwd,
            env=[tag],
            tab_title=launch.name,
            window_title=launch.name,
            keep_focus=True,
        )
        if not opened.text.isdigit():
            raise PlaceFailed(f"kitty opened no window for {launch.name}")
        place = Place("kitty", opened.text, server, opened.server_pid, tag)
        # Until it executes, the new process still shows the environment of kitty itself, and
        # while it executes it shows none.
        deadline = time.monotonic() + self._timeout
        while time.monotonic() < deadline:
            seen = self._find(place)
            if isinstance(seen, Present) or seen == Absent("closed"):
                break
            pause(0.005)
        return place

    def look(self, place: Place, run: str) -> PaneSighting:
        """Present only if it is this kitty, this window, and a process that carries its tag."""
        if place.session.startswith(f"{TAG}=") and place.session != f"{TAG}={run}":
            return Absent("not ours")
        return self._find(place)

    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]:
        """Take a window by its number. Its process cannot be tagged, so this kitty's key is."""
        address = self._address(server)
        listing = self._call(address, "ls", all_env_vars=True)
        window = next((w for w in _windows(listing.text) if w.number == pane), None)
        if window is None:
            raise NoSuchAgent(pane)
        key = window.env.get(KITTY_KEY)
        if key is None:
            raise PlaceFailed(f"the process of kitty window {pane} hides its environment")
        return Place("kitty", pane, address, listing.server_pid, f"{KITTY_KEY}={key}"), window.pid

    def _address(self, server: str) -> str:
        address = server or self._listen_on
        if not address:
            raise PlaceFailed("this kitty does not listen for commands", _HINT)
        if address.startswith("/"):
            return f"unix:{address}"
        if not address.startswith("unix:"):
            raise PlaceFailed(f"{address} is not a Unix socket", _HINT)
        return address

    def _find(self, place: Place) -> PaneSighting:
        try:
            listing = self._call(place.server, "ls", all_env_vars=True)
            windows = _windows(listing.text)
        except NotListening:
            return Absent("closed")
        except PlaceFailed as error:
            return Unknown(str(error))
        if listing.server_pid != place.server_pid:
            return Absent("server restarted")
        window = next((w for w in windows if w.number == place.pane), None)
        return Absent("closed") if window is None else _owned(window, place)

    def _text(self, place: Place) -> str:
        text = self._call(place.server, "get-text", match=f"id:{place.pane}", extent="all").text
        return "\n".join(text.rstrip().splitlines()[-SCREEN_LINES:])

    def _kill(self, place: Place) -> None:
        self._call(place.server, "close-window", match=f"id:{place.pane}")

    def _by_hand(self, place: Place, command: str) -> tuple[str, ...]:
        return ("kitty", "@", "--to", place.server, command, "--match", f"id:{place.pane}")

    def _send(self, place: Place, text: str) -> None:
        self._call(place.server, "send-text", match=f"id:{place.pane}", data=f"text:{text}")

    def _call(self, server: str, command: str, **payload: object) -> Reply:
        """What kitty answered; NotListening or PlaceFailed if it did not, or refused."""
        path = server.removeprefix("unix:")
        path = "\0" + path[1:] if path.startswith("@") else path
        with self._patience.waiting(server) as seconds, connect(path, seconds) as kitty:
            pid = peer_pid(kitty)
            try:
                kitty.sendall(_framed(command, payload))
                if command == "send-text":  # kitty answers it only if it failed
                    kitty.sendall(_framed("ls", {}))
                received = _receive(kitty, time.monotonic() + seconds)
            except TimeoutError as error:
                raise NoAnswer(f"kitty did not answer within {seconds:g} s") from error
            except OSError as error:
                raise PlaceFailed(f"kitty {command}: {error}") from error
        return Reply(pid, _unframed(command, received))


def _owned(window: Window, place: Place) -> PaneSighting:
    name, _, value = place.session.partition("=")
    if window.env and window.env.get(name) == value:
        return Present(window.pid, window.command)
    if window.env:
        return Absent("not ours")
    # It has ended, but another process has its tty open, so that kitty keeps the window.
    if name == TAG and any(value in argument for argument in window.argv):
        return Present(0, window.command)
    return Unknown(f"the process of kitty window {place.pane} hides its environment")


def _receive(kitty: "socket.socket", deadline: float) -> bytes:
    """The first answer, and perhaps what follows it."""
    received = bytearray()
    while received.find(_END, -(1 << 16) - 1) < 0:  # no need to search the old part again
        kitty.settimeout(max(0.001, deadline - time.monotonic()))
        chunk = kitty.recv(1 << 16)
        if not chunk:
            raise ConnectionResetError("it closed the connection")
        received += chunk
    return bytes(received)


def _framed(command: str, payload: Mapping[str, object]) -> bytes:
    message = {"cmd": command, "version": _VERSION, "no_response": False, "payload": payload}
    return _BEGIN + json.dumps(message).encode() + _END


def _unframed(command: str, received: bytes) -> str:
    first = received.partition(_END)[0].removeprefix(_BEGIN)
    try:
        reply: Any = json.loads(first)
        ok, data = bool(reply["ok"]), str(reply.get("data", ""))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise PlaceFailed(f"kitty {command}: its answer cannot be read") from error
    if not ok:
        why = str(reply.get("error", "refused"))
        raise PlaceFailed(f"kitty {command}: {why}", _HINT if "disabled" in why else "")
    return data


def _windows(listing: str) -> list[Window]:
    try:
        return [
            Window(str(w["id"]), int(w["pid"]), w["env"], tuple(w["cmdline"]), _foreground(w))
            for os_window in json.loads(listing)
            for tab in os_window["tabs"]
            for w in tab["windows"]
        ]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise PlaceFailed("kitty ls: its answer cannot be read") from error


def _foreground(window: dict[str, Any]) -> str:
    """The name of the program in front, as tmux would tell it."""
    front = window.get("foreground_processes") or [window]
    argv: list[str] = front[-1].get("cmdline") or [""]
    return argv[0].rpartition("/")[2]
