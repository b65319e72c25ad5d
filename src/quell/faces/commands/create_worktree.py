"""orchestrator.create-worktree: a branch and a directory of its own for a task."""

import os
from typing import TYPE_CHECKING, Any

from quell.core.agent import NAME
from quell.core.errors import StoreFailed
from quell.core.store import WorktreeRow
from quell.core.worktree import GitFailed, Tree
from quell.faces.commands.answers import Answer, Failed, told_time
from quell.faces.commands.parameters import BadParameter, Parameter
from quell.faces.commands.spec import Spec

if TYPE_CHECKING:
    from quell.api import Quell

BASE = "roadmap"
BRANCH = "roadmap-implementation_task-{}"
FOLDER = os.path.join(".worktrees", "implementation_task-{}")


def carry_out(quell: "Quell", given: dict[str, Any]) -> Answer:
    task = checked_task(given["TASK_ID"])
    home = repository(quell, given["REPOSITORY"])
    branch = given["BRANCH_NAME"] or BRANCH.format(task)
    path = os.path.join(home, given["WORKTREE_PATH"] or FOLDER.format(task))
    try:
        tree = quell.world.worktrees().create(home, path, branch, given["BASE_BRANCH"])
    except GitFailed as error:
        raise Failed(error.code, str(error), task_id=task) from error
    except OSError as error:
        raise Failed("git_error", f"{path}: {error.strerror}", task_id=task) from error
    row = recorded(quell, tree, task, given)
    return {
        "success": True,
        "task_id": task,
        "worktree_path": tree.top,
        "branch_name": branch,
        "base_branch": given["BASE_BRANCH"],
        "git_commit_ref": tree.commit,
        "status": row.status,
        "created_at": told_time(row.created_at),
    }


def checked_task(task: str) -> str:
    """It becomes part of a path and of a branch."""
    if not NAME.fullmatch(task):
        raise BadParameter("TASK_ID", "TASK_ID must be like TASK-31-1: letters, digits, '-', '_'")
    return task


def repository(quell: "Quell", near: str | None) -> str:
    """The main checkout of the repository: worktrees lie side by side, not in each other."""
    where = os.path.join(quell.world.cwd, near or "")
    if not os.path.isdir(where):
        raise BadParameter("REPOSITORY", "REPOSITORY must be a directory that exists")
    tree = quell.world.worktrees().describe(where)
    if not isinstance(tree, Tree):
        why = tree.why if tree else "it is no git repository"
        raise Failed("git_error", f"{where} cannot be used: {why}")
    return os.path.dirname(tree.common_dir) if tree.linked else tree.top


def recorded(quell: "Quell", tree: Tree, task: str, given: dict[str, Any]) -> WorktreeRow:
    """A worktree that is on nobody's record would never be cleaned up: it is taken back."""
    row = WorktreeRow(
        task=task,
        path=tree.top,
        branch=tree.branch,
        commit=tree.commit,
        orchestrator=given["ORCHESTRATOR_INSTANCE_ID"] or "",
        created_at=quell.world.now(),
    )
    try:
        quell.world.store.add_worktree(row)
    except StoreFailed:
        try:
            quell.world.worktrees().remove(tree, saved=False)
            quell.world.worktrees().delete_merged_branch(tree.common_dir, tree.branch)
        except GitFailed:
            pass  # the store's trouble is the one to tell
        raise
    return row


SPEC = Spec(
    parameters=(
        Parameter("TASK_ID", "text", "The task that it is for."),
        Parameter("REPOSITORY", "text", "A directory in the repository; default here.", None),
        Parameter("BASE_BRANCH", "text", "Where the new branch starts.", BASE),
        Parameter("BRANCH_NAME", "text", f"Default {BRANCH.format('TASK_ID')}.", None),
        Parameter("WORKTREE_PATH", "text", f"Default {FOLDER.format('TASK_ID')}.", None),
        Parameter("ORCHESTRATOR_INSTANCE_ID", "text", "Who asks; kept in the row.", None),
    ),
    carry_out=carry_out,
    fault="git_error",
    reads=("orchestrator_state",),
    writes=("orchestrator_state",),
    tools=("git", "database"),
    errors={
        "branch_exists": "The branch exists already",
        "worktree_exists": "Something is at that path already",
        "invalid_base_branch": "The base is no branch or commit",
        "disk_full": "There is no room on the disk",
        "git_error": "Git refused, or there is no repository",
    },
)
