"""wezterm: a stand-in that takes exactly the documented commands, around panes with real ttys."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from knell.core.errors import NoSuchAgent, PlaceFailed
from knell.core.ports.terminal import Absent, Closing, Launch, Present
from knell.core.process import Unknown
from knell.core.run import Place
from knell.places.wezterm import Wezterm

Eventually = Callable[[Callable[[], object]], None]

# Its panes are rows of a file. Whatever it does not know, it refuses, as clap would.
STAND_IN = """#!{python} -I
import json, os, signal, sys

file = os.path.join(os.path.dirname(__file__), "state.json")
with open(file) as stored: state = json.load(stored)
argv, panes = sys.argv[1:], state["panes"]
names = ("WEZTERM_UNIX_SOCKET", "WEZTERM_PANE", "KNELL_RUN")
state["calls"].append([argv, {{name: os.environ.get(name) for name in names}}])

def save():  # in one step: knell may kill this program at any moment
    with open(file + ".new", "w") as stored: json.dump(state, stored)
    os.replace(file + ".new", file)

def pane(number):
    if number not in panes: sys.exit("pane id " + number + " not found")
    return panes[number]

save()
if state["mood"] == "hung": signal.pause()
if state["mood"] == "broken": sys.exit("failed to connect to Socket")
if state["mood"] == "babbling": print("hello"); sys.exit()
match argv:
    case ["cli", "--no-auto-start", "list", "--format", "json"]:
        rows = [dict(pane_id=int(n), tty_name=p["tty"], title=p["title"]) for n, p in panes.items()]
        print(json.dumps(rows))
    case ["cli", "--no-auto-start", "spawn", "--cwd", cwd, "--", program, *arguments] | [
        "cli", "--no-auto-start", "spawn", "--new-window", "--cwd", cwd, "--", program, *arguments]:
        number = str(state["next"])
        state["next"] += 1
        panes[number] = dict(tty=state["tty"], title="luna", text="", sent=[], stubborn=False)
        print(number)
    case ["cli", "--no-auto-start", "get-text", "--pane-id", number, "--start-line", "-200"]:
        print(pane(number)["text"])
    case ["cli", "--no-auto-start", "send-text", "--no-paste", "--pane-id", number, "--", text]:
        pane(number)["sent"].append(text)
    case ["cli", "kill-pane", "--pane-id", number] | [
        "cli", "--no-auto-start", "kill-pane", "--pane-id", number]:
        if not pane(number)["stubborn"]: del panes[number]
    case ["cli", "activate-pane", "--pane-id", number] | [
        "cli", "--no-auto-start", "activate-pane", "--pane-id", number]:
        pane(number)
        state["active"] = number
    case _:
        sys.stderr.write("error: unexpected argument " + repr(argv))
        sys.exit(2)
save()
"""


class WeztermWorld:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = str(folder / "sock")
        self.env = {"PATH": f"{folder}:{os.environ['PATH']}", "WEZTERM_UNIX_SOCKET": self.socket}
        self.on_ttys: list[tuple[subprocess.Popen[bytes], int]] = []
        self.tty, self.pid = self.process_on_tty()
        program = folder / "wezterm"
        program.write_text(STAND_IN.format(python=sys.executable))
        program.chmod(0o755)
        self.set(panes={}, next=0, tty=self.tty, calls=[], mood="well")

    def process_on_tty(self) -> tuple[str, int]:
        """A process that leads a tty of its own, as a pane's does."""
        master, slave = os.openpty()
        tty = os.ttyname(slave)
        leader = subprocess.Popen(["setsid", "--ctty", "sleep", "1000"], stdin=slave)
        os.close(slave)
        self.on_ttys.append((leader, master))
        return tty, leader.pid

    @property
    def state(self) -> dict[str, Any]:
        return json.loads((self.folder / "state.json").read_text())

    def set(self, **changes: object) -> None:
        file = self.folder / "state.json"
        state = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(state | changes))

    def change(self, pane: str, **changes: object) -> None:
        panes = self.state["panes"]
        panes[pane] |= changes
        self.set(panes=panes)

    def end(self) -> None:
        for leader, master in self.on_ttys:
            leader.kill()
            leader.wait()
            os.close(master)


@pytest.fixture
def wezterm(folder: Path, eventually: Eventually) -> Iterator[WeztermWorld]:
    world = WeztermWorld(folder)
    eventually(lambda: Path(f"/proc/{world.pid}/comm").read_text() == "sleep\n")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(world.socket)
        server.listen(4096)  # it never accepts, and whoever waits for a pane connects often
        yield world
    world.end()


def launch(wezterm: WeztermWorld, *argv: str, server: str = "") -> Launch:
    return Launch("r1", "luna", argv or ("sleep", "1000"), str(wezterm.folder), server)


def spawned(wezterm: WeztermWorld) -> tuple[list[str], dict[str, str | None]]:
    """With what arguments and what environment it was told to spawn."""
    return next((argv, env) for argv, env in wezterm.state["calls"] if "spawn" in argv)


# -- open ------------------------------------------------------------------------------------------


def test_the_place_names_the_pane_its_server_and_its_tty(wezterm: WeztermWorld) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    tag = f"{wezterm.tty} {wezterm.pid}"
    assert place == Place("wezterm", "0", wezterm.socket, os.getpid(), tag)


def test_arguments_are_passed_as_they_are_and_we_are_not_told_of(wezterm: WeztermWorld) -> None:
    evil = ("sh", "-c", "a;b", "", "--cwd", "$HOME")
    Wezterm(wezterm.env | {"KNELL_RUN": "other"}).open(launch(wezterm, *evil))
    argv, env = spawned(wezterm)
    assert argv[3:] == ["--new-window", "--cwd", str(wezterm.folder), "--", *evil]
    assert env["KNELL_RUN"] is None


def test_inside_wezterm_the_agent_gets_a_tab_beside_the_caller(wezterm: WeztermWorld) -> None:
    inside = Wezterm(wezterm.env | {"WEZTERM_PANE": "7"})
    inside.open(launch(wezterm))
    argv, env = spawned(wezterm)
    assert "--new-window" not in argv
    assert env["WEZTERM_PANE"] == "7"


def test_another_server_is_not_asked_about_the_callers_pane(wezterm: WeztermWorld) -> None:
    elsewhere = {"WEZTERM_PANE": "7", "WEZTERM_UNIX_SOCKET": "/nowhere"}
    place = Wezterm(wezterm.env | elsewhere).open(launch(wezterm, server=wezterm.socket))
    argv, env = spawned(wezterm)
    assert "--new-window" in argv
    assert (env["WEZTERM_UNIX_SOCKET"], env["WEZTERM_PANE"]) == (wezterm.socket, None)
    assert place.server == wezterm.socket


def test_without_wezterm_the_error_says_what_to_do(wezterm: WeztermWorld, tmp_path: Path) -> None:
    without = Wezterm({"PATH": str(tmp_path)})
    with pytest.raises(PlaceFailed, match="wezterm is not installed") as failed:
        without.open(launch(wezterm))
    assert "--in" in failed.value.hint
    assert without.look(Place("wezterm", "0"), "r1") == Unknown("wezterm is not installed")


@pytest.mark.parametrize("mood", ["broken", "hung"])
def test_a_wezterm_that_does_not_answer_is_not_told_to_spawn(
    wezterm: WeztermWorld, mood: str
) -> None:
    wezterm.set(mood=mood)
    with pytest.raises(PlaceFailed):
        Wezterm(wezterm.env, timeout=0.5 if mood == "hung" else 60).open(launch(wezterm))
    assert not [argv for argv, _ in wezterm.state["calls"] if "spawn" in argv]


def test_a_spawn_that_names_no_pane_is_an_error(wezterm: WeztermWorld) -> None:
    wezterm.set(mood="babbling")
    with pytest.raises(PlaceFailed, match="wezterm spawn"):
        Wezterm(wezterm.env, timeout=60).open(launch(wezterm))


# -- look ------------------------------------------------------------------------------------------


def test_a_look_tells_the_leader_of_the_tty_and_the_title(wezterm: WeztermWorld) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    assert Wezterm(wezterm.env, timeout=60).look(place, "r1") == Present(wezterm.pid, "luna")


def test_a_pane_that_is_not_listed_is_closed(wezterm: WeztermWorld) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    wezterm.set(panes={})
    assert Wezterm(wezterm.env, timeout=60).look(place, "r1") == Absent("closed")
    assert Wezterm(wezterm.env, timeout=60).screen(place) == ""
    assert Wezterm(wezterm.env, timeout=60).close(place, "r1") == Closing(closed=True)


def test_a_server_that_is_gone_took_its_panes_along(wezterm: WeztermWorld) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    os.unlink(wezterm.socket)
    assert Wezterm(wezterm.env, timeout=60).look(place, "r1") == Absent("closed")


def test_a_pane_of_the_same_number_elsewhere_is_not_taken_for_ours(wezterm: WeztermWorld) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    restarted = place._replace(server_pid=place.server_pid + 1)
    assert Wezterm(wezterm.env, timeout=60).look(restarted, "r1") == Absent("server restarted")
    # The tty's number is used again, by another process:
    reused = place._replace(session=f"{wezterm.tty} {wezterm.pid + 1}")
    assert Wezterm(wezterm.env, timeout=60).look(reused, "r1") == Absent("not ours")
    # The pane's number is used again, on another tty:
    wezterm.change("0", tty=wezterm.process_on_tty()[0])
    assert Wezterm(wezterm.env, timeout=60).look(place, "r1") == Absent("not ours")
    closing = Wezterm(wezterm.env, timeout=60).close(place, "r1")
    assert (closing.closed, closing.retry) == (False, "")
    with pytest.raises(PlaceFailed, match="not ours"):
        Wezterm(wezterm.env, timeout=60).type_text(place, "x")
    assert wezterm.state["panes"]["0"]["sent"] == []


def test_a_pane_held_open_after_its_process_is_still_ours(
    wezterm: WeztermWorld, eventually: Eventually
) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    leader = wezterm.on_ttys[0][0]
    leader.kill()
    leader.wait()
    assert Wezterm(wezterm.env, timeout=60).look(place, "r1") == Present(0, "luna")


@pytest.mark.parametrize("mood", ["broken", "babbling", "hung"])
def test_a_wezterm_that_does_not_answer_is_unknown(wezterm: WeztermWorld, mood: str) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    wezterm.set(mood=mood)
    impatient = Wezterm(wezterm.env, timeout=0.5 if mood == "hung" else 60)
    assert isinstance(impatient.look(place, "r1"), Unknown)
    closing = impatient.close(place, "r1")
    assert not closing.closed
    for call in (impatient.screen, lambda place: impatient.type_text(place, "x")):
        with pytest.raises(PlaceFailed):
            call(place)
    wezterm.set(mood="well")
    subprocess.run(["sh", "-c", closing.retry], env=wezterm.env, check=True)
    assert wezterm.state["calls"][-1][1]["WEZTERM_UNIX_SOCKET"] == wezterm.socket
    assert Wezterm(wezterm.env, timeout=60).look(place, "r1") == Absent("closed")


# -- screen, keys, close, adopt --------------------------------------------------------------------


def test_the_screen_is_what_wezterm_shows(wezterm: WeztermWorld) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    wezterm.change("0", text="one\n  grüße ☃\n\n\n")
    assert Wezterm(wezterm.env, timeout=60).screen(place) == "one\n  grüße ☃"


def test_keys_and_text_are_sent_apart(wezterm: WeztermWorld) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    terminal = Wezterm(wezterm.env, timeout=60)
    for key in ("C-u", "C-c", "C-d", "Escape"):
        terminal.press(place, key)
    terminal.type_text(place, "--exit;")
    terminal.press(place, "Enter")
    sent = wezterm.state["panes"]["0"]["sent"]
    assert sent == ["\x15", "\x03", "\x04", "\x1b", "--exit;", "\r"]


def test_a_key_that_has_no_bytes_is_an_error(wezterm: WeztermWorld) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    with pytest.raises(PlaceFailed, match="F13"):
        Wezterm(wezterm.env, timeout=60).press(place, "F13")


def test_closing_takes_that_pane_only(wezterm: WeztermWorld) -> None:
    mine, other = (Wezterm(wezterm.env, timeout=60).open(launch(wezterm)) for _ in range(2))
    assert Wezterm(wezterm.env, timeout=60).close(mine, "r1") == Closing(closed=True)
    assert list(wezterm.state["panes"]) == [other.pane]


def test_a_pane_that_stays_is_reported_with_the_command_to_try(wezterm: WeztermWorld) -> None:
    place = Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    wezterm.change("0", stubborn=True)
    assert Wezterm(wezterm.env, timeout=3.0).close(place, "r1") == Closing(
        closed=False,
        retry=f"env WEZTERM_UNIX_SOCKET={wezterm.socket} wezterm cli kill-pane --pane-id 0",
        why="wezterm kept the pane 0",
    )


def test_an_adopted_pane_is_known_again(wezterm: WeztermWorld) -> None:
    Wezterm(wezterm.env, timeout=60).open(launch(wezterm))
    place, pid = Wezterm(wezterm.env, timeout=60).adopt("0", "", "r9")
    assert pid == wezterm.pid
    assert Wezterm(wezterm.env, timeout=60).look(place, "r9") == Present(pid, "luna")
    with pytest.raises(NoSuchAgent):
        Wezterm(wezterm.env, timeout=60).adopt("5", "", "r9")
    wezterm.change("0", tty=None)
    with pytest.raises(PlaceFailed, match="which process"):
        Wezterm(wezterm.env, timeout=60).adopt("0", "", "r9")


def test_the_command_that_attach_gives_goes_to_its_pane(wezterm: WeztermWorld) -> None:
    terminal = Wezterm(wezterm.env, timeout=60)
    terminal.open(launch(wezterm, "sleep", "1"))
    place = terminal.open(launch(wezterm, "sleep", "1"))
    subprocess.run(terminal.attach_command(place), env=wezterm.env, check=True, timeout=300)
    assert wezterm.state["active"] == place.pane
