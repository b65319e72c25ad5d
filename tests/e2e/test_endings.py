"""How long each ending takes and what it leaves, without knell and with it."""

from typing import Any

import pytest

from e2e.claude_home import DOCILE, STUBBORN, ClaudeHome, reached
from e2e.ends import WAYS, measured
from e2e.report import PATIENCE, VERBS, Figures
from house import eventually
from scenes import end

HABITS = (DOCILE, STUBBORN)


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("way", WAYS)
def test_G12_alone_it_leaves_what_its_vendor_leaves(
    home: ClaudeHome, figures: Figures, way: str, habit: str
) -> None:
    """Without knell a stubborn MCP server outlives a closed pane and a killed Claude."""
    home.serve_mcp(habit)
    agent = home.spawn_plainly()
    figure = measured(home, agent, WAYS[way], PATIENCE)
    figures.alone[way, habit] = figure
    end(*home.members())
    if habit == STUBBORN:  # otherwise the tests with knell would prove nothing
        assert figure.left


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("way", WAYS)
def test_G2_under_knell_nothing_outlives_it(
    home: ClaudeHome, figures: Figures, way: str, habit: str
) -> None:
    """However Claude ends, typed, closed, terminated or killed, nothing of it is left."""
    home.serve_mcp(habit)
    agent = home.spawn()["pid"]
    figure = measured(home, agent, WAYS[way])
    figures.kept[way, habit] = figure
    assert figure.left == 0, f"left: {home.processes()}"
    eventually(lambda: not home.processes())


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("verb", VERBS)
def test_G2_every_verb_ends_everything(
    home: ClaudeHome, figures: Figures, verb: str, habit: str
) -> None:
    """stop, kill and kill --force end Claude and all that it started."""
    home.serve_mcp(habit)
    agent = home.spawn()["pid"]
    told: dict[str, Any] = {}

    def ends(home: ClaudeHome, pid: int) -> None:
        name, *flags = verb.split()
        told.update(home.end(name, "luna", *flags))

    figure = measured(home, agent, ends)
    figures.verbs[verb, habit] = figure._replace(rungs=" → ".join(reached(told)))
    assert figure.left == 0
    assert told["proof"] == "proven"
    assert agent in [process["pid"] for process in told["processes"]]
    times = [rung["at_ms"] for rung in told["rungs"] if rung["reached"]]
    assert times == sorted(times)
    assert times[-1] <= told["duration_ms"]
