"""One checkout, described in full. What cannot be seen is `Unknown`, never clean."""

import os

from knell.core.paths import is_below
from knell.core.ports.git import GitFailed, Tree
from knell.core.process import Unknown
from knell.git.borrowed import check_borrowed
from knell.git.command import Runner, failed
from knell.git.own_commits import (
    OWN_REFS,
    folder_state,
    lost_commits,
    module_folders,
    modules_with_work,
    other_files,
)
from knell.git.programs import OFF_ENV, switched_off
from knell.git.raw_files import aside_of, linked_folder, read_start
from knell.git.status import Entry, read_index, read_status

_NO_REPOSITORY = "not a git repository (or any"  # without the bracket, a link to one is broken
_HEADS = "refs/heads/"
BASES = ("main", "master", "roadmap")
# Which file in a checkout's git folder says that something is unfinished, in git's own order.
_UNDERWAY = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/rebasing", "rebase"),
    ("rebase-apply", "mailbox apply (am)"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "sequence of picks"),
    ("BISECT_LOG", "bisect"),
    ("NOTES_MERGE_WORKTREE", "merge of notes"),
)


def describe_checkout(git: Runner, path: str, *, raw: bool = False) -> Tree | Unknown | None:
    """The checkout that holds `path`; None: in no repository; Unknown: could not look.

    With `raw`, it compares the bytes of every file and looks for commits that no branch holds."""
    path = os.path.realpath(path)
    try:
        if not os.path.isdir(path):
            return _describe_deleted(git, path)
        return _describe_present(git, path, raw=raw)
    except GitFailed as error:
        return Unknown(str(error))
    except OSError as error:
        return Unknown(f"{error.filename or path}: {error.strerror}")


def _describe_present(git: Runner, path: str, *, raw: bool) -> Tree | Unknown | None:
    output = git.run(path, "rev-parse", "--absolute-git-dir")
    if output.code:
        return None if _NO_REPOSITORY in output.err else Unknown(output.complaint)
    git_dir = os.path.realpath(output.line)
    common = common_dir(git, path)
    output = git.run(path, "rev-parse", "--show-toplevel")
    if output.code or not output.out.strip():
        return None  # nothing is checked out in a bare repository or in a .git folder
    top = os.path.realpath(output.line)
    for known in registered(common).values():
        if known != top and is_below(path, known) and is_below(known, top):
            # Its .git file is gone, so git walked up, and would act on the checkout above.
            return Unknown(f"{known} is a worktree without its .git file; git sees {top} there")
    tree = Tree(top, git_dir, common, linked=git_dir != common)
    why = _not_its_own(tree, path) if tree.linked else ""
    return Unknown(why) if why else _describe_whole(git, tree, raw=raw)


def _not_its_own(tree: Tree, path: str) -> str:
    """Why its directory and its git folder do not belong together: we would move, or forget,
    somebody else's."""
    if linked_folder(tree.top) != tree.git_dir:  # its setting core.worktree
        return f"the git folder of {path} is set to look at {tree.top}, which is not its own"
    known = registered(tree.common_dir).get(tree.git_dir)
    if known is None:
        return f"{tree.git_dir} is no worktree's git folder in {tree.common_dir}"
    if known != tree.top and linked_folder(known) == tree.git_dir:  # else it was moved by hand
        return f"its .git file names the git folder of {known}"
    return ""


def _describe_whole(git: Runner, tree: Tree, *, raw: bool) -> Tree:
    tree = tree._replace(folder_state=folder_state(tree))
    raw = raw and tree.linked  # a main checkout is never removed
    status = read_status(git, tree.top, common=tree.common_dir if raw else "")
    tree = _with_history(git, tree, status.commit, status.branch)
    if raw:
        tree = _with_own_commits(git, tree)
    others = set(registered(tree.common_dir).values()) - {tree.top}
    within = tuple(sorted(other for other in others if is_below(other, tree.top)))
    known = {os.path.relpath(path, tree.top) for path in within}
    within = (*(path for path in within if os.path.isdir(path)), *_worktrees_of_modules(tree))
    return tree._replace(
        locked=locked(tree.git_dir) if tree.linked else None,
        changed=len(status.changed),
        untracked=len(status.untracked),
        ignored=len(status.ignored),
        caches=status.caches,
        bulky=status.bulky,
        left_out=status.left_out,
        filtered=len(status.filtered),
        conflicts=len(status.conflicts),
        underway=_underway(tree),
        nested=tuple(path for path in status.nested if path.rstrip("/") not in known),
        within=within,
    )


def _underway(tree: Tree) -> str:
    found = (what for name, what in _UNDERWAY if os.path.lexists(os.path.join(tree.git_dir, name)))
    return next(found, "")


def _with_history(git: Runner, tree: Tree, commit: str, branch: str) -> Tree:
    tree = tree._replace(commit=commit, branch=branch)
    if not commit:
        return tree
    base, squashed = merged_into(git, tree.common_dir, commit, branch)
    alone = commits_alone(git, tree.common_dir, commit, branch)
    return tree._replace(merged_into=base, squashed=squashed, alone=alone)


def _with_own_commits(git: Runner, tree: Tree) -> Tree:
    check_borrowed(git, tree)
    lost = tuple(lost_commits(git, tree))
    modules = (*modules_with_work(git, tree), *other_files(tree))
    return tree._replace(lost_commits=lost, modules=modules)


def common_dir(git: Runner, path: str) -> str:
    found = git.must(path, "rev-parse", "--git-common-dir").line
    return os.path.realpath(os.path.join(path, found))


# -- a worktree whose directory was deleted ----------------------------------------------------


def _describe_deleted(git: Runner, path: str) -> Tree | Unknown | None:
    """What a repository still knows of a deleted directory, whose index may hold work.

    The repository is found above it; or by the copy that a removal has moved aside."""
    missing, above = path, os.path.dirname(path)
    while not os.path.isdir(above):
        missing, above = above, os.path.dirname(above)
    moved = linked_folder(aside_of(missing))
    if moved:
        common = common_dir(git, aside_of(missing))
        return describe_gone(git, Tree(missing, moved, common, linked=True))
    output = git.run(above, "rev-parse", "--absolute-git-dir")
    if output.code:
        return None if _NO_REPOSITORY in output.err else Unknown(output.complaint)
    common = common_dir(git, above)
    for git_dir, top in registered(common).items():
        if not is_below(path, top):
            continue
        if not os.path.isdir(os.path.dirname(top)):
            return Unknown(f"{os.path.dirname(top)} is missing; is a drive not mounted?")
        return describe_gone(git, Tree(top, os.path.realpath(git_dir), common, linked=True))
    return None


def describe_gone(git: Runner, tree: Tree) -> Tree:
    tree = tree._replace(gone=True, locked=locked(tree.git_dir), folder_state=folder_state(tree))
    head = git.run_bare(tree.git_dir, "rev-parse", "--verify", "-q", "HEAD")
    named = git.run_bare(tree.git_dir, "symbolic-ref", "-q", "HEAD")
    is_branch = named.code == 0 and named.line.startswith(_HEADS)
    branch = named.line.removeprefix(_HEADS) if is_branch else ""
    tree = _with_history(git, tree, head.line if head.code == 0 else "", branch)
    within = tuple(_worktrees_of_modules(tree))
    tree = _with_own_commits(git, tree)._replace(within=within, underway=_underway(tree))
    conflicts = {entry.path for entry in index_of_gone(git, tree) if entry.stage != "0"}
    return tree._replace(changed=len(staged_in(git, tree)), conflicts=len(conflicts))


def index_of_gone(git: Runner, tree: Tree) -> tuple[Entry, ...]:
    """The directory is deleted, but what was staged is still in its index."""
    if not os.path.exists(os.path.join(tree.git_dir, "index")):
        return ()
    return read_index(git, tree.git_dir, f"--git-dir={tree.git_dir}")


def staged_in(git: Runner, tree: Tree) -> list[str]:
    """Paths whose content in the index differs from the last commit."""
    if not tree.commit or not os.path.exists(os.path.join(tree.git_dir, "index")):
        return []
    output = git.must_bare(
        tree.git_dir, "diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD"
    )
    return [os.fsdecode(path) for path in output.out.split(b"\0") if path]


# -- what git leaves in its own folders, read without starting git -----------------------------


def locked(git_dir: str) -> str | None:
    """The reason why the worktree is locked, which may be empty; None if it is not locked."""
    try:
        reason = read_start(os.path.join(git_dir, "locked"), 4096)
        return " ".join(reason.decode("utf-8", "replace").split())
    except FileNotFoundError:
        return None


def registered(common_dir: str) -> dict[str, str]:
    """Git folder → directory of every linked worktree of the repository, also of deleted ones."""
    found: dict[str, str] = {}
    root = os.path.join(common_dir, "worktrees")
    try:
        names = sorted(os.listdir(root))
    except FileNotFoundError:
        return found
    for name in names:
        git_dir = os.path.join(root, name)
        try:
            written = read_start(os.path.join(git_dir, "gitdir"), 8192)
        except (FileNotFoundError, NotADirectoryError):
            continue  # being made or being pruned
        target = os.fsdecode(written.removesuffix(b"\n"))
        link = os.path.join(git_dir, target)  # newer git may write it relative to this folder
        found[git_dir] = os.path.realpath(os.path.dirname(link))
    return found


def _worktrees_of_modules(tree: Tree) -> list[str]:
    """Worktrees anywhere whose repository is a submodule's folder in this worktree's own."""
    if not tree.linked:
        return []
    known = (registered(module).items() for module in module_folders(tree))
    found = (top for pairs in known for folder, top in pairs if linked_folder(top) == folder)
    return sorted(found)


# -- whether its work is elsewhere --------------------------------------------------------------


def merged_into(git: Runner, common: str, commit: str, branch: str) -> tuple[str, bool]:
    """The base that has all of the commit's work, and whether by squash; ("", False): none has."""
    bases = [name for name in _bases(git, common) if name != f"refs/heads/{branch}"]
    for base in bases:
        output = git.run_bare(common, "merge-base", "--is-ancestor", commit, base)
        if output.code == 0:
            return base.split("/", 2)[2], False
        if output.code != 1:
            raise failed(("merge-base",), output)
    off = switched_off(git, common) if bases else ()
    for base in bases:
        # A git before 2.38 cannot merge without a checkout: then nothing is known to be squashed.
        output = git.run_bare(common, *off, "merge-tree", "--write-tree", base, commit, env=OFF_ENV)
        tree = git.run_bare(common, "rev-parse", "--verify", "--quiet", f"{base}^{{tree}}")
        if output.code == 0 and tree.code == 0 and output.out.split(b"\n")[0] == tree.out.strip():
            return base.split("/", 2)[2], True
    return "", False


def _bases(git: Runner, common: str) -> list[str]:
    """Full names of the branches that work is usually merged into, as far as they exist."""
    wanted = ["refs/remotes/origin/HEAD", *(f"refs/heads/{name}" for name in BASES)]
    checked_out = git.run_bare(common, "symbolic-ref", "--quiet", "HEAD")
    if checked_out.code == 0:
        wanted.append(checked_out.line)
    output = git.must_bare(common, "for-each-ref", "--format=%(refname)", *wanted)
    there = {os.fsdecode(line) for line in output.out.split(b"\n")}
    return [name for name in dict.fromkeys(wanted) if name in there]


def commits_alone(git: Runner, common: str, commit: str, branch: str) -> int:
    """How many of its commits no branch, tag, remote or stash but its own branch holds."""
    own = (*OWN_REFS, f"refs/heads/{branch}") if branch else OWN_REFS
    hidden = [f"--exclude={pattern}" for pattern in own]
    output = git.must_bare(common, "rev-list", "--count", commit, "--not", *hidden, "--glob=refs/*")
    try:
        return int(output.out)
    except ValueError:
        raise GitFailed("git_error", "git rev-list did not count") from None
