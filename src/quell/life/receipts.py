"""Receipts for each way in which a request to end something can come out."""

from typing import TYPE_CHECKING

from quell.core.agent import Agent
from quell.core.climbing import Fall
from quell.core.death import Death, Scene, certificate, lived
from quell.core.errors import (
    BadRequest,
    NoSuchAgent,
    NoSuchGroup,
    QuellError,
)
from quell.core.receipt import Conversation, Pane, Proof, Receipt, Result
from quell.core.run import Ending, Run

if TYPE_CHECKING:
    from quell.core.ports import World


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


def refused_receipt(target: str, error: QuellError, at: str) -> Receipt:
    """For a target that named nobody, or nobody whom we may end."""
    nobody = isinstance(error, NoSuchAgent | NoSuchGroup | BadRequest)
    result = Result.NOT_FOUND if nobody else Result.REFUSED
    return blank(target, result, at)._replace(detail=str(error), warnings=(error.hint,))


def receipt_of(run: Run, agent: Agent, fall: Fall, ending: Ending, at: str) -> Receipt:
    """What came of the climb. The claimed ending's words win: its claimer decided first."""
    words = run.ending or ending
    result = Result.ENDED
    if fall.survivors:
        result = Result.PERMISSION_DENIED if fall.denied else Result.SURVIVORS
    elif not fall.began:
        result = Result.ALREADY_ENDED
    return Receipt(
        agent=run.agent,
        run=run.id,
        kind=agent.kind,
        place=run.place.name,
        by=words.by,
        reason=words.reason,
        outcome="" if fall.survivors else words.outcome.value,
        result=result,
        pid=run.process.pid if run.process else None,
        started_at=run.started_at,
        finished_at=at,
        duration_ms=fall.millis,
        proof=fall.proof,
        rungs=fall.rungs,
        processes=fall.processes,
        survivors=fall.survivors,
        kept=fall.journal.kept,
        detail=words.detail,
        exit_code=fall.journal.exit_code,
        exit_signal=fall.journal.exit_signal,
        max_rss_kb=fall.journal.max_rss_kb,
        cpu_seconds=fall.journal.cpu_seconds,
        death=death_of(run, fall, words, at),
    )


def death_of(run: Run, fall: Fall, words: Ending, at: str) -> Death:
    """How it died while quell was at it; nothing while something of it lives."""
    if fall.survivors:
        return Death()
    journal = fall.journal._replace(processes=fall.processes, survivors=fall.survivors)
    rungs = tuple(rung.rung for rung in fall.rungs if rung.reached)
    seconds = lived(run.started_at, journal.at or at)
    return certificate(words, journal, Scene(seconds, climbed=fall.began, rungs=rungs))


def already_ended(world: "World", run: Run) -> Receipt:
    """The receipt of the ending that was there first."""
    known = world.store.receipt(run.id)
    if known is not None:
        return known._replace(result=Result.ALREADY_ENDED)
    ending = run.ending
    return blank(run.agent, Result.ALREADY_ENDED, run.ended_at)._replace(
        run=run.id,
        place=run.place.name,
        outcome=ending.outcome.value if ending else "",
        by=ending.by if ending else "",
        reason=ending.reason if ending else "",
        pid=run.process.pid if run.process else None,
        started_at=run.started_at,
    )


def no_pid_receipt(run: Run, agent: Agent, ending: Ending, at: str) -> Receipt:
    return blank(run.agent, Result.NO_PID, at)._replace(
        run=run.id,
        kind=agent.kind,
        place=run.place.name,
        by=ending.by,
        reason=ending.reason,
        proof=Proof.NONE_FOUND,
        started_at=run.started_at,
        pane=Pane(run.place.name, run.place.pane),
        conversation=Conversation(agent.conversation),
    )
