"""Removes an `index.lock` that a killed git left: it blocks every later commit."""

import os
from datetime import datetime

from knell.core.codes import Code, Notice
from knell.core.ports.git import IndexLock, Tree
from knell.core.ports.world import World
from knell.core.receipt import Cleaning
from knell.core.run import Run

NANO = 1_000_000_000


def drop_stale_lock(world: World, run: Run, tree: Tree, cleaning: Cleaning) -> Cleaning:
    """Removes the lock if the dead run must have left it; else says why it stays."""
    lock = world.worktrees().lock_of(tree)
    if lock is None:
        return cleaning
    why = _not_stale(world, run, tree, lock)
    if not why and not cleaning.would and not world.worktrees().drop_lock(tree, lock):
        why = "it changed, or cannot be removed"
    if why:
        note = Notice(Code.LOCK_LEFT, f"{lock.path} was left: {why}")
        return cleaning._replace(warnings=(*cleaning.warnings, note))
    return cleaning._replace(lock_removed=lock.path)


def _not_stale(world: World, run: Run, tree: Tree, lock: IndexLock) -> str:
    touched = lock.touched_ns / NANO
    if not datetime.fromisoformat(run.started_at).timestamp() <= touched <= world.seconds():
        return "it was not made while the run lived"
    places = [tree.top, tree.common_dir, *world.worktrees().registered(tree)]
    if os.path.basename(tree.common_dir) == ".git":
        places.append(os.path.dirname(tree.common_dir))  # the main checkout
    holding = world.processes.open_files([lock.path, *places])
    if holding.of(lock.path):
        return f"{', '.join(holding.users(lock.path))} has it open"
    pids = {member.process.pid for member in holding.members}
    pids |= {
        member.process.pid
        for member in world.processes.all_processes()
        if any(place in member.command for place in places)
    }
    live = [pid for pid in sorted(pids) if _is_git(world, pid)]
    return f"git works in that repository (pid {live[0]})" if live else ""


def _is_git(world: World, pid: int) -> bool:
    argv = world.processes.argv(pid)
    return bool(argv) and os.path.basename(argv[0]).startswith("git")
