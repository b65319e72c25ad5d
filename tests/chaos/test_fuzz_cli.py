"""Fuzzing the command line: any words, any options, and a bystander who is never harmed."""

import os
from collections.abc import Iterator
from typing import NamedTuple

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.fuzzing import Said, Shell, fuzzed, hostile_words, shell_in
from chaos.report import Tally
from house import House, alive
from knell.faces.cli.group import VERBS, cli

pytestmark = pytest.mark.stress

# Not here: run becomes the agent; mcp, web and the link of a fleet serve until they are ended; demo
# has tests of its own.
SILENT = {"run", "mcp", "web", "link", "demo"}
ENDLESS = {"--follow", "-f", "--install", "--uninstall", "--help", "-h", "--wait"}


def commands() -> dict[tuple[str, ...], click.Command]:
    """Every verb and every verb below a verb."""
    found: dict[tuple[str, ...], click.Command] = {}
    for verb in VERBS:
        command = cli.get_command(click.Context(cli), verb)
        assert command
        if verb not in SILENT:
            found[(verb,)] = command
        if isinstance(command, click.Group):
            below = command.commands.items()
            found |= {(verb, word): one for word, one in below if word not in SILENT}
    return found


COMMANDS = commands()


def can_be_said(word: str) -> bool:
    """Whether the kernel would pass it on as an argument."""
    try:
        return "\0" not in word and len(os.fsencode(word)) < 100_000
    except UnicodeEncodeError:
        return False


words = hostile_words().filter(can_be_said)


@st.composite
def options_of(draw: st.DrawFn, command: click.Command) -> list[str]:
    """Some of its options, with values that they may not take."""
    known = [one for one in command.params if isinstance(one, click.Option)]
    said: list[str] = []
    for one in draw(st.lists(st.sampled_from(known), max_size=3)) if known else []:
        name = draw(st.sampled_from(one.opts))
        if name in ENDLESS:
            continue
        choices = one.type.choices if isinstance(one.type, click.Choice) else ()
        value = st.one_of(words, st.sampled_from(choices)) if choices else words
        said += [name] if one.is_flag else [name, draw(value)]
    return said


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, ...]:
    path = draw(st.sampled_from(sorted(COMMANDS)))
    said = draw(options_of(COMMANDS[path])) + draw(st.lists(words, max_size=3))
    if draw(st.integers(0, 3)) == 0:
        said = draw(st.permutations(said))
    once = ["--once"] if path in {("watch",), ("monitor",)} else []
    return (*path, *once, *said, *draw(st.sampled_from([(), ("--json",)])))


# -- the bystander ---------------------------------------------------------------------------------


class Scene(NamedTuple):
    house: House
    shell: Shell
    pids: tuple[int, ...]  # of luna, who is headless, and of nova, who is in tmux

    def unharmed(self) -> None:
        """Alive, and nobody ever claimed an ending of theirs."""
        assert all(map(alive, self.pids))
        for name in ("luna", "nova"):
            types = [event.type for event in self.house.knell.events(agent=name)]
            assert set(types) <= {"life.spawning", "life.started"}, types


@pytest.fixture
def scene(house: House) -> Iterator[Scene]:
    first = house.spawn(name="luna", tag="dev").run
    second = house.spawn(name="nova", place="tmux", server="test").run
    assert first.process
    assert second.process
    with shell_in(house) as shell:
        yield Scene(house, shell, (first.process.pid, second.process.pid))


@pytest.fixture
def broken(tally: Tally) -> Iterator[list[str]]:
    """Each thing that was tried and survived is counted."""
    tried: list[str] = []
    yield tried
    tally.broke("hostile command line", len(tried))


def spoke(said: Said) -> None:
    said.check()
    if "--json" in said.argv and said.code == 0 and said.out.startswith(("{", "[")):
        said.check_json()


@fuzzed(250)
@given(argv=command_lines())
def test_no_words_crash_the_command_line(
    scene: Scene, broken: list[str], argv: tuple[str, ...]
) -> None:
    """Whatever is typed, a command answers with a documented exit code and harms no bystander"""
    spoke(scene.shell.run(*argv))
    scene.unharmed()
    broken.append("")
