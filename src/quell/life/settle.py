"""Takes in what keepers wrote while nobody was there. Bookkeeping only: it signals nothing."""

from __future__ import annotations  # every verb settles, and few have an end to write down

import os
from typing import TYPE_CHECKING

from quell.core.errors import PlaceFailed, StoreFailed
from quell.core.lifecycle import Outcome, State
from quell.core.process import Gone
from quell.core.run import Ending, Orphan, Run

if TYPE_CHECKING:
    from quell.core.agent import Agent
    from quell.core.climbing import Fall, Journal
    from quell.core.death import Death
    from quell.core.ports import World
    from quell.core.process import Alive, ProcessId, Unknown
    from quell.core.receipt import Receipt, Survivor

Seen = dict["ProcessId", "Alive | Gone | Unknown"]  # looks at processes, each taken once

SURVIVED = "survived"


def settle(world: World, seen: Seen | None = None) -> list[Run]:
    """Brings the store up to what the run directories say; returns the runs that live on.

    A store that cannot be written stops nobody here: whoever must write will say so.
    """
    seen = {} if seen is None else seen  # gets every look that was taken on the way
    now = [_now(world, run, seen) for run in world.store.live_runs()]
    return [run for run in now if run is not None]


def _now(world: World, run: Run, seen: Seen) -> Run | None:
    try:
        return settled(world, run, seen)
    except StoreFailed:
        return None if world.kernel.journal(world.rundir(run.id)).ended else run


def settled(world: World, run: Run, seen: Seen) -> Run | None:
    """Records a birth or an end that the keeper saw. The run as it is now; None once it is over."""
    if run.host != world.host:
        return run
    if run.state is not State.SPAWNING and not _gone(world, run, seen):
        return run
    left = world.left_receipt(run.id)
    journal = world.kernel.journal(world.rundir(run.id))
    if left is not None and left.outcome:  # without one, something had survived
        kept = kept_orphans(run, journal, agent_tag(world, run))
        world.store.end(ended(run, _ending_of(left), left.finished_at), left, kept)
        return None
    if journal.process and run.state is State.SPAWNING and not _owner_busy(world, run, journal):
        world.store.born(born(run, journal))
        run = world.store.run(run.id) or run
    if _owner_busy(world, run, journal) or _unfinished(run):
        return run  # whoever is at it has seen more, and writes the better receipt
    if journal.ended or _lost(world, run, journal):
        record_end(world, run, journal)
        world.kernel.discard(world.rundir(run.id))
        give_up_leaf(world, run)
        return None
    return run if run.live else None  # somebody may have ended it meanwhile


def give_up_leaf(world: World, run: Run) -> None:
    """The cgroup that an adoption made; a keeper's own goes with its keeper or its journal."""
    if run.cgroup and run.keeper is None:
        world.kernel.release(run.cgroup)


def _gone(world: World, run: Run, seen: Seen) -> bool:
    watched = run.keeper or run.process
    if watched is None:
        return True
    seen[watched] = world.kernel.look(watched)
    return isinstance(seen[watched], Gone)


def _owner_busy(world: World, run: Run, journal: Journal) -> bool:
    """Somebody is still spawning or ending it. `quell run` turns into its own keeper."""
    if run.owner is None or (journal.keeper and run.owner.same_as(journal.keeper)):
        return False
    return not isinstance(world.kernel.look(run.owner), Gone)


def _unfinished(run: Run) -> bool:
    """More was asked for than bookkeeping: the watch, or the next kill, finishes such an ending."""
    return bool(run.state is State.STOPPING and run.ending and run.ending.cleanup)


def _lost(world: World, run: Run, journal: Journal) -> bool:
    """Nothing of it is left, and nobody saw it go. A keeper's death alone does not mean that."""
    watched = [p for p in (run.keeper, run.process, journal.keeper, journal.process) if p]
    looks = [world.kernel.look(p) for p in watched]
    if not looks or not all(isinstance(seen, Gone) for seen in looks):
        return False
    if all(seen == Gone("rebooted") for seen in looks):
        return True  # nothing outlives the kernel: no need to search the machine for each of many
    if world.kernel.stamps().get(run.id):  # also whoever asks
        return False
    from quell.life.before import others_alive, target_of

    left = world.kernel.members(target_of(world, run), others_alive(world))
    return all(isinstance(world.kernel.look(one.process), Gone) for one in left)  # zombies are


def survivors_of(world: World, run: Run) -> tuple[ProcessId, ...]:
    """What an earlier ending of the run could not end, and lives on: perhaps by no other trace."""
    tracked = [o.process for o in world.store.orphans() if (o.run, o.why) == (run.id, SURVIVED)]
    return tuple(p for p in tracked if not isinstance(world.kernel.look(p), Gone))


def survived_orphans(run: Run, fall: Fall, tag: str) -> list[Orphan]:
    """Members by whom the run is found again; the agent and its keeper are on record anyway."""
    told = zip(fall.survivors, fall.survivor_ids, strict=False)  # a keeper names them itself
    own = {process.pid for process in (run.keeper, run.process) if process}
    return [
        Orphan(run.id, run.agent, tag, process, one.command, SURVIVED)
        for one, process in told
        if process.pid not in own
    ]


def born(run: Run, journal: Journal) -> Run:
    return run._replace(keeper=journal.keeper, process=journal.process, cgroup=journal.cgroup)


def ended(run: Run, ending: Ending, at: str) -> Run:
    return run._replace(ending=ending, ended_at=at)


def _ending_of(receipt: Receipt) -> Ending:
    return Ending(
        Outcome(receipt.outcome),
        receipt.by,
        receipt.reason,
        receipt.detail,
        receipt.exit_code,
        receipt.exit_signal,
    )


def record_end(world: World, run: Run, journal: Journal) -> Receipt:
    """Writes down an end that quell did not cause, or whose causer did not live to write it."""
    from quell.core.outcome import judged
    from quell.core.receipt import Conversation, Pane, Proof, Receipt, Result

    if run.ending is None and (tried := _given_up(world, run)):
        run = run._replace(ending=tried, rung="kill")
    ending = judged(run, journal)
    at = journal.at or world.now()
    agent = world.store.agent(run.agent)
    receipt = Receipt(
        agent=run.agent,
        run=run.id,
        kind=agent.kind if agent else "",
        place=run.place.name,
        by=ending.by,
        reason=ending.reason,
        outcome=ending.outcome.value,
        result=Result.ENDED,
        pid=run.process.pid if run.process else None,
        started_at=run.started_at,
        finished_at=at,
        duration_ms=0,
        proof=Proof.PROVEN if journal.proven else Proof.NONE_FOUND,
        rungs=journal.rungs,
        processes=journal.processes,
        survivors=journal.survivors,
        kept=journal.kept,
        pane=Pane(run.place.name, run.place.pane),
        conversation=Conversation(agent.conversation if agent else ""),
        screen=_last_screen(world, run),
        detail=ending.detail,
        exit_code=journal.exit_code,
        exit_signal=journal.exit_signal,
        max_rss_kb=journal.max_rss_kb,
        cpu_seconds=journal.cpu_seconds,
        death=_death(world, run, agent, journal, run.ending or ending, at),
    )
    return world.store.end(
        ended(run, ending, at), receipt, kept_orphans(run, journal, agent_tag(world, run))
    )


def _last_screen(world: World, run: Run) -> str:
    """What its log or, as its keeper kept it, its pane showed last."""
    from quell.core.redact import kept_screen

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
    from quell.core.death import Scene, certificate, lived

    rungs = (*(rung.rung for rung in journal.rungs), run.rung)
    helpers = _helpers(world, agent, journal)
    seconds = lived(run.started_at, at)
    # A claim alone ends nobody: a rung is written down before it is climbed.
    return certificate(ending, journal, Scene(seconds, bool(run.rung), rungs, helpers))


def _helpers(world: World, agent: Agent | None, journal: Journal) -> tuple[str, ...]:
    """Vendor's supervisors that are alive; only asked for an end that nobody here caused."""
    if agent is None or agent.kind not in world.kind_names():
        return ()
    if journal.cause not in ("exit", "signal") or journal.exit_code == 0:
        return ()
    from quell.life.resurrection import running_helpers

    found = running_helpers(world, world.kind(agent.kind))
    return tuple(f"{helper.pattern} (ended by: {helper.off})" for helper in found)


def _given_up(world: World, run: Run) -> Ending | None:
    """The ending that somebody tried and that something survived: a KILL may still take effect."""
    tried = world.store.receipt(run.id)
    if tried is None or tried.result.value not in ("survivors", "permission_denied"):
        return None
    if tried.result.value == "permission_denied" and not _hit(run, tried):
        return None
    outcome = Outcome.KILLED if tried.reason == "killed" else Outcome.STOPPED
    return Ending(outcome, tried.by, tried.reason, tried.detail)


def _hit(run: Run, tried: Receipt) -> bool:
    """Whether the agent itself was ended, and only others were not ours to end."""
    return run.process is not None and run.process.pid in {one.pid for one in tried.processes}


def agent_tag(world: World, run: Run) -> str:
    agent = world.store.agent(run.agent)
    return agent.tag if agent else ""


def kept_orphans(run: Run, journal: Journal, tag: str) -> list[Orphan]:
    told: dict[int, Survivor] = {kept.pid: kept for kept in journal.kept}
    return [
        Orphan(run.id, run.agent, tag, process, told[process.pid].command, "kept")
        for process in journal.kept_ids
        if process.pid in told
    ]
