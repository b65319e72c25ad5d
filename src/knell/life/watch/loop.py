"""The watch: one process a host that keeps the records true and ends or restarts agents.

A round: take in keepers' journals and look where the records drifted, finish interrupted endings
and shutdown requests, take the steps that endings lack, judge the agents that live, act by policy,
restart, report. Each act is an event, so the events are the audit trail. The watch keeps nothing
that matters in memory: killed at any moment, the next watcher, or the next command, continues from
the store.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from knell.core import ladder as ladders
from knell.core.codes import Code
from knell.core.ending_steps import Way
from knell.core.errors import KnellError, Refused, StoreFailed
from knell.core.ports.store import BACKUP_EVERY
from knell.core.ports.world import World
from knell.core.process import Alive, Gone, ProcessId
from knell.core.run import Run, State
from knell.core.stall.verdict import Judgement
from knell.core.watch_report import Drift, Trouble, WatchReport
from knell.life.backends.reap import reap_unused
from knell.life.base.caller import caller
from knell.life.base.members import forget_dead, never_came
from knell.life.base.restart_plans import SPAWNER_DIED, forget_unneeded
from knell.life.base.restore import backup_age
from knell.life.base.take_in import take_in_journals
from knell.life.end.cleanup import sweep_sessions
from knell.life.end.engine import end
from knell.life.end.owed import take_owed
from knell.life.end.prune import prune
from knell.life.look.snapshot import newest_event
from knell.life.registry.reconcile import INTERVALS, reconcile
from knell.life.start.confirm import end_unstarted
from knell.life.start.restart import next_due, plan_restarts, start_due
from knell.life.teams.answer import OpenRequests
from knell.life.watch.policy import StallPolicies, stop_cut_off
from knell.life.watch.samples import SampleKeeper
from knell.life.watch.signs.collect import SignCollector
from knell.life.watch.stalled import assess, judge_runs, stall_limits

T = TypeVar("T")

BY = "watch"
BREATH = 0.05  # seconds between two pulses: a burst of deaths is taken in together
CHANGING = 0.5  # seconds in which a spawn or an ending usually comes to something


class WatchWish(NamedTuple):
    policy: str = ""  # report, stop or kill; empty: as configured
    rules: tuple[str, ...] = ()  # "tag:night=kill", after the configured ones
    interval: float | None = None
    older_than: float | None = None


class Round(NamedTuple):
    drifts: list[Drift]
    judged: list[Judgement]
    reports: list[WatchReport]


def watch(world: World, wish: WatchWish) -> Iterator[WatchReport]:
    """Watches for ever and yields what happens on the host. Refused while another watches."""
    watcher = WatchLoop(world, wish)
    take_lease(world, "" if watcher.policies.is_operators else watcher.policies.who.by)
    return watcher.run()


def watch_once(world: World, wish: WatchWish, *, dry_run: bool = False) -> Round:
    """One round; with `dry_run` it looks and judges, and changes nothing."""
    if dry_run:
        drifts = reconcile(world, take_in_journals(world), dry_run=True)
        return Round(drifts, judge_runs(world, stall_limits(world, wish.older_than)), [])
    watcher = WatchLoop(world, wish)
    reports = list(watcher.run_round())
    return Round([one for one in reports if isinstance(one, Drift)], watcher.found, reports)


class WatchLoop:
    def __init__(self, world: World, wish: WatchWish) -> None:
        asked = world.settings.watch_interval if wish.interval is None else wish.interval
        self.world = world
        hint = "give it in seconds, for example 15"
        self.interval = ladders.checked_seconds("an interval", asked, INTERVALS, hint)
        self.limits = stall_limits(world, wish.older_than)
        self.policies = StallPolicies(world, BY, wish.policy, wish.rules)
        self.runs = os.path.dirname(world.rundir("any"))  # where new runs appear
        self.collector = SignCollector(world)
        self.samples = SampleKeeper(world)
        self.requests = OpenRequests(world, BY)
        self.ended: set[str] = set()  # runs whose end has woken us; a part of them may linger
        self.last_event = newest_event(world)
        self.found: list[Judgement] = []  # in the last round
        self.troubles: list[Trouble] = []
        self.store_failed = False
        self.reported: set[WatchReport] = set()  # drifts and troubles of the last round

    def run(self) -> Iterator[WatchReport]:
        clock = self.world.clock
        os.makedirs(self.runs, mode=0o700, exist_ok=True)
        self.world.wait([], 0, self.runs)  # from now on, a new run wakes the watch
        while True:
            yield from self.run_round()
            until = clock().awake + self.interval
            while (left := until - clock().awake) > 0:
                self.sleep(left)
                if clock().awake < until:  # a run began or ended, or a restart is due
                    yield from self.run_pulse()
                    self.world.wait([], BREATH)

    def sleep(self, seconds: float) -> None:
        """Waits for a run to begin or end, or a restart; the whole time if the store fails."""
        processes, longest = self._try(lambda: self._next_wake(seconds)) or ([], seconds)
        if longest > 0:
            self.world.wait(processes, longest, self.runs)

    def _next_wake(self, seconds: float) -> tuple[list[ProcessId], float]:
        """The processes whose end ends the sleep, one for each live run; and its longest time."""
        here = [run for run in self.world.store.runs.live() if run.host == self.world.host]
        living: list[ProcessId] = []
        ended: set[str] = set()
        for run in here:
            seen = [(process, self.world.processes.look(process)) for process in run.processes]
            living += [process for process, look in seen if isinstance(look, Alive)][:1]
            if seen and all(isinstance(look, Gone) for _, look in seen):
                ended.add(run.id)
        unnoticed, self.ended = ended - self.ended, ended
        if unnoticed:
            return [], 0.0  # they ended since the last look: their end wakes nothing
        if any(run.state is not State.RUNNING for run in here):
            seconds = min(seconds, CHANGING)
        due = next_due(self.world)
        return living, seconds if due is None else min(seconds, due)

    def run_round(self) -> Iterator[WatchReport]:
        """Takes every step once. A step that fails is reported, and the others are still taken."""
        world, self.troubles = self.world, []
        if self.store_failed:
            self._try(self._reconnect)
        drifts: list[Drift] = []
        live = self._try(lambda: take_in_journals(world))
        if live is not None:
            drifts = self._try(lambda: reconcile(world, live)) or []
            self._try(lambda: finish_interrupted(world, live, BY))
        self._try(lambda: take_owed(world))
        self._try(self._tidy)
        self._try(self._back_up)
        self._try(self.requests.act)
        self._try(lambda: stop_cut_off(world, BY))
        self._try(self._judge)
        self._try(self._restart)
        self._try(lambda: forget_unneeded(world))
        if self.policies.is_operators:
            self._try(lambda: world.store.watch.record_round(world.host, world.processes.me()))
        yield from self._news(drifts)

    def run_pulse(self) -> Iterator[WatchReport]:
        """Does what cannot wait for the next round: records ends, and restarts what is due."""
        self.troubles = []
        self._try(lambda: take_in_journals(self.world))
        self._try(lambda: take_owed(self.world))
        self._try(self._tidy)
        self._try(self._restart)
        self._try(lambda: forget_unneeded(self.world))
        yield from self._news(())

    # -- the steps ----------------------------------------------------------------------------

    def _tidy(self) -> None:
        forget_dead(self.world)
        sweep_sessions(self.world)
        reap_unused(self.world, BY)

    def _back_up(self) -> None:
        age = backup_age(self.world)
        if age is None or not 0 <= age < BACKUP_EVERY:
            self.world.store.back_up()
            who = caller(self.world)
            if not (who.run or who.doubt):  # no agent's watch removes records
                prune(self.world)

    def _judge(self) -> None:
        live = self.world.store.runs.live()  # the steps before may have ended some
        self.found = assess(self.world, self.collector, live, self.limits, 2 * self.interval)
        self.policies.record_changes(self.found)
        self.samples.keep(self.found)
        self.policies.act(self.found, self.limits)

    def _restart(self) -> None:
        plan_restarts(self.world)
        start_due(self.world)

    def _reconnect(self) -> None:
        """Opens the store again. Its file may be another by now; then all of its events are new."""
        self.world.reconnect()
        self.store_failed = False
        self.last_event = self.last_event if newest_event(self.world) >= self.last_event else 0

    def _try(self, step: Callable[[], T]) -> T | None:
        try:
            return step()
        except KnellError as error:
            self.store_failed |= isinstance(error, StoreFailed)
            self.troubles.append(Trouble(str(error)))
            return None

    def _news(self, drifts: Sequence[Drift]) -> Iterator[WatchReport]:
        """Events since the last report; drifts and troubles that the last round did not have."""
        events = self._try(lambda: self.world.store.events.read(self.last_event, "", 10_000))
        for event in events or ():
            self.last_event = event.id
            yield event
        yield from (one for one in (*drifts, *self.troubles) if one not in self.reported)
        self.reported = {*drifts, *self.troubles}


def finish_interrupted(world: World, live: Sequence[Run], by: str) -> None:
    """Finishes endings whose owner died, ends starts that never came to a process, and wakes the
    keeper of a dead agent, which may have been stopped (SIGSTOP)."""
    for run in live:
        if run.host != world.host:
            continue
        if never_came(world, run):
            end_unstarted(world, run, by, SPAWNER_DIED)
        elif run.state is State.STOPPING and run.ending and run.owner:
            if not isinstance(world.processes.look(run.owner), Gone):
                continue
            ladder = ladders.with_grace(ladders.KILL, world.settings.kill_grace)
            end(world, [run], Way(ladder, run.ending, deregister=True))
        elif run.keeper and run.process and isinstance(world.processes.look(run.process), Gone):
            world.keepers.wake(run.keeper)


def take_lease(world: World, by: str = "") -> None:
    """Makes this process the one watcher of the host; the kernel takes the lease back when it dies.

    Refused while another watches. `by`: an agent, whose watch keeps no other one out: it ends less
    than the operator's, and ends with the agent."""
    path = os.path.join(world.home, lease_name(f"{world.host} {by}" if by else world.host))
    try:
        os.makedirs(world.home, mode=0o700, exist_ok=True)
        if world.locks.take(path):
            return
    except OSError as error:
        why = f"cannot take the lease {path}: {error.strerror}"
        hint = "knell doctor looks at the state directory"
        raise Refused(why, hint, code=Code.FILE_FAILED) from error
    other = world.store.watch.watcher(world.host)
    pid = f"PID {other.process.pid}" if other and other.process else "another process"
    hint = "one is enough; knell watch --once does a single round"
    raise Refused(f"the watch runs already, as {pid}", hint, code=Code.ALREADY_WATCHED)


def lease_name(host: str) -> str:
    """A host may be called anything; a file may not."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", host):
        from hashlib import sha256

        host = sha256(host.encode(errors="surrogateescape")).hexdigest()
    return f"watch-{host}.lock"
