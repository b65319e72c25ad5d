"""orchestrator.cleanup-worktrees: removes worktrees that are finished; nothing is ever lost.

What is not merged or not committed stays, or is saved under refs/quell/rescue before it goes. No
branch is deleted that is not merged, and git's garbage is left to git.
"""

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from quell.core.cleaning import Cleaning
from quell.core.store import WorktreeRow
from quell.core.task import OPEN
from quell.core.worktree import Cleanup, Decision, GitFailed, Tree, decide
from quell.faces.commands.answers import Answer, Failed, told_time
from quell.faces.commands.parameters import Parameter
from quell.faces.commands.spec import Spec

if TYPE_CHECKING:
    from quell.api import Quell

CLEANUP, LIST = "cleanup", "list_candidates"
MEGABYTE = 1024 * 1024


class Candidate(NamedTuple):
    """One worktree on record, and what may become of it; `error` where it has to stay."""

    row: WorktreeRow
    tree: Tree | None
    decision: Decision
    error: str = ""


def carry_out(quell: "Quell", given: dict[str, Any]) -> Answer:
    rows = wanted(quell, given)
    if given["ACTION"] == LIST:
        return listed(quell, [judged(quell, row, given) for row in rows])
    if given["TASK_ID"] is None:
        return clean_all(quell, rows, given)
    done = clean(quell, rows[-1], given)
    if "error" in done:
        raise Failed(done.pop("error"), done.pop("message"), **done)
    return {"success": True, "action": CLEANUP, **done, "timestamp": told_time(quell.world.now())}


def wanted(quell: "Quell", given: dict[str, Any]) -> list[WorktreeRow]:
    rows = [row for row in quell.world.store.worktrees() if row.status != "cleaned"]
    task = given["TASK_ID"]
    if task is None:
        return rows
    rows = [row for row in rows if row.task == task]
    if not rows:
        told = f"no worktree is on record for task {task}"
        raise Failed("worktree_not_found", told, task_id=task)
    return rows


# -- looking ---------------------------------------------------------------------------------------


def judged(quell: "Quell", row: WorktreeRow, given: dict[str, Any]) -> Candidate:
    tree = quell.world.worktrees().describe(row.path)
    if tree is None or (isinstance(tree, Tree) and tree.top != os.path.realpath(row.path)):
        gone = Decision(remove=False, rescue=False, why=f"there is no worktree at {row.path}")
        return Candidate(row, None, gone, "worktree_not_found")
    if not isinstance(tree, Tree):
        unseen = Decision(remove=False, rescue=False, why=f"it could not be looked at: {tree.why}")
        return Candidate(row, None, unseen, "cleanup_failed")
    task = quell.world.store.task(row.task) if row.task and not given["FORCE_CLEANUP"] else None
    if task and task.status in OPEN:
        busy = Decision(remove=False, rescue=False, why=f"its task is not finished: {task.status}")
        return Candidate(row, tree, busy, "still_in_use")
    inside = quell.world.kernel.holders([tree.top]).users(tree.top)
    others = dwellers(quell, tree)
    decision = decide(tree, mode_for(tree, given), inside, others)
    if decision.remove:
        return Candidate(row, tree, decision)
    return Candidate(row, tree, decision, error_of(tree, bool(inside or others)))


def mode_for(tree: Tree, given: dict[str, Any]) -> Cleanup:
    """Whoever does not want the merge verified still never loses what is not committed."""
    unverified = not given["VERIFY_MERGE"] and not tree.worth_saving
    return Cleanup.FORCE if given["FORCE_CLEANUP"] or unverified else Cleanup.SAFE


def dwellers(quell: "Quell", tree: Tree) -> list[str]:
    """The live agents that work there."""
    store = quell.world.store
    live = [store.agent(run.agent) for run in store.live_runs()]
    return sorted(agent.name for agent in live if agent and is_below(agent.cwd, tree.top))


def is_below(path: str, top: str) -> bool:
    return f"{os.path.realpath(path)}/".startswith(f"{top}/")


def error_of(tree: Tree, used: bool) -> str:  # noqa: FBT001 - read beside its only call
    if used or tree.locked is not None:
        return "still_in_use"
    if tree.dirty or tree.underway:
        return "uncommitted_changes"
    return "not_merged" if tree.linked and not tree.merged_into else "cleanup_failed"


def listed(quell: "Quell", candidates: list[Candidate]) -> Answer:
    told = [
        {
            "task_id": one.row.task or None,
            "worktree_path": one.row.path,
            "branch_name": one.row.branch or None,
            "ready_for_cleanup": one.decision.remove,
            "reason": one.decision.why,
            "error": one.error or None,
            "disk_space_mb": size_mb(one.row.path),
        }
        for one in candidates
    ]
    ready = sum(one.decision.remove for one in candidates)
    return {
        "success": True,
        "action": LIST,
        "candidates": told,
        "total_candidates": len(told),
        "ready_for_cleanup": ready,
        "timestamp": told_time(quell.world.now()),
    }


def size_mb(path: str) -> float:
    """Blocks on the disk, links not followed."""
    blocks = 0
    for folder, _, files in os.walk(path):
        for name in (*files, ""):
            try:
                blocks += os.lstat(os.path.join(folder, name)).st_blocks
            except OSError:
                continue  # gone meanwhile
    return round(blocks * 512 / MEGABYTE, 2)


# -- removing --------------------------------------------------------------------------------------


def clean_all(quell: "Quell", rows: list[WorktreeRow], given: dict[str, Any]) -> Answer:
    """Who is not ready is skipped with its reason; one failure does not stop the others."""
    results = [clean(quell, row, given) for row in rows]
    done = [one for one in results if "error" not in one]
    left = [one for one in results if "error" in one]
    failed = [one for one in left if one["error"] == "cleanup_failed"]
    answer: Answer = {
        "success": not failed,
        "action": CLEANUP,
        "worktrees_cleaned": 0 if given["DRY_RUN"] else len(done),
        "cleaned": done,
        "skipped": left,
        "disk_space_freed_mb": round(sum(one["disk_space_freed_mb"] for one in done), 2),
        "timestamp": told_time(quell.world.now()),
    }
    if failed:
        told = "; ".join(f"{one['worktree_path']}: {one['message']}" for one in failed)
        answer |= {"error": "cleanup_failed", "message": told}
    return answer | ({"dry_run": True} if given["DRY_RUN"] else {})


def clean(quell: "Quell", row: WorktreeRow, given: dict[str, Any]) -> Answer:
    """What became of one worktree; with `error` and `message` where it stays."""
    one = judged(quell, row, given)
    told: Answer = {"task_id": row.task or None, "worktree_path": row.path}
    if one.tree is None or not one.decision.remove:
        if one.error == "worktree_not_found" and not given["DRY_RUN"]:
            quell.world.store.set_worktree(row.path, "cleaned")
        return told | {"error": one.error, "message": one.decision.why}
    size = size_mb(one.tree.top)
    if given["DRY_RUN"]:
        plan = {"branch_name": one.tree.branch, "rescue": one.decision.rescue}
        return told | plan | {"disk_space_freed_mb": size, "reason": one.decision.why}
    cleaning = quell.orchestrated.sweep(row, mode_for(one.tree, given))
    if cleaning.state not in ("removed", "gone"):
        code = "cleanup_failed" if cleaning.failed else "still_in_use"
        return told | {"error": code, "message": "; ".join(cleaning.failed) or cleaning.why}
    quell.world.store.set_worktree(row.path, "cleaned")
    return told | _branch(quell, one.tree) | _kept(cleaning, size, one)


def _branch(quell: "Quell", tree: Tree) -> Answer:
    """A merged branch goes with its worktree; any other holds work, and stays."""
    told: Answer = {"branch_name": tree.branch or None, "branch_deleted": False}
    if not tree.branch:
        return told
    try:
        quell.world.worktrees().delete_merged_branch(tree.common_dir, tree.branch)
    except GitFailed as error:
        return told | {"branch_kept": str(error)}
    return told | {"branch_deleted": True}


def _kept(cleaning: Cleaning, size: float, one: Candidate) -> Answer:
    told: Answer = {"disk_space_freed_mb": size, "reason": one.decision.why}
    if cleaning.rescue:
        told["rescue"] = cleaning.rescue
    return told | ({"warnings": list(cleaning.warnings)} if cleaning.warnings else {})


SPEC = Spec(
    parameters=(
        Parameter("ACTION", "text", "Remove, or list what could be.", CLEANUP, (CLEANUP, LIST)),
        Parameter("TASK_ID", "text", "The worktree of this task only.", None),
        Parameter("VERIFY_MERGE", "flag", "Only what is merged; a branch stays.", default=True),
        Parameter(
            "FORCE_CLEANUP", "flag", "Also what is not finished; saved first.", default=False
        ),
        Parameter("DRY_RUN", "flag", "Tell what would be done, and do nothing.", default=False),
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
