"""Gemini alone: how it is followed by its log of what was typed (R5)."""

from pathlib import Path

import pytest

from e2e.conftest import chosen
from e2e.home import Home
from e2e.model import Server
from e2e.programs import GEMINI
from house import House


@pytest.fixture
def gemini(house: House, model: Server, commands: Path) -> Home:
    if GEMINI not in chosen():
        pytest.skip("KNELL_E2E_KINDS does not name gemini")
    return Home(house, model, commands, GEMINI)


def test_R5_after_clear_and_new_the_log_tells_which_conversation_it_is_in(gemini: Home) -> None:
    gemini.spawn()
    gemini.ask("heron")
    for command, word in (("/clear", "wren"), ("/new", "robin")):
        gemini.begin_anew(command)
        assert gemini.ask(word) == []
        shown = gemini.house.json("show", "luna")
        assert shown["conversation_source"] == "noted"
    gemini.end("kill", "luna")
    gemini.resume()
    assert gemini.ask("finch") == ["robin"]
    gemini.end("kill", "luna")
