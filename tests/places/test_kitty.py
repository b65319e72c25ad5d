"""kitty, the real one, on a virtual screen: that window and no other."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knell.core.errors import NoSuchAgent, PlaceFailed
from knell.core.ports.terminal import Absent, Closing, Launch, Present
from knell.core.process import Unknown
from knell.core.run import Place
from knell.places.kitty import Kitty

Eventually = Callable[[Callable[[], object]], None]

SLEEPER = ("sleep", "1000")
TELLER = """
import json, os, sys, time
told = {"argv": sys.argv[2:], "cwd": os.getcwd(), "tag": os.environ["KNELL_PANE"]}
with open(sys.argv[1] + ".part", "w") as file: json.dump(told, file)
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(1000)
"""
LISTENER = """
import json, os, sys, time, tty
tty.setraw(0)
with open(sys.argv[1], "w") as file:
    print("ready", flush=True)
    while burst := os.read(0, 1000):
        print(json.dumps([time.monotonic(), burst.decode()]), file=file, flush=True)
"""


def launch(kitty: Any, argv: tuple[str, ...] = SLEEPER, run: str = "r1", **more: str) -> Launch:
    return Launch(run, "luna", argv, more.pop("cwd", str(kitty.folder)), **more)


def tabs(kitty: Any) -> list[dict[str, Any]]:
    listing = Kitty(kitty.env, timeout=60)._call(kitty.server, "ls").text
    return [tab for os_window in json.loads(listing) for tab in os_window["tabs"]]


# -- open ------------------------------------------------------------------------------------------


def test_the_place_names_the_window_and_its_kitty(kitty: Any) -> None:
    pid = kitty.start()
    place = Kitty(kitty.env, timeout=60).open(launch(kitty))
    assert place == Place("kitty", "2", kitty.server, pid, "KNELL_PANE=r1")
    shown = [(tab["title"], tab["is_focused"]) for tab in tabs(kitty)]
    assert [title for title, _ in shown][1:] == ["luna"]
    assert [focused for _, focused in shown] == [True, False]


def test_arguments_directory_and_tag_arrive_as_they_are(kitty: Any, eventually: Eventually) -> None:
    kitty.start()
    evil = [";", "a\\;", "$HOME", "#{pid}", "", " ", "'\"", "--type", "é\n%H\x1b\\"]
    file, directory = kitty.folder / "told", kitty.folder / "a b#(touch ran)"
    directory.mkdir()
    argv = (sys.executable, "-c", TELLER, str(file), *evil)
    Kitty(kitty.env, timeout=60).open(launch(kitty, argv, cwd=str(directory)))
    eventually(file.exists)
    assert json.loads(file.read_text()) == {"argv": evil, "cwd": str(directory), "tag": "r1"}


def test_a_server_may_be_given_as_a_path(kitty: Any) -> None:
    kitty.start()
    path = kitty.server.removeprefix("unix:")
    assert Kitty({}, timeout=60).open(launch(kitty, server=path)).server == kitty.server


def test_an_abstract_socket_will_do(kitty: Any) -> None:
    kitty.server = f"unix:@{kitty.folder.name}"
    kitty.start()
    place = Kitty({}, timeout=60).open(launch(kitty, server=kitty.server))
    assert isinstance(Kitty({}, timeout=60).look(place, "r1"), Present)
    kitty.stop()
    assert Kitty({}, timeout=60).look(place, "r1") == Absent("closed")


def test_an_agent_that_exits_at_once_was_still_opened(kitty: Any, eventually: Eventually) -> None:
    kitty.start()
    place = Kitty(kitty.env, timeout=60).open(launch(kitty, ("sh", "-c", "exit 3")))
    assert place.pane == "2"
    eventually(lambda: Kitty(kitty.env, timeout=60).look(place, "r1") == Absent("closed"))


def test_a_kitty_that_does_not_listen_says_how_to_make_it(kitty: Any) -> None:
    with pytest.raises(PlaceFailed) as deaf:
        Kitty({"KITTY_WINDOW_ID": "1"}).open(launch(kitty))
    assert "listen_on" in deaf.value.hint
    with pytest.raises(PlaceFailed, match="no process listens"):
        Kitty(kitty.env, timeout=60).open(launch(kitty))


def test_a_kitty_that_wants_a_password_refuses_in_words(kitty: Any) -> None:
    kitty.start(remote_control="password")
    with pytest.raises(PlaceFailed, match="disabled") as refused:
        Kitty(kitty.env, timeout=60).open(launch(kitty))
    assert "allow_remote_control" in refused.value.hint


# -- look ------------------------------------------------------------------------------------------


def test_a_look_tells_pid_and_program_of_the_runs_own_window(kitty: Any) -> None:
    kitty.start()
    place = Kitty(kitty.env, timeout=60).open(launch(kitty))
    seen = Kitty(kitty.env, timeout=60).look(place, "r1")
    assert isinstance(seen, Present)
    assert seen.command == "sleep"
    assert Path(f"/proc/{seen.pid}/cmdline").read_bytes().endswith(b"sleep\x001000\x00")
    assert Kitty(kitty.env, timeout=60).look(place, "r2") == Absent("not ours")
    first = place._replace(pane="1")
    assert Kitty(kitty.env, timeout=60).look(first, "r1") == Absent("not ours")


def test_a_window_of_the_same_number_in_a_new_kitty_is_not_taken_for_ours(kitty: Any) -> None:
    kitty.start()
    old = Kitty(kitty.env, timeout=60).open(launch(kitty))
    adopted, _ = Kitty(kitty.env, timeout=60).adopt(old.pane, "", "r1")
    kitty.stop()
    assert Kitty(kitty.env, timeout=60).look(old, "r1") == Absent("closed")
    pid = kitty.start()
    new = Kitty(kitty.env, timeout=60).open(launch(kitty, run="r2"))
    assert (new.pane, new.server) == (old.pane, old.server)
    for place in (old, adopted):
        assert Kitty(kitty.env, timeout=60).look(place, "r1") == Absent("server restarted")
        # Even if the new kitty has the pid of the old one:
        reused = place._replace(server_pid=pid)
        assert Kitty(kitty.env, timeout=60).look(reused, "r1") == Absent("not ours")
        assert not Kitty(kitty.env, timeout=60).close(reused, "r1").closed
        assert Kitty(kitty.env, timeout=60).close(place, "r1") == Closing(closed=True)
        assert Kitty(kitty.env, timeout=60).screen(reused) == ""
        with pytest.raises(PlaceFailed, match="not ours"):
            Kitty(kitty.env, timeout=60).type_text(reused, "x")
    assert isinstance(Kitty(kitty.env, timeout=60).look(new, "r2"), Present)


def test_a_frozen_kitty_is_unknown_and_nothing_hangs(kitty: Any, eventually: Eventually) -> None:
    pid = kitty.start()
    impatient = Kitty(kitty.env, timeout=0.3)
    place = Kitty(kitty.env, timeout=60).open(launch(kitty))
    os.kill(pid, signal.SIGSTOP)
    stat = Path(f"/proc/{pid}/stat")
    eventually(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
    assert impatient.look(place, "r1") == Unknown("kitty did not answer within 0.3 s")
    closing = impatient.close(place, "r1")
    for call in (impatient.screen, lambda place: impatient.type_text(place, "x")):
        with pytest.raises(PlaceFailed, match="did not answer"):
            call(place)
    with pytest.raises(PlaceFailed, match="did not answer"):
        impatient.open(launch(kitty, run="r2"))
    os.kill(pid, signal.SIGCONT)
    retry = f"kitty @ --to {kitty.server} close-window --match id:{place.pane}"
    assert closing == Closing(closed=False, retry=retry, why="kitty did not answer within 0.3 s")
    subprocess.run(["sh", "-c", closing.retry], env=kitty.outer_env, check=True)
    eventually(lambda: Kitty(kitty.env, timeout=60).look(place, "r1") == Absent("closed"))
    assert len(tabs(kitty)) == 1  # nothing was opened later


# -- screen and keys -------------------------------------------------------------------------------


def test_the_screen_holds_the_last_lines_and_some_that_have_scrolled_away(
    kitty: Any, eventually: Eventually
) -> None:
    kitty.start()
    script = "seq 1 150; printf 'grüße ☃\\n\\n'; exec sleep 1000"
    place = Kitty(kitty.env, timeout=60).open(launch(kitty, ("sh", "-c", script)))
    eventually(lambda: "☃" in Kitty(kitty.env, timeout=60).screen(place))
    lines = Kitty(kitty.env, timeout=60).screen(place).split("\n")
    assert lines == [*(str(number) for number in range(1, 151)), "grüße ☃"]
    assert Kitty(kitty.env, timeout=60).close(place, "r1").closed
    assert Kitty(kitty.env, timeout=60).screen(place) == ""


def test_keys_and_text_are_typed_as_they_are(kitty: Any, eventually: Eventually) -> None:
    kitty.start()
    file = kitty.folder / "heard"
    argv = (sys.executable, "-c", LISTENER, str(file))
    place = Kitty(kitty.env, timeout=60).open(launch(kitty, argv))
    eventually(lambda: "ready" in Kitty(kitty.env, timeout=60).screen(place))

    def heard() -> str:
        return "".join(json.loads(line)[1] for line in file.read_text().splitlines())

    typed = ""
    terminal = Kitty(kitty.env, timeout=60)
    for key, burst in (("C-u", "\x15"), ("Escape", "\x1b"), ("Enter", "\r")):
        terminal.press(place, key)
        terminal.type_text(place, "-l /exit \\x41 é;")
        typed += f"{burst}-l /exit \\x41 é;"
        eventually(lambda typed=typed: heard() == typed)
    assert Kitty(kitty.env, timeout=60).close(place, "r1").closed
    with pytest.raises(PlaceFailed, match="closed"):
        Kitty(kitty.env, timeout=60).type_text(place, "x")


def test_the_command_that_attach_gives_goes_to_its_tab(kitty: Any, eventually: Eventually) -> None:
    kitty.start()
    terminal = Kitty(kitty.env, timeout=60)
    place = terminal.open(launch(kitty))
    assert [tab["is_focused"] for tab in tabs(kitty)] == [True, False]
    subprocess.run(terminal.attach_command(place), env=kitty.env, check=True, timeout=300)
    eventually(lambda: [tab["is_focused"] for tab in tabs(kitty)] == [False, True])


# -- close -----------------------------------------------------------------------------------------


def test_closing_takes_that_window_only(
    kitty: Any, eventually: Eventually, is_alive: Callable[[int], bool]
) -> None:
    kitty.start()
    patient = Kitty(kitty.env, timeout=60)
    mine, other = (patient.open(launch(kitty, run=run)) for run in ("r1", "r2"))
    seen = Kitty(kitty.env, timeout=60).look(mine, "r1")
    assert isinstance(seen, Present)
    refused = Kitty(kitty.env, timeout=60).close(mine, "r2")
    assert (refused.closed, refused.retry) == (False, "")
    assert Kitty(kitty.env, timeout=60).close(mine, "r1") == Closing(closed=True)
    eventually(lambda: not is_alive(seen.pid))
    assert isinstance(Kitty(kitty.env, timeout=60).look(other, "r2"), Present)
    assert len(tabs(kitty)) == 2
    assert Kitty(kitty.env, timeout=60).close(mine, "r1") == Closing(closed=True)


def test_closing_the_last_window_ends_kitty_and_is_still_seen(
    kitty: Any, eventually: Eventually
) -> None:
    kitty.start()
    place = Kitty(kitty.env, timeout=60).open(launch(kitty))
    first, _ = Kitty(kitty.env, timeout=60).adopt("1", kitty.server, "r0")
    assert Kitty(kitty.env, timeout=60).close(first, "r0") == Closing(closed=True)
    assert Kitty(kitty.env, timeout=60).close(place, "r1") == Closing(closed=True)
    eventually(lambda: Kitty(kitty.env, timeout=60).look(place, "r1") == Absent("closed"))


# -- adopt -----------------------------------------------------------------------------------------


def test_an_adopted_window_is_known_again(kitty: Any) -> None:
    pid = kitty.start()
    place, process = Kitty(kitty.env, timeout=60).adopt("1", "", "r9")
    assert (place.pane, place.server, place.server_pid) == ("1", kitty.server, pid)
    assert Kitty(kitty.env, timeout=60).look(place, "r9") == Present(process, "sleep")
    for nobody in ("99", "luna", ""):
        with pytest.raises(NoSuchAgent):
            Kitty(kitty.env, timeout=60).adopt(nobody, "", "r9")
