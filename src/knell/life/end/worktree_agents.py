"""Which agents worked in a worktree, and whether the caller may clean up after all of them."""

from collections.abc import Sequence

from knell.core.authority import Caller, Deed, Relation, Subject
from knell.core.paths import is_below
from knell.core.ports.git import Tree
from knell.core.ports.world import World
from knell.life.base.authority import check, check_agents

MADE = "worktree.created"
EVENTS = 10_000  # the newest, among which the making of a worktree is looked for


def check_trees(world: World, who: Caller, agents: Sequence[str]) -> None:
    """Refuses to clean up after these agents unless the caller may do so after each agent that ever
    worked in their worktrees: an agent can be started in the worktree of any other."""
    for name in agents:
        agent = world.store.runs.agent(name)
        tree = world.worktrees().describe(agent.cwd) if agent and agent.cwd else None
        if isinstance(tree, Tree) and tree.linked:
            check_tree(world, who, tree)


def check_tree(world: World, who: Caller, tree: Tree) -> None:
    """The same for one worktree. If no agent of this KNELL_HOME worked in it, it belongs to its
    maker; if the maker is not known here, agents of another KNELL_HOME may have worked there."""
    inside = agents_inside(world, tree)
    check_agents(world, who, Deed.CLEAN_UP, inside)
    if who.elsewhere or (who.runs and not inside):
        maker = maker_of(world, tree)
        if maker:
            check_agents(world, who, Deed.CLEAN_UP, [maker])
        elif who.runs or not is_on_record(world, tree):
            strange = Subject(f"the worktree {tree.top}", Relation.STRANGE)
            check(world, who, Deed.CLEAN_UP, [strange])


def check_conversations(world: World, who: Caller, agents: Sequence[str]) -> None:
    """Refuses to delete conversations that these agents were told to continue: another agent or a
    person had begun them."""
    for name in agents:
        agent = world.store.runs.agent(name)
        named = world.kind(agent.kind).picked(agent.args)[1] if agent else ""
        if agent and named and named == agent.conversation:
            strange = Subject(f"the conversation {named}", Relation.STRANGE)
            check(world, who, Deed.CLEAN_UP, [strange])


def maker_of(world: World, tree: Tree) -> str:
    """The agent that had the worktree made; empty if the operator did, or if it is not known."""
    told = (one for one in world.store.events.read(0, "", EVENTS) if one.type == MADE)
    makers = [one.agent for one in told if one.data.get("path") == tree.top]
    return makers[-1] if makers else ""


def is_on_record(world: World, tree: Tree) -> bool:
    rows = world.store.orchestrator.worktrees()
    return any(world.disk.real(row.path) == tree.top for row in rows if row.status != "cleaned")


def agents_inside(world: World, tree: Tree, *, live: bool = False) -> list[str]:
    """The agents whose directory is in the worktree: all that ever were, or those that live."""
    running = {run.agent for run in world.store.runs.live()} if live else set[str]()
    known = [one for one in world.store.runs.agents() if not live or one.name in running]
    return sorted(one.name for one in known if is_below(world.disk.real(one.cwd), tree.top))
