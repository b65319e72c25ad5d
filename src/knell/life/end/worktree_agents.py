"""Which agents worked in a worktree, and whether the caller may clean up after all of them."""

from collections.abc import Sequence

from knell.core.authority import Caller, Deed
from knell.core.paths import is_below
from knell.core.ports.git import Tree
from knell.core.ports.world import World
from knell.life.base.authority import check_agents


def check_trees(world: World, who: Caller, agents: Sequence[str]) -> None:
    """Refuses to clean up after these agents unless the caller may do so after each agent that ever
    worked in their worktrees: an agent can be started in the worktree of any other."""
    for name in agents:
        agent = world.store.runs.agent(name)
        tree = world.worktrees().describe(agent.cwd) if agent and agent.cwd else None
        if isinstance(tree, Tree) and tree.linked:
            check_agents(world, who, Deed.CLEAN_UP, agents_inside(world, tree))


def agents_inside(world: World, tree: Tree, *, live: bool = False) -> list[str]:
    """The agents whose directory is in the worktree: all that ever were, or those that live."""
    running = {run.agent for run in world.store.runs.live()} if live else set[str]()
    known = [one for one in world.store.runs.agents() if not live or one.name in running]
    return sorted(one.name for one in known if is_below(world.disk.real(one.cwd), tree.top))
