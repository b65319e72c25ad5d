"""The watch: one process a host that keeps the books true and notices who no longer works.

Each round: take in what keepers wrote, finish endings that were interrupted, judge everybody, act
by policy, start again what should come back. Everything it does is an event, so that its log is
the audit trail. It holds nothing that matters in its own memory: killed at any moment, the next
watcher, or the next command, goes on from the store.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from quell.core import ladder as ladders
from quell.core.errors import BadRequest, QuellError, StoreFailed
from quell.core.lifecycle import Outcome, State
from quell.core.policy import Policy, parsed_policy, parsed_rules, policy_of
from quell.core.ports import World
from quell.core.process import Alive, Gone, ProcessId
from quell.core.run import Ending, Run
from quell.core.stall import Activity
from quell.core.watched import Drift, Told, Trouble
from quell.core.worktree import Cleanup
from quell.life.backends.server_ends import reap_unused
from quell.life.before import Way
from quell.life.birth import SPAWNER_DIED, never_came
from quell.life.cleanup import sweep_sessions
from quell.life.ending import end_runs
from quell.life.lease import take_lease
from quell.life.looking.looks import Eyes
from quell.life.orphans import forget_dead
from quell.life.reconcile import reconcile
from quell.life.restart import next_due, plan_restarts, start_due
from quell.life.settle import settle
from quell.life.stalled import (
    Judged,
    details_of,
    end_if_still,
    judged,
    patience_of,
    verdicts,
    write_down,
)
from quell.life.together.seeing import Seer

T = TypeVar("T")

BY = "watch"
WORTH_TELLING = (Activity.STALLED, Activity.WAITING)  # work and rest come and go all day
SHORTEST, LONGEST = 0.05, 3600.0  # seconds between two rounds
BIRTH = 0.5  # seconds in which a spawn usually comes to something
BREATH = 0.05  # between two pulses: a burst of deaths is taken in together


class WatchWish(NamedTuple):
    policy: str = ""  # report, stop or kill; empty: as configured
    rules: tuple[str, ...] = ()  # "tag:night=kill", after the configured ones
    interval: float | None = None
    older_than: float | None = None


def watch(world: World, wish: WatchWish) -> Iterator[Told]:
    """Watches for ever; yields what happens, whoever did it. Refused while another watches."""
    watcher = Watch(world, wish)
    take_lease(world)
    return watcher.live()


class Round(NamedTuple):
    """What a single round found and did."""

    drifts: list[Drift]
    judged: list[Judged]
    told: list[Told]


def watch_once(world: World, wish: WatchWish, *, dry_run: bool = False) -> Round:
    """One round; with `dry_run`, only its looks."""
    if dry_run:
        drifts = reconcile(world, dry_run=True)
        return Round(drifts, judged(world, patience_of(world, wish.older_than)), [])
    watcher = Watch(world, wish)
    told = list(watcher.round())
    return Round([one for one in told if isinstance(one, Drift)], watcher.found, told)


def checked_interval(seconds: float) -> float:
    if not SHORTEST <= seconds <= LONGEST:
        raise BadRequest(
            f"an interval of {seconds} seconds is not between {SHORTEST} and {LONGEST:.0f}",
            "give it in seconds, for example 15",
        )
    return seconds


def worth_telling(one: Judged) -> bool:
    now, before = one.verdict.activity, one.told
    return now != before and (now in WORTH_TELLING or before in WORTH_TELLING)


def checked_cleanup(word: str) -> str:
    if word and word not in set(Cleanup):
        raise BadRequest(
            f"watch.cleanup = '{word}' is unknown", f"use one of {', '.join(Cleanup)}, or nothing"
        )
    return word


class Watch:
    def __init__(self, world: World, wish: WatchWish) -> None:
        settings = world.settings
        self.world = world
        asked = settings.watch_interval if wish.interval is None else wish.interval
        self.interval = checked_interval(asked)
        self.patience = patience_of(world, wish.older_than)
        self.usual = parsed_policy(wish.policy or settings.stall_policy)
        self.rules = parsed_rules((*settings.stall_policies, *wish.rules))
        self.cleanup = checked_cleanup(settings.stall_cleanup)
        self.runs = os.path.dirname(world.rundir("any"))  # where new runs appear
        self.eyes, self.seer = Eyes(world), Seer(world, BY)
        self.last_event = max((event.id for event in world.store.events(0, "", 1)), default=0)
        self.found: list[Judged] = []  # in the last round
        self.troubles: list[Trouble] = []
        self.store_failed = False
        self.mourned: set[str] = set()  # runs whose end has woken us; something of them may linger
        self.known: set[Told] = set()  # drifts and troubles that were told already

    # -- the loop -----------------------------------------------------------------------------

    def live(self) -> Iterator[Told]:
        clock = self.world.clock
        os.makedirs(self.runs, mode=0o700, exist_ok=True)
        self.world.kernel.wait([], 0, self.runs)  # from now on, whoever is started is heard
        while True:
            yield from self.round()
            until = clock().awake + self.interval
            while (left := until - clock().awake) > 0:
                self.sleep(left)
                if clock().awake < until:  # somebody came or went, or a restart is due
                    yield from self.pulse()
                    self.world.kernel.wait([], BREATH)

    def sleep(self, seconds: float) -> None:
        """Until somebody dies or is started, or something is due."""
        here = self.tried(self.here) or []
        watched, dead = self.living_and_dead(here)
        unheard, self.mourned = dead - self.mourned, dead
        if unheard:
            return  # died since the last look: it would wake nobody
        due = self.tried(lambda: next_due(self.world))
        if any(run.state is not State.RUNNING for run in here):
            seconds = min(seconds, BIRTH)  # somebody is starting or ending it, and will write soon
        seconds = seconds if due is None else min(seconds, due)
        self.world.kernel.wait(watched, seconds, self.runs)

    def living_and_dead(self, runs: Sequence[Run]) -> tuple[list[ProcessId], set[str]]:
        """Whose end is the end of a run, keepers first; and the runs of which all is gone."""
        living: list[ProcessId] = []
        dead: set[str] = set()
        for run in runs:
            known = [process for process in (run.keeper, run.process) if process]
            seen = [self.world.kernel.look(process) for process in known]
            living += [p for p, s in zip(known, seen, strict=True) if isinstance(s, Alive)][:1]
            if known and all(isinstance(one, Gone) for one in seen):
                dead.add(run.id)
        return living, dead

    def here(self) -> list[Run]:
        return [run for run in self.world.store.live_runs() if run.host == self.world.host]

    def round(self) -> Iterator[Told]:
        """Everything once. A step that fails is told, and does not keep the others from theirs."""
        self.troubles = []
        if self.store_failed:
            self.tried(self.reconnect)
        drifts = self.tried(lambda: reconcile(self.world)) or []
        steps = (self.take_in, self.finish_interrupted, self.seer.see_through, self.judge)
        for step in (*steps, self.bring_back):
            self.tried(step)
        self.tried(lambda: self.world.store.watching(self.world.host, self.world.kernel.me()))
        yield from self.news(drifts)

    def pulse(self) -> Iterator[Told]:
        """What cannot wait for the next round: a death, and the restart that follows."""
        self.troubles = []
        for step in (self.take_in, self.bring_back):
            self.tried(step)
        yield from self.news(())

    def tried(self, step: Callable[[], T]) -> T | None:
        try:
            return step()
        except QuellError as error:
            self.store_failed |= isinstance(error, StoreFailed)
            self.troubles.append(Trouble(str(error)))
            return None

    def reconnect(self) -> None:
        """The file may be another by now; in a new one, everything is news."""
        self.world.reconnect()
        self.store_failed = False
        newest = max((event.id for event in self.world.store.events(0, "", 1)), default=0)
        self.last_event = self.last_event if newest >= self.last_event else 0

    def news(self, drifts: Sequence[Drift]) -> Iterator[Told]:
        events = self.tried(lambda: self.world.store.events(self.last_event, "", 10_000))
        for event in events or ():
            self.last_event = event.id
            yield event
        now: set[Told] = {*drifts, *self.troubles}
        yield from (one for one in (*drifts, *self.troubles) if one not in self.known)
        self.known = now

    # -- the steps ----------------------------------------------------------------------------

    def take_in(self) -> None:
        settle(self.world)
        forget_dead(self.world)
        sweep_sessions(self.world)
        reap_unused(self.world, BY)

    def finish_interrupted(self) -> None:
        """Endings whose owner died, and spawns that never came to anything."""
        for run in self.here():
            if never_came(self.world, run):
                ending = Ending(Outcome.FAILED, BY, "not_started", SPAWNER_DIED, tasks="requeue")
                end_runs(self.world, [run], Way(ladders.FORCE, ending, deregister=True))
            elif run.state is State.STOPPING and run.ending and self.abandoned(run):
                grace = self.world.settings.kill_grace
                ladder = ladders.with_grace(ladders.KILL, grace)
                end_runs(self.world, [run], Way(ladder, run.ending, deregister=True))

    def abandoned(self, run: Run) -> bool:
        return run.owner is not None and isinstance(self.world.kernel.look(run.owner), Gone)

    def judge(self) -> None:
        live = self.world.store.live_runs()
        found = verdicts(self.world, self.eyes, live, self.patience, 2 * self.interval)
        self.found = found
        news = [one for one in found if worth_telling(one)]
        for one in news:
            self.tell(one)
        # What anybody else has seen meanwhile is not told yet; what is told here, once.
        write_down(self.world, [one._replace(told=one.verdict.activity.value) for one in news])
        self.act([one for one in found if one.verdict.activity is Activity.STALLED])

    def tell(self, one: Judged) -> None:
        told = {"activity": one.verdict.activity.value, "was": one.told, "why": one.verdict.why}
        policy = policy_of(one.agent, self.usual, self.rules).value
        self.world.store.note(
            "watch.verdict", one.agent.name, one.run.id, told | {"policy": policy}
        )

    def act(self, stalled: Sequence[Judged]) -> None:
        """By policy, all of one kind side by side."""
        for policy in (Policy.STOP, Policy.KILL):
            for comes_back in (False, True):
                doomed = [
                    one
                    for one in stalled
                    if policy_of(one.agent, self.usual, self.rules) is policy
                    and (one.agent.restart > one.run.attempt) == comes_back
                ]
                if doomed:
                    way = self.way(policy, doomed, comes_back=comes_back)
                    end_if_still(self.world, doomed, self.patience, way)

    def way(self, policy: Policy, doomed: Sequence[Judged], *, comes_back: bool) -> Way:
        """Its worktree is left alone where the agent will be started in it again."""
        cleanup = "" if comes_back else self.cleanup
        kill = policy is Policy.KILL
        outcome = Outcome.KILLED if kill else Outcome.STOPPED
        ending = Ending(outcome, BY, "stalled", cleanup=cleanup)
        ladder = ladders.KILL_STALLED if kill else ladders.STOP
        return Way(ladder, ending, deregister=True, details=details_of(doomed))

    def bring_back(self) -> None:
        plan_restarts(self.world)
        start_due(self.world)
