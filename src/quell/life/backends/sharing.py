"""Agents that use their project's server, marked at their spawn. Most do not, and load nothing."""

from collections.abc import Mapping

from quell.core.agent import Agent
from quell.core.environment import SHARED
from quell.core.errors import BadRequest
from quell.core.kind import Kind
from quell.core.ports import World
from quell.core.run import Run
from quell.core.serving import Serving

Env = tuple[tuple[str, str], ...]


def served(kind: Kind) -> Serving:
    if kind.serving is None:
        raise BadRequest(f"{kind.name} has no server that agents can share", "leave out --shared")
    return kind.serving


def sharing_env(kind: Kind, asked: Env) -> Env:
    """What was asked for, with the mark; refused for a program that cannot be shared."""
    served(kind)
    return (*asked, (SHARED, "1"))


def on_server(
    world: World, agent: Agent, run: Run, argv: tuple[str, ...], env: Mapping[str, str]
) -> tuple[Agent, tuple[str, ...], Mapping[str, str]]:
    """How the agent is started: as given, or on the server that is now its run's."""
    if SHARED not in dict(agent.env):
        return agent, argv, env
    from quell.life.backends.servers import joined

    return joined(world, agent, run, env)


def left_server(world: World, agent: Agent, by: str) -> None:
    """It did not come to life: a server that was started for it alone has no reason to live."""
    if SHARED in dict(agent.env):
        from quell.life.backends.server_ends import reap_unused

        reap_unused(world, by)
