"""Puts an agent on the server that the agents of its project share, and starts that server.

The server is started for the first agent and ended after the last. It is a run of its own without
a parent, so that it is ended as surely as any other. Users are not counted: a server is in use as
long as the row of a live run says so.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from knell.core import ladder as ladders
from knell.core.agent import Agent
from knell.core.codes import Code
from knell.core.conversation import given_conversation, recorded_conversation
from knell.core.ending_steps import Way
from knell.core.environment import SERVES
from knell.core.errors import LaunchFailed, Refused, StillRunning
from knell.core.json_lines import object_in
from knell.core.kind import Kind
from knell.core.ports.loopback import HttpCall, HttpReply
from knell.core.ports.teams import Backend
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.core.run import Ending, Outcome, Place, Run, State
from knell.core.serving import Serving, serving_of
from knell.life.base.caller import caller
from knell.life.base.take_in import take_in_journals
from knell.life.end.engine import end
from knell.life.start.spawn import StartOptions, begin, new_run

FIRST_PORT, PORTS = 28_000, 1000
TAG = "server"  # of the agent that is a server
SESSION = re.compile(r"[A-Za-z0-9_-]{1,200}")
ANSWER = 2.0  # seconds in which a healthy server answers
GRACE = 5.0  # seconds between TERM and KILL of a server
START_LIMIT = 30.0  # seconds in which a new server has to answer: a busy machine needed 13
POLL = 0.05  # seconds between two looks
TRIES = 3  # servers that are started for one agent before it is given up


# -- using a server ----------------------------------------------------------------------------


def join(
    world: World, agent: Agent, run: Run, env: Mapping[str, str]
) -> tuple[Agent, tuple[str, ...], Mapping[str, str]]:
    """Gives the run a server of its project and opens its conversation there, so that an ending
    can abort the conversation. Returns the agent, its argv and its environment for the start."""
    kind = world.kind(agent.kind)
    serving = serving_of(kind)
    server = ensure_running(world, kind, project_of(world, agent.cwd), run)
    login = login_of(world, server)
    chosen = any(arg.split("=")[0] in serving.picks for arg in agent.args)
    if not agent.conversation and not chosen:
        id = _open_conversation(world, agent, server, serving)
        agent = given_conversation(agent, id, world.now())
        world.store.runs.set_conversation(agent.name, recorded_conversation(agent))
    words = (*serving.attach, *(serving.session if agent.conversation and not chosen else ()))
    values = {"{url}": f"http://127.0.0.1:{server.port}", "{cwd}": agent.cwd}
    argv = _fill_in(words, values | {"{id}": agent.conversation})
    env = {**env, serving.user_env: login[0], serving.secret_env: login[1]}
    return agent, (kind.program, *argv, *agent.args), env


def project_of(world: World, cwd: str) -> str:
    """The git checkout that holds the directory, or else the directory."""
    real = world.disk.real(cwd)
    above = real
    while world.disk.touched_at(os.path.join(above, ".git")) is None:
        if above == os.path.dirname(above):
            return real
        above = os.path.dirname(above)
    return above


def _open_conversation(world: World, agent: Agent, server: Backend, serving: Serving) -> str:
    """The id of a new conversation; empty if the server did not begin one."""
    path = serving.open.replace("{cwd}", quote(agent.cwd, safe="", errors="surrogateescape"))
    title = f"teams::{agent.team}::agent::{agent.name}::role::{agent.role}"
    body = json.dumps({"title": title if agent.team else agent.name})
    reply = call_server(world, server, HttpCall(server.port, path, "POST", body))
    id = object_in(reply.body).get("id") if reply else ""
    return id if isinstance(id, str) and SESSION.fullmatch(id) else ""


def _fill_in(words: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(values.get(word, word) for word in words)


# -- starting a server -------------------------------------------------------------------------


def ensure_running(world: World, kind: Kind, project: str, run: Run) -> Backend:
    """The project's server, which answers and is used by `run` from now on. Of any number of
    callers at once, one starts it: the store lets one run of its name in."""
    name = server_name(kind.name, project)
    until = world.clock().awake + TRIES * (START_LIMIT + GRACE)
    failed = 0
    while failed < TRIES and world.clock().awake < until:
        server = _find_recorded(world, kind, project) or _start_server(world, kind, project, run)
        # Marked as used before it is waited for: else a reaper could take it for unused.
        if server is None or not world.store.backends.use(server.id, run.id):
            world.wait([], POLL)
        elif _wait_for_answer(world, server, run):
            return server
        else:
            failed += 1
            silent = ("server_silent", "it did not answer in time")
            end_server(world, server.id, Ending(Outcome.KILLED, caller(world).by, *silent))
    raise LaunchFailed(
        f"the shared server of {project} does not answer",
        f"knell receipt {name} --screen shows its last words",
        code=Code.BACKEND_FAILED,
    )


def _find_recorded(world: World, kind: Kind, project: str) -> Backend | None:
    """The recorded server of the project, if its run lives; drops the record of a dead one."""
    for server in world.store.backends.all():
        if (server.kind, server.project, server.retired_at) == (kind.name, project, ""):
            run = world.store.runs.run(server.id)
            if run and run.live and run.host != world.host:
                why = f"the server of {project} runs on {run.host}"
                raise Refused(why, "leave out --shared", code=Code.ON_ANOTHER_HOST)
            if run and run.live:
                return server
            world.store.backends.drop(server.id)
    return None


def _start_server(world: World, kind: Kind, project: str, user: Run) -> Backend | None:
    """Starts a server; None while another run of its name is in the way."""
    serving = serving_of(kind)
    used = {server.port for server in world.store.backends.all()}
    free = (port for port in ports(project) if port not in used and world.loopback.is_free(port))
    port = next(free, 0)
    if not port:
        why = "every port of shared servers is taken"
        raise LaunchFailed(why, "leave out --shared", code=Code.BACKEND_FAILED)
    argv = (kind.program, *_fill_in(serving.serve, {"{port}": str(port)}))
    env = (
        (SERVES, f"{kind.name}:{port}"),
        (serving.user_env, serving.user),
        (serving.secret_env, world.new_token()),
    )
    name = server_name(kind.name, project)
    agent = Agent(name, "command", project, args=argv, env=env, tag=TAG, created_at=world.now())
    fresh = new_run(world, agent, Place("headless"))._replace(parent="")
    stripped = {*world.kinds.strip_env(), *kind.strip_env}
    plain = {name: text for name, text in world.env.items() if name not in stripped}
    try:
        born = begin(world, agent, fresh, argv, StartOptions(), plain).run
    except StillRunning:
        return _take_over_name(world, name, user)
    return record_server(world, agent, born, (user.id,))


def _take_over_name(world: World, name: str, user: Run) -> Backend | None:
    """Another process starts or ends that server. If that process died, its work is finished."""
    take_in_journals(world)
    agent = world.store.runs.agent(name)
    run = next((run for run in world.store.runs.live() if run.agent == name), None)
    if agent is None or run is None or SERVES not in dict(agent.env):
        return None
    alone = run.owner is None or isinstance(world.processes.look(run.owner), Gone)
    servers = world.store.backends.all()
    retired = any(server.id == run.id and server.retired_at for server in servers)
    if retired or run.state is State.STOPPING or (run.state is State.SPAWNING and alone):
        end_unused(world, run.id, caller(world).by)
    elif run.state is State.RUNNING:
        return record_server(world, agent, run, (user.id,))
    return None


def _wait_for_answer(world: World, server: Backend, user: Run) -> bool:
    """Waits until the server answers; False if it ended or did not answer in time."""
    run = world.store.runs.run(server.id)
    if run is None or run.process is None:
        return False
    known = next((one for one in world.store.backends.all() if one.id == server.id), server)
    young = run.started_at > world.moment(world.seconds() - START_LIMIT)
    others = any(other != user.id for other in known.runs)
    until = world.clock().awake + (START_LIMIT if young or others else ANSWER)
    while world.clock().awake < until:
        now = world.store.runs.run(run.id)
        gone = isinstance(world.processes.look(run.process), Gone)
        if gone or now is None or now.state is not State.RUNNING:
            return False
        if is_answering(world, server):
            return True
        world.wait([run.process], POLL)
    return False


# -- one server ----------------------------------------------------------------------------------


def _digest(project: str) -> bytes:
    name = project.encode(errors="surrogateescape")
    return hashlib.md5(name, usedforsecurity=False).digest()  # the contract's; nothing is secret


def server_name(kind: str, project: str) -> str:
    return f"server-{kind}-{_digest(project).hex()[:8]}"


def ports(project: str) -> Iterator[int]:
    """Every port for shared servers, the project's own first: two projects may have the same."""
    own = int.from_bytes(_digest(project)[:2], "big")
    return (FIRST_PORT + (own + step) % PORTS for step in range(PORTS))


def call_server(world: World, server: Backend, call: HttpCall) -> HttpReply | None:
    return world.loopback.call(call._replace(login=login_of(world, server)), ANSWER)


def login_of(world: World, server: Backend) -> tuple[str, str]:
    """The server's own password, so that no other user of the machine can use it."""
    serving = serving_of(world.kind(server.kind))
    agent = world.store.runs.agent(server_name(server.kind, server.project))
    return serving.user, dict(agent.env).get(serving.secret_env, "") if agent else ""


def is_answering(world: World, server: Backend) -> bool:
    health = serving_of(world.kind(server.kind)).health
    reply = call_server(world, server, HttpCall(server.port, health))
    return reply is not None and reply.status == 200  # noqa: PLR2004 - HTTP's OK


def record_server(world: World, agent: Agent, run: Run, users: tuple[str, ...] = ()) -> Backend:
    """Records the server together with its users, so that it never looks unused; the record may
    be there already."""
    kind, _, port = dict(agent.env)[SERVES].partition(":")
    server = Backend(run.id, kind, agent.cwd, run.process, int(port), run.place.log, runs=users)
    return world.store.backends.add(server)


def end_server(world: World, id: str, ending: Ending) -> None:
    """Ends the server's run; its record goes once the run is proven to be gone."""
    run = world.store.runs.run(id)
    if run and run.live:
        ladder = ladders.with_grace(ladders.KILL, GRACE)
        end(world, [run], Way(ladder, ending, deregister=True))
        run = world.store.runs.run(id)
    if run is None or not run.live:
        world.store.backends.drop(id)


def end_unused(world: World, id: str, by: str) -> None:
    end_server(world, id, Ending(Outcome.STOPPED, by, "unused", "no agent uses it any more"))
