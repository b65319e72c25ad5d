"""WezTerm: tabs of a running wezterm, by way of `wezterm cli`.

WezTerm has no tags, and its pane numbers start over with every server. `Place.session` therefore
holds the pane's tty and the pid of the process that leads it, `server_pid` who serves the socket.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from knell.core.errors import NoSuchAgent, PlaceFailed
from knell.core.ports.terminal import Absent, Launch, PaneSighting, Present
from knell.core.process import Unknown
from knell.core.run import Place
from knell.places.commands import Answer, NotListening, ask, connect, peer_pid, unbranded
from knell.places.panes import Panes

SOCKET = "WEZTERM_UNIX_SOCKET"
PS_SECONDS = 5.0  # that ps may take


class WeztermPane(NamedTuple):
    number: str
    tty: str
    title: str


class Wezterm(Panes):
    name, show_pane, kill_pane = "wezterm", "activate-pane", "kill-pane"

    def __init__(self, env: Mapping[str, str], timeout: float = 5.0) -> None:
        super().__init__(timeout)
        self._env = unbranded(env)

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

    def _find(self, place: Place) -> PaneSighting:
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

    def _text(self, place: Place) -> str:
        wanted = ("--pane-id", place.pane, "--start-line", "-200")
        return self._must(place.server, "get-text", *wanted).out.rstrip()

    def _kill(self, place: Place) -> None:
        self._must(place.server, "kill-pane", "--pane-id", place.pane)

    def _by_hand(self, place: Place, command: str) -> tuple[str, ...]:
        to = ("env", f"{SOCKET}={place.server}") if place.server else ()
        return (*to, "wezterm", "cli", command, "--pane-id", place.pane)

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
        with connect(server, self._timeout) as connection:
            return peer_pid(connection)

    def _pane(self, number: str, server: str) -> WeztermPane | None:
        listing = self._must(server, "list", "--format", "json")
        try:
            rows: Any = json.loads(listing.out)
            panes = [
                WeztermPane(str(r["pane_id"]), r.get("tty_name") or "", r["title"]) for r in rows
            ]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise PlaceFailed("wezterm list: its answer cannot be read") from error
        return next((pane for pane in panes if pane.number == number), None)

    def _send(self, place: Place, text: str) -> None:
        self._must(place.server, "send-text", "--no-paste", "--pane-id", place.pane, "--", text)

    def _must(self, server: str, *arguments: str) -> Answer:
        """What `wezterm cli` answered; it must not start a server of its own."""
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
    if sys.platform != "linux":
        return _leader_by_ps(tty) if tty else 0
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


def _leader_by_ps(tty: str) -> int:
    """The same where there is no /proc: `ps` marks whoever leads a session by an s."""
    argv = ("ps", "-t", tty.removeprefix("/dev/"), "-o", "pid=,stat=")
    try:
        answer = ask(argv, os.environ, PS_SECONDS)
    except PlaceFailed:
        return 0
    rows = [line.split() for line in answer.out.splitlines()]
    leaders = [row[0] for row in rows if len(row) > 1 and "s" in row[1]]
    return int(leaders[0]) if len(leaders) == 1 else 0
