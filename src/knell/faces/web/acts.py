"""What the page does to agents: first the plan, then the deed, if it is still that plan."""

from collections.abc import Mapping, Sequence
from typing import Any

from knell.api import Knell
from knell.api.results import AgentView
from knell.core.errors import BadRequest
from knell.faces.deeds import DEEDS, Plan, shown
from knell.faces.far import deeds as far_deeds
from knell.faces.far.look import far_key
from knell.faces.web.far import FarNews
from knell.faces.web.feed import WebScene

DEED_NAMES = tuple(deed.name for deed in DEEDS)


def plan(
    knell: Knell, values: Mapping[str, Any], scene: WebScene | None, news: FarNews | None = None
) -> Plan:
    """The dry run. Runs and not names are meant: a name may belong to another run by now. One of
    another host is RUN@HOST."""
    runs = list(dict.fromkeys(values["runs"]))
    if not runs:
        raise BadRequest("runs is empty: no agent is meant")
    deed = next(deed for deed in DEEDS if deed.name == values["deed"])
    here, away = ([run for run in runs if ("@" in run) is other] for other in (False, True))
    there = news.scene(knell) if news and away else None
    far = [view for run in away if (view := there.find(run))] if there else []
    views = meant(knell, here, scene) if here else []
    return far_deeds.make_plan(knell, deed, views, far, there)


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
        "plan": made.hash if made.names else "",
        "agents": [
            *({"name": view.name, "run": view.run} for view in made.views),
            *({"name": far_deeds.name_of(view), "run": far_key(view)} for view in made.far),
        ],
        "lines": shown(made.lines),
    }


def act(knell: Knell, made: Plan) -> dict[str, Any]:
    """Carries out a plan that was agreed to; each run is looked at once more before it is."""
    done = far_deeds.carry_out(knell, made)
    told = {"deed": made.deed.name, "lines": shown(done.lines)}
    return told | ({"pending": done.pending} if done.pending else {})
