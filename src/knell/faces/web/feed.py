"""The thread that looks for `web`: one look serves all browsers, and without any it rests."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from knell.api import Knell
from knell.api.results import AgentView, Changes, Snapshot
from knell.core.errors import KnellError
from knell.faces.look_thread import LookThread
from knell.faces.text.tables import processes_json

TURN = 0.2  # seconds: a look at the newest event's number, which is one small read
LOOK = 2.0  # seconds between two looks at every agent
SHARE = 200  # a look that took a second of a core is made again after so many: half a percent, and
# the turns come on top of that
ENDED_SHOWN = 30
DRIFT = 2.0  # seconds by which a browser may be wrong about how long an agent has been quiet
PATIENCE = 60.0  # seconds that a browser waits for the first look


class WebScene(NamedTuple):
    """Everything that the page of agents shows, at one moment."""

    now: Snapshot
    ended: tuple[AgentView, ...] = ()

    def to_json(self) -> dict[str, Any]:
        orphans = processes_json(self.now.orphans)
        ended = [view.to_json() for view in self.ended]
        return self.now.to_json() | {"orphans": orphans, "ended": ended}


Publish = Callable[[int, dict[str, Any]], None]  # the number of the last event, and what is new


class WebFeed(LookThread):
    """Looks while a browser is there. A store that cannot be read is reported, and tried again."""

    def __init__(self, open_knell: Callable[[], Knell], publish: Publish) -> None:
        super().__init__("knell-web-feed", open_knell, resting=True)
        self._publish = publish
        self._begun = False  # a browser has come, which needs the whole picture
        self.scene: WebScene | None = None
        self.trouble = ""

    def begin(self) -> None:
        """The first browser has come: it gets the whole picture, as of now. One may have left a
        moment before, which this thread need not have noticed."""
        self._begun = True
        super().begin()

    def look_on(self, knell: Knell) -> None:
        try:
            self._feed(knell)
        except KnellError as error:
            self.trouble = str(error)
            self._publish(0, {"trouble": self.trouble})
            self.pause(LOOK)

    def _feed(self, knell: Knell) -> None:
        self._begun = False
        before = self.scene
        now = knell.changes(before.now).snapshot if before else knell.snapshot()
        scene = WebScene(now, tuple(knell.recently_ended(ENDED_SHOWN)))
        self.scene, self.trouble = scene, ""
        self._publish(now.last_event, scene.to_json() | {"full": True, "trouble": ""})
        looked_at, cost = time.monotonic(), 0.0
        while not (self._resting or self._begun or self._over):
            woken = self.pause(TURN)
            began = time.thread_time()
            due = time.monotonic() - looked_at >= max(LOOK, SHARE * cost)
            ending = any(view.state == "stopping" for view in scene.now.agents)
            fresh = knell.server.recorded_events(scene.now.last_event, limit=1)
            if not (woken or due or fresh or ending):
                continue
            scene = self._next(knell, scene, look=due)
            if due:
                looked_at, cost = time.monotonic(), time.thread_time() - began

    def _next(self, knell: Knell, before: WebScene, *, look: bool) -> WebScene:
        changes = knell.changes(before.now, look=look)
        told = told_changes(before.now, changes)
        ended = before.ended
        if changes.gone or any(one.type.startswith("life.") for one in changes.events):
            ended = tuple(knell.recently_ended(ENDED_SHOWN))
        if ended != before.ended:
            told["ended"] = [view.to_json() for view in ended]
        if any(view.state == "stopping" for view in changes.snapshot.agents):
            told["endings"] = [one._asdict() for one in knell.endings_underway(of_all=True)]
        self.scene = WebScene(changes.snapshot, ended)
        if told:
            head = {"at": changes.snapshot.at, "last_event": changes.snapshot.last_event}
            self._publish(changes.snapshot.last_event, told | head)
        return self.scene


def told_changes(before: Snapshot, changes: Changes) -> dict[str, Any]:
    """Only what a browser does not have yet."""
    now = changes.snapshot
    found: dict[str, Any] = {
        "rows": [view.to_json() for view in changes.rows],
        "gone": list(changes.gone),
        "events": [event._asdict() for event in changes.events],
        "ages": corrected_ages(before, now),
    }
    told = {what: items for what, items in found.items() if items}
    for name in ("states", "outcomes", "runs_bytes", "interrupted"):
        if getattr(before, name) != getattr(now, name):
            told[name] = getattr(now, name)
    if (before.watch and before.watch.pid) != (now.watch and now.watch.pid):
        told["watch"] = now.watch._asdict() if now.watch else None
    if before.orphans != now.orphans:
        told["orphans"] = processes_json(now.orphans)
    return told


def corrected_ages(before: Snapshot, now: Snapshot) -> Mapping[str, float | None]:
    """Agent → how long it has been quiet, where that is not what a clock would have made of it."""
    known = {view.name: view for view in before.agents}
    found: dict[str, float | None] = {}
    for view in now.agents:
        past, then = known.get(view.name), before.slow.measured.get(view.run)
        measured = now.slow.measured.get(view.run)
        if past is None or then is None or measured is None:
            continue
        expected = past.quiet_s and past.quiet_s + measured.at.awake - then.at.awake
        if expected != view.quiet_s and abs((expected or 0.0) - (view.quiet_s or 0.0)) > DRIFT:
            found[view.name] = view.quiet_s
    return found
