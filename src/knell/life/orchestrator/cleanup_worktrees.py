"""orchestrator.cleanup-worktrees: removes worktrees that are finished; no work is ever lost.

A worktree that is not merged or not committed stays, or its work is saved under refs/knell/rescue
before it goes. No branch is deleted that is not merged, and git's garbage is left to git.
"""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from knell.core.agent import Agent
from knell.core.errors import Refused
from knell.core.inputs import Input
from knell.core.orchestrator_task import OPEN
from knell.core.ports.git import GitFailed, Tree
from knell.core.ports.store import WorktreeRow
from knell.core.ports.world import World
from knell.core.receipt import Cleaning
from knell.core.run import Place, Run, State
from knell.core.times import whole_seconds
from knell.core.worktree import Cleanup, WorktreeDecision, decide
from knell.life.base.caller import caller
from knell.life.end.cleanup import clean_up
from knell.life.end.worktree_agents import agents_inside, check_tree
from knell.life.orchestrator.command import CommandFailed, JsonAnswer, JsonCommand

CLEANUP, LIST = "cleanup", "list_candidates"
MEGABYTE = 1024 * 1024


class WorktreeCandidate(NamedTuple):
    """One worktree on record and what may become of it; `error` is the code why it stays."""

    tree: Tree | None
    decision: WorktreeDecision
    error: str = ""


def carry_out(world: World, given: dict[str, Any]) -> JsonAnswer:
    task = given["TASK_ID"]
    rows = [row for row in world.store.orchestrator.worktrees() if row.status != "cleaned"]
    if task:
        rows = [row for row in rows if row.task == task]
        if not rows:
            message = f"no worktree is on record for task {task}"
            raise CommandFailed("worktree_not_found", message, task_id=task)
    if given["ACTION"] == LIST:
        answer = _list_candidates(world, rows, given)
    elif task:
        done = _clean(world, rows[-1], given)
        if "error" in done:
            raise CommandFailed(done.pop("error"), done.pop("message"), **done)
        answer = {"success": True, "action": CLEANUP, **done}
    else:
        answer = _clean_all(world, rows, given)
    return answer | {"timestamp": whole_seconds(world.now())}


def _list_candidates(
    world: World, rows: Sequence[WorktreeRow], given: dict[str, Any]
) -> JsonAnswer:
    """The worktrees on record, and which of them could be removed; removes nothing."""
    candidates: list[JsonAnswer] = []
    for row in rows:
        one = _candidate(world, row, given)
        facts = {
            "branch_name": row.branch or None,
            "status": row.status,
            "ready_for_cleanup": one.decision.remove,
            "reason": one.decision.why,
            "error": one.error or None,
            "disk_space_mb": _size_mb(world, row.path),
        }
        candidates.append(_address(row) | facts)
    return {
        "success": True,
        "action": LIST,
        "candidates": candidates,
        "total_candidates": len(candidates),
        "ready_for_cleanup": sum(one["ready_for_cleanup"] for one in candidates),
    }


def _clean_all(world: World, rows: Sequence[WorktreeRow], given: dict[str, Any]) -> JsonAnswer:
    """Removes all that are finished; one failure does not stop the others."""
    results = [_clean(world, row, given) for row in rows]
    cleaned = [one for one in results if "error" not in one]
    failed = [one for one in results if one.get("error") == "cleanup_failed"]
    answer: JsonAnswer = {
        "success": not failed,
        "action": CLEANUP,
        "worktrees_cleaned": 0 if given["DRY_RUN"] else len(cleaned),
        "cleaned": cleaned,
        "skipped": [one for one in results if "error" in one],
        "disk_space_freed_mb": round(sum(one["disk_space_freed_mb"] for one in cleaned), 2),
    }
    if failed:
        message = "; ".join(f"{one['worktree_path']}: {one['message']}" for one in failed)
        answer |= {"error": "cleanup_failed", "message": message}
    return answer | ({"dry_run": True} if given["DRY_RUN"] else {})


def _address(row: WorktreeRow) -> JsonAnswer:
    return {"task_id": row.task or None, "worktree_path": row.path}


# -- deciding ----------------------------------------------------------------------------------


def _candidate(world: World, row: WorktreeRow, given: dict[str, Any]) -> WorktreeCandidate:
    tree = world.worktrees().describe(row.path)
    if tree is None or (isinstance(tree, Tree) and tree.top != world.disk.real(row.path)):
        return _staying(None, f"there is no worktree at {row.path}", "worktree_not_found")
    if not isinstance(tree, Tree):
        return _staying(None, f"it could not be looked at: {tree.why}", "cleanup_failed")
    looks_at_task = row.task and not given["FORCE_CLEANUP"]
    task = world.store.orchestrator.task(row.task) if looks_at_task else None
    if task and task.status in OPEN:
        return _staying(tree, f"its task is not finished: {task.status}", "still_in_use")
    inside = world.processes.open_files([tree.top]).users(tree.top)
    others = agents_inside(world, tree, live=True)
    decision = decide(tree, _mode(tree, given), inside, others)
    if decision.remove:
        return WorktreeCandidate(tree, decision)
    error = _error_code(tree, used=bool(inside or others))
    return WorktreeCandidate(tree, decision, error)


def _staying(tree: Tree | None, why: str, error: str) -> WorktreeCandidate:
    return WorktreeCandidate(tree, WorktreeDecision(remove=False, rescue=False, why=why), error)


def _mode(tree: Tree, given: dict[str, Any]) -> Cleanup:
    """A caller that does not want the merge verified still never loses what is not committed."""
    unverified = not given["VERIFY_MERGE"] and not tree.worth_saving
    return Cleanup.FORCE if given["FORCE_CLEANUP"] or unverified else Cleanup.SAFE


def _error_code(tree: Tree, *, used: bool) -> str:
    if used or tree.locked is not None:
        return "still_in_use"
    if tree.dirty or tree.underway:
        return "uncommitted_changes"
    return "not_merged" if tree.linked and not tree.merged_into else "cleanup_failed"


def _size_mb(world: World, path: str) -> float:
    return round(world.disk.allocated_bytes(path) / MEGABYTE, 2)


# -- removing ----------------------------------------------------------------------------------


def _clean(world: World, row: WorktreeRow, given: dict[str, Any]) -> JsonAnswer:
    """What became of one worktree; with `error` and `message` where it stays."""
    one = _candidate(world, row, given)
    if one.tree is None or not one.decision.remove:
        if one.error == "worktree_not_found" and not given["DRY_RUN"]:
            world.store.orchestrator.set_worktree_status(row.path, "cleaned")
        return _address(row) | {"error": one.error, "message": one.decision.why}
    freed = {"disk_space_freed_mb": _size_mb(world, one.tree.top), "reason": one.decision.why}
    if given["DRY_RUN"]:
        plan = {"branch_name": one.tree.branch, "rescue": one.decision.rescue}
        return _address(row) | plan | freed
    try:
        check_tree(world, caller(world), one.tree)
    except Refused as error:
        return _address(row) | {"error": "cleanup_failed", "message": str(error)}
    cleaning = _remove(world, row, _mode(one.tree, given))
    if cleaning.state not in ("removed", "gone"):
        error = "cleanup_failed" if cleaning.failed else "still_in_use"
        message = "; ".join(cleaning.failed) or cleaning.why
        return _address(row) | {"error": error, "message": message}
    world.store.orchestrator.set_worktree_status(row.path, "cleaned")
    answer = _address(row) | _delete_branch(world, one.tree) | freed
    if cleaning.rescue:
        answer["rescue"] = cleaning.rescue
    if cleaning.warnings:
        answer["warnings"] = [warning._asdict() for warning in cleaning.warnings]
    return answer


def _remove(world: World, row: WorktreeRow, mode: Cleanup) -> Cleaning:
    """Cleans up the worktree as if its run had just ended."""
    name = row.task or os.path.basename(row.path)
    run = Run(world.new_id(), name, world.host, State.ENDED, Place("headless"), world.now())
    return clean_up(world, run, Agent(name, "command", row.path), mode)


def _delete_branch(world: World, tree: Tree) -> JsonAnswer:
    """A merged branch goes with its worktree; any other holds work, and the answer says so."""
    if not tree.branch:
        return {"branch_name": None, "branch_deleted": False}
    try:
        world.worktrees().delete_merged_branch(tree.common_dir, tree.branch)
    except GitFailed as error:
        return {"branch_name": tree.branch, "branch_deleted": False, "branch_kept": str(error)}
    return {"branch_name": tree.branch, "branch_deleted": True}


ACTION = "Remove, or only list what could be removed."
MERGED = "Only merged ones; if false, others too: their branch stays."
COMMAND = JsonCommand(
    inputs=(
        Input("ACTION", "line", ACTION, CLEANUP, (CLEANUP, LIST)),
        Input("TASK_ID", "line", "The worktree of this task only.", None),
        Input("VERIFY_MERGE", "flag", MERGED, default=True),
        Input("FORCE_CLEANUP", "flag", "Also what is not finished; saved first.", default=False),
        Input("DRY_RUN", "flag", "Say what would be done, and do nothing.", default=False),
    ),
    carry_out=carry_out,
    fault="cleanup_failed",
    reads=("orchestrator_state", "agent_lifecycle"),
    writes=("orchestrator_state",),
    tools=("git", "database"),
    errors={
        "not_merged": "Its branch is not merged",
        "worktree_not_found": "No worktree is on record, or it is gone",
        "uncommitted_changes": "It holds work that is not committed",
        "still_in_use": "A process or an agent is in it, or it is locked",
        "cleanup_failed": "It could not be looked at or removed",
    },
)
