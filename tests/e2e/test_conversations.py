"""R1, R5 with the real programs: the conversation is followed, and known though nobody looked."""

import os
import signal

import pytest

from e2e.home import Home
from house import eventually


def told(home: Home) -> tuple[str, str]:
    shown = home.house.json("show", "luna")
    return shown["conversation"], shown["conversation_source"]


def begin_anew(home: Home) -> None:
    home.enter(home.program.anew[0])
    eventually(lambda: "amber" not in home.screen())
    home.becomes_ready()


def test_R5_after_a_new_one_and_a_crash_the_second_is_resumed(any_home: Home) -> None:
    if any_home.program.name not in ("claude", "codex"):
        pytest.skip("opencode and gemini have tests of their own")
    luna = any_home.spawn()
    any_home.ask("amber")
    first, _ = told(any_home)
    begin_anew(any_home)
    any_home.ask("basil")
    # The program writes what was said a little later than it shows it.
    eventually(lambda: any("basil" in one.read_text() for one in any_home.conversations()))
    os.kill(luna["pid"], signal.SIGKILL)
    eventually(lambda: any_home.house.json("show", "luna")["state"] == "ended")
    second, source = told(any_home)
    assert (source, first != second) == ("told", True)
    any_home.resume()
    assert any_home.ask("cedar") == ["basil"]
    any_home.house.run("kill", "luna")
