"""The thread that looks for `top`: it hands the app one scene after the other, and costs little."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from knell.api import Knell
from knell.api.results import AgentView, Changes, EndingProgress, Event, Snapshot
from knell.core.errors import KnellError
from knell.core.fleet.target import EVERYWHERE, far_target, is_far
from knell.faces.look_thread import LookThread
from knell.faces.text.tables import tree_text, verdict_text
from knell.faces.top.rows import EndedAgent

TURN = 0.25  # seconds between two questions whether anything has happened
LOOK = 2.0  # seconds between two looks at every agent, at least
SHARE = 150  # a look that took a second of processor time is made again after so many
HASTE = 10  # the same for a turn that was made because something happened
CLOSE_SHARE = 400  # the same for the agent under the cursor: its processes, its screen
ENDED_SHOWN = 20
MOST_ENDED = 2000  # where more are on record, only those are shown that end from now on
EVENTS_SHOWN = 50


class Focus(NamedTuple):
    """What is known of the agent under the cursor."""

    run: str
    why: tuple[str, ...] = ()
    tree: tuple[str, ...] = ()
    screen: tuple[str, ...] = ()


class TopScene(NamedTuple):
    """Everything that one picture of `top` shows."""

    now: Snapshot
    ended: tuple[EndedAgent, ...] = ()
    events: tuple[Event, ...] = ()
    focus: Focus | None = None
    endings: tuple[EndingProgress, ...] = ()
    taken: float = 0.0  # by time.monotonic: the ages of its rows grow from then on


Show = Callable[[TopScene | None, str], None]  # the scene, or none, and what went wrong


class Feed(LookThread):
    """Looks until it is told to stop. A store that cannot be read is reported, and tried again."""

    def __init__(
        self, open_knell: Callable[[], Knell], targets: Sequence[str] | None, show: Show
    ) -> None:
        super().__init__("knell-top-feed", open_knell)
        self._targets = None if targets is None else tuple(targets)  # None: all are meant
        self._show = show
        self._wanted: AgentView | None = None  # the agent under the cursor
        self._ended: dict[str, EndedAgent] = {}
        self._events: list[Event] = []
        self._focus: Focus | None = None
        self._taken = 0.0
        self._close_at = 0.0  # when that one is looked at again

    def look_at(self, view: AgentView | None) -> None:
        """From now on this agent is looked at closely; the next turn does it."""
        self._wanted = view

    def look_on(self, knell: Knell) -> None:
        try:
            for scene in self._scenes(knell):
                self._show(scene, "")
        except KnellError as error:
            self._show(None, str(error))
            self.pause(LOOK)

    def _scenes(self, knell: Knell) -> Iterator[TopScene]:
        now = knell.snapshot()
        self._taken = time.monotonic()
        self._events = knell.events(limit=EVENTS_SHOWN)
        yield self._scene(knell, now)
        if now.states.get("ended", 0) <= MOST_ENDED:
            self._remember_ended(knell, knell.list(with_ended=True))
        self._look_closely(knell, now)
        yield self._scene(knell, now)
        looked_at, cost, rested_until = self._taken, 0.0, 0.0
        while not self._over:
            woken = self.pause(TURN)
            at, began = time.monotonic(), _spent()
            due = at - looked_at >= max(LOOK, SHARE * cost)
            ending = any(view.state == "stopping" for view in now.agents)
            moved = woken or ending or (at >= rested_until and knell.has_moved(now))
            if due or moved:
                changes = knell.changes(now, look=due)
                now, self._taken = changes.snapshot, time.monotonic()
                self._take_in(knell, changes)
            if not (self._look_closely(knell, now) or due or moved):
                continue
            yield self._scene(knell, now, ending=ending)
            if due:
                looked_at, cost = time.monotonic(), _spent() - began
            else:
                rested_until = time.monotonic() + HASTE * (_spent() - began)

    def _take_in(self, knell: Knell, changes: Changes) -> None:
        self._events = [*self._events, *changes.events][-EVENTS_SHOWN:]
        if changes.gone:
            self._remember_ended(knell, knell.views_of(*changes.gone))

    def _scene(self, knell: Knell, now: Snapshot, *, ending: bool = False) -> TopScene:
        ended = list(self._ended.values())
        if self._targets is not None:
            meant = _names_meant(knell, self._targets)
            now = now._replace(agents=tuple(v for v in now.agents if v.name in meant))
            ended = [one for one in ended if one.view.name in meant]
        live = {view.name for view in now.agents}
        ended = [one for one in ended if one.view.name not in live]
        ended.sort(key=lambda one: one.view.ended_at, reverse=True)
        return TopScene(
            now, tuple(ended[:ENDED_SHOWN]), tuple(self._events), self._focus,
            tuple(knell.endings_underway(of_all=True)) if ending else (), self._taken,
        )  # fmt: skip

    def _remember_ended(self, knell: Knell, views: Sequence[AgentView]) -> None:
        over = [v for v in views if v.state == "ended" and v.run]
        for view in sorted(over, key=lambda v: v.ended_at)[-ENDED_SHOWN:]:
            try:
                receipt = knell.receipt(f"id:{view.run}")
            except KnellError:
                receipt = None
            self._ended[view.name] = EndedAgent(view, receipt)

    def _look_closely(self, knell: Knell, now: Snapshot) -> bool:
        """At the agent under the cursor, where it is another one, was judged anew, or long ago."""
        wanted, before = self._wanted, self._focus
        if wanted is None:
            return False
        found = knell.found_last(wanted.run)
        why = tuple(verdict_text(found).splitlines()) if found else ()
        live = any(view.run == wanted.run for view in now.agents)
        if (
            before
            and before.run == wanted.run
            and not (live and time.monotonic() >= self._close_at)
        ):
            self._focus = before._replace(why=why) if live and why else before
            return self._focus != before
        began = _spent()
        close = knell.look_closely(wanted.run)
        tree = tuple(tree_text(close.processes).splitlines())
        why = why or ((close.trouble,) if close.trouble else ())
        self._focus = Focus(wanted.run, why, tree, close.screen)
        self._close_at = time.monotonic() + max(LOOK, CLOSE_SHARE * (_spent() - began))
        return self._focus != before


def _spent() -> float:
    """Seconds of processor time of this thread, and of the programs that were started."""
    used = os.times()
    return time.thread_time() + used.children_user + used.children_system


def local_targets(targets: Sequence[str], own: str) -> list[str] | None:
    """What targets mean on this host, whose name in the fleet is `own`; None: all of it."""
    if not targets:
        return None
    far = [far_target(one) for one in targets if own and is_far(one)]
    here = [one for one in targets if not (own and is_far(one))]
    return here + [one.what for one in far if one.host in (own, EVERYWHERE)]


def _names_meant(knell: Knell, targets: Sequence[str]) -> set[str]:
    """The agents that the targets mean now, as for `kill`; a target may come to mean none."""
    names: set[str] = set()
    for target in targets:
        with suppress(KnellError):
            names |= {view.name for view in knell.list(target, with_ended=True)}
    return names
