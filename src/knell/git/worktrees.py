"""The worktrees port on git itself: describes, creates and removes worktrees, and saves work."""

import os

from knell.core.ports.git import GitFailed, IndexLock, Rescue, Tree, Users
from knell.git.command import Runner
from knell.git.describe import common_dir, describe_checkout, locked, merged_into, registered
from knell.git.raw_files import seen_file
from knell.git.removal import remove
from knell.git.rescue import save_work

KEPT_TIPS = "refs/knell/merged/"
CREATE_SECONDS = 300.0  # a big repository takes its time to be checked out


class Git(Runner):
    describe = describe_checkout
    rescue = save_work

    def remove(self, tree: Tree, rescue: Rescue | None, users: Users | None = None) -> None:
        """Removes the directory and git's record of it. The branch stays.

        Every file that is there must be in the rescue, or in the last commit if there is none."""
        if not tree.linked:
            raise GitFailed("git_error", f"{tree.top} is the main checkout")
        if locked(tree.git_dir) is not None or tree.nested or tree.within:
            raise GitFailed("still_in_use", f"{tree.top} is locked, or holds another repository")
        commit = rescue.commit if rescue else tree.commit
        remove(self, tree, commit, users or (lambda _: ()))

    def create(self, repo: str, path: str, branch: str, base: str) -> Tree:
        """A new worktree at `path` on a new branch that starts at `base`.

        GitFailed says which: branch_exists, worktree_exists, invalid_base_branch, disk_full or
        git_error; then neither branch nor directory is left."""
        common = self._common(repo)
        path = os.path.realpath(path)
        head = f"refs/heads/{branch}"
        if self.run_bare(common, "check-ref-format", "--branch", branch).code:
            raise GitFailed("git_error", f"'{branch}' is no name for a branch")
        if self._tip(common, head):
            raise GitFailed("branch_exists", *self._taken(common, branch))
        if path in registered(common).values() or _filled(path):
            raise GitFailed("worktree_exists", f"{path} exists already")
        tip = self._tip(common, base)
        if not tip:
            raise GitFailed("invalid_base_branch", f"'{base}' is no branch or commit of {repo}")
        words = ("worktree", "add", "--quiet", "--no-track", "-b", branch, "--", path, tip)
        try:
            self.must(common, f"--git-dir={common}", *words, seconds=CREATE_SECONDS, online=True)
        except GitFailed:
            self._undo(common, path, head, tip)
            raise
        made = self.describe(path)
        if not isinstance(made, Tree):
            raise GitFailed("git_error", f"{path} was made and cannot be looked at")
        return made

    def _taken(self, common: str, branch: str) -> tuple[str, str]:
        """That the branch is there, where it is checked out, and what a person can do."""
        head = f"refs/heads/{branch}"
        used = self.run_bare(common, "for-each-ref", "--format=%(worktreepath)", head)
        if used.code == 0 and used.out.strip():
            why = f"branch '{branch}' exists already, in {used.line}"
            return why, f"go on there with --cwd {used.line}, or take another name"
        hint = f"take another name; or, if you are done with it: git branch -d {branch}; or go on "
        hint += f"with it: git worktree add ../{branch} {branch}, then spawn with --cwd ../{branch}"
        return f"branch '{branch}' exists already", hint

    def _undo(self, common: str, path: str, head: str, tip: str) -> None:
        """Removes what a failed `worktree add` left, unless another program made it meanwhile."""
        ours = next((d for d, top in registered(common).items() if top == path), "")
        if ours and self.run_bare(ours, "symbolic-ref", "--quiet", "HEAD").line != head:
            return
        self.run_bare(common, "worktree", "remove", "--", path)
        used = self.run_bare(common, "for-each-ref", "--format=%(worktreepath)", head)
        if used.code == 0 and not used.out.strip():
            self.run_bare(common, "update-ref", "-d", head, tip)

    def delete_merged_branch(self, repo: str, branch: str) -> str:
        """The base that has its work, once the branch is deleted; GitFailed not_merged,
        branch_not_found or still_in_use otherwise.

        After a squash the commits themselves stay under refs/knell/merged/."""
        common = self._common(repo)
        head = f"refs/heads/{branch}"
        tip = self._tip(common, head)
        if not tip:
            raise GitFailed("branch_not_found", f"there is no branch '{branch}'")
        output = self.must_bare(common, "for-each-ref", "--format=%(worktreepath)", head)
        if output.out.strip():
            raise GitFailed("still_in_use", f"'{branch}' is checked out in {output.line}")
        base, squashed = merged_into(self, common, tip, branch)
        if not base:
            raise GitFailed("not_merged", f"'{branch}' is not merged")
        if squashed:
            self.must_bare(common, "update-ref", f"{KEPT_TIPS}{branch}", tip)
        self.must_bare(common, "update-ref", "-d", head, tip)
        self.run_bare(common, "config", "--local", "--remove-section", f"branch.{branch}")
        return base

    def registered(self, tree: Tree) -> list[str]:
        """The directories of all linked worktrees of its repository, also those that are gone."""
        return sorted(registered(tree.common_dir).values())

    def lock_of(self, tree: Tree) -> IndexLock | None:
        path = os.path.join(tree.git_dir, "index.lock")
        found = seen_file(path)
        return IndexLock(path, found.inode, found.touched_ns) if found else None

    def drop_lock(self, tree: Tree, lock: IndexLock) -> bool:
        """Removes exactly that lock; False if it is gone or another by now."""
        if self.lock_of(tree) != lock:
            return False
        try:
            os.unlink(lock.path)
        except OSError:
            return False
        return True

    def _common(self, repo: str) -> str:
        try:
            return common_dir(self, os.path.realpath(repo))
        except GitFailed as error:
            raise GitFailed("git_error", f"{repo} is no git repository: {error}") from error

    def _tip(self, common: str, name: str) -> str:
        output = self.run_bare(common, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return output.line if output.code == 0 else ""


def _filled(path: str) -> bool:
    """Whether git would refuse to put a worktree there: it accepts an empty directory only."""
    try:
        return bool(os.listdir(path))
    except NotADirectoryError:
        return True
    except OSError:
        return False
