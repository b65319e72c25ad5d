"""When shared servers end: with the last who used them. And what is left of others there."""

from collections.abc import Sequence

from quell.core.environment import SERVES
from quell.core.errors import StoreFailed
from quell.core.lifecycle import State
from quell.core.ports import World
from quell.core.serving import SESSION, TAG, Call
from quell.core.teamwork import Server
from quell.life.backends.serving import call_server, end_server, on_record, unused
from quell.life.backends.sharing import served
from quell.life.before import Doomed

FORGOTTEN = 60.0  # seconds after which whoever started one has written it down, or has died


def reap_unused(world: World, by: str) -> list[Server]:
    """Ends the servers that no live run uses; those that are gone now. What cannot be written
    down now, or whose reaper is killed, is left to the next one."""
    gone: list[Server] = []
    try:
        _find_forgotten(world)
        _drop_dead(world)
        for server in world.store.teamwork.unused_servers():
            run = world.store.run(server.id)
            ours = run is not None and run.host == world.host
            if ours and world.store.teamwork.retire_server(server.id):
                end_server(world, server.id, unused(by))
                gone.append(server)
    except StoreFailed:
        return gone
    return gone


def _find_forgotten(world: World) -> None:
    """Servers whose starter was killed before it could write them down."""
    known = {server.id for server in world.store.teamwork.servers()}
    for run in world.store.live_runs():
        if not run.agent.startswith(f"{TAG}-") or run.id in known or run.host != world.host:
            continue
        agent = world.store.agent(run.agent)
        old = run.started_at < world.moment(world.seconds() - FORGOTTEN)
        if agent and SERVES in dict(agent.env) and old and run.state is State.RUNNING:
            on_record(world, agent, run)


def _drop_dead(world: World) -> None:
    for server in world.store.teamwork.servers():
        run = world.store.run(server.id)
        if run is None or not run.live:
            world.store.teamwork.drop_server(server.id)


# -- what the ending of others has to do with it -----------------------------------------------


def parted(world: World, doomed: Sequence[Doomed]) -> list[Doomed]:
    """Between their deaths and the record: breaks off what servers still do for them, as a server
    works on for an agent that is gone; and says of a server who else used it."""
    try:
        servers = world.store.teamwork.servers()
    except StoreFailed:
        return list(doomed)
    dying = {one.run.id for one in doomed}
    told: list[Doomed] = []
    for one in doomed:
        warnings = _warnings(world, one, servers, dying)
        told.append(one._replace(warnings=(*one.warnings, *warnings)))
    return told


def _warnings(
    world: World, one: Doomed, servers: Sequence[Server], dying: set[str]
) -> tuple[str, ...]:
    for server in servers:
        left = [run for run in server.runs if run not in dying]
        if server.id == one.run.id and left:
            return (f"it served {_names(world, left)}, who cannot go on without it",)
        # If nobody else uses it, the server is about to end, and this with it.
        if one.run.id in server.runs and left and server.id not in dying:
            return _broken_off(world, one, server)
    return ()


def _broken_off(world: World, one: Doomed, server: Server) -> tuple[str, ...]:
    serving = served(world.kind(server.kind))
    id = one.agent.conversation
    # What was found by looking around may be another's, who works in the same directory.
    if not SESSION.fullmatch(id) or one.conversation.found_by in ("scan", "cache"):
        return ("its conversation is not known: the shared server may still work on it",)
    call = Call(server.port, serving.abort.replace("{id}", id), "POST")
    reply = call_server(world, server, serving, call)
    if reply is None or reply.status >= 300:  # noqa: PLR2004 - HTTP: not done
        return (f"the shared server did not break off conversation {id}",)
    return ()


def _names(world: World, runs: Sequence[str]) -> str:
    return ", ".join(run.agent for id in runs if (run := world.store.run(id)))
