"""One checkout, described in full. What cannot be seen is `Unknown`, never clean."""

import os

from quell.core.process import Unknown
from quell.core.worktree import GitFailed, Tree
from quell.worktrees.files import is_below, locked, registered, underway
from quell.worktrees.merged import commits_alone, merged_into
from quell.worktrees.running import Runner
from quell.worktrees.status import Status, read_index, read_status, state_of

_NO_REPOSITORY = "not a git repository (or any"  # without the bracket: a broken link to one


def describe(git: Runner, path: str) -> Tree | Unknown | None:
    """The checkout that holds `path`; None if no repository does."""
    path = os.path.realpath(path)
    try:
        if not os.path.isdir(path):
            return _gone(git, path)
        return _present(git, path)
    except GitFailed as error:
        return Unknown(str(error))
    except OSError as error:
        return Unknown(f"{error.filename or path}: {error.strerror}")


def _present(git: Runner, path: str) -> Tree | Unknown | None:
    said = git.run(path, "rev-parse", "--absolute-git-dir")
    if said.code:
        return None if _NO_REPOSITORY in said.err else Unknown(said.complaint)
    git_dir = os.path.realpath(said.line)
    common = common_dir(git, path)
    said = git.run(path, "rev-parse", "--show-toplevel")
    if said.code or not said.out.strip():
        return None  # in a bare repository or in a .git folder: nothing is checked out there
    top = os.path.realpath(said.line)
    for known in registered(common).values():
        if known != top and is_below(path, known) and is_below(known, top):
            # Its .git file is gone, so git walked up, and would act on somebody else's checkout.
            return Unknown(f"{known} is a worktree without its .git file; git sees {top} there")
    return _described(git, Tree(top, git_dir, common, linked=git_dir != common))


def _described(git: Runner, tree: Tree) -> Tree:
    status = read_status(git, tree.top)
    tree = _with_history(git, tree, status.commit, status.branch)
    others = set(registered(tree.common_dir).values()) - {tree.top}
    within = tuple(sorted(other for other in others if is_below(other, tree.top)))
    return tree._replace(
        locked=locked(tree.git_dir) if tree.linked else None,
        changed=len(status.changed),
        untracked=len(status.untracked),
        ignored=status.ignored,
        conflicts=len(status.conflicts),
        underway=underway(tree.git_dir),
        nested=_without(status, within, tree.top),
        within=tuple(path for path in within if os.path.isdir(path)),
        state=state_of(tree.top, status),
    )


def _without(status: Status, within: tuple[str, ...], top: str) -> tuple[str, ...]:
    known = {os.path.relpath(path, top) for path in within}
    return tuple(path for path in status.nested if path.rstrip("/") not in known)


def _with_history(git: Runner, tree: Tree, commit: str, branch: str) -> Tree:
    tree = tree._replace(commit=commit, branch=branch)
    if not commit:
        return tree
    base, squashed = merged_into(git, tree.common_dir, commit, branch)
    alone = commits_alone(git, tree.common_dir, commit, branch)
    return tree._replace(merged_into=base, squashed=squashed, alone=alone)


def common_dir(git: Runner, path: str) -> str:
    told = git.must(path, "rev-parse", "--git-common-dir").line
    return os.path.realpath(os.path.join(path, told))


# -- a worktree whose directory was deleted ----------------------------------------------------


def _gone(git: Runner, path: str) -> Tree | Unknown | None:
    """What a repository above still knows of a deleted directory. Its index may hold work."""
    above = os.path.dirname(path)
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    said = git.run(above, "rev-parse", "--absolute-git-dir")
    if said.code:
        return None if _NO_REPOSITORY in said.err else Unknown(said.complaint)
    common = common_dir(git, above)
    for git_dir, top in registered(common).items():
        if not is_below(path, top):
            continue
        if os.path.isdir(top):
            return describe(git, top)
        if not os.path.isdir(os.path.dirname(top)):
            return Unknown(f"{os.path.dirname(top)} is missing; is a drive not mounted?")
        return described_gone(git, Tree(top, os.path.realpath(git_dir), common, linked=True))
    return None


def described_gone(git: Runner, tree: Tree) -> Tree:
    head = git.ask(tree.git_dir, "rev-parse", "--verify", "-q", "HEAD")
    named = git.ask(tree.git_dir, "symbolic-ref", "-q", "HEAD")
    branch = named.line.removeprefix("refs/heads/") if named.code == 0 else ""
    tree = _with_history(git, tree, head.line if head.code == 0 else "", branch)
    staged = staged_in(git, tree)
    entries = read_index(git, tree.git_dir, f"--git-dir={tree.git_dir}") if staged else ()
    return tree._replace(
        locked=locked(tree.git_dir),
        changed=len(staged),
        gone=True,
        state=state_of(tree.top, Status(tree.commit, branch, tuple(staged), entries=entries)),
    )


def staged_in(git: Runner, tree: Tree) -> list[str]:
    """Paths whose content in the index differs from the last commit."""
    if not tree.commit or not os.path.exists(os.path.join(tree.git_dir, "index")):
        return []
    said = git.tell(
        tree.git_dir, "diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD"
    )
    return [os.fsdecode(path) for path in said.out.split(b"\0") if path]
