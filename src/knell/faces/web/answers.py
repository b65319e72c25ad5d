"""What the JSON API answers to those who look: one function a path, each over the API of knell."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from knell.api import Knell
from knell.core.errors import BadRequest, KnellError
from knell.faces.text.tables import story_json, verdict_json
from knell.faces.web.feed import WebScene

Values = Mapping[str, Any]
Answer = Callable[[Knell, Values], Any]
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?Z?")
SCREEN_LINES = 60
MOST_RIBBONS = 60  # runs that are asked for at once


def snapshot(knell: Knell, _: Values) -> Any:
    return WebScene(knell.snapshot(), tuple(knell.recently_ended())).to_json()


def agent(knell: Knell, values: Values) -> Any:
    """One agent: what `show --json` prints, with its verdict and its screen."""
    story = knell.show(values["name"])
    view = story.view
    verdict = screen = None
    if view.state != "ended":
        verdict = tried(lambda: verdict_json(knell.explain(view.name)))
    if view.run:
        screen = tried(lambda: {"lines": list(knell.logs(view.name, lines=SCREEN_LINES))})
    return story_json(story) | {"verdict": verdict, "screen": screen}


def tried(look: Callable[[], Any]) -> Any:
    """What was seen, or why it could not be."""
    try:
        return look()
    except KnellError as error:
        return {"error": {"code": error.code, "message": str(error)}}


def ribbons(knell: Knell, values: Values) -> Any:
    """Run → its last 24 hours, in stretches."""
    runs = values["runs"].split(",")[:MOST_RIBBONS]
    return {run: knell.sample_line(run, step=values["step"])._asdict() for run in runs}


def logs(knell: Knell, values: Values) -> Any:
    return {"lines": list(knell.logs(values["name"], lines=values["lines"]))}


def events(knell: Knell, values: Values) -> Any:
    found = knell.events(after=values["after"], agent=values["agent"], limit=values["limit"])
    return {"events": [event._asdict() for event in found]}


def receipts(knell: Knell, values: Values) -> Any:
    page = knell.receipts(values["text"], limit=values["limit"], before=values["before"])
    return page.to_json()


def receipt(knell: Knell, values: Values) -> Any:
    return knell.receipt(values["name"]).to_json()


def tasks(knell: Knell, _: Values) -> Any:
    """Every task of every team, with who claimed it when."""
    history = knell.task_history()
    steps = {task: [one._asdict() for one in found] for task, found in history.items()}
    known = [task._asdict() | {"history": steps.get(task.id, [])} for task in knell.tasks()]
    return {"tasks": known, "teams": [view.team._asdict() for view in knell.teams()]}


def worktrees(knell: Knell, _: Values) -> Any:
    return {"worktrees": [one._asdict() for one in knell.worktrees()]}


def night(knell: Knell, values: Values) -> Any:
    since = values["since"]
    if not MOMENT.fullmatch(since):
        raise BadRequest(f"{since!r:.60} is no time", "for example 2026-11-16T22:00:00Z")
    return knell.night(since).to_json()
