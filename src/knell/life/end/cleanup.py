"""Cleans up after a run that is proven to be over: session directory, stale lock, worktree.

Look → decide (core/worktree.py) → save → look again → move aside → compare → delete. Each failure
is reported, and nothing here can undo the ending itself.
"""

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from knell.core.agent import Agent
from knell.core.codes import Code, Notice
from knell.core.ending_steps import Case
from knell.core.errors import LaunchFailed, StoreFailed
from knell.core.paths import is_below
from knell.core.ports.git import GitFailed, Rescue, Tree
from knell.core.ports.processes import OpenFiles
from knell.core.ports.world import World
from knell.core.process import Unknown
from knell.core.receipt import Cleaning, Receipt, Result, TargetResult
from knell.core.run import Run
from knell.core.worktree import Cleanup, WorktreeDecision, decide
from knell.life.base.members import protected_now, target_of
from knell.life.end.stale_lock import drop_stale_lock

MARKER = ".knell-session"
KEPT_FOR = 86_400.0  # seconds: a person may want to see what a crashed agent left there


def clean_up_after(world: World, cases: list[Case]) -> list[Case]:
    """A step of endings (start_end_steps.py). It comes before the end is recorded, so that the
    process that finishes an interrupted ending cleans up as well."""
    done: list[Case] = []
    over: set[str] = set()  # runs that are dead, and not yet recorded as ended
    for case in cases:
        over.add(case.run.id)
        cleaning = clean_up(world, case.run, case.agent, Cleanup(case.asked.cleanup), over)
        if case.receipt:
            receipt = case.receipt._replace(worktree=cleaning.worktree, cleaning=cleaning)
            done.append(case._replace(receipt=receipt))
    return done


def clean_up_ended(
    world: World, results: list[TargetResult], over: Sequence[Run], mode: str, *, dry_run: bool
) -> list[TargetResult]:
    """Cleans up after the runs that had ended before the cleanup was asked for."""
    runs = {run.id: run for run in over if run.host == world.host}

    def clean_up_one(receipt: Receipt) -> Receipt:
        run = runs.get(receipt.run) if receipt.result is Result.ALREADY_ENDED else None
        agent = world.store.runs.agent(run.agent) if run else None
        if run is None or agent is None:
            return receipt
        cleaning = (preview_cleaning if dry_run else clean_up)(world, run, agent, Cleanup(mode))
        if not dry_run and (known := world.store.endings.receipt(run.id)):
            more = known._replace(worktree=cleaning.worktree, cleaning=cleaning)
            world.store.endings.amend([more])
        return receipt._replace(worktree=cleaning.worktree, cleaning=cleaning)

    return [one._replace(receipts=tuple(map(clean_up_one, one.receipts))) for one in results]


def clean_up(
    world: World, run: Run, agent: Agent, mode: Cleanup, over: Collection[str] = ()
) -> Cleaning:
    """What was removed, kept and saved. Call it once nothing of the run is alive any more."""
    scene = _look(world, run, agent)._replace(over=frozenset(over))
    cleaning = _remove_session(world, scene, _clean_worktree(world, scene, mode))
    mark = "cleaned" if cleaning.state in ("removed", "gone") else ""
    if mark := "quarantined" if cleaning.quarantined else mark:
        with suppress(StoreFailed):  # reported with the ending, which cannot be written either
            world.store.orchestrator.set_worktree_status(cleaning.worktree, mark)
    return cleaning


def preview_cleaning(world: World, run: Run, agent: Agent, mode: Cleanup) -> Cleaning:
    """The same, as it would come out if the run ended now; changes nothing."""
    own = world.processes.members(target_of(world, run), protected_now(world))
    scene = _look(world, run, agent)._replace(
        own=frozenset(member.process.pid for member in own), would=True
    )
    return _remove_session(world, scene, _clean_worktree(world, scene, mode))


# -- session directories -----------------------------------------------------------------------


def session_dir(world: World, run: str) -> str:
    return os.path.join(_sessions(world), run)


def make_session_dir(world: World, run: str) -> str:
    """A temporary directory of that run alone, which goes when the run is cleaned up after."""
    path = session_dir(world, run)
    why = world.disk.make_marked(path, MARKER, run)
    if why:
        raise LaunchFailed(why, "set KNELL_HOME to a directory that you may write to")
    return path


def _sessions(world: World) -> str:
    return os.path.join(os.path.realpath(world.home), "sessions")


def sweep_sessions(world: World) -> None:
    """Removes directories of runs that ended by themselves long ago, without a cleanup."""
    for path in world.disk.glob(os.path.join(_sessions(world), "*")):
        run = world.store.runs.run(os.path.basename(path))
        if run is None or run.live or not run.ended_at:
            continue
        ended = datetime.fromisoformat(run.ended_at).timestamp()
        if run.host == world.host and world.seconds() - ended > KEPT_FOR:
            agent = Agent(run.agent, "command", "")
            scene = Scene(run, agent, None, path, world.processes.open_files([path]))
            _remove_session(world, scene, Cleaning())


def _remove_session(world: World, scene: "Scene", cleaning: Cleaning) -> Cleaning:
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
    holding: OpenFiles
    own: frozenset[int] = frozenset()  # the run's processes, where they still live
    would: bool = False
    over: frozenset[str] = frozenset()  # runs that are dead, and not yet recorded as ended


def _look(world: World, run: Run, agent: Agent) -> Scene:
    tree = _tree(world, agent.cwd) if agent.cwd else None
    session = session_dir(world, run.id)
    if os.path.dirname(session) != _sessions(world) or not os.path.lexists(session):
        session = ""
    top = tree.top if isinstance(tree, Tree) else ""
    paths = [path for path in (session, top) if path]
    return Scene(run, agent, tree, session, world.processes.open_files(paths))


def _tree(world: World, cwd: str) -> Tree | Unknown | None:
    real = world.disk.real(cwd)
    if real != os.path.normpath(cwd):
        # Whoever put the link there chose what would be deleted.
        return Unknown(f"a link leads from there to {real}")
    return world.worktrees().describe(cwd, raw=True)


def _clean_worktree(world: World, scene: Scene, mode: Cleanup) -> Cleaning:
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
        uncommitted=tree.changed + tree.untracked,
    )
    cleaning = drop_stale_lock(world, scene.run, tree, cleaning)
    decision = _decision(world, scene, tree, mode, scene.holding)
    if scene.would:
        state = "kept" if not decision.remove else "gone" if tree.gone else "removed"
        ref = _ref(scene) if decision.rescue else ""
        return cleaning._replace(
            state=state, quarantined=decision.quarantine, why=decision.why, rescue=ref
        )
    rescue, failed = _rescue(world, scene, tree, decision)
    cleaning = cleaning._replace(
        state="kept",
        why=decision.why,
        rescue=rescue.ref if rescue else "",
        quarantined=decision.quarantine or bool(failed),
        failed=(*cleaning.failed, *failed),
    )
    if failed or not decision.remove:
        return cleaning
    # Saving takes time, and another process may have entered meanwhile.
    decision = _decision(world, scene, tree, mode, world.processes.open_files([tree.top]))
    if not decision.remove:
        return cleaning._replace(why=decision.why, quarantined=decision.quarantine)
    return _remove(world, scene, tree, rescue, cleaning)


def _decision(
    world: World, scene: Scene, tree: Tree, mode: Cleanup, holding: OpenFiles
) -> WorktreeDecision:
    """By the processes and agents that are there right now."""
    inside = list(holding.users(tree.top, scene.own))
    if is_below(os.path.realpath(world.cwd or "/"), tree.top):
        inside.append("the command that asked for this")
    try:
        others = sorted(
            {
                run.agent
                for run in world.store.runs.live()
                if run.id not in (scene.run.id, *scene.over)
                and _works_in(world, run.agent, tree.top)
            }
        )
        made = any(row.path == tree.top for row in world.store.orchestrator.worktrees())
    except StoreFailed as error:
        return decide(Unknown(f"who else works there is not known ({error})"), mode)
    return decide(tree, mode, inside, others, made=made)


def _works_in(world: World, name: str, top: str) -> bool:
    agent = world.store.runs.agent(name)
    return agent is None or not agent.cwd or is_below(world.disk.real(agent.cwd), top)


def _rescue(
    world: World, scene: Scene, tree: Tree, decision: WorktreeDecision
) -> tuple[Rescue | None, tuple[str, ...]]:
    if not decision.rescue:
        return None, ()
    message = f"Uncommitted work of {scene.agent.name}, run {scene.run.id}\n\nSaved by knell."
    try:
        return world.worktrees().rescue(tree, _ref(scene), message), ()
    except GitFailed as error:
        return None, (f"{tree.top} was kept: its work could not be saved ({error})",)


def _ref(scene: Scene) -> str:
    return f"refs/knell/rescue/{scene.agent.name}/{scene.run.id}"


def _remove(
    world: World, scene: Scene, tree: Tree, rescue: Rescue | None, cleaning: Cleaning
) -> Cleaning:
    def users(path: str) -> Sequence[str]:
        return world.processes.open_files([path]).users(path, scene.own)

    try:
        world.worktrees().remove(tree, rescue, users)
    except GitFailed as error:
        failed = (*cleaning.failed, f"{tree.top} was not removed: {error}")
        return cleaning._replace(why=str(error), quarantined=True, failed=failed)
    cleaning = cleaning._replace(state="gone" if tree.gone else "removed")
    if not tree.caches and not tree.bulky:
        return cleaning
    why = f"{tree.caches + tree.bulky} files that git ignores went with {tree.top}"
    note = Notice(Code.IGNORED_FILES, why)
    return cleaning._replace(warnings=(*cleaning.warnings, note))
