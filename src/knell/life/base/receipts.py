"""Builds the receipts of endings, and records the ends that knell did not cause."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from knell.core.codes import Code, Notice
from knell.core.death import Facts, certificate, lived
from knell.core.errors import BadRequest, NoSuchAgent, NoSuchGroup, PlaceFailed
from knell.core.ports.ending_store import End
from knell.core.receipt import Conversation, Death, Ended, Pane, Proof, Receipt, Result
from knell.core.run import Ending, Orphan, Outcome, Run, seen_ending

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knell.core.agent import Agent
    from knell.core.errors import KnellError, StoreFailed
    from knell.core.ports.endings import EndReport
    from knell.core.ports.keepers import Journal
    from knell.core.ports.world import World
    from knell.core.process import FoundProcess


def blank(agent: str, result: Result, at: str) -> Receipt:
    """A receipt that claims nothing."""
    return Receipt(
        agent=agent,
        run="",
        kind="",
        place="",
        by="",
        reason="",
        outcome="",
        result=result,
        pid=None,
        started_at=at,
        finished_at=at,
        duration_ms=0,
        proof=None,
    )


def run_receipt(
    run: Run, agent: Agent | None, ending: Ending | None, result: Result, at: str
) -> Receipt:
    """What every receipt of a run says: whose it is, and in whose words the run ends."""
    receipt = blank(run.agent, result, at)._replace(
        run=run.id,
        kind=agent.kind if agent else "",
        place=run.place.name,
        pid=run.process.pid if run.process else None,  # as Run.pid, with no call on the way
        started_at=run.started_at,
    )
    if ending is None:
        return receipt
    return receipt._replace(by=ending.by, reason=ending.reason, outcome=ending.outcome.value)


def refused_receipt(target: str, error: KnellError, at: str) -> Receipt:
    """For a target that means no agent, or only agents that the caller may not end."""
    unknown = isinstance(error, NoSuchAgent | NoSuchGroup | BadRequest)
    result = Result.NOT_FOUND if unknown else Result.REFUSED
    hints = (Notice(error.code, error.hint),) if error.hint else ()
    return blank(target, result, at)._replace(detail=str(error), code=error.code, warnings=hints)


def unrecorded(error: StoreFailed) -> Notice:
    """The run has ended, although the store could not record it."""
    return Notice(Code.STORE_NOT_WRITTEN, f"the store could not be written ({error})")


def would_end(members: Iterable[FoundProcess]) -> tuple[Ended, ...]:
    """The processes that an ending would end, for its preview."""
    return tuple(Ended(one.process.pid, one.command, one.via, "") for one in members)


def result_of(report: EndReport) -> Result:
    if report.survivors:
        return Result.PERMISSION_DENIED if report.denied else Result.SURVIVORS
    return Result.ENDED if report.began else Result.ALREADY_ENDED


def receipt_of(run: Run, agent: Agent, report: EndReport, ending: Ending, at: str) -> Receipt:
    """What came of the climb."""
    receipt = run_receipt(run, agent, ending, result_of(report), at)._replace(
        duration_ms=report.millis,
        proof=report.proof,
        rungs=report.rungs,
        processes=report.processes,
        survivors=report.survivors,
        detail=ending.detail,
        **_last_facts(report.journal),
    )
    if report.survivors:
        return receipt._replace(outcome="")
    journal = report.journal._replace(processes=report.processes, survivors=())
    rungs = tuple(rung.rung for rung in report.rungs if rung.reached)
    facts = Facts(lived(run.started_at, journal.at or at), climbed=report.began, rungs=rungs)
    return receipt._replace(death=certificate(ending, journal, facts))


def _last_facts(journal: Journal) -> dict[str, Any]:
    return {
        "kept": journal.kept,
        "exit_code": journal.exit_code,
        "exit_signal": journal.exit_signal,
        "max_rss_kb": journal.max_rss_kb,
        "cpu_seconds": journal.cpu_seconds,
    }


def already_ended(world: World, run: Run) -> Receipt:
    """The receipt of the ending that was there first."""
    known = world.store.endings.receipt(run.id)
    if known is not None:
        return known._replace(result=Result.ALREADY_ENDED)
    return run_receipt(run, None, run.ending, Result.ALREADY_ENDED, run.ended_at)


# -- ends that knell did not cause -------------------------------------------------------------


def record_end(world: World, run: Run, journal: Journal) -> Receipt:
    """Records an end that knell did not cause, or whose ender was killed before it could."""
    asked = run.ending is not None
    if not asked and (tried := _given_up(world, run)):
        run = run._replace(ending=tried, rung="kill")
    ending = seen_ending(run, journal)
    at = journal.at or world.now()
    agent = world.store.runs.agent(run.agent)
    receipt = run_receipt(run, agent, ending, Result.ENDED, at)._replace(
        proof=Proof.PROVEN if journal.proven else Proof.NONE_FOUND,
        rungs=journal.rungs,
        processes=journal.processes,
        survivors=journal.survivors,
        pane=Pane(run.place.name, run.place.pane),
        conversation=_learn_last_conversation(world, agent, run),
        screen=_last_screen(world, run),
        detail=ending.detail,
        death=_death(world, run, agent, journal, run.ending or ending, at),
        **_last_facts(journal),
    )
    # Its asker may have ended with it, and this is only a look: it leaves the steps to others.
    owed = asked and _is_asked(ending, run.ending)
    run = run._replace(ending=ending, ended_at=at)
    receipt = _record(world, run, agent, receipt, journal, owed=owed)
    if asked and agent:
        world.steps.note_ended(agent, run, receipt)
    return receipt


def _is_asked(ending: Ending, asked: Ending | None) -> bool:
    """Whether it ended as it was asked for, and did not crash or leave just before."""
    return asked is not None and (ending.by, ending.reason) == (asked.by, asked.reason)


def _learn_last_conversation(world: World, agent: Agent | None, run: Run) -> Conversation:
    """What its program told of it before it ended, recorded for a resume."""
    if agent is None or not world.kinds.kind_or_command(agent.kind).resume:
        return Conversation()
    from knell.life.base.conversation import find_conversation
    from knell.life.base.known_conversation import learn_conversation

    return find_conversation(world, learn_conversation(world, agent, run))


def record_left_receipt(world: World, run: Run, left: Receipt, journal: Journal) -> Receipt:
    """Records the end of which a receipt was left in the run's directory."""
    agent = world.store.runs.agent(run.agent)
    ending = Ending(
        Outcome(left.outcome), left.by, left.reason, left.detail, left.exit_code, left.exit_signal
    )
    run = run._replace(ending=ending, ended_at=left.finished_at)
    if not journal.proven and left.proof is Proof.PROVEN:
        left = left._replace(proof=Proof.NONE_FOUND)
    return _record(world, run, agent, left, journal)


def _record(
    world: World,
    run: Run,
    agent: Agent | None,
    receipt: Receipt,
    journal: Journal,
    *,
    owed: bool = False,
) -> Receipt:
    kept = kept_orphans(run, journal, agent.tag if agent else "")
    [receipt] = world.store.endings.end_all([End(run, receipt, kept, owed=owed)])
    if agent and agent.restart > 0:
        from knell.life.base.restart_plans import forget_unneeded

        forget_unneeded(world)
    return receipt


def kept_orphans(run: Run, journal: Journal, tag: str) -> list[Orphan]:
    """Records of the children that were to outlive the agent."""
    kept = {one.pid: one for one in journal.kept}
    return [
        Orphan(run.id, run.agent, tag, process, kept[process.pid].command, "kept")
        for process in journal.kept_ids
        if process.pid in kept
    ]


def _last_screen(world: World, run: Run) -> str:
    """What its log or, as its keeper kept it, its pane showed last."""
    from knell.core.redact import kept_screen

    try:
        if run.place.log:
            return kept_screen(world.place(run.place.name).screen(run.place))
    except PlaceFailed:
        return ""
    kept = world.disk.tail(os.path.join(world.rundir(run.id), "screen")) or b""
    return kept_screen(kept.decode("utf-8", "replace"))


def _death(
    world: World, run: Run, agent: Agent | None, journal: Journal, ending: Ending, at: str
) -> Death:
    helpers: tuple[str, ...] = ()
    # Vendors' supervisors are only of interest for an end that knell did not cause.
    if agent and journal.cause in ("exit", "signal") and journal.exit_code != 0:
        from knell.life.base.members import running_helpers

        found = running_helpers(world, world.kinds.kind_or_command(agent.kind))
        helpers = tuple(f"{helper.pattern} (ended by: {helper.off})" for helper in found)
    rungs = (*(rung.rung for rung in journal.rungs), run.rung)
    # A claim alone ends no run: a rung is written down before it is climbed.
    facts = Facts(lived(run.started_at, at), bool(run.rung), rungs, helpers)
    return certificate(ending, journal, facts)


def _given_up(world: World, run: Run) -> Ending | None:
    """An earlier ending that something survived: its KILL may have taken effect later."""
    tried = world.store.endings.receipt(run.id)
    if tried is None or tried.result not in (Result.SURVIVORS, Result.PERMISSION_DENIED):
        return None
    hit = run.process is not None and run.process.pid in {one.pid for one in tried.processes}
    if tried.result is Result.PERMISSION_DENIED and not hit:
        return None  # not even the agent itself was ended
    outcome = Outcome.KILLED if tried.reason == "killed" else Outcome.STOPPED
    return Ending(outcome, tried.by, tried.reason, tried.detail)
