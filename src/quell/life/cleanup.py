"""Cleans up after a run that is proven to be over: session directory, stale lock, worktree.

Look → decide (core/worktree.py) → save → look again → remove. Whatever fails is said, and nothing
here can undo the ending itself.
"""

import os
from datetime import datetime
from typing import NamedTuple

from quell.core.agent import Agent
from quell.core.cleaning import Cleaning
from quell.core.errors import LaunchFailed, StoreFailed
from quell.core.ports import World
from quell.core.process import Unknown
from quell.core.run import Run
from quell.core.worktree import Cleanup, Decision, GitFailed, Holding, Rescue, Tree, decide
from quell.life.before import others_alive, target_of
from quell.life.stale_lock import without_stale_lock

MARKER = ".quell-session"
KEPT_FOR = 86_400.0  # seconds: somebody may want to see what a crashed agent left there


def cleaned(world: World, run: Run, agent: Agent, mode: Cleanup) -> Cleaning:
    """What was removed, kept and saved. Call it once nothing of the run is alive any more."""
    scene = _looked(world, run, agent)
    cleaning = _worktree_cleaned(world, scene, mode)
    return _session_removed(world, scene, cleaning)


def preview_cleaning(world: World, run: Run, agent: Agent, mode: Cleanup) -> Cleaning:
    """The same, as it would come out if the run ended now; changes nothing."""
    own = world.kernel.members(target_of(world, run), others_alive(world))
    scene = _looked(world, run, agent)._replace(
        own=frozenset(member.process.pid for member in own), would=True
    )
    cleaning = _worktree_cleaned(world, scene, mode)
    return _session_removed(world, scene, cleaning)


# -- session directories -----------------------------------------------------------------------


def session_dir(world: World, run: str) -> str:
    return os.path.join(_sessions(world), run)


def make_session_dir(world: World, run: str) -> str:
    """A temporary directory of that run alone, which goes when the run is cleaned up after."""
    path = session_dir(world, run)
    why = world.disk.make_marked(path, MARKER, run)
    if why:
        raise LaunchFailed(why, "set QUELL_HOME to a writable place")
    return path


def _sessions(world: World) -> str:
    return os.path.join(os.path.realpath(world.home), "sessions")


def sweep_sessions(world: World) -> None:
    """Directories of runs that ended by themselves long ago: nobody asked for their cleanup."""
    for path in world.disk.glob(os.path.join(_sessions(world), "*")):
        run = world.store.run(os.path.basename(path))
        if run is None or run.live or not run.ended_at:
            continue
        ended = datetime.fromisoformat(run.ended_at).timestamp()
        if run.host == world.host and world.seconds() - ended > KEPT_FOR:
            agent = Agent(run.agent, "command", "")
            scene = Scene(run, agent, None, path, world.kernel.holders([path]))
            _session_removed(world, scene, Cleaning())


def _session_removed(world: World, scene: "Scene", cleaning: Cleaning) -> Cleaning:
    path = scene.session
    if not path:
        return cleaning
    users = scene.holding.users(path, scene.own)
    why = world.disk.marked(path, MARKER, scene.run.id)
    if not why and users:
        why = f"in use by {', '.join(users)}"
    if not why and not scene.would:
        why = world.disk.remove_below(_sessions(world), path)
    if why:
        failed = (*cleaning.failed, f"{path} was not removed: {why}")
        return cleaning._replace(session_dir=f"kept: {why}", failed=failed)
    return cleaning._replace(session_dir="removed")


# -- the worktree ------------------------------------------------------------------------------


class Scene(NamedTuple):
    """What was seen before anything was touched."""

    run: Run
    agent: Agent
    tree: Tree | Unknown | None
    session: str
    holding: Holding
    own: frozenset[int] = frozenset()  # the run's processes, where they still live
    would: bool = False


def _looked(world: World, run: Run, agent: Agent) -> Scene:
    tree = world.worktrees().describe(agent.cwd) if agent.cwd else None
    session = session_dir(world, run.id)
    if os.path.dirname(session) != _sessions(world) or not os.path.lexists(session):
        session = ""
    paths = [path for path in (session, _top(tree)) if path]
    return Scene(run, agent, tree, session, world.kernel.holders(paths))


def _top(tree: Tree | Unknown | None) -> str:
    return tree.top if isinstance(tree, Tree) else ""


def _worktree_cleaned(world: World, scene: Scene, mode: Cleanup) -> Cleaning:
    cwd, tree = scene.agent.cwd, scene.tree
    if tree is None:
        gone = bool(cwd) and not world.disk.is_directory(cwd)
        state, why = ("gone", "it was deleted already") if gone else ("none", "")
        return Cleaning(worktree=cwd if gone else "", state=state, why=why, would=scene.would)
    if isinstance(tree, Unknown):
        why = decide(tree, mode).why
        failed = (f"{cwd} was kept: {why}",)
        return Cleaning(worktree=cwd, state="kept", why=why, failed=failed, would=scene.would)
    cleaning = Cleaning(
        worktree=tree.top,
        branch=tree.branch,
        unseen=scene.holding.unseen,
        would=scene.would,
    )
    cleaning = without_stale_lock(world, scene.run, tree, cleaning)
    decision = _decision(world, scene, tree, mode)
    if scene.would:
        return _foretold(cleaning, scene, tree, decision)
    rescue, failed = _rescued(world, scene, tree, decision)
    cleaning = cleaning._replace(
        state="kept",
        why=decision.why,
        rescue=rescue.ref if rescue else "",
        failed=(*cleaning.failed, *failed),
    )
    if failed or not decision.remove:
        return _with_note(cleaning, rescue)
    return _removed(world, scene, tree, mode, _with_note(cleaning, rescue))


def _decision(world: World, scene: Scene, tree: Tree, mode: Cleanup) -> Decision:
    """By whoever is there right now."""
    holding = world.kernel.holders([tree.top])
    inside = list(holding.users(tree.top, scene.own))
    if _is_below(os.path.realpath(world.cwd or "/"), tree.top):
        inside.append("the command that asked for this")
    try:
        others = sorted(
            {
                run.agent
                for run in world.store.live_runs()
                if run.id != scene.run.id and _works_in(world, run.agent, tree.top)
            }
        )
        made = any(row.path == tree.top for row in world.store.worktrees())
    except StoreFailed as error:
        return decide(Unknown(f"who else works there is not known ({error})"), mode)
    return decide(tree, mode, inside, others, made=made)


def _works_in(world: World, name: str, top: str) -> bool:
    agent = world.store.agent(name)
    return agent is None or not agent.cwd or _is_below(world.disk.real(agent.cwd), top)


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def _rescued(
    world: World, scene: Scene, tree: Tree, decision: Decision
) -> tuple[Rescue | None, tuple[str, ...]]:
    if not decision.rescue:
        return None, ()
    message = f"Uncommitted work of {scene.agent.name}, run {scene.run.id}\n\nSaved by quell."
    try:
        return world.worktrees().rescue(tree, _ref(scene), message), ()
    except GitFailed as error:
        return None, (f"{tree.top} was kept: its work could not be saved ({error})",)


def _ref(scene: Scene) -> str:
    return f"refs/quell/rescue/{scene.agent.name}/{scene.run.id}"


def _removed(world: World, scene: Scene, tree: Tree, mode: Cleanup, cleaning: Cleaning) -> Cleaning:
    """Looks again first: saving takes time, and people come and go."""
    decision = _decision(world, scene, tree, mode)
    if not decision.remove:
        return cleaning._replace(why=decision.why)
    try:
        world.worktrees().remove(tree, saved=bool(cleaning.rescue))
    except GitFailed as error:
        return cleaning._replace(
            why=str(error), failed=(*cleaning.failed, f"{tree.top} was not removed: {error}")
        )
    cleaning = cleaning._replace(state="gone" if tree.gone else "removed")
    if not tree.ignored:
        return cleaning
    note = f"{tree.ignored} files that git ignores went with {tree.top}"
    return cleaning._replace(warnings=(*cleaning.warnings, note))


def _with_note(cleaning: Cleaning, rescue: Rescue | None) -> Cleaning:
    if rescue is None or not rescue.ignored:
        return cleaning
    note = f"{rescue.ignored} files that git ignores are not in {rescue.ref}"
    return cleaning._replace(warnings=(*cleaning.warnings, note))


def _foretold(cleaning: Cleaning, scene: Scene, tree: Tree, decision: Decision) -> Cleaning:
    state = "gone" if tree.gone else "removed"
    return cleaning._replace(
        state=state if decision.remove else "kept",
        why=decision.why,
        rescue=_ref(scene) if decision.rescue else "",
    )
