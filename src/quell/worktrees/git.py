"""The worktrees port: git itself, asked carefully and never told to destroy."""

import os
from collections.abc import Mapping

from quell.core.process import Unknown
from quell.core.worktree import GitFailed, Lock, Rescue, Tree
from quell.worktrees import files
from quell.worktrees.looking import common_dir, describe, described_gone
from quell.worktrees.merged import merged_into
from quell.worktrees.rescue import rescue
from quell.worktrees.running import Runner, failed

KEPT_TIPS = "refs/quell/merged/"
CREATE_SECONDS = 300.0  # a big repository takes its time to be checked out


class Git:
    def __init__(self, env: Mapping[str, str]) -> None:
        self._git = Runner(env)

    def describe(self, path: str) -> Tree | Unknown | None:
        """The checkout that holds `path`; None: in no repository; Unknown: could not look."""
        return describe(self._git, path)

    def rescue(self, tree: Tree, ref: str, message: str) -> Rescue:
        """Its uncommitted work under `ref` (or `ref-2`, … if that holds something else).

        Of a detached HEAD whose commits nobody holds, those. Raises GitFailed, and keeps nothing
        back, unless every byte was read back; ignored files and nested repositories are not in it.
        """
        return rescue(self._git, tree, ref, message)

    def remove(self, tree: Tree, *, saved: bool) -> None:
        """Removes the directory and git's record of it. The branch stays.

        Refuses what is not exactly as `tree` has it; uncommitted work only goes if it was `saved`.
        """
        if not tree.linked:
            raise GitFailed("git_error", f"{tree.top} is the main checkout")
        now = described_gone(self._git, tree) if tree.gone else describe(self._git, tree.top)
        if not isinstance(now, Tree) or (now.state, now.top) != (tree.state, tree.top):
            raise GitFailed("still_in_use", f"{tree.top} changed since it was looked at")
        if now.worth_saving and not saved:
            raise GitFailed("uncommitted_changes", f"{tree.top} holds work that was not saved")
        if now.locked is not None or now.nested or now.within:
            raise GitFailed("still_in_use", f"{tree.top} is locked, or holds another repository")
        words = ("worktree", "remove", *(("--force",) if saved else ()), "--", tree.top)
        said = self._git.ask(tree.common_dir, *words)
        if said.code:
            raise failed(words, said, "cleanup_failed")

    def create(self, repo: str, path: str, branch: str, base: str) -> Tree:
        """A new worktree at `path` on a new branch that starts at `base`.

        GitFailed says which: branch_exists, worktree_exists, invalid_base_branch, disk_full or
        git_error; then neither branch nor directory is left."""
        common = self._common(repo)
        path = os.path.realpath(path)
        head = f"refs/heads/{branch}"
        if self._git.ask(common, "check-ref-format", "--branch", branch).code:
            raise GitFailed("git_error", f"'{branch}' is no name for a branch")
        if self._tip(common, head):
            raise GitFailed("branch_exists", f"branch '{branch}' exists already")
        if path in files.registered(common).values() or _filled(path):
            raise GitFailed("worktree_exists", f"{path} exists already")
        tip = self._tip(common, base)
        if not tip:
            raise GitFailed("invalid_base_branch", f"'{base}' is no branch or commit of {repo}")
        words = ("worktree", "add", "--quiet", "--no-track", "-b", branch, "--", path, tip)
        try:
            self._git.must(common, f"--git-dir={common}", *words, seconds=CREATE_SECONDS)
        except GitFailed:
            self._undo(common, path, head, tip)
            raise
        made = self.describe(path)
        if not isinstance(made, Tree):
            raise GitFailed("git_error", f"{path} was made and cannot be looked at")
        return made

    def _undo(self, common: str, path: str, head: str, tip: str) -> None:
        """What a failed `worktree add` left; not what somebody else made there meanwhile."""
        ours = next((d for d, top in files.registered(common).items() if top == path), "")
        if ours and self._git.ask(ours, "symbolic-ref", "--quiet", "HEAD").line != head:
            return
        self._git.ask(common, "worktree", "remove", "--", path)
        used = self._git.ask(common, "for-each-ref", "--format=%(worktreepath)", head)
        if used.code == 0 and not used.out.strip():
            self._git.ask(common, "update-ref", "-d", head, tip)

    def delete_merged_branch(self, repo: str, branch: str) -> str:
        """The base that has its work, once the branch is deleted; GitFailed not_merged,
        branch_not_found or still_in_use otherwise.

        After a squash the commits themselves stay under refs/quell/merged/."""
        common = self._common(repo)
        head = f"refs/heads/{branch}"
        tip = self._tip(common, head)
        if not tip:
            raise GitFailed("branch_not_found", f"there is no branch '{branch}'")
        said = self._git.tell(common, "for-each-ref", "--format=%(worktreepath)", head)
        if said.out.strip():
            raise GitFailed("still_in_use", f"'{branch}' is checked out in {said.line}")
        base, squashed = merged_into(self._git, common, tip, branch)
        if not base:
            raise GitFailed("not_merged", f"'{branch}' is not merged")
        if squashed:
            self._git.tell(common, "update-ref", f"{KEPT_TIPS}{branch}", tip)
        self._git.tell(common, "update-ref", "-d", head, tip)
        self._git.ask(common, "config", "--local", "--remove-section", f"branch.{branch}")
        return base

    def registered(self, tree: Tree) -> list[str]:
        """The directories of all linked worktrees of its repository, also those that are gone."""
        return sorted(files.registered(tree.common_dir).values())

    def lock_of(self, tree: Tree) -> Lock | None:
        return files.lock_of(tree.git_dir)

    def drop_lock(self, lock: Lock) -> bool:
        return files.drop_lock(lock)

    def _common(self, repo: str) -> str:
        try:
            return common_dir(self._git, os.path.realpath(repo))
        except GitFailed as error:
            raise GitFailed("git_error", f"{repo} is no git repository: {error}") from error

    def _tip(self, common: str, name: str) -> str:
        said = self._git.ask(common, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return said.line if said.code == 0 else ""


def _filled(path: str) -> bool:
    """Git fills an empty directory, and nothing else that is there."""
    try:
        return bool(os.listdir(path))
    except NotADirectoryError:
        return True
    except OSError:
        return False
