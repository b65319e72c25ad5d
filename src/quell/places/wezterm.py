"""WezTerm: tabs of a running wezterm, by way of `wezterm cli`.

WezTerm has no tags, and its pane numbers start over with every server. `Place.session` therefore
holds the pane's tty and the pid of the process that leads it, `server_pid` who serves the socket.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quell.core.errors import NoSuchAgent, PlaceFailed
from quell.core.panes import Absent, Closing, Launch, PaneSighting, Present
from quell.core.process import Unknown
from quell.core.run import Place
from quell.core.signs import Sign
from quell.places.closing import closing, until_absent
from quell.places.commands import (
    ENTER_DELAY,
    KEY_DELAY,
    Answer,
    NotListening,
    ask,
    await_shown,
    connected,
    key_text,
    pause,
    peer_pid,
    unbranded,
)
from quell.places.patience import Patience

SOCKET = "WEZTERM_UNIX_SOCKET"


class Pane(NamedTuple):
    number: str
    tty: str
    title: str


class Wezterm:
    name = "wezterm"
    has_panes = True

    def __init__(self, env: Mapping[str, str], timeout: float = 5.0) -> None:
        self._env = unbranded(env)
        self._timeout = timeout
        self._patience = Patience(timeout)

    def open(self, launch: Launch) -> Place:
        """A new tab beside the caller's, or a new window, that executes `launch.argv`."""
        server = launch.server or self._env.get(SOCKET, "")
        self._must(server, "list", "--format", "json")  # a frozen one would open it when it thaws
        where = () if self._beside(server) else ("--new-window",)
        spawned = self._must(server, "spawn", *where, "--cwd", launch.cwd, "--", *launch.argv)
        number = spawned.out.strip()
        if not number.isdigit():
            raise PlaceFailed(f"wezterm spawn: {spawned.complaint}")
        pane = self._pane(number, server)
        tty = pane.tty if pane else ""
        return self._place(number, server, tty, _leader(tty))

    def look(self, place: Place, run: str) -> PaneSighting:
        """Present only if server, number, tty and the tty's leader are those of the start."""
        try:
            if self._server_pid(place.server) != place.server_pid:
                return Absent("server restarted")
            pane = self._pane(place.pane, place.server)
        except NotListening:
            return Absent("closed")
        except PlaceFailed as error:
            return Unknown(str(error))
        if pane is None:
            return Absent("closed")
        tty, _, started = place.session.rpartition(" ")
        leader = _leader(tty)
        # No leader: it has exited and wezterm holds the pane open.
        if pane.tty != tty or (leader and leader != int(started or 0)):
            return Absent("not ours")
        return Present(leader, pane.title)

    def screen(self, place: Place) -> str:
        """The pane's last lines; empty if it is gone, PlaceFailed if wezterm does not answer."""
        match self.look(place, ""):
            case Absent():
                return ""
            case Unknown(why=why):
                raise PlaceFailed(why)
            case Present():
                text = self._must(
                    place.server, "get-text", "--pane-id", place.pane, "--start-line", "-200"
                )
                return text.out.rstrip()

    def stirred(self, places: Sequence[Place]) -> dict[Place, Sign]:
        """No sign: wezterm does not tell when it drew; only the screen itself shows it."""
        return {place: Sign("") for place in places}

    def type_line(self, place: Place, clear: tuple[str, ...], line: str, shown: str = "") -> None:
        """Press `clear`, type `line`, then Enter, once the screen matches `shown`; here alone."""
        match self.look(place, ""):
            case Absent(why=why) | Unknown(why=why):
                raise PlaceFailed(f"the wezterm pane {place.pane} cannot be typed into: {why}")
            case Present():
                for key in clear:
                    self._send(place, key_text(key))
                    pause(KEY_DELAY)
                self._send(place, line)
                pause(ENTER_DELAY)
                await_shown(shown, lambda: self.screen(place))
                self._send(place, key_text("Enter"))

    def close(self, place: Place, run: str) -> Closing:
        """Kill that one pane; done means that wezterm no longer has it."""
        seen, refusal = self.look(place, run), ""
        if isinstance(seen, Present):
            try:
                self._must(place.server, "kill-pane", "--pane-id", place.pane)
            except PlaceFailed as error:
                refusal = str(error)
            seen = until_absent(lambda: self.look(place, run), self._timeout)
        to = ("env", f"{SOCKET}={place.server}") if place.server else ()
        retry = (*to, "wezterm", "cli", "kill-pane", "--pane-id", place.pane)
        return closing(place, seen, retry, refusal)

    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]:
        """Take a pane by its number; its process is the one that leads its tty."""
        server = server or self._env.get(SOCKET, "")
        found = self._pane(pane, server)
        if found is None:
            raise NoSuchAgent(pane)
        leader = _leader(found.tty)
        if not leader:
            raise PlaceFailed(f"cannot tell which process owns wezterm pane {pane}")
        return self._place(pane, server, found.tty, leader), leader

    def _place(self, number: str, server: str, tty: str, leader: int) -> Place:
        return Place("wezterm", number, server, self._server_pid(server), f"{tty} {leader}")

    def _beside(self, server: str) -> bool:
        """Whether the caller's own pane belongs to that server."""
        return "WEZTERM_PANE" in self._env and server == self._env.get(SOCKET, "")

    def _server_pid(self, server: str) -> int:
        """Who listens on the socket; 0 if only wezterm itself knows which one it uses."""
        if not server:
            return 0
        with connected(server, self._timeout) as connection:
            return peer_pid(connection)

    def _pane(self, number: str, server: str) -> Pane | None:
        listing = self._must(server, "list", "--format", "json")
        try:
            rows: Any = json.loads(listing.out)
            panes = [Pane(str(r["pane_id"]), r.get("tty_name") or "", r["title"]) for r in rows]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise PlaceFailed("wezterm list: an answer that is no answer") from error
        return next((pane for pane in panes if pane.number == number), None)

    def _send(self, place: Place, text: str) -> None:
        self._must(place.server, "send-text", "--no-paste", "--pane-id", place.pane, "--", text)

    def _must(self, server: str, *arguments: str) -> Answer:
        """What `wezterm cli` answered; it must not start a server that nobody asked for."""
        env = dict(self._env)
        if not self._beside(server):
            env.pop("WEZTERM_PANE", None)
        if server:
            env[SOCKET] = server
        with self._patience.waiting(server) as seconds:
            answer = ask(("wezterm", "cli", "--no-auto-start", *arguments), env, seconds)
        if answer.code:
            raise PlaceFailed(f"wezterm {arguments[0]}: {answer.complaint}")
        return answer


def _leader(tty: str) -> int:
    """The pid of the session leader on `tty`; 0 if it is gone or this system does not tell."""
    try:
        device = os.stat(tty).st_rdev
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                # After the command, which may hold anything: state, parent, group, session, tty.
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if fields[3] == pid and int(fields[4]) == device:
            return int(pid)
    return 0
