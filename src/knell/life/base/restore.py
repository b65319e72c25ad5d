"""Restores runs that the store does not know, from their directories and from what lives."""

import re
from collections.abc import Sequence
from contextlib import suppress

from knell.core.agent import NAME, Agent
from knell.core.codes import Code
from knell.core.conversation import given_conversation
from knell.core.errors import StoreFailed
from knell.core.ports.store import Restored, RunRecord, Store
from knell.core.ports.world import World
from knell.core.process import Gone, ProcessId
from knell.core.run import Ending, Outcome, Place, Run, State
from knell.core.teams import Team
from knell.life.base.restart_plans import forget_everywhere
from knell.life.base.take_in import born

LOST = Ending(Outcome.LOST, "knell", "the store was lost", "its end is not on record")


def repair(world: World) -> Restored:
    """Brings a store that is behind up to date; moves a damaged one aside and rebuilds it."""
    try:
        world.store.check()
        world.store.runs.newest()  # every record can be read
        restored = restore_runs(world, world.store)
        forget_everywhere(world)
        return restored
    except StoreFailed as error:
        if error.code is not Code.STORE_DAMAGED:
            raise
    world.set_aside_store()
    _ = world.store  # a store that is missing restores itself when it is opened
    return world.restored or Restored()


def backup_age(world: World) -> float | None:
    """Seconds since the newest backup of the store was made; None if there is none."""
    at = world.disk.touched_at(f"{world.home}/knell.db.backup-1")
    return None if at is None else world.seconds() - at


def restore_runs(world: World, store: Store) -> Restored:
    """Puts every run back that has a directory or a living process, and is not on record."""
    records, unknown = missing_records(world, store)
    for record in records:
        before = store.runs.newest_of(record.agent.name)
        if record.run.live and before and before.live:
            if _lives(world, before):  # two that bear one name: neither may hide the other
                record = _renamed(record, unknown)  # noqa: PLW2901 - restored under that name
            else:
                _end_lost(world, store, before)
        store.runs.restore(record)
        if record.lost_env:
            unknown.append(f"the values of {', '.join(record.lost_env)} of {record.agent.name}")
    unknown += _restore_teams(store, records)
    agents = tuple(dict.fromkeys(record.agent.name for record in records))
    if records:
        told = {"agents": agents, "runs": len(records), "unknown": unknown}
        store.events.record("store.restored", "", "", told)
    return Restored(agents, len(records), tuple(dict.fromkeys(unknown)))


def catch_up(world: World, store: Store, newer: Sequence[str]) -> Restored | None:
    """Puts agents back that an older copy of the store knows nothing of, if one of those runs lives
    by its record. If it cannot be written, what it knows can be ended all the same."""
    records = [world.archive.record(run) for run in newer]
    restored = None
    if any(record and record.run.live for record in records):
        with suppress(StoreFailed):
            restored = restore_runs(world, store)
            restored.tell(f"{world.home}/knell.db is an older copy")
    return restored


def is_known_to_live(world: World) -> bool:
    """Whether anything in this KNELL_HOME or on this machine can be restored into a new store."""
    if world.archive.ids():
        return True
    stamped = world.processes.stamped()
    return any(_is_of_this_home(world, run, found) for run, found in stamped.items())


def _lives(world: World, run: Run) -> bool:
    return any(not isinstance(world.processes.look(one), Gone) for one in run.processes)


def _renamed(record: RunRecord, unknown: list[str]) -> RunRecord:
    name = f"{record.agent.name[:50]}-{record.run.id[-8:]}"
    unknown.append(f"which of two live runs is {record.agent.name}; the later one is {name}")
    agent, run = record.agent._replace(name=name), record.run._replace(agent=name)
    return record._replace(agent=agent, run=run)


def missing_records(world: World, store: Store) -> tuple[list[RunRecord], list[str]]:
    """The records of runs that the store does not know, the oldest first; and what is not known."""
    known = store.runs.ids()
    ids = [id for id in world.archive.ids() if id not in known]
    stamped = {
        run: processes
        for run, processes in world.processes.stamped().items()
        if run not in known and (run in ids or _is_of_this_home(world, run, processes))
    }
    found: list[RunRecord] = []
    unknown: list[str] = []
    silent = 0
    for id in sorted({*ids, *stamped}):
        record = world.archive.record(id)
        if record is None:
            record = _from_traces(world, id, stamped.get(id, []))
            if record is None:
                silent += 1
                continue
            unknown.append(f"team, tag and terminal of {record.agent.name}")
        found.append(_as_born(world, record))
    if silent and found:
        unknown.append(f"{silent} ended runs whose directories have no record")
    return found, unknown


def _is_of_this_home(world: World, run: str, processes: list[ProcessId]) -> bool:
    """Agents of another KNELL_HOME are stamped too; the path of their heartbeat says whose."""
    paths = {world.processes.variable(one.pid, "KNELL_HEARTBEAT") for one in processes}
    return f"{world.rundir(run)}/heartbeat" in paths


def _as_born(world: World, record: RunRecord) -> RunRecord:
    """With what its keeper wrote since; no command is starting or ending it any more."""
    run, ending = record.run, record.run.ending
    if not run.live:
        let_go = ending is not None and ending.outcome is Outcome.ARCHIVED
        if let_go or not _lives(world, run):
            return record
        record = record._replace(receipt=None)  # it says that it ended, and it lives
    journal = world.keepers.journal(world.rundir(run.id))
    if journal.process and run.process is None:
        run = born(run, journal)
    if run.process:
        run = run._replace(state=State.RUNNING, owner=None, ending=None, rung="", ended_at="")
    return record._replace(run=run)


def _from_traces(world: World, id: str, stamped: list[ProcessId]) -> RunRecord | None:
    """What a journal and living processes tell of a run; None if nothing of it lives."""
    journal = world.keepers.journal(world.rundir(id))
    own = [one for one in (journal.process, journal.keeper) if one]
    living = [one for one in own if not isinstance(world.processes.look(one), Gone)]
    living += stamped
    if not living:
        return None
    process = journal.process or min(living, key=lambda one: (one.start, one.pid))
    agent = _agent_of(world, id, [process, *living])
    run = Run(id, agent.name, world.host, State.RUNNING, Place("terminal"), world.now())
    run = run._replace(keeper=journal.keeper, process=process, cgroup=journal.cgroup)
    return RunRecord(agent, run)


def _agent_of(world: World, id: str, living: list[ProcessId]) -> Agent:
    names = [world.processes.variable(one.pid, "KNELL_AGENT") or "" for one in living]
    name = next((name for name in names if re.fullmatch(NAME, name)), f"agent-{id[-8:]}")
    argv = world.processes.argv(living[0].pid)
    kind = world.kinds.kind_or_command(world.kinds.recognise(argv))
    args = kind.arguments(argv) if kind.runs_in(argv) else () if kind.program else argv
    cwd = world.processes.cwd(living[0].pid) or "/"
    agent = Agent(name, kind.name, cwd, args, created_at=world.now())
    return given_conversation(agent, kind.picked(args)[1], world.now())


def _end_lost(world: World, store: Store, run: Run) -> None:
    """A newer run of the agent lives, so this one is over."""
    from knell.core.receipt import Result
    from knell.life.base.receipts import run_receipt

    at = world.now()
    receipt = run_receipt(run, store.runs.agent(run.agent), LOST, Result.ENDED, at)
    store.endings.end(run._replace(ending=LOST, ended_at=at), receipt, ())


def _restore_teams(store: Store, records: list[RunRecord]) -> list[str]:
    """Makes the teams of live agents again; the agent with the leader's role leads."""
    live = [record for record in records if record.run.live and record.agent.team]
    unknown: list[str] = []
    for name in dict.fromkeys(record.agent.team for record in live):
        members = [record.agent for record in live if record.agent.team == name]
        if store.teams.team(name) is None:
            leader = next((one.name for one in members if one.role == "leader"), "")
            store.teams.add(Team(name, leader))
            unknown.append(f"tasks, messages and topology of team {name}")
        known = {member.agent for member in store.teams.members(name)}
        for member in members:
            if member.name not in known:
                store.teams.join(name, member.name, member.role)
    return unknown
