"""One picture of everything: what `status`, `top`, `web` and the API show, and what has changed.

A snapshot is a value. The one after it takes over from it what need not be looked at every time.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from knell.core.ports.store import Event
from knell.core.ports.world import World
from knell.core.process import Alive, Unknown
from knell.core.run import Orphan, State
from knell.core.stall.signs import Clock
from knell.core.stall.verdict import Judgement
from knell.core.times import seconds_since_1970
from knell.core.watch_report import Drift
from knell.life.base.members import living_orphans
from knell.life.look.list import (
    INTERRUPTED,
    AgentView,
    LastVerdict,
    last_activity,
    list_agents,
)

ORPHANS_EVERY = 30.0  # seconds: it is searched for in every process of the machine
DISK_EVERY = 60.0  # seconds between two counts of what all runs take on the disk
TREE_EVERY = 60.0  # seconds between two looks at one worktree: git reads all of its files
TREES_A_TURN = 8
LIST_EVERY = 1.0  # seconds between two lists of the machine's processes
LATE = 8.0  # seconds in which the keeper of an agent that has gone may still write that down
MOST_EVENTS = 1000  # that one turn brings; the next ones come with the next turn


class WatchState(NamedTuple):
    """The watch that runs on this host."""

    pid: int
    round_at: str
    age_s: float | None  # seconds since its last round


class Measured(NamedTuple):
    """One reading of what a run uses. Two of them give its share of a processor."""

    at: Clock
    last: LastVerdict
    cpu: float | None  # seconds so far


class TreeState(NamedTuple):
    awake: float
    text: str


class SlowLooks(NamedTuple):
    """What a snapshot takes over from the one before, each with the time of its look."""

    orphans_at: float = -ORPHANS_EVERY
    orphans: tuple[Orphan, ...] = ()
    disk_at: float = -DISK_EVERY
    disk: int = 0
    trees: Mapping[str, TreeState] = {}
    measured: Mapping[str, Measured] = {}


class Snapshot(NamedTuple):
    """Every agent and what surrounds them, at one moment."""

    at: str
    host: str
    home: str
    last_event: int  # the number of the newest event when the rows were read
    states: Mapping[str, int]
    outcomes: Mapping[str, int]
    agents: tuple[AgentView, ...]
    orphans: tuple[Orphan, ...]
    interrupted: tuple[str, ...]
    watch: WatchState | None
    runs_bytes: int  # what the directories of all runs take on the disk
    slow: SlowLooks = SlowLooks()
    drifts: tuple[Drift, ...] = ()  # where the registry file says something else; only `status`

    @property
    def watcher(self) -> str:
        """The watch in words; empty if none runs."""
        found = self.watch
        return f"PID {found.pid}, last round at {found.round_at[:19]}Z" if found else ""

    def to_json(self) -> dict[str, Any]:
        document = self._asdict()
        del document["slow"], document["orphans"], document["drifts"]
        document["agents"] = [view.to_json() for view in self.agents]
        document["watch"] = self.watch._asdict() if self.watch else None
        return document | {"watcher": self.watcher}


class Changes(NamedTuple):
    snapshot: Snapshot
    events: tuple[Event, ...]
    rows: tuple[AgentView, ...]  # new ones, and those of which something changed
    gone: tuple[str, ...]  # agents that were listed before and are no more


def take_snapshot(
    world: World,
    judged: Sequence[Judgement] = (),
    before: Snapshot | None = None,
    *,
    with_ended: bool = False,
) -> Snapshot:
    """`judged`: verdicts that were made just now, with what the kernel showed. Without them, rows
    carry what was found last, and its age."""
    last_event = newest_event(world)  # before the rows: what changes later is told again
    slow = look_slowly(world, before.slow if before else SlowLooks())
    slow = slow._replace(measured=measure(world, judged, slow.measured))
    verdicts = last_activity(world) | {run: one.last for run, one in slow.measured.items()}
    views = list_agents(world, with_ended=with_ended, verdicts=verdicts)
    slow = slow._replace(trees=look_at_trees(world, views, slow.trees))
    trees = slow.trees
    views = [
        view._replace(worktree=trees[view.cwd].text) if view.cwd in trees else view
        for view in views
    ]
    live = [view for view in views if view.state != State.ENDED]
    outcomes = world.store.runs.outcomes()  # counted there: the ended may be a hundred thousand
    states = dict(Counter(view.state for view in live))
    if outcomes:
        states[State.ENDED.value] = sum(outcomes.values())
    return Snapshot(
        at=world.now(),
        host=world.host,
        home=world.home,
        last_event=last_event,
        states=states,
        outcomes=outcomes,
        agents=tuple(views),
        orphans=slow.orphans,
        interrupted=tuple(view.name for view in live if view.note_code in INTERRUPTED),
        watch=watch_state(world),
        runs_bytes=slow.disk,
        slow=slow,
    )


def changes_since(
    world: World, after: Snapshot, judged: Sequence[Judgement] = (), *, with_ended: bool = False
) -> Changes:
    """The next snapshot, and what it has that the earlier one had not."""
    now = take_snapshot(world, judged, after, with_ended=with_ended)
    events = world.store.events.read(after.last_event, "", MOST_EVENTS) if now.last_event else []
    if events:
        now = now._replace(last_event=events[-1].id)
    known = {view.name: view for view in after.agents}
    rows = tuple(v for v in now.agents if without_ages(known.get(v.name)) != without_ages(v))
    listed = {view.name for view in now.agents}
    return Changes(now, tuple(events), rows, tuple(name for name in known if name not in listed))


def without_ages(view: AgentView | None) -> AgentView | None:
    """A row that only grows older has not changed."""
    return view and view._replace(activity_age_s=None, heartbeat_age_s=None, quiet_s=None)


def newest_event(world: World) -> int:
    return max((event.id for event in world.store.events.read(0, "", 1)), default=0)


def measure(
    world: World, judged: Sequence[Judgement], before: Mapping[str, Measured]
) -> dict[str, Measured]:
    """What each run was found to do and to use; older ones with their age, as long as they live."""
    now = world.clock()
    live = {run.id for run in world.store.runs.live()}
    found = {
        run: one._replace(last=one.last._replace(age=round(now.awake - one.at.awake, 1)))
        for run, one in before.items()
        if run in live and one.at.boot == now.boot
    }
    for one in judged:
        look, verdict, past = one.look, one.verdict, before.get(one.run.id)
        quiet = None if verdict.quiet is None else round(verdict.quiet, 1)
        last = LastVerdict(
            verdict.activity.value,
            0.0,
            verdict.why,
            quiet,
            cpu_share(past, look.at, look.cpu_total),
            look.memory_mb,
            look.processes,
        )
        found[one.run.id] = Measured(look.at, last, look.cpu_total)
    return found


def cpu_share(before: Measured | None, at: Clock, seconds: float | None) -> float | None:
    """Percent of one processor since the reading before; None if there is none to compare with."""
    if before is None or before.cpu is None or seconds is None or before.at.boot != at.boot:
        return None
    passed = at.awake - before.at.awake
    return round(100.0 * max(0.0, seconds - before.cpu) / passed, 1) if passed > 0 else None


def look_slowly(world: World, before: SlowLooks) -> SlowLooks:
    """Orphans and the size of all runs, looked at again where the last look is too old."""
    now = world.clock().awake
    if now - before.orphans_at >= ORPHANS_EVERY:
        before = before._replace(orphans_at=now, orphans=tuple(living_orphans(world)))
    if now - before.disk_at >= DISK_EVERY:
        size = world.disk.allocated_bytes(world.rundir(""))
        before = before._replace(disk_at=now, disk=size)
    return before


def look_at_trees(
    world: World, views: Sequence[AgentView], before: Mapping[str, TreeState]
) -> dict[str, TreeState]:
    """The worktrees of live agents; a few of them are looked at again each time."""
    now = world.clock().awake
    paths = dict.fromkeys(view.cwd for view in views if view.state != State.ENDED)
    found = {path: before[path] for path in paths if path in before}
    due = [p for p in paths if p not in found or now - found[p].awake >= TREE_EVERY]
    heads = ((path, world.disk.head(os.path.join(path, ".git"))) for path in due)
    linked = (path for path, head in heads if head and head.startswith(b"gitdir:"))
    looked_at = islice(linked, TREES_A_TURN)
    return found | {path: TreeState(now, tree_text(world, path)) for path in looked_at}


def tree_text(world: World, path: str) -> str:
    """Its branch, and how many files hold work that is in no commit, or whether it is merged."""
    tree = world.worktrees().describe(path)
    if tree is None:
        return ""
    if isinstance(tree, Unknown):
        return "could not look"
    name = tree.branch or "detached"
    work = tree.changed + tree.untracked
    if work:
        return f"{name} *{work}"
    return f"{name} merged" if tree.merged_into else name


def watch_state(world: World) -> WatchState | None:
    found = world.store.watch.watcher(world.host)
    if not found or not found.process or not isinstance(world.processes.look(found.process), Alive):
        return None
    at = seconds_since_1970(found.round_at)
    age = None if at is None else round(max(0.0, world.seconds() - at), 1)
    return WatchState(found.process.pid, found.round_at, age)


class MovementLook:
    """Whether anything has happened since a snapshot: a few small reads, for a view that asks
    often. It asks for the newest event and for all processes, and remembers what it saw last."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._listed_at = -LIST_EVERY
        self._seen: set[int] = set()  # processes of agents
        self._gone: dict[int, float] = {}  # of those, the ones that have gone, and when

    def has_moved(self, since: Snapshot) -> bool:
        """Whether an event was written since, or an agent's process has gone whose end is not on
        record yet. A number that is given to another process is seen by the next real look."""
        if newest_event(self._world) != since.last_event:
            return True
        now = self._world.clock().awake
        if now - self._listed_at >= LIST_EVERY:
            self._listed_at = now
            self._list_processes(since, now)
        return any(view.pid in self._gone for view in since.agents) if self._gone else False

    def _list_processes(self, since: Snapshot, now: float) -> None:
        there = set(self._world.processes.pids())
        live = {view.pid for view in since.agents if view.pid and view.state != State.ENDED}
        known = self._seen | self._gone.keys()
        gone = {pid: self._gone.get(pid, now) for pid in (live & known) - there}
        self._gone = {pid: at for pid, at in gone.items() if now - at < LATE}
        self._seen = live & there
