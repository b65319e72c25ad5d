"""What the rooms registry, backends and teams do when a run starts or ends.

AFTERMATH lists the steps that every ending gets, in their order: which room takes a step, and when
it applies. A room is loaded when it is first needed, so that a plain kill loads none.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from knell.core.ending_steps import Case, Moment
from knell.core.environment import ENVIRONMENTS, SHARED, shares
from knell.core.errors import RegistryFailed
from knell.core.receipt import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from knell.core.agent import Agent
    from knell.core.codes import Notice
    from knell.core.ports.registry import ListedRow
    from knell.core.ports.world import World
    from knell.core.receipt import Receipt
    from knell.core.run import Place, Run
    from knell.core.watch_report import Drift


class EndingStep(NamedTuple):
    """What one room does at every ending that it applies to. Its warnings are in the receipt."""

    name: str
    moment: Moment
    function: str  # "module:name" below knell.life: takes cases, returns them with what came of it
    let_go: bool = False  # also for a run that is only taken off the books


def _has_registry(world: World, near: str) -> bool:
    try:
        return world.registry(near) is not None
    except RegistryFailed:
        return True  # the step says what is wrong with the file


def _has_environments(world: World) -> bool:
    """Whether any is kept, of other runs too: the process that should delete it may have died."""
    try:
        return bool(os.listdir(os.path.join(world.home, ENVIRONMENTS)))
    except OSError:
        return False  # none was ever kept


def _was_ended(case: Case) -> bool:
    return case.receipt is not None and case.receipt.result is Result.ENDED


# Tasks are handed back, and the run's seat in a team is given up, by the transaction that records
# the end (Store.end_all): no step could do that as safely.
AFTERMATH = (
    EndingStep("registry: announce", Moment.ALIVE, "registry.mirror:announce_endings", let_go=True),
    EndingStep("backends: part", Moment.DEAD, "backends.reap:part_from_backends"),
    EndingStep("daemon", Moment.DEAD, "end.vendors:end_daemon_work"),
    EndingStep("conversation: put back", Moment.DEAD, "base.conversation_copy:put_back_lost"),
    EndingStep("cleanup", Moment.DEAD, "end.cleanup:clean_up_after"),
    EndingStep("registry: row", Moment.RECORDED, "registry.mirror:write_endings", let_go=True),
    EndingStep("restart: forget", Moment.RECORDED, "base.restart_plans:forget_after", let_go=True),
    EndingStep("backends: reap", Moment.RECORDED, "backends.reap:reap_after"),
    EndingStep("team", Moment.RECORDED, "teams.team:dissolve_after"),
    EndingStep("revival", Moment.RECORDED, "end.vendors:end_revived"),
    EndingStep("put away", Moment.RECORDED, "base.take_in:put_away_after"),
)
# Whether a step has something to do for a case: asked of every ending, so it loads nothing. Apart
# from the steps, because a lambda gets no types in a NamedTuple.
APPLIES: dict[str, Callable[[World, Case], bool]] = {
    "registry: announce": lambda world, case: _has_registry(world, case.agent.cwd),
    "backends: part": lambda _, case: bool(case.agent.env) and shares(case.agent.env),
    "daemon": lambda _, case: (
        _was_ended(case) and bool(case.kind.session_env and case.kind.helpers)
    ),
    "conversation: put back": lambda _, case: case.kind.may_vanish and case.ended,
    "cleanup": lambda _, case: bool(case.asked.cleanup) and case.ended,
    "registry: row": lambda _, case: case.row is not None and case.ended,
    "restart: forget": lambda world, case: _has_environments(world) and case.ended,
    "backends: reap": lambda _, case: SHARED in dict(case.agent.env),
    "team": lambda _, case: case.way.dissolve and case.ended,
    "revival": lambda _, case: (
        _was_ended(case) and bool(case.kind.helpers and case.conversation.id)
    ),
    "put away": lambda _, case: _was_ended(case),
}


class RoomSteps:
    """core/ports/steps.py, for one world."""

    aftermath: Sequence[EndingStep] = AFTERMATH
    # The store's claim names the process, so that the threads of one need a claim of their own.
    endings_begun: ClassVar[dict[str, object]] = {}

    def __init__(self, world: World) -> None:
        self._world = world

    def take(self, moment: Moment, cases: list[Case], *, let_go: bool = False) -> list[Case]:
        for step in self.aftermath if cases else ():
            if step.moment is not moment or (let_go and not step.let_go):
                continue
            meant = [case for case in cases if APPLIES[step.name](self._world, case)]
            if meant:
                module, _, name = step.function.partition(":")
                carry_out = getattr(import_module(f"knell.life.{module}"), name)
                done = {case.run.id: case for case in carry_out(self._world, meant)}
                cases = [done.get(case.run.id, case) for case in cases]
        return cases

    # -- shared servers ------------------------------------------------------------------------

    def join_backend(
        self, agent: Agent, run: Run, argv: tuple[str, ...], env: Mapping[str, str]
    ) -> tuple[Agent, tuple[str, ...], Mapping[str, str]]:
        if SHARED not in dict(agent.env):
            return agent, argv, env
        from knell.life.backends.join import join

        return join(self._world, agent, run, env)

    def leave_backend(self, agent: Agent, by: str) -> None:
        if SHARED in dict(agent.env):
            self.reap_backends(by)

    def reap_backends(self, by: str) -> None:
        from knell.life.backends.reap import reap_unused

        reap_unused(self._world, by)

    # -- the registry file ---------------------------------------------------------------------

    def registered_agent(self, name: str) -> tuple[Agent, Place | None] | None:
        from knell.life.registry.agent_of_row import registered_agent

        return registered_agent(self._world, name)

    def note_started(
        self, agent: Agent, run: Run, *, session: str = "", fresh: bool = False
    ) -> tuple[Notice, ...]:
        if not _has_registry(self._world, agent.cwd):
            return ()
        from knell.life.registry.mirror import write_started

        return write_started(self._world, agent, run, session=session, fresh=fresh)

    def note_ended(self, agent: Agent, run: Run, receipt: Receipt) -> None:
        if _has_registry(self._world, agent.cwd):
            from knell.life.registry.mirror import note_end

            note_end(self._world, agent, run, receipt)

    def listed_rows(self, runs: Iterable[Run], *, with_ended: bool) -> list[ListedRow]:
        if not _has_registry(self._world, self._world.cwd):
            return []
        from knell.life.registry.agent_of_row import listed_rows

        return listed_rows(self._world, runs, with_ended=with_ended)

    def drifts(self, live: list[Run]) -> list[Drift]:
        if not _has_registry(self._world, self._world.cwd):
            return []
        from knell.core.watch_report import Drift
        from knell.life.registry.reconcile import reconcile

        try:
            return reconcile(self._world, live, dry_run=True)
        except RegistryFailed as error:
            return [Drift("unseen", "", str(error), "")]

    def note_purge(self, receipt: Receipt, at: str, paths: tuple[str, ...]) -> tuple[Notice, ...]:
        from knell.life.registry.mirror import note_purge

        return note_purge(self._world, receipt, at, paths)
