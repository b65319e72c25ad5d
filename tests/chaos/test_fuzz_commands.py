"""Fuzzing the orchestrator's JSON commands: an answer to everything, and no exception."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaos.fuzzing import Shell, fuzzed, hostile_words, json_values, shell_in
from chaos.report import Tally
from house import House, alive
from knell.life.orchestrator.invoke import COMMANDS, load_command

pytestmark = pytest.mark.stress

NAMES = [f"orchestrator.{short}" for short in COMMANDS]


class Scene(NamedTuple):
    house: House
    shell: Shell
    pid: int  # of luna, whom no command below names

    def check(self, answer: dict[str, Any]) -> None:
        """It says whether it could, as JSON, and luna is as she was."""
        assert isinstance(answer["success"], bool)
        assert answer["success"] or (answer["error"] and answer["message"])
        json.dumps(answer)
        assert alive(self.pid)
        types = {event.type for event in self.house.knell.events(agent="luna")}
        assert types <= {"life.spawning", "life.started"}, types


@pytest.fixture
def scene(house: House) -> Iterator[Scene]:
    run = house.spawn(name="luna").run
    assert run.process
    with shell_in(house) as shell:
        yield Scene(house, shell, run.process.pid)


@pytest.fixture
def tried(tally: Tally) -> Iterator[list[str]]:
    done: list[str] = []
    yield done
    tally.broke("hostile JSON command", len(done))


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A command, with some of its own parameters and some of nobody's."""
    name = draw(st.sampled_from(NAMES))
    known = [one.name for one in load_command(name).inputs if one.name != "COMMAND"]
    keys = st.one_of(st.sampled_from(known), hostile_words())
    return name, draw(st.dictionaries(keys, json_values(), max_size=3))


@fuzzed(200)
@given(call=calls())
@example(call=(NAMES[0], {"AGENT_ID": ""}))
@example(call=(NAMES[0], {"AGENT_ID": "\ud800"}))
@example(call=(NAMES[0], {"AGENT_ID": "*"}))
@example(call=(NAMES[2], {"HEARTBEAT_TIMEOUT": float("nan")}))
@example(call=(NAMES[2], {"HEARTBEAT_TIMEOUT": 10**400}))
def test_every_call_is_answered(
    scene: Scene, tried: list[str], call: tuple[str, dict[str, Any]]
) -> None:
    """Every JSON command answers whatever it is given, and ends nobody that it was not told to"""
    scene.check(scene.house.knell.invoke(*call))
    tried.append("")


@fuzzed(60)
@given(name=st.one_of(hostile_words(), json_values()), params=json_values())
def test_every_name_is_answered(scene: Scene, tried: list[str], name: Any, params: Any) -> None:
    """A command that nobody knows is answered too"""
    scene.check(scene.house.knell.invoke(name, params))
    tried.append("")


DEEP = "[" * 100_000
TEXTS = [
    "",
    "{",
    "}",
    "null",
    "[]",
    "1",
    '"x"',
    '{"AGENT_ID": "x", "AGENT_ID": "y"}',
    "{'a': 1}",
    '{"a": 1e999}',
    "NaN",
    "\ufeff{}",
    '{"\\ud800": 1}',
    DEEP,
    '{"a":' + DEEP,
    "9" * 5000,
    '{"a": ' + "9" * 5000 + "}",
    "{} {}",
    '{"AGENT_ID": "\x00"}',
    "AGENT_ID",
    "=",
    "=x",
    "AGENT_ID=" + "9" * 5000,
    "AGENT_ID=" + "[" * 50_000,
    "@",
    "@/",
    "@/no/such",
    "@\ud800",
]


@fuzzed(60)
@given(name=st.sampled_from(NAMES), text=st.one_of(st.sampled_from(TEXTS), st.text(max_size=20)))
@example(name=NAMES[0], text="AGENT_ID=" + "9" * 5000)
@example(name=NAMES[0], text='{"AGENT_ID": ' + "9" * 5000 + "}")
def test_any_text_is_JSON_or_refused(scene: Scene, tried: list[str], name: str, text: str) -> None:
    """`knell invoke` takes any text for JSON or says what is wrong with it"""
    if "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text):
        scene.shell.run("invoke", name, text, "--dry-run").check()
    if "\0" not in text:
        scene.shell.run("invoke", name, "-", "--dry-run", stdin=_sayable(text)).check()
    scene.check({"success": True})
    tried.append("")


def _sayable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
