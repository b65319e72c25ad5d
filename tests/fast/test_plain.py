"""The command line without click means what it means with click."""

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.faces.cli import fastpath as plain
from knell.faces.cli.group import cli

WORDS = {
    "list": [
        *("--all", "-a", "--names", "-q", "--json", "x", "--al", "-aq", "--", "-h", "--all=1"),
        "--utc",
    ],
    "kill": [
        *("luna", "all", "tag:dev", "-", "", "--force", "-f", "--grace", "--grace=2", "--grace="),
        *("1.5", "nan", "-1", "1_0", "--reason", "--reason=a b", "--reason=", "--yes", "-y"),
        "--go",
        *("--dry-run", "-n", "--json", "--no-children", "--strict-pane", "--dissolve", "--dry"),
        *("--tasks", "fail", "--cleanup", "--cleanup=force", "--", "--help", "-fy", "--force=1"),
    ],
}  # fmt: skip
LINES = st.sampled_from(["list", "ls", "ps", "kill"]).flatmap(
    lambda verb: st.lists(st.sampled_from(WORDS["kill" if verb == "kill" else "list"]), max_size=6)
    .map(lambda words: [verb, *words])
)  # fmt: skip


def by_click(words: list[str]) -> dict[str, Any] | None:
    """What click makes of the same words; None where it refuses them, or only helps."""
    command = cli.get_command(click.Context(cli), words[0])
    assert command
    try:
        return command.make_context(words[0], words[1:]).params
    except (click.ClickException, click.exceptions.Exit):
        return None


@given(LINES)
def test_both_read_the_same(words: list[str]) -> None:
    """What is read without click is what click reads."""
    found = plain.read(words)
    if found is None:
        return
    _, targets, given = found
    given = {**given, "targets": targets}
    assert repr(sorted(given.items())) == repr(sorted((by_click(words) or {}).items()))


@pytest.mark.parametrize(
    "line",
    [
        *("list", "ls", "ps -q", "list --all --json", "kill luna", "kill luna nova --json"),
        *("kill all --yes", "kill -f luna", "kill --grace 0.5 luna", "kill luna --reason=done"),
    ],
)
def test_what_is_typed_all_day_needs_no_click(line: str) -> None:
    """The usual spellings are read without click."""
    assert plain.read(line.split()) is not None
    assert by_click(line.split()) is not None


@pytest.mark.parametrize(
    "line",
    [
        *("", "spawn x", "list x", "list --help", "kill --help", "kill -fn x", "kill --gra 1 x"),
        *("kill --grace", "kill --grace x y", "kill --grace -1 x", "kill x --reason --force"),
        *("kill -- x", "kill x --cleanup", "kill x --tasks fail", "kill x --force=1"),
    ],
)
def test_whatever_is_not_plain_is_left_to_click(line: str) -> None:
    """Help, abbreviations, rare options and mistakes are click's to answer."""
    assert plain.read(line.split()) is None
