"""A shared server as others deal with it: talk to it, write it down, end it."""

from quell.core import ladder as ladders
from quell.core.agent import Agent
from quell.core.environment import SERVES
from quell.core.lifecycle import Outcome
from quell.core.ports import World
from quell.core.run import Ending, Run
from quell.core.serving import Call, Reply, Serving, server_name
from quell.core.teamwork import Server
from quell.life.backends.sharing import served
from quell.life.before import Way
from quell.life.ending import end_runs

ANSWER = 2.0  # seconds in which a healthy one answers
GRACE = 5.0  # seconds between TERM and KILL


def call_server(world: World, server: Server, serving: Serving, call: Call) -> Reply | None:
    return world.kernel.call(call._replace(login=login_of(world, server, serving)), ANSWER)


def login_of(world: World, server: Server, serving: Serving) -> tuple[str, str]:
    """The password is the server's own, so that nobody else on the machine can use it."""
    agent = world.store.agent(server_name(server.kind, server.project))
    return serving.user, dict(agent.env).get(serving.secret_env, "") if agent else ""


def answers(world: World, server: Server) -> bool:
    serving = served(world.kind(server.kind))
    reply = call_server(world, server, serving, Call(server.port, serving.health))
    return reply is not None and reply.status == 200  # noqa: PLR2004 - HTTP's OK


def on_record(world: World, agent: Agent, run: Run, users: tuple[str, ...] = ()) -> Server:
    """Written down, by whoever is first to do so, together with who uses it: at no moment does it
    look like a server that nobody needs."""
    kind, _, port = dict(agent.env)[SERVES].partition(":")
    server = Server(run.id, kind, agent.cwd, run.process, int(port), run.place.log, runs=users)
    return world.store.teamwork.add_server(server)


def end_server(world: World, id: str, ending: Ending) -> None:
    """Its record goes when it is proven to be gone, whoever ended it."""
    run = world.store.run(id)
    if run and run.live:
        ladder = ladders.with_grace(ladders.KILL, GRACE)
        end_runs(world, [run], Way(ladder, ending, deregister=True))
        run = world.store.run(id)
    if run is None or not run.live:
        world.store.teamwork.drop_server(id)


def unused(by: str) -> Ending:
    return Ending(Outcome.STOPPED, by, "unused", "no agent uses it any more")
