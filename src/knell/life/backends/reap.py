"""Ends shared servers that no run uses, and aborts what servers still do for ended agents."""

from collections.abc import Sequence
from contextlib import suppress

from knell.core.codes import Code, Notice
from knell.core.conversation import recorded_conversation
from knell.core.ending_steps import Case
from knell.core.environment import SERVES
from knell.core.errors import StoreFailed
from knell.core.ports.loopback import HttpCall
from knell.core.ports.teams import Backend
from knell.core.ports.world import World
from knell.core.run import State
from knell.core.serving import serving_of
from knell.life.backends.join import (
    SESSION,
    TAG,
    call_server,
    end_unused,
    project_of,
    record_server,
)

FORGOTTEN = 60.0  # seconds after which the starter of a server has recorded it, or has died


def reap_unused(world: World, by: str) -> None:
    """Ends the servers that no live run uses. The next call does what could not be recorded now,
    and what a killed one left."""
    with suppress(StoreFailed):
        _record_forgotten(world)
        for server in world.store.backends.all():
            run = world.store.runs.run(server.id)
            if run is None or not run.live:
                world.store.backends.drop(server.id)
                continue
            unused = not server.runs and run.host == world.host
            if unused and world.store.backends.retire(server.id):
                end_unused(world, server.id, by)


def _record_forgotten(world: World) -> None:
    """Records servers whose starter was killed before it could record them."""
    known = {server.id for server in world.store.backends.all()}
    for run in world.store.runs.live():
        if not run.agent.startswith(f"{TAG}-") or run.id in known or run.host != world.host:
            continue
        agent = world.store.runs.agent(run.agent)
        old = run.started_at < world.moment(world.seconds() - FORGOTTEN)
        if agent and SERVES in dict(agent.env) and old and run.state is State.RUNNING:
            record_server(world, agent, run)


# -- steps of every ending (knell/start_end_steps.py) -------------------------------------------


def part_from_backends(world: World, cases: list[Case]) -> list[Case]:
    """Stops the work that servers still do for agents that are dead, as a server does not notice;
    and warns of a server's end, if agents still use it."""
    try:
        servers = world.store.backends.all()
    except StoreFailed:
        return cases
    dying = {case.run.id for case in cases}
    return [case.warn(*_stop_work(world, case, servers, dying)) for case in cases]


def reap_after(world: World, cases: list[Case]) -> list[Case]:
    """Ends the servers that the ended runs were the last to use."""
    reap_unused(world, cases[0].asked.by)
    return cases


def _stop_work(
    world: World, case: Case, servers: Sequence[Backend], dying: set[str]
) -> tuple[Notice, ...]:
    for server in servers:
        left = [run for run in server.runs if run not in dying]
        if server.id == case.run.id and left:
            names = (run.agent for id in left if (run := world.store.runs.run(id)))
            why = f"it served {', '.join(names)}, which cannot continue without it"
            return (Notice(Code.BACKEND_ENDED, why),)
        # A server without other users is about to end, and its work with it.
        if left and server.id not in dying and _used(world, case, server):
            return _abort_conversation(world, case, server)
    return ()


def _used(world: World, case: Case, server: Backend) -> bool:
    """Whether the agent used it. The store knows the users that live; one that was let go is found
    by its project."""
    if case.run.live or server.kind != case.agent.kind:
        return case.run.id in server.runs
    return server.project == project_of(world, case.agent.cwd)


def _abort_conversation(world: World, case: Case, server: Backend) -> tuple[Notice, ...]:
    id, why = recorded_conversation(case.agent).id, ""
    if not SESSION.fullmatch(id):
        why = "its conversation is not known, so the shared server may still work on it"
    else:
        path = serving_of(world.kind(server.kind)).abort.replace("{id}", id)
        reply = call_server(world, server, HttpCall(server.port, path, "POST"))
        if reply is None or reply.status >= 300:  # noqa: PLR2004 - HTTP: not done
            why = f"the shared server did not abort conversation {id}"
    return (Notice(Code.BACKEND_WORKS_ON, why),) if why else ()
