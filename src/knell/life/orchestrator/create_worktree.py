"""orchestrator.create-worktree: makes a branch and a directory of its own for a task."""

import os
from contextlib import suppress
from typing import Any

from knell.core.errors import BadParameter, StoreFailed
from knell.core.inputs import Input
from knell.core.ports.git import GitFailed, Tree
from knell.core.ports.store import WorktreeRow
from knell.core.ports.world import World
from knell.core.times import whole_seconds
from knell.life.base.caller import caller
from knell.life.orchestrator.command import CommandFailed, JsonAnswer, JsonCommand, check_task_id

BRANCH = "roadmap-implementation_task-{}"
FOLDER = os.path.join(".worktrees", "implementation_task-{}")


def carry_out(world: World, given: dict[str, Any]) -> JsonAnswer:
    task = given["TASK_ID"]
    check_task_id(task)  # it becomes part of a path and of a branch
    home = _repository(world, given["REPOSITORY"] or "")
    branch = given["BRANCH_NAME"] or BRANCH.format(task)
    path = os.path.join(home, given["WORKTREE_PATH"] or FOLDER.format(task))
    try:
        tree = world.worktrees().create(home, path, branch, given["BASE_BRANCH"])
    except GitFailed as error:
        raise CommandFailed(error.problem, str(error), task_id=task) from error
    except OSError as error:
        raise CommandFailed("git_error", f"{path}: {error.strerror}", task_id=task) from error
    row = _record(world, tree, task, given["ORCHESTRATOR_INSTANCE_ID"] or "")
    return {
        "success": True,
        "task_id": row.task,
        "worktree_path": row.path,
        "branch_name": branch,
        "base_branch": given["BASE_BRANCH"],
        "git_commit_ref": row.commit,
        "status": row.status,
        "created_at": whole_seconds(row.created_at),
    }


def _repository(world: World, near: str) -> str:
    """The main checkout of the repository: worktrees lie side by side, not in each other."""
    where = os.path.join(world.cwd, near)
    if not world.disk.is_directory(where):
        raise BadParameter("REPOSITORY", "REPOSITORY must be a directory that exists")
    tree = world.worktrees().describe(where)
    if not isinstance(tree, Tree):
        why = tree.why if tree else "it is no git repository"
        raise CommandFailed("git_error", f"{where} cannot be used: {why}")
    return os.path.dirname(tree.common_dir) if tree.linked else tree.top


def _record(world: World, tree: Tree, task: str, orchestrator: str) -> WorktreeRow:
    """A worktree that is not on record would never be cleaned up: then it is removed again."""
    made = {"commit": tree.commit, "created_at": world.now()}
    row = WorktreeRow(task, tree.top, tree.branch, orchestrator=orchestrator, **made)
    try:
        world.store.orchestrator.add_worktree(row, caller(world).agent)
    except StoreFailed:
        with suppress(GitFailed):  # the store's trouble is the one to report
            world.worktrees().remove(tree, None)
            world.worktrees().delete_merged_branch(tree.common_dir, tree.branch)
        raise
    return row


COMMAND = JsonCommand(
    inputs=(
        Input("TASK_ID", "line", "The task that it is for."),
        Input("REPOSITORY", "line", "A directory in the repository; default here.", None),
        Input("BASE_BRANCH", "line", "Where the new branch starts.", "roadmap"),
        Input("BRANCH_NAME", "line", "Default roadmap-implementation_task-TASK_ID.", None),
        Input("WORKTREE_PATH", "line", "Default .worktrees/implementation_task-TASK_ID.", None),
        Input("ORCHESTRATOR_INSTANCE_ID", "line", "Who asks; kept in the row.", None),
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
