"""docs/kinds.md and the help of spawn: its example works, and both name every kind."""

import re
from pathlib import Path

from house import House
from knell import kinds
from knell.faces.cli.verbs import start
from robin import Aviary, configure

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "kinds.md"


def example(house: House) -> None:
    found = re.search(r"test_docs.py -->\n```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    configure(house, found.group(1))


def test_the_example_in_the_docs_is_started_stopped_and_resumed(house: House) -> None:
    aviary = Aviary(house, example)
    talk = aviary.spawn()["conversation"]
    [receipt] = house.json("stop", "ada")["receipts"]
    assert (receipt["exit_code"], receipt["conversation"]["exists"]) == (0, True)
    assert house.run("resume", "ada").returncode == 0
    aviary.await_prompt()
    assert aviary.started()["argv"] == ["--again", talk]
    assert not [one for one in house.json("doctor")["findings"] if one["what"] == "kind robin"]


def test_the_help_of_spawn_names_every_kind() -> None:
    help = " ".join((start.spawn.help or "").split())
    names = ", ".join(name for name in kinds.built_in() if name != "command")
    assert f"KIND is {names}, or one of your own." in help


def test_the_page_has_a_row_or_a_column_for_every_kind() -> None:
    text = PAGE.read_text()
    for name in kinds.built_in():
        assert re.search(rf"(?m)^\| `{name}` \||^\|[^\n]* {name} \|", text) or name == "command"
