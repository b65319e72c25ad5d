"""Headless, and the terminal one is in: no pane, so nothing to open, look at or close."""

import json
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from knell.core.errors import PlaceFailed
from knell.core.ports.terminal import Absent, Closing, Launch
from knell.core.run import Place
from knell.places.headless import Headless
from knell.places.this_terminal import ThisTerminal, here

Eventually = Callable[[Callable[[], object]], None]

# Detaches as a keeper does, and writes down what it finds itself with.
DAEMON = """
import json, os, signal, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
files = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
         if os.path.exists(f"/proc/self/fd/{fd}")}
told = {"pid": os.getpid(), "session": os.getsid(0), "files": files,
        "env": dict(os.environ), "argv": sys.argv[1:],
        "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, ()))}
print("to stdout", flush=True)
print("to stderr", file=sys.stderr, flush=True)
with open("told.part", "w") as file: json.dump(told, file)
os.rename("told.part", "told")
signal.pause()
"""


@pytest.fixture
def daemon(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Eventually,
    is_alive: Callable[[int], bool],
) -> Iterator[Callable[[Headless], tuple[Place, dict[str, Any]]]]:
    """Start one in `folder` and learn what it found; it is ended, and gone, after the test."""
    monkeypatch.chdir(folder)
    started: list[int] = []

    def start(headless: Headless) -> tuple[Place, dict[str, Any]]:
        argv = (sys.executable, "-c", DAEMON, "a b", "")
        place = headless.open(Launch("r1", "luna", argv, str(folder), rundir=str(folder)))
        eventually((folder / "told").exists)
        told = json.loads((folder / "told").read_text())
        started.append(told["pid"])
        return place, told

    yield start
    for pid in started:
        os.kill(pid, signal.SIGKILL)
        eventually(lambda pid=pid: not is_alive(pid))


def test_it_runs_detached_with_its_output_in_a_file_of_its_own(daemon: Any, folder: Path) -> None:
    place, told = daemon(Headless(os.environ))
    log = str(folder / "output.log")
    assert place == Place("headless", log=log)
    assert Headless(os.environ).screen(place) == "to stdout\nto stderr\n"
    assert stat.S_IMODE(os.stat(log).st_mode) == 0o600
    assert told["session"] != os.getsid(0)
    assert told["argv"] == ["a b", ""]


def test_none_of_our_files_and_signals_are_passed_on(daemon: Any, folder: Path) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        with open(folder / "secret", "w") as secret:
            # As a shell leaves its own files open to us.
            os.set_inheritable(secret.fileno(), True)  # noqa: FBT003 - it has no name
            _, told = daemon(Headless(os.environ))
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    log = str(folder / "output.log")
    assert told["files"] == {"0": os.devnull, "1": log, "2": log}
    assert told["blocked"] == 0


def test_it_does_not_pass_for_a_member_of_the_callers_run(daemon: Any) -> None:
    _, told = daemon(Headless({**os.environ, "KNELL_RUN": "other", "KEPT": "1"}))
    assert [name for name in told["env"] if name.startswith("KNELL_")] == []
    assert told["env"]["KEPT"] == "1"


def test_older_output_is_kept(daemon: Any, folder: Path) -> None:
    (folder / "output.log").write_text("before\n")
    place, _ = daemon(Headless(os.environ))
    assert Headless({}).screen(place) == "before\nto stdout\nto stderr\n"


def launch(folder: Path, *argv: str) -> Launch:
    return Launch("r1", "luna", argv, str(folder), rundir=str(folder))


def test_what_cannot_be_started_is_an_error(folder: Path) -> None:
    for argv in (("/no/such/program",), ("no-such-program",), ("sh", "-c", "exit 3")):
        with pytest.raises(PlaceFailed):
            Headless(os.environ).open(launch(folder, *argv))
    nowhere = launch(folder, "true")._replace(rundir=f"{folder}/nowhere")
    with pytest.raises(PlaceFailed, match="cannot write"):
        Headless(os.environ).open(nowhere)


def test_what_does_not_detach_is_ended(folder: Path, is_alive: Callable[[int], bool]) -> None:
    pid_file = folder / "pid"
    stays = launch(folder, "sh", "-c", f"echo $$ >'{pid_file}'; exec sleep 1000")
    with pytest.raises(PlaceFailed, match="did not detach"):
        Headless(os.environ, timeout=0.5).open(stays)
    assert not is_alive(int(pid_file.read_text()))


def test_the_output_is_not_written_through_a_link(folder: Path) -> None:
    (folder / "output.log").symlink_to(folder / "elsewhere")
    with pytest.raises(PlaceFailed, match="cannot write"):
        Headless(os.environ).open(launch(folder, "true"))
    assert not (folder / "elsewhere").exists()


def test_the_screen_is_the_last_of_the_output(folder: Path) -> None:
    log = folder / "output.log"
    place = Place("headless", log=str(log))
    assert Headless({}).screen(place) == ""
    log.write_bytes(b"x" * 20_000 + b"\xff end")
    screen = Headless({}).screen(place)
    assert len(screen) == 16 * 1024
    assert screen.endswith("x\N{REPLACEMENT CHARACTER} end")
    with pytest.raises(PlaceFailed, match="cannot read"):
        Headless({}).screen(Place("headless", log=str(folder)))


@pytest.mark.parametrize("plug", [Headless({}), ThisTerminal({})], ids=lambda plug: plug.name)
def test_there_is_no_pane(plug: Headless | ThisTerminal) -> None:
    place = Place(plug.name)
    assert not plug.has_panes
    assert isinstance(plug.look(place, "r1"), Absent)
    with pytest.raises(PlaceFailed):
        plug.type_text(place, "/exit")
    with pytest.raises(PlaceFailed):
        plug.adopt("%0", "", "r1")


def test_closing_nothing_is_done_at_once() -> None:
    assert Headless({}).close(Place("headless"), "r1") == Closing(closed=True)


# -- the terminal one is in ------------------------------------------------------------------------


def test_our_own_terminal_is_never_opened_and_never_closed(folder: Path) -> None:
    with pytest.raises(PlaceFailed, match="knell run"):
        ThisTerminal({}).open(launch(folder, "true"))
    closing = ThisTerminal({}).close(Place("terminal"), "r1")
    assert (closing.closed, closing.retry) == (False, "")


def test_outside_tmux_it_has_no_screen_to_show() -> None:
    for env in ({}, {"TMUX": "/x,1,0"}, {"TMUX_PANE": "%0"}, {"TMUX": "odd", "TMUX_PANE": "%0"}):
        assert here(env) == Place("terminal")
    assert ThisTerminal({}).screen(Place("terminal")) == ""


def test_inside_tmux_its_screen_is_the_panes(tmux: Any, eventually: Eventually) -> None:
    around = tmux(
        "new-session", "-d", "-P", "-F", "#{socket_path},#{pid},0 #{pane_id}", "sh", "-c",
        "echo here we are; exec sleep 1000",
    )  # fmt: skip
    surrounding, pane = around.split()
    env = tmux.env | {"TMUX": surrounding, "TMUX_PANE": pane}
    place = here(env)
    assert (place.name, place.pane, place.server) == ("terminal", pane, surrounding.split(",")[0])
    eventually(lambda: ThisTerminal(env).screen(place) == "here we are")
