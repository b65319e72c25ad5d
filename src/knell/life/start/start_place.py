"""Where an agent is started again, and whether it goes on in a terminal or without one."""

from typing import NamedTuple

from knell.core.agent import Agent
from knell.core.arguments import asks_for_headless, needs_terminal, prompt_of, talks_in_terminal
from knell.core.codes import Code
from knell.core.environment import SHARED
from knell.core.errors import NotResumable, Refused
from knell.core.kind import Kind
from knell.core.ports.world import World
from knell.core.run import Place

HEADLESS, TERMINAL, TMUX = "headless", "terminal", "tmux"
PANE = "--in tmux opens a pane for it"


class Wanted(NamedTuple):
    """What was asked for, and from where."""

    place: str = ""  # empty: where it was, or where the person is
    args: tuple[str, ...] = ()  # further arguments for the program, its next prompt among them
    free: bool = False  # the caller has a terminal, and the agent may take it
    in_tmux: bool = False  # a server or a session of tmux was named


def place_to_resume_in(world: World, agent: Agent, wanted: Wanted) -> str:
    """Where it was. What was run in a terminal goes to the person: into this terminal, or into a
    pane beside it; without a terminal only what needs none is started."""
    if wanted.place == TERMINAL and not wanted.free:
        why = f"'{agent.name}' cannot have this terminal: there is none, or it is not free"
        raise NotResumable(why, PANE, code=Code.NO_TERMINAL)
    if wanted.place or agent.place not in (TERMINAL, HEADLESS):
        return wanted.place or agent.place
    if wanted.in_tmux:
        return TMUX
    if agent.place == HEADLESS or wanted.free:
        return agent.place
    near = world.default_place()
    if near == HEADLESS and not asks_for_headless(world.kind(agent.kind), agent.args):
        why = f"'{agent.name}' ran in a terminal, and there is none here"
        raise NotResumable(why, PANE, code=Code.NO_TERMINAL)
    return near


def place_to_restart_in(world: World, agent: Agent, last: Place, *, free: bool) -> Agent:
    """The same for the agent's own command. Without a person at a terminal, a program that is
    talked to comes up in the tmux that it was run in, and any other without a terminal."""
    if agent.place != TERMINAL or free:
        return agent
    near = world.default_place()
    if near != HEADLESS or not talks_in_terminal(world.kind(agent.kind), agent.args):
        return agent._replace(place=near)
    if last.pane:
        return agent._replace(place=TMUX, server=last.server)
    why = f"'{agent.name}' ran in a terminal, and there is none here"
    hint = f"knell resume {agent.name}, in a terminal, brings it back"
    raise NotResumable(why, hint, code=Code.NO_TERMINAL)


def check_has_terminal(world: World, kind: str, args: tuple[str, ...], place: str) -> None:
    """Refuses to start a program without the terminal that it needs; not if that was asked for."""
    if place == HEADLESS and needs_terminal(world.kind(kind), args):
        hint = f"{PANE}; `knell run {kind}` takes the terminal that you are in"
        raise Refused(f"{kind} needs a terminal to run in", hint, code=Code.NO_TERMINAL)


# -- the command line ----------------------------------------------------------------------------


def continues_headless(agent: Agent, kind: Kind, wanted: Wanted) -> bool:
    """Whether it works through one more prompt and exits, as `claude -p` does. An agent that worked
    so comes up with its prompt line if a pane is asked for and no prompt is given."""
    if kind.headless is None or SHARED in dict(agent.env):
        return False
    if agent.place == HEADLESS:
        return True
    by_hand = bool(wanted.place or wanted.in_tmux) and not prompt_of(kind, wanted.args)
    return asks_for_headless(kind, agent.args) and not by_hand


def argv_to_resume(agent: Agent, kind: Kind, wanted: Wanted) -> tuple[str, ...]:
    """The command line that continues the agent's conversation in its place; refused for one that
    works without a terminal and gets no prompt."""
    if not continues_headless(agent, kind, wanted):
        return kind.resume_argv(agent.conversation, agent.args, wanted.args)
    check_prompt(agent, prompt_of(kind, wanted.args))
    return kind.continue_argv(agent.conversation, agent.args, wanted.args)


def check_prompt(agent: Agent, prompt: str) -> None:
    """Refuses to continue without one an agent that works without a terminal."""
    if not prompt:
        name = agent.name
        why = f"'{name}' works without a terminal and needs its next prompt"
        hint = f'knell resume {name} -- "the prompt"; or in a pane: knell resume {name} --in tmux'
        raise NotResumable(why, hint, code=Code.NEEDS_PROMPT)
