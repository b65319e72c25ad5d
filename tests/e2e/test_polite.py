"""R4, R2: leaving a real program whatever stands on its screen, and codex's shared daemon."""

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator

import pytest

from e2e.deeds import goes_on
from e2e.home import Home, reached
from house import eventually, pause, told

LINES = 14
MENUS = {"claude": "/config", "codex": "/model", "gemini": "/settings", "opencode": "/models"}
OPENED = {"claude": "Auto-compact", "codex": "Select Model", "gemini": "Vim Mode"}
OPENED["opencode"] = "Select model"


def paste(home: Home) -> None:
    """More lines than a program shows: most of them draw a short word for it."""
    text = "\n".join(f"say pasted {number}" for number in range(LINES))
    before = home.screen()
    home.house.tmux("set-buffer", "-b", "draft", text)
    home.house.tmux("paste-buffer", "-p", "-d", "-b", "draft", "-t", home.pane)
    eventually(lambda: home.screen() != before)


def shell_mode(home: Home) -> None:
    home.press("!")
    pause(0.5)
    home.type("touch proof")


def wrap(home: Home) -> None:
    """One line that is longer than the pane is wide."""
    home.type("say never")
    home.house.tmux("send-keys", "-t", home.pane, "-l", " and never again" * 20)


def menu(home: Home) -> None:
    home.enter(MENUS[home.program.name])
    home.shows(OPENED[home.program.name])


def narrow(home: Home) -> None:
    """Eighty columns, and three lines."""
    home.house.tmux("resize-window", "-t", home.pane, "-x", "80", "-y", "24")
    for line in ("say never", "say again", "say more"):
        home.type(line)
        home.press("C-j")


def wide(home: Home) -> None:
    home.house.tmux("resize-window", "-t", home.pane, "-x", "200", "-y", "50")
    home.type("say never")


STATES: dict[str, Callable[[Home], None]] = {
    one.__name__: one for one in (paste, shell_mode, wrap, menu, narrow, wide)
}


@pytest.mark.parametrize("state", STATES)
def test_R4_nothing_is_sent_run_or_switched_by_leaving(any_home: Home, state: str) -> None:
    """`stop` with a draft that was pasted, that wraps, in shell mode, in a menu, at 80 and 200."""
    home = any_home
    home.spawn()
    goes_on(home, "amber", [])
    STATES[state](home)
    before = home.prompts()
    receipt = home.end("stop", "luna")
    assert home.prompts() == before
    assert list(home.project.glob("proof*")) == []
    codes = [one["code"] for one in receipt["warnings"]]
    assert ("exit_keys" in reached(receipt)) is ("exit_keys_not_typed" not in codes)


def test_R9_an_idle_program_leaves_by_its_own_word_and_all_are_counted(any_home: Home) -> None:
    """`stop` of an idle agent: its own exit word, and every process is on the receipt."""
    home = any_home
    home.spawn()
    goes_on(home, "amber", [])
    members = settled(home)
    receipt = home.end("stop", "luna")
    assert reached(receipt) == ["exit_keys"], receipt["warnings"]
    assert set(members) <= {process["pid"] for process in receipt["processes"]}


def settled(home: Home) -> list[int]:
    """Its processes once none comes or goes: codex looks at git after a turn."""
    seen = [home.members()]

    def same() -> bool:
        pause(2.0)
        seen.append(home.members())
        return seen[-1] == seen[-2]

    eventually(same)
    return seen[-1]


# -- codex's daemon ------------------------------------------------------------------------------


@contextlib.contextmanager
def daemon_ended(home: Home) -> Iterator[None]:
    """Whatever codex's own daemon is and runs at the end is ended."""
    yield
    for pid in home.processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not home.processes())


def tools(home: Home) -> list[int]:
    return [pid for pid, command in home.processes().items() if "sleep 7774" in command]


def test_R3_an_update_question_is_not_answered(any_home: Home) -> None:
    """A codex that asks at its start whether to update itself: it is seen to ask, and `stop` does
    not say yes."""
    home = any_home
    if home.program.name != "codex":
        pytest.skip("only codex asks before it starts")
    home.spawn()
    goes_on(home, "amber", [])
    home.end("stop", "luna")
    folder = home.house.home / ".codex"
    settings = folder / "config.toml"
    settings.write_text(settings.read_text().replace("on_startup = false", "on_startup = true"))
    newer = {"latest_version": "999.0.0", "last_checked_at": "2099-01-01T00:00:00Z"}
    (folder / "version.json").write_text(json.dumps(newer))
    bin = home.house.root / "bin"
    bin.mkdir()
    (bin / "npm").write_text(f"#!/bin/sh\ntouch {home.project}/proof\n")
    (bin / "npm").chmod(0o755)
    home.house.env["PATH"] = f"{bin}:{home.house.env['PATH']}"
    done = home.knell("resume", "luna")
    assert "Update now" in done.stderr
    assert "Update now" in home.knell("explain", "luna").stdout
    home.pane = home.pane_of("luna")
    home.shows("Update now")
    home.end("stop", "luna")
    assert list(home.project.glob("proof*")) == []
    assert home.house.json("show", "luna")["resume"]


@pytest.mark.parametrize("adopted", ["first", "second"])
def test_R2_two_codexes_on_one_daemon(any_home: Home, adopted: str) -> None:
    """The adopted codex is ended; the other, which shares the daemon, goes on working."""
    home = any_home
    if home.program.name != "codex":
        pytest.skip("only codex has a daemon that each session uses")
    with daemon_ended(home):
        panes: list[str] = []
        for word in ("amber", "beryl"):
            home.spawn_plainly()
            panes.append(home.pane)
            goes_on(home, word, [])
        eventually(lambda: any("--managed-daemon" in told(pid) for pid in home.processes()))
        ended, other = panes if adopted == "first" else reversed(panes)
        home.pane = ended
        home.say("run sleep 7774", home.program.question)
        home.press("y")
        eventually(lambda: tools(home))
        home.knell("adopt", ended, "-L", "test", "--name", "luna")
        receipt = home.receipt("kill", "luna")
        home.pane = other
        goes_on(home, "coral", ["beryl" if adopted == "first" else "amber"])
        texts = [one["text"] for one in receipt["warnings"] if one["code"] == "daemon_work"]
        assert all(f"(PID {tool})" in "".join(texts) for tool in tools(home))
        assert "codex app-server daemon stop" in "".join(texts)
