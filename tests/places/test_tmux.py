"""tmux, the real one: what we open, see, type into and close is that pane and no other."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from knell.core.errors import Ambiguous, NoSuchAgent, PlaceFailed
from knell.core.ports.terminal import Absent, Closing, Launch, Present
from knell.core.process import Unknown
from knell.core.run import Place
from knell.places.tmux import Tmux, session_name

Eventually = Callable[[Callable[[], object]], None]

SLEEPER = ("sleep", "1000")
# Writes down what it was started with, then waits.
TELLER = """
import json, os, sys, time
told = {"argv": sys.argv[2:], "cwd": os.getcwd(), "env": dict(os.environ)}
with open(sys.argv[1] + ".part", "w") as file: json.dump(told, file)
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(1000)
"""
# Writes down each burst of input and when it came.
LISTENER = """
import json, os, sys, time, tty
tty.setraw(0)
with open(sys.argv[1], "w") as file:
    print("ready", flush=True)
    while burst := os.read(0, 1000):
        print(json.dumps([time.monotonic(), burst.decode()]), file=file, flush=True)
"""


def launch(tmux: Any, argv: tuple[str, ...] = SLEEPER, run: str = "r1", **more: str) -> Launch:
    return Launch(run, "luna", argv, more.pop("cwd", str(tmux.folder)), **more)


def told(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text())


def stopped(tmux: Any, place: Place, eventually: Eventually) -> int:
    """Freeze the server, and wait until it is."""
    os.kill(place.server_pid, signal.SIGSTOP)
    stat = Path(f"/proc/{place.server_pid}/stat")
    eventually(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
    return place.server_pid


# -- open ------------------------------------------------------------------------------------------


def test_the_place_names_the_pane_its_server_and_its_session(tmux: Any) -> None:
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    asked = tmux("display-message", "-p", "-t", place.pane, "#{pid} #{socket_path} #{session_name}")
    assert asked == f"{place.server_pid} {place.server} {place.session}"
    assert (place.name, place.session) == ("tmux", "knell")
    assert os.path.isabs(place.server)


def test_the_pane_is_tagged_named_and_keeps_its_name(tmux: Any) -> None:
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    asked = "#{@knell_run} #{@knell_agent} #{window_name} #{automatic-rename} #{allow-rename}"
    assert tmux("display-message", "-p", "-t", place.pane, asked) == "r1 luna luna 0 0"


def test_arguments_arrive_as_they_are(tmux: Any, eventually: Eventually) -> None:
    evil = [";", "a;", "a\\;", "\\", "$HOME", "#{pid}", "#(touch x)", "", " ", "'\"", "-t", "é\n%H"]
    file = tmux.folder / "told"
    place = Tmux(tmux.env, timeout=60).open(
        launch(tmux, (sys.executable, "-c", TELLER, str(file), *evil))
    )
    eventually(file.exists)
    assert told(file)["argv"] == evil
    assert Tmux(tmux.env, timeout=60).look(place, "r1") == Present(_pid(tmux, place), "python")


def _pid(tmux: Any, place: Place) -> int:
    return int(tmux("display-message", "-p", "-t", place.pane, "#{pane_pid}"))


@pytest.mark.parametrize("way", ["new-session", "new-window"])
@pytest.mark.parametrize(
    "name",
    ["a b", "#{pid}", "##", "#[x", "a##[x#", "#(touch ran)", "%H", "x;", "x\\;", "#S#,#}", "~"],
)
def test_it_starts_in_the_directory_whatever_that_is_called(
    tmux: Any, eventually: Eventually, name: str, way: str
) -> None:
    file, directory = tmux.folder / "told", tmux.folder / name
    directory.mkdir()
    if way == "new-window":
        tmux("new-session", "-d", "-s", "knell")
    argv = (sys.executable, "-c", TELLER, str(file))
    Tmux(tmux.env, timeout=60).open(launch(tmux, argv, cwd=str(directory)))
    eventually(file.exists)
    assert told(file)["cwd"] == str(directory)
    assert not list(tmux.folder.rglob("ran"))


def test_a_missing_directory_is_an_error_not_another_directory(tmux: Any) -> None:
    with pytest.raises(PlaceFailed, match="there is no directory"):
        Tmux(tmux.env, timeout=60).open(launch(tmux, cwd=f"{tmux.folder}/nowhere"))
    assert tmux.sockets() == []


def test_a_server_that_we_start_is_not_branded(tmux: Any, eventually: Eventually) -> None:
    file = tmux.folder / "told"
    env = tmux.env | {"KNELL_RUN": "other", "KNELL_TOKEN": "secret", "KEPT": "1"}
    Tmux(env).open(launch(tmux, (sys.executable, "-c", TELLER, str(file))))
    eventually(file.exists)
    shown = tmux("show-environment", "-g").splitlines()
    assert [line for line in shown if "KNELL" in line] == ["KNELL_PLACE=1"]
    marks = [name for name in told(file)["env"] if name.startswith("KNELL")]
    assert marks == ["KNELL_PLACE"]
    assert told(file)["env"]["KEPT"] == "1"


def test_a_second_agent_gets_a_window_in_the_same_session(tmux: Any) -> None:
    first, second = (Tmux(tmux.env, timeout=60).open(launch(tmux, run=run)) for run in ("r1", "r2"))
    assert (first.server_pid, first.session) == (second.server_pid, second.session)
    assert first.pane != second.pane
    assert tmux("display-message", "-p", "-t", "knell:", "#{session_windows}") == "2"


def test_a_session_is_taken_by_its_whole_name(tmux: Any) -> None:
    tmux("new-session", "-d", "-s", "work-2", *SLEEPER)
    assert Tmux(tmux.env, timeout=60).open(launch(tmux, session="work")).session == "work"
    assert Tmux(tmux.env, timeout=60).open(launch(tmux, session="work-2")).session == "work-2"
    assert tmux("list-sessions", "-F", "#{session_name}:#{session_windows}") == "work:1\nwork-2:2"


@pytest.mark.parametrize(
    "name", ["v1.2:x", "#(touch ran)", "#{pid}", "$1", "=x", "-d", "%0", "a b"]
)
def test_the_session_that_is_reported_is_the_true_one(tmux: Any, name: str) -> None:
    places = [Tmux(tmux.env, timeout=60).open(launch(tmux, session=name)) for _ in range(2)]
    assert (
        tmux("list-sessions", "-F", "#{session_name}:#{session_windows}")
        == f"{session_name(name)}:2"
    )
    assert {place.session for place in places} == {session_name(name)}
    assert not list(tmux.folder.rglob("ran"))


def test_inside_tmux_the_agent_joins_the_session_without_taking_the_view(tmux: Any) -> None:
    tmux("new-session", "-d", "-s", "other", *SLEEPER)
    mine = tmux("new-session", "-d", "-s", "mine", "-P", "-F", "#{pane_id}", *SLEEPER)
    around = tmux("display-message", "-p", "#{socket_path},#{pid},0")
    place = Tmux(tmux.env | {"TMUX": around, "TMUX_PANE": mine}).open(launch(tmux))
    assert place.session == "mine"
    assert tmux("display-message", "-p", "-t", "=mine:", "#{pane_id}") == mine


def test_a_surrounding_tmux_that_is_gone_is_started_again(tmux: Any) -> None:
    gone = f"{tmux.folder}/gone"
    place = Tmux(tmux.env | {"TMUX": f"{gone},1,0", "TMUX_PANE": "%7"}).open(launch(tmux))
    assert (place.session, place.server) == ("knell", gone)


def test_a_server_is_a_name_or_a_path(tmux: Any) -> None:
    inside = Tmux(tmux.env | {"TMUX": f"{tmux.folder}/other,1,0", "TMUX_PANE": "%7"})
    named = inside.open(launch(tmux, server="fleet"))
    assert named.server == f"{tmux.folder}/tmux-{os.getuid()}/fleet"
    pathed = inside.open(launch(tmux, server=f"{tmux.folder}/own"))
    assert pathed.server == f"{tmux.folder}/own"
    assert named.server_pid != pathed.server_pid
    assert "TMUX_PANE" not in tmux("show-environment", "-g", server=named.server)


def test_many_may_open_the_first_session_at_once(tmux: Any) -> None:
    for server in "abc":
        with ThreadPoolExecutor(8) as pool:
            runs = [f"{server}{number}" for number in range(8)]
            launches = [launch(tmux, run=run, server=server) for run in runs]
            places = list(pool.map(Tmux(tmux.env, timeout=60).open, launches))
        assert len({place.pane for place in places}) == 8
        assert {(p.server_pid, p.session) for p in places} == {(places[0].server_pid, "knell")}
        looks = [Tmux(tmux.env, timeout=60).look(*pair) for pair in zip(places, runs, strict=True)]
        assert all(isinstance(look, Present) for look in looks)


@pytest.mark.parametrize("alone", [True, False])
def test_an_agent_that_exits_at_once_was_still_opened(
    tmux: Any, eventually: Eventually, *, alone: bool
) -> None:
    if not alone:
        tmux("new-session", "-d", "-s", "knell", *SLEEPER)
    for _ in range(10):
        place = Tmux(tmux.env, timeout=60).open(launch(tmux, ("sh", "-c", "exit 3")))
        assert re.fullmatch(r"%\d+", place.pane)
        eventually(
            lambda place=place: Tmux(tmux.env, timeout=60).look(place, "r1") == Absent("closed")
        )


def test_a_hook_that_renames_windows_does_not_cost_the_tag(tmux: Any) -> None:
    tmux("new-session", "-d", "-s", "knell", *SLEEPER)
    tmux("set-hook", "-g", "after-new-window", "rename-window -t '{end}' hooked")
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    assert isinstance(Tmux(tmux.env, timeout=60).look(place, "r1"), Present)


# -- look ------------------------------------------------------------------------------------------


def test_a_look_tells_pid_and_program(tmux: Any) -> None:
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    assert Tmux(tmux.env, timeout=60).look(place, "r1") == Present(_pid(tmux, place), "sleep")


def test_a_dead_pane_that_the_user_keeps_has_no_process(tmux: Any, eventually: Eventually) -> None:
    tmux("new-session", "-d", "-s", "knell", *SLEEPER)
    tmux("set-option", "-g", "remain-on-exit", "on")
    place = Tmux(tmux.env, timeout=60).open(launch(tmux, ("sh", "-c", "exit 3")))
    # tmux 3.3 may lose a SIGCHLD and hears of the death only with the next one.
    tmux("run-shell", "-b", "true")
    eventually(lambda: getattr(Tmux(tmux.env, timeout=60).look(place, "r1"), "pid", None) == 0)
    assert Tmux(tmux.env, timeout=60).close(place, "r1") == Closing(closed=True)


def test_another_runs_pane_is_not_ours(tmux: Any) -> None:
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    assert Tmux(tmux.env, timeout=60).look(place, "r2") == Absent("not ours")


def test_a_closed_pane_and_a_closed_server_are_absent(tmux: Any) -> None:
    tmux("new-session", "-d", "-s", "other", *SLEEPER)
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    tmux("kill-pane", "-t", place.pane)
    assert Tmux(tmux.env, timeout=60).look(place, "r1") == Absent("closed")
    tmux("kill-server")
    assert Tmux(tmux.env, timeout=60).look(place, "r1") == Absent("closed")
    os.unlink(place.server) if os.path.exists(place.server) else None
    assert Tmux(tmux.env, timeout=60).look(place, "r1") == Absent("closed")


def test_a_pane_of_the_same_number_on_a_new_server_is_not_taken_for_ours(
    tmux: Any, eventually: Eventually
) -> None:
    old = Tmux(tmux.env, timeout=60).open(launch(tmux))
    tmux("kill-server")
    eventually(lambda: Tmux(tmux.env, timeout=60).look(old, "r1") == Absent("closed"))
    new = Tmux(tmux.env, timeout=60).open(launch(tmux))
    assert (new.pane, new.server) == (old.pane, old.server)
    assert Tmux(tmux.env, timeout=60).look(old, "r1") == Absent("server restarted")
    assert Tmux(tmux.env, timeout=60).close(old, "r1") == Closing(closed=True)
    assert Tmux(tmux.env, timeout=60).screen(old) == ""
    with pytest.raises(PlaceFailed, match="is gone"):
        Tmux(tmux.env, timeout=60).type_text(old, "x")
    assert isinstance(Tmux(tmux.env, timeout=60).look(new, "r1"), Present)


def test_a_frozen_server_is_unknown_and_nothing_hangs(tmux: Any, eventually: Eventually) -> None:
    impatient = Tmux(tmux.env, timeout=0.3)
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    server = stopped(tmux, place, eventually)
    try:
        assert impatient.look(place, "r1") == Unknown("tmux did not answer within 0.3 s")
        closing = impatient.close(place, "r1")
        with pytest.raises(PlaceFailed, match="did not answer"):
            impatient.screen(place)
        with pytest.raises(PlaceFailed, match="did not answer"):
            impatient.type_text(place, "x")
    finally:
        os.kill(server, signal.SIGCONT)
    assert closing == Closing(
        closed=False,
        retry=f"tmux -S {place.server} kill-pane -t {place.pane}",
        why="tmux did not answer within 0.3 s",
    )


def test_a_frozen_server_does_nothing_later(tmux: Any, eventually: Eventually) -> None:
    impatient = Tmux(tmux.env, timeout=0.3)
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    server = stopped(tmux, place, eventually)
    try:
        with pytest.raises(PlaceFailed, match="did not answer"):
            impatient.open(launch(tmux, run="r2"))
        with pytest.raises(PlaceFailed, match="did not answer"):
            impatient.adopt(place.pane, "", "r3")
    finally:
        os.kill(server, signal.SIGCONT)
    assert tmux("list-panes", "-a", "-F", "#{@knell_run}") == "r1"


def test_the_retry_command_closes_the_pane(tmux: Any, folder: Path, eventually: Eventually) -> None:
    server = f"{folder}/it's here/sock"
    os.mkdir(os.path.dirname(server))
    place = Tmux(tmux.env, timeout=60).open(launch(tmux, server=server))
    without_tmux = Tmux({"PATH": str(folder)})
    closing = without_tmux.close(place, "r1")
    assert (closing.closed, closing.why) == (False, "tmux is not installed")
    subprocess.run(["sh", "-c", closing.retry], check=True)
    eventually(lambda: Tmux(tmux.env, timeout=60).look(place, "r1") == Absent("closed"))


def test_without_tmux_nothing_is_said_about_the_pane(tmux: Any, folder: Path) -> None:
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    assert Tmux({"PATH": str(folder)}).look(place, "r1") == Unknown("tmux is not installed")
    with pytest.raises(PlaceFailed) as failed:
        Tmux({"PATH": str(folder)}).open(launch(tmux))
    assert "--in" in failed.value.hint


def test_looking_costs_one_call_and_closing_two(tmux: Any, folder: Path) -> None:
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    Tmux(tmux.env, timeout=60).open(launch(tmux))  # a server that is just ending is asked again
    wrapper, calls = folder / "bin" / "tmux", folder / "calls"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho x >>"{calls}"\nPATH="{tmux.env["PATH"]}" exec tmux "$@"\n')
    wrapper.chmod(0o755)
    counted = Tmux(tmux.env | {"PATH": f"{wrapper.parent}:{tmux.env['PATH']}"})
    assert isinstance(counted.look(place, "r1"), Present)
    assert calls.read_text() == "x\n"
    assert counted.close(place, "r1").closed
    assert calls.read_text() == "x\n" * 3


# -- screen and keys -------------------------------------------------------------------------------


def test_the_screen_holds_the_last_lines_and_some_that_have_scrolled_away(
    tmux: Any, eventually: Eventually
) -> None:
    script = "seq 1 150; printf 'grüße ☃ \\n\\n'; exec sleep 1000"
    place = Tmux(tmux.env, timeout=60).open(launch(tmux, ("sh", "-c", script)))
    eventually(lambda: "☃" in Tmux(tmux.env, timeout=60).screen(place))
    lines = Tmux(tmux.env, timeout=60).screen(place).split("\n")
    assert lines[-1] == "grüße ☃"
    assert lines[-151:-1] == [str(number) for number in range(1, 151)]


def test_the_screen_of_a_pane_that_is_gone_is_empty(tmux: Any) -> None:
    tmux("new-session", "-d", "-s", "other", *SLEEPER)
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    tmux("kill-pane", "-t", place.pane)
    assert Tmux(tmux.env, timeout=60).screen(place) == ""
    tmux("kill-server")
    assert Tmux(tmux.env, timeout=60).screen(place) == ""


def listener(tmux: Any, eventually: Eventually, name: str = "heard") -> tuple[Place, Path]:
    file = tmux.folder / name
    place = Tmux(tmux.env, timeout=60).open(
        launch(tmux, (sys.executable, "-c", LISTENER, str(file)))
    )
    eventually(lambda: "ready" in Tmux(tmux.env, timeout=60).screen(place))
    return place, file


def heard(file: Path) -> list[tuple[float, str]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def text(file: Path) -> str:
    return "".join(burst for _, burst in heard(file))


def test_keys_and_text_are_typed_as_they_are(tmux: Any, eventually: Eventually) -> None:
    place, file = listener(tmux, eventually)
    typed = ""
    for key, burst in (("C-u", "\x15"), ("Escape", "\x1b"), ("Enter", "\r")):
        Tmux(tmux.env, timeout=60).press(place, key)
        Tmux(tmux.env, timeout=60).type_text(place, "-l /exit #{pid} é;")
        typed += f"{burst}-l /exit #{{pid}} é;"
        eventually(lambda typed=typed: text(file) == typed)


def test_a_person_who_scrolled_back_does_not_stop_the_text(
    tmux: Any, eventually: Eventually
) -> None:
    place, file = listener(tmux, eventually)
    tmux("copy-mode", "-t", place.pane)
    Tmux(tmux.env, timeout=60).type_text(place, "/exit")
    eventually(lambda: text(file) == "/exit")


def test_synchronised_panes_do_not_all_get_the_text(tmux: Any, eventually: Eventually) -> None:
    place, file = listener(tmux, eventually)
    beside = tmux.folder / "beside"
    tmux("split-window", "-d", "-t", place.pane, sys.executable, "-c", LISTENER, str(beside))
    eventually(beside.exists)
    tmux("set-option", "-w", "-t", place.pane, "synchronize-panes", "on")
    Tmux(tmux.env, timeout=60).press(place, "C-u")
    Tmux(tmux.env, timeout=60).type_text(place, "/exit")
    Tmux(tmux.env, timeout=60).press(place, "Enter")
    eventually(lambda: text(file) == "\x15/exit\r")
    assert text(beside) == ""
    assert tmux("display-message", "-p", "-t", place.pane, "#{pane_synchronized}") == "1"


# -- close -----------------------------------------------------------------------------------------


def test_closing_takes_the_pane_and_leaves_the_session(
    tmux: Any, eventually: Eventually, is_alive: Callable[[int], bool]
) -> None:
    mine, other = (Tmux(tmux.env, timeout=60).open(launch(tmux, run=run)) for run in ("r1", "r2"))
    pid = _pid(tmux, mine)
    tmux("split-window", "-d", "-t", mine.pane, *SLEEPER)
    assert Tmux(tmux.env, timeout=60).close(mine, "r1") == Closing(closed=True)
    eventually(lambda: not is_alive(pid))
    assert isinstance(Tmux(tmux.env, timeout=60).look(other, "r2"), Present)
    assert tmux("display-message", "-p", "-t", "knell:", "#{session_windows}") == "2"
    assert Tmux(tmux.env, timeout=60).close(mine, "r1") == Closing(closed=True)


def test_a_pane_that_is_somebody_elses_now_stays(tmux: Any) -> None:
    place = Tmux(tmux.env, timeout=60).open(launch(tmux))
    closing = Tmux(tmux.env, timeout=60).close(place, "r2")
    assert (closing.closed, closing.retry) == (False, "")
    assert "not this run's" in closing.why
    assert isinstance(Tmux(tmux.env, timeout=60).look(place, "r1"), Present)


def test_closing_the_last_pane_ends_the_server_and_is_still_seen(tmux: Any) -> None:
    for _ in range(20):
        place = Tmux(tmux.env, timeout=60).open(launch(tmux))
        assert Tmux(tmux.env, timeout=60).close(place, "r1") == Closing(closed=True)
        assert Tmux(tmux.env, timeout=60).look(place, "r1") == Absent("closed")


# -- adopt -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["pane", "session"])
def test_an_adopted_pane_is_the_runs(tmux: Any, by: str) -> None:
    tmux("new-session", "-d", "-s", "v1.0", *SLEEPER)
    tmux("new-session", "-d", "-s", "other", *SLEEPER)
    pane, socket = tmux(
        "display-message", "-p", "-t", "=v1_0:", "#{pane_id} #{socket_path}"
    ).split()
    place, pid = Tmux(tmux.env, timeout=60).adopt(pane if by == "pane" else "v1.0", "", "r9")
    assert (place.pane, place.server, place.session) == (pane, socket, "v1_0")
    assert Tmux(tmux.env, timeout=60).look(place, "r9") == Present(pid, "sleep")
    assert Tmux(tmux.env, timeout=60).close(place, "r9") == Closing(closed=True)
    assert tmux("list-sessions", "-F", "#{session_name}") == "other"


def test_a_session_of_several_panes_is_ambiguous(tmux: Any) -> None:
    tmux("new-session", "-d", "-s", "two", *SLEEPER)
    tmux("split-window", "-t", "two", *SLEEPER)
    with pytest.raises(Ambiguous) as refused:
        Tmux(tmux.env, timeout=60).adopt("two", "", "r1")
    assert refused.value.candidates == ("%0", "%1")


def test_what_is_not_there_cannot_be_adopted(tmux: Any) -> None:
    with pytest.raises(NoSuchAgent):
        Tmux(tmux.env, timeout=60).adopt("%0", "", "r1")
    with pytest.raises(NoSuchAgent):
        Tmux(tmux.env, timeout=60).adopt("work", "", "r1")
    tmux("new-session", "-d", "-s", "worker", *SLEEPER)
    for name in ("work", "%99", "worke", "nobody"):
        with pytest.raises(NoSuchAgent):
            Tmux(tmux.env, timeout=60).adopt(name, "", "r1")
