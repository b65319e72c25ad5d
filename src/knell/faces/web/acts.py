"""What the page does to agents: first the plan, then the deed, if it is still that plan."""

from collections.abc import Mapping, Sequence
from typing import Any

from knell.api import Knell
from knell.api.results import AgentView
from knell.core.errors import BadRequest
from knell.faces.deeds import DEEDS, AgentDeed, Plan, carry_out, make_plan, shown
from knell.faces.web.feed import WebScene

DEED_NAMES = tuple(deed.name for deed in DEEDS)


def plan(knell: Knell, values: Mapping[str, Any], scene: WebScene | None) -> Plan:
    """The dry run. Runs and not names are meant: a name may belong to another run by now."""
    runs = list(dict.fromkeys(values["runs"]))
    if not runs:
        raise BadRequest("runs is empty: no agent is meant")
    return make_plan(knell, deed_named(values["deed"]), meant(knell, runs, scene))


def deed_named(name: str) -> AgentDeed:
    return next(deed for deed in DEEDS if deed.name == name)


def meant(knell: Knell, runs: Sequence[str], scene: WebScene | None) -> list[AgentView]:
    """The rows of these runs, with the worktrees that were looked at a moment ago."""
    trees = {view.run: view.worktree for view in scene.now.agents} if scene else {}
    known = {view.run: view for view in knell.list(with_ended=True) if view.run}
    found = [known[run] for run in runs if run in known]
    return [view._replace(worktree=trees.get(view.run, view.worktree)) for view in found]


def plan_json(made: Plan) -> dict[str, Any]:
    return {
        "deed": made.deed.name,
        "word": made.deed.word,
        "plan": made.hash if made.views else "",
        "agents": [{"name": view.name, "run": view.run} for view in made.views],
        "lines": shown(made.lines),
    }


def act(knell: Knell, made: Plan) -> dict[str, Any]:
    """Carries out a plan that was agreed to; each run is looked at once more before it is."""
    return {"deed": made.deed.name, "lines": shown(carry_out(knell, made))}
