"""Opencode alone: its plugin beside the user's, in its interface and without it (R1, R5)."""

import json
from pathlib import Path

import pytest

from e2e.conftest import chosen
from e2e.home import Home
from e2e.model import Server
from e2e.programs import OPENCODE
from house import House, eventually


@pytest.fixture
def opencode(house: House, model: Server, commands: Path) -> Home:
    if OPENCODE not in chosen():
        pytest.skip("KNELL_E2E_KINDS does not name opencode")
    return Home(house, model, commands, OPENCODE)


def told(home: Home) -> str:
    shown = home.house.json("show", "luna")
    return shown["conversation"] if shown["conversation_source"] == "told" else ""


def test_R1_its_interface_tells_and_follows_new(opencode: Home) -> None:
    opencode.spawn()
    opencode.ask("heron")
    first = eventually(lambda: told(opencode))
    opencode.begin_anew("/new")
    assert opencode.ask("wren") == []
    eventually(lambda: told(opencode) not in ("", first))
    opencode.end("kill", "luna")
    opencode.resume()
    assert opencode.ask("finch") == ["wren"]
    opencode.end("kill", "luna")


def test_R5_a_fork_is_followed_a_compaction_stays_and_after_new_it_is_unsure(
    opencode: Home,
) -> None:
    opencode.spawn()
    opencode.ask("heron")
    first = eventually(lambda: told(opencode))
    opencode.enter("/fork")
    opencode.shows("Full session")
    opencode.press("Enter")
    forked = eventually(lambda: told(opencode) not in ("", first) and told(opencode))
    opencode.becomes_ready()
    assert opencode.ask("wren") == ["heron"]
    opencode.enter("/compact")
    opencode.shows("Compaction")
    opencode.becomes_ready()
    assert told(opencode) == forked
    opencode.enter("/new")
    eventually(lambda: not told(opencode))
    opencode.end("kill", "luna")
    opencode.knell("resume", "luna", code=1)


def test_R1_run_tells_too_and_the_users_plugin_is_loaded(opencode: Home) -> None:
    """The plugin's package is installed by opencode first, from npm, where that can be reached."""
    mark = opencode.house.root / "loaded"
    plugin = opencode.house.root / "mine.js"
    write = f"require('node:fs').writeFileSync({json.dumps(str(mark))}, '')"
    plugin.write_text(f"export const mine = async () => {{ {write}; return {{}} }}\n")
    settings = opencode.house.home / ".config/opencode/opencode.json"
    document = json.loads(settings.read_text()) | {"plugin": [f"file://{plugin}"]}
    settings.write_text(json.dumps(document))
    where = ("--in", "headless", "--name", "luna")
    opencode.knell("spawn", *where, "opencode", "run", "say", "heron")
    eventually(lambda: told(opencode))
    eventually(lambda: opencode.house.json("show", "luna")["state"] == "ended")
    assert mark.exists()
