"""tmux: panes on the user's server, on a named one, or on a socket of their own.

Every target is exact (`=name:` with its colon, `%id`): without the colon tmux 3.3 still took `=que`
for the session `knell`. Arguments that tmux expands as formats are escaped, because a format may
hold `#(a shell command)`.
"""

import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from knell.core.errors import Ambiguous, NoSuchAgent, PlaceFailed
from knell.core.ports.terminal import Absent, Closing, Launch, PaneSighting, Present
from knell.core.process import Unknown
from knell.core.run import Place
from knell.places.commands import Answer, ask, pause, unbranded
from knell.places.panes import AnswerTimeout, closing

if TYPE_CHECKING:
    from knell.core.stall.signs import Sign

DEFAULT_SESSION = "knell"
OPEN_ATTEMPTS = 8

Command = tuple[str, ...]

# Free text comes last, and a session's name holds no colon: nothing needs quoting.
_BORN = "#{pane_id} #{pid} #{pane_pid} #{pane_dead} #{session_name}:#{socket_path}"
_SEEN = "#{pid} #{pane_pid} #{pane_dead} #{pane_id} #{@knell_run} #{pane_current_command}"
_WHICH = "#{pid} #{pane_id}"
_STIRRED = "#{pid} #{pane_id} #{window_activity}"
_NO_SERVER = re.compile(r"no server running|error connecting .*\((No such file|Connection refused)")
_NO_PANE = re.compile(rf"{_NO_SERVER.pattern}|can't find|no such pane")
_ON_ITS_WAY_OUT = re.compile(r"server exited|lost server")


class Tmux:
    name = "tmux"
    has_panes = True

    def __init__(self, env: Mapping[str, str], timeout: float = 5.0) -> None:
        self._timeout = timeout
        self._patience = AnswerTimeout(timeout)
        self._surrounding = env.get("TMUX", "").split(",")[0]
        self._inside_env = unbranded(env) | {"KNELL_PLACE": "1"}
        inside = ("TMUX", "TMUX_PANE")
        self._env = {k: v for k, v in self._inside_env.items() if k not in inside}

    def open(self, launch: Launch) -> Place:
        """A detached window that executes `launch.argv` without a shell.

        Any number of callers may open the first session at the same time."""
        if not os.path.isdir(launch.cwd):  # tmux would silently start somewhere else
            raise PlaceFailed(f"there is no directory {launch.cwd}")
        if "/" in launch.server:  # a reboot empties /tmp; tmux makes the folder only for a name
            with suppress(OSError):  # tmux says what is wrong
                os.makedirs(os.path.dirname(os.path.abspath(launch.server)), 0o700, exist_ok=True)
        self._probe(launch.server)
        here = self._surrounding and not launch.server and not launch.session
        session = session_name(launch.session or DEFAULT_SESSION)
        target = "" if here else f"={session}:"
        failure = ""
        for _ in range(OPEN_ATTEMPTS):
            to = ("-t", target) if target else ()
            window, failure = self._create(launch, ("new-window", *to), target)
            if window is not None:
                return window
            target = f"={session}:"
            first, refusal = self._create(launch, ("new-session", "-s", session), target)
            if first is not None:
                return first
            if "duplicate session" not in refusal and not _ON_ITS_WAY_OUT.search(refusal):
                raise PlaceFailed(f"tmux new-session: {refusal}")
            pause(0.02)  # the server of another caller is just starting or ending
        raise PlaceFailed(f"tmux new-window: {failure}")

    def look(self, place: Place, run: str | None) -> PaneSighting:
        """Present only if server and pane are those, and the tag is the run's; None: any tag."""
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                answer = self._ask(place.server, ("display-message", "-p", "-t", place.pane, _SEEN))
            except PlaceFailed as error:
                return Unknown(str(error))
            if not _ON_ITS_WAY_OUT.search(answer.err) or time.monotonic() >= deadline:
                return _sighting(answer, place, run)
            pause(0.01)

    def screen(self, place: Place) -> str:
        """The pane's last lines; empty if it is gone, PlaceFailed if tmux does not answer."""
        answer = self._ask(
            place.server,
            ("display-message", "-p", "-t", place.pane, _WHICH),
            ("capture-pane", "-p", "-J", "-S", "-200", "-t", place.pane),
        )
        which, _, text = answer.out.partition("\n")
        if answer.code or which != f"{place.server_pid} {place.pane}":
            return ""
        return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")

    def stirred(self, places: Sequence[Place]) -> dict[Place, "Sign"]:
        """When each window last printed, of places on one server; without those that are closed.

        `session_activity` stands still in a detached session."""
        from knell.core.stall.signs import Sign  # an ending needs none

        answer = self._ask(places[0].server, ("list-panes", "-a", "-F", _STIRRED))
        if answer.code and not _NO_SERVER.search(answer.err):
            raise PlaceFailed(f"tmux did not list its panes: {answer.complaint}")
        found = {tuple(line.split()[:2]): line.split()[-1] for line in answer.out.splitlines()}
        found = {place: found.get((str(place.server_pid), place.pane)) for place in places}
        return {place: Sign(at, float(at)) for place, at in found.items() if at}

    keyboard = look

    def press(self, place: Place, key: str) -> None:
        self._send_keys(place, (key,))

    def type_text(self, place: Place, text: str) -> None:
        self._send_keys(place, ("-l", "--", text))

    def _send_keys(self, place: Place, words: Command) -> None:
        pane, server = place.pane, place.server
        which = self._ask(server, ("display-message", "-p", "-t", pane, _WHICH)).out
        if which.rstrip() != f"{place.server_pid} {pane}":
            raise PlaceFailed(f"the tmux pane {pane} is gone")
        # In copy mode keys are commands of the mode; synchronised panes would all get the text.
        leave = ("-t", pane, "#{pane_in_mode}", f"send-keys -t {pane} -X cancel")
        option = ("-t", pane, "synchronize-panes")
        alone = ("set-option", "-q", "-p", *option, "off")
        try:
            typing = ("send-keys", "-t", pane, *words)
            answer = self._ask(server, ("if-shell", "-F", *leave), alone, typing)
            if answer.code:
                raise PlaceFailed(f"tmux send-keys: {answer.complaint}")
        finally:
            self._ask(server, ("set-option", "-q", "-p", "-u", *option))

    def close(self, place: Place, run: str) -> Closing:
        """Kill that one pane, never its session; done means that tmux no longer has it."""
        tag = f"#{{==:#{{@knell_run}},{_escaped(run)}}}"
        server = f"#{{==:#{{pid}},{place.server_pid}}}"
        ours = f"#{{&&:{tag},{server}}}"
        kill = ("if-shell", "-F", "-t", place.pane, ours, f"kill-pane -t {place.pane}")
        try:
            self._ask(place.server, kill)
            # In a call of its own: until this one is over, tmux still knows the killed pane.
            seen = self.look(place, run)
        except PlaceFailed as error:
            seen = Unknown(str(error))
        return closing(place, seen, ("tmux", "-S", place.server, "kill-pane", "-t", place.pane))

    def attach_command(self, place: Place) -> tuple[str, ...]:
        """Inside the same server the client is switched; from elsewhere it attaches. To be attached
        from inside another server, tmux must not know that it is nested."""
        pane, inside = place.pane, self._surrounding == place.server
        start = () if inside or not self._surrounding else ("env", "-u", "TMUX")
        find = ("select-window", "-t", pane, ";", "select-pane", "-t", pane, ";")
        go = "switch-client" if inside else "attach-session"
        return (*start, "tmux", "-S", place.server, *find, go, "-t", pane)

    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]:
        """Tag a pane, or the only pane of a session, as the run's."""
        self._probe(server)
        found = pane if re.fullmatch(r"%\d+", pane) else self._only_pane(pane, server)
        tag = ("set-option", "-p", "-t", found, "@knell_run", run)
        answer = self._ask(server, tag, ("display-message", "-p", "-t", found, _BORN))
        born = _born(answer)
        if born is None:
            gone = _NO_PANE.search(answer.err)
            raise NoSuchAgent(pane) if gone else PlaceFailed(f"tmux: {answer.complaint}")
        place, pid = born
        if not pid:
            raise PlaceFailed(f"the process of tmux pane {found} has ended")
        return place, pid

    def names(self, server: str) -> list[str]:
        """The sessions of that server; none if it does not run."""
        answer = self._ask(server, ("list-sessions", "-F", "#{session_name}"))
        if answer.code and not _NO_SERVER.search(answer.complaint):
            raise PlaceFailed(f"tmux did not list its sessions: {answer.complaint}")
        return [] if answer.code else answer.out.splitlines()

    def panes(self, name: str, server: str) -> list[tuple[str, int]]:
        """Each pane of that very session and its process; none if there is no such session."""
        listed = ("list-panes", "-s", "-t", f"={session_name(name)}:")
        answer = self._ask(server, (*listed, "-F", "#{pane_id} #{pane_pid}"))
        if answer.code and not _NO_PANE.search(answer.complaint):
            raise PlaceFailed(f"tmux did not say whether it has {name}: {answer.complaint}")
        lines = [] if answer.code else answer.out.splitlines()
        return [(pane, int(pid)) for pane, pid in (line.split() for line in lines)]

    def _only_pane(self, session: str, server: str) -> str:
        panes = [pane for pane, _ in self.panes(session, server)]
        if not panes:
            raise NoSuchAgent(session)
        if len(panes) > 1:
            raise Ambiguous(session, tuple(panes))
        return panes[0]

    def _create(self, launch: Launch, how: Command, target: str) -> tuple[Place | None, str]:
        """Open and tag in one round trip, so that no pane of knell is ever seen without its tag.

        The new pane's id is not known yet, so the tags find it by a window name that is unique."""
        unique = f"knell-{os.urandom(8).hex()}"
        where = ("-n", unique, "-c", _escaped(launch.cwd))
        new = (*how, "-d", "-P", "-F", _BORN, *where, "--", *launch.argv)
        answer = self._ask(launch.server, new, *_tags(launch, f"{target or ':'}={unique}"))
        born = _born(answer)
        if born is None:
            return None, answer.complaint
        if answer.code:  # it has exited already, or a hook of the user's renamed the window
            self._ask(launch.server, *_tags(launch, born[0].pane))
        return born[0], ""

    def _probe(self, server: str) -> None:
        """PlaceFailed if the server is frozen, before it is sent anything that changes something:
        when it thaws it executes what it was sent, long after knell has given up."""
        self._ask(server, ("display-message", "-p", ""))

    def _ask(self, server: str, *commands: Command) -> Answer:
        """One tmux client, one connection, all `commands` in order; the first failure ends it."""
        inside = self._surrounding if not server else ""
        argv = ["tmux", "-u"]
        if socket := server or inside:
            argv += ["-S", os.path.abspath(socket)] if "/" in socket else ["-L", socket]
        for number, command in enumerate(commands):
            argv += [";"] if number else []
            argv += [_unseparated(part) for part in command]
        with self._patience.waiting(server) as seconds:
            return ask(argv, self._inside_env if inside else self._env, seconds)


def session_name(name: str) -> str:
    """What tmux can store and knell can target: it renames `.` and `:`, and expands formats."""
    plain = re.sub(r"[.:#\x00-\x1f\x7f]", "_", name)
    return re.sub(r"^[=$@%+!{~-]", "_", plain) or DEFAULT_SESSION


def _tags(launch: Launch, target: str) -> tuple[Command, ...]:
    return (
        ("set-option", "-p", "-t", target, "@knell_run", launch.run),
        ("set-option", "-p", "-t", target, "@knell_agent", launch.name),
        ("set-option", "-w", "-t", target, "automatic-rename", "off"),
        ("set-option", "-w", "-t", target, "allow-rename", "off"),
        ("rename-window", "-t", target, _escaped(launch.name)),
    )


def _unseparated(argument: str) -> str:
    """A `;` at an argument's end separates commands unless a backslash is before it."""
    return f"{argument[:-1]}\\;" if argument.endswith(";") else argument


def _escaped(text: str) -> str:
    """`text` for an argument that tmux expands as a format; `#[` it leaves as it is."""
    return re.sub(r"#+(?![\[#])", lambda hashes: hashes[0] * 2, text)


def _born(answer: Answer) -> tuple[Place, int] | None:
    """The pane that `_BORN` tells of, and its process (0 if ended); None if there is none.

    The exit code is no guide: a pane that exits at once cannot be tagged any more."""
    found = re.match(r"(%\d+) (\d+) (\d+) (\d?) ([^:]*):(.+)\n", answer.out)
    if found is None:
        return None
    pane, server_pid, pane_pid, dead, session, socket = found.groups()
    place = Place("tmux", pane, socket, int(server_pid), session)
    return place, 0 if dead == "1" else int(pane_pid)


def _sighting(answer: Answer, place: Place, run: str | None) -> PaneSighting:
    if answer.code:
        if _NO_SERVER.search(answer.err):
            return Absent("closed")
        return Unknown(f"tmux: {answer.complaint}")
    found = re.fullmatch(r"(\d+) (\d*) (\d?) (\S*) (\S*) (.*)\n", answer.out)
    if found is None:
        return Unknown(f"tmux answered {answer.complaint}")
    server_pid, pid, dead, pane, tag, command = found.groups()
    if server_pid != str(place.server_pid):
        why = "server restarted"
    elif pane != place.pane:
        why = "closed"
    elif run not in (None, tag):
        why = "not ours"
    else:
        return Present(0 if dead == "1" else int(pid), command)
    return Absent(why)
