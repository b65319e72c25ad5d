"""Backend servers that agents of a project share: one is started for the first, ended after the
last. A server is a run of its own, nobody's child, so that it is ended as surely as any other.

Nothing is counted: a server is in use as long as a live run's row says so (core/teamwork.Server).
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from quell.core.agent import Agent
from quell.core.environment import SERVES
from quell.core.errors import LaunchFailed, Refused, StillRunning
from quell.core.kind import Kind
from quell.core.lifecycle import Outcome, State
from quell.core.ports import World
from quell.core.process import Gone
from quell.core.run import Ending, Place, Run
from quell.core.serving import SESSION, TAG, Call, Serving, ports, server_name
from quell.core.teamwork import Server
from quell.life.backends.serving import (
    ANSWER,
    GRACE,
    answers,
    call_server,
    end_server,
    login_of,
    on_record,
    unused,
)
from quell.life.backends.sharing import served
from quell.life.caller import caller
from quell.life.settle import settle
from quell.life.spawn import How, begin, new_run

BIRTH = 30.0  # seconds in which a new one has to answer: a busy machine needed 13
GLANCE = 0.05
TRIES = 3  # servers that are started for one agent before it is given up


class Joined(NamedTuple):
    """An agent as it is started on a server."""

    agent: Agent
    argv: tuple[str, ...]
    env: Mapping[str, str]


# -- using one ---------------------------------------------------------------------------------


def joined(world: World, agent: Agent, run: Run, env: Mapping[str, str]) -> Joined:
    """Sees to it that the agent's project has a server, which from now on is used by the run; and
    that the agent's conversation is known, so that it can be broken off."""
    kind = world.kind(agent.kind)
    serving = served(kind)
    server = ensure_running(world, kind, project_of(world, agent.cwd), run)
    login = login_of(world, server, serving)
    chosen = any(arg.split("=")[0] in serving.picks for arg in agent.args)
    if not agent.conversation and not chosen:
        agent = agent._replace(conversation=_opened(world, agent, server, serving))
        world.store.set_conversation(agent.name, agent.conversation)
    words = (*serving.attach, *(serving.session if agent.conversation and not chosen else ()))
    told = {"{url}": f"http://127.0.0.1:{server.port}", "{cwd}": agent.cwd}
    argv = _filled(words, told | {"{id}": agent.conversation})
    env = {**env, serving.user_env: login[0], serving.secret_env: login[1]}
    return Joined(agent, (kind.program, *argv, *agent.args), env)


def project_of(world: World, cwd: str) -> str:
    """The git checkout that holds the directory, or else the directory."""
    real = world.disk.real(cwd)
    above = real
    while world.disk.touched_at(os.path.join(above, ".git")) is None:
        if above == os.path.dirname(above):
            return real
        above = os.path.dirname(above)
    return above


def _opened(world: World, agent: Agent, server: Server, serving: Serving) -> str:
    """The id of a new conversation; empty if the server did not begin one."""
    path = serving.open.replace("{cwd}", quote(agent.cwd, safe="", errors="surrogateescape"))
    title = f"teams::{agent.team}::agent::{agent.name}::role::{agent.role}"
    body = json.dumps({"title": title if agent.team else agent.name})
    reply = call_server(world, server, serving, Call(server.port, path, "POST", body))
    try:
        id = json.loads(reply.body).get("id", "") if reply else ""
    except (ValueError, AttributeError, RecursionError):
        id = ""
    return id if isinstance(id, str) and SESSION.fullmatch(id) else ""


def _filled(words: Sequence[str], told: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(told.get(word, word) for word in words)


# -- having one --------------------------------------------------------------------------------


def ensure_running(world: World, kind: Kind, project: str, run: Run) -> Server:
    """The project's server, which answers and is used by `run` from now on. Of any number who ask
    at once, one starts it: the store lets one run of its name in."""
    name = server_name(kind.name, project)
    until = world.clock().awake + TRIES * (BIRTH + GRACE)
    failed = 0
    while failed < TRIES and world.clock().awake < until:
        server = _listed(world, kind, project) or _started(world, kind, project, run)
        # Used first, awaited then: nobody must take it for a server that nobody needs.
        if server is None or not world.store.teamwork.use_server(server.id, run.id):
            world.kernel.wait([], GLANCE)
        elif _comes_up(world, server, run):
            return server
        else:
            failed += 1
            end_server(world, server.id, _silent(caller(world).by))
    raise LaunchFailed(
        f"the shared server of {project} does not answer",
        f"quell receipt {name} --screen shows its last words",
    )


def _listed(world: World, kind: Kind, project: str) -> Server | None:
    """The one on record, if its run lives."""
    for server in world.store.teamwork.servers():
        if (server.kind, server.project, server.retired_at) == (kind.name, project, ""):
            run = world.store.run(server.id)
            if run and run.live and run.host != world.host:
                raise Refused(f"the server of {project} runs on {run.host}", "leave out --shared")
            if run and run.live:
                return server
            world.store.teamwork.drop_server(server.id)
    return None


def _started(world: World, kind: Kind, project: str, user: Run) -> Server | None:
    """A new one, just born; None while another of its name is in the way."""
    serving = served(kind)
    used = {server.port for server in world.store.teamwork.servers()}
    free = (port for port in ports(project) if port not in used and world.kernel.is_free(port))
    port = next(free, 0)
    if not port:
        raise LaunchFailed("every port of shared servers is taken", "leave out --shared")
    argv = (kind.program, *_filled(serving.serve, {"{port}": str(port)}))
    env = (
        (SERVES, f"{kind.name}:{port}"),
        (serving.user_env, serving.user),
        (serving.secret_env, world.new_token()),
    )
    name = server_name(kind.name, project)
    agent = Agent(name, "command", project, args=argv, env=env, tag=TAG, created_at=world.now())
    fresh = new_run(world, agent, Place("headless"))._replace(parent="")
    plain = {name: text for name, text in world.env.items() if name not in kind.strip_env}
    try:
        born = begin(world, agent, fresh, argv, How(), plain).run
    except StillRunning:
        return _in_the_way(world, name, user)
    return on_record(world, agent, born, (user.id,))


def _in_the_way(world: World, name: str, user: Run) -> Server | None:
    """Somebody is starting or ending it, or died over that: then it is seen through here."""
    settle(world)
    agent = world.store.agent(name)
    run = next((run for run in world.store.live_runs() if run.agent == name), None)
    if agent is None or run is None or SERVES not in dict(agent.env):
        return None
    alone = run.owner is None or isinstance(world.kernel.look(run.owner), Gone)
    servers = world.store.teamwork.servers()
    retired = any(server.id == run.id and server.retired_at for server in servers)
    if retired or run.state is State.STOPPING or (run.state is State.SPAWNING and alone):
        end_server(world, run.id, unused(caller(world).by))
    elif run.state is State.RUNNING:
        return on_record(world, agent, run, (user.id,))
    return None


def _silent(by: str) -> Ending:
    return Ending(Outcome.KILLED, by, "server_silent", "it did not answer in time")


def _comes_up(world: World, server: Server, user: Run) -> bool:
    """Whether it answers before anybody's patience is over."""
    run = world.store.run(server.id)
    if run is None or run.process is None:
        return False
    known = next((one for one in world.store.teamwork.servers() if one.id == server.id), server)
    young = run.started_at > world.moment(world.seconds() - BIRTH)
    others = any(other != user.id for other in known.runs)
    until = world.clock().awake + (BIRTH if young or others else ANSWER)
    while world.clock().awake < until:
        now = world.store.run(run.id)
        gone = isinstance(world.kernel.look(run.process), Gone)
        if gone or now is None or now.state is not State.RUNNING:
            return False
        if answers(world, server):
            return True
        world.kernel.wait([run.process], GLANCE)
    return False
