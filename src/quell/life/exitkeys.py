"""Types what a person would type to leave: only into a pane that is surely the agent's."""

from typing import TYPE_CHECKING

from quell.core.agent import Agent
from quell.core.errors import PlaceFailed
from quell.core.panes import Present
from quell.core.process import Gone
from quell.core.run import Run

if TYPE_CHECKING:
    from quell.core.ports import World

SECOND_LOOK = 1.0  # seconds until a program that asks back has drawn its question


def type_exit(world: "World", run: Run, agent: Agent) -> str:
    """Returns nothing, or why it was not typed. A question that comes back is answered once."""
    kind = world.kind(agent.kind)
    terminal = world.place(run.place.name)
    trouble = not_in_front(world, run, agent)
    if trouble:
        return f"its exit keys were not typed: {trouble}"
    try:
        terminal.type_line(run.place, kind.clear_keys, kind.exit_keys[0], kind.exit_shown)
        if not kind.confirm or left(world, run, SECOND_LOOK):
            return ""
        screen = terminal.screen(run.place)
        for question, answer in kind.confirm:
            if question in screen and not not_in_front(world, run, agent):
                terminal.type_line(run.place, (), answer)
                return ""
    except PlaceFailed as error:
        return f"its exit keys could not be typed: {error}"
    return ""


def not_in_front(world: "World", run: Run, agent: Agent) -> str:
    """Why typing now could reach somebody else, or nothing."""
    seen = world.place(run.place.name).look(run.place, run.id)
    if not isinstance(seen, Present):
        return f"the pane is not the agent's any more ({seen.why})"
    owner = run.keeper or run.process
    if owner is None or seen.pid not in (owner.pid, *world.kernel.above(owner.pid)):
        return f"the pane belongs to PID {seen.pid}"
    if run.process is None or isinstance(world.kernel.look(run.process), Gone):
        return "the agent is gone"
    front = world.kernel.front(run.process.pid)
    if run.keeper and run.process.pid in front:
        return ""
    # Of an adopted pane only its owner knows what it is: it may be a shell, which takes the line.
    if any(world.recognise(world.kernel.argv(pid)) == agent.kind for pid in front):
        return ""
    return f"PID {front[0] if front else '?'} is in front in the pane, not the agent"


def left(world: "World", run: Run, seconds: float) -> bool:
    if run.process is None:
        return True
    world.kernel.wait([run.process], seconds)
    return isinstance(world.kernel.look(run.process), Gone)
