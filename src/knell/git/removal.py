"""Removes a worktree: moved aside, compared byte for byte with what is saved, then deleted.

A rename keeps out every program that knows the worktree by its path, and one that is inside or has
a file open is seen. So nothing can be written between the comparison and the deletion; what is
there all the same is kept. A removal that was cut short is finished by the next one.
"""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress

from knell import files
from knell.core.ports.git import GitFailed, Tree, Users
from knell.git.command import Runner
from knell.git.own_commits import NOTE, folder_state
from knell.git.raw_files import aside_of, check_held, delete_seen, linked_folder, read_start
from knell.git.rescue import SECONDS
from knell.git.status import lost_objects, read_commit

_MOST = 1 << 28  # bytes of what a removal wrote down: it may name many files


def remove(git: Runner, tree: Tree, commit: str, users: Users) -> None:
    """Deletes the directory and git's record of it if `commit` holds every file that is there."""
    aside = aside_of(tree.top)
    try:
        if not tree.gone:
            _move_aside(tree, aside, commit)
        elif os.path.isdir(aside):
            commit, left_out = _noted(tree)
            tree = tree._replace(left_out=left_out)
        if os.path.lexists(aside):
            try:
                _delete_aside(git, tree, aside, commit, users)
            except BaseException:
                _move_back(tree, aside)
                raise
        _check_folder(tree)
        _drop_record(tree)
    except OSError as error:
        why = f"{error.filename or tree.top}: {error.strerror}"
        raise GitFailed("cleanup_failed", why) from error
    if os.path.lexists(tree.top):
        raise GitFailed("still_in_use", f"it was removed, and a program has made {tree.top} again")


def _move_aside(tree: Tree, aside: str, commit: str) -> None:
    if os.path.lexists(aside):
        raise GitFailed("cleanup_failed", f"{aside} is left of another removal: look into it first")
    with suppress(FileNotFoundError):
        os.unlink(_note_of(tree))  # not overwritten: it may be a link, or a pipe
    note = json.dumps({"commit": commit, "left_out": tree.left_out})
    files.replace(_note_of(tree), None, note.encode())
    os.rename(tree.top, aside)


def _noted(tree: Tree) -> tuple[str, tuple[str, ...]]:
    """What the removal that was cut short wrote down. An agent can write there too: a path that
    leads out of the worktree is not followed."""
    try:
        note = json.loads(files.read(_note_of(tree), _MOST))
        commit, left_out = str(note["commit"]), tuple(map(str, note["left_out"]))
    except (ValueError, KeyError, TypeError) as error:
        raise GitFailed("cleanup_failed", f"{_note_of(tree)} cannot be read: {error}") from error
    for path in left_out:
        if os.path.isabs(path) or os.pardir in path.split("/"):
            raise GitFailed("cleanup_failed", f"{_note_of(tree)} names {path}, outside of it")
    return commit, left_out


def _move_back(tree: Tree, aside: str) -> None:
    try:
        os.rename(aside, tree.top)  # fails where anything but an empty directory is there
    except OSError as error:
        why = f"what was there is kept in {aside}, because {tree.top} was made again"
        raise GitFailed("still_in_use", why) from error
    with suppress(FileNotFoundError):
        os.unlink(_note_of(tree))


def _delete_aside(git: Runner, tree: Tree, aside: str, commit: str, users: Users) -> None:
    if os.path.islink(aside) or linked_folder(aside) not in (tree.git_dir, ""):
        raise GitFailed("still_in_use", f"{tree.top} is another directory than was looked at")
    inside = users(aside)
    if inside:
        raise GitFailed("still_in_use", f"in use by {', '.join(inside)}")
    _check_folder(tree)
    held = read_commit(git, tree.common_dir, commit)
    seen = check_held(aside, held, tree.left_out, tree.common_dir)
    if seen and not linked_folder(aside):
        raise GitFailed("still_in_use", f"{tree.top} has lost its .git file")
    _check_stored(git, tree, commit, [held[path][1] for path in seen if path in held])
    try:
        left = delete_seen(aside, seen, tree.left_out)
    except OSError as error:
        path = os.path.relpath(error.filename or aside, aside)
        why = f"{path} cannot be deleted ({error.strerror})"
        if any(not os.path.lexists(os.path.join(aside, one)) for one in seen):
            why += f"; files that were deleted before it are in the commit {commit}"
        raise GitFailed("cleanup_failed", why) from error
    if left:
        raise GitFailed("still_in_use", f"{left[0]} changed at the last moment, and is kept")
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(aside, ".git"))
    os.rmdir(aside)


def _check_stored(git: Runner, tree: Tree, commit: str, blobs: Sequence[str]) -> None:
    """GitFailed unless the repository still has all that was saved. What was stored before its ref
    was made is fair game for a `git gc --prune=now` that had begun before, and so may still go."""
    with suppress(FileNotFoundError):
        pid = os.fsdecode(read_start(os.path.join(tree.common_dir, "gc.pid"), 64)).split(" ")[0]
        if _is_running(pid):
            raise GitFailed("still_in_use", f"git gc is at work in the repository (pid {pid})")
    missing = lost_objects(git, tree.common_dir, blobs)
    if missing:
        raise GitFailed("git_error", f"the repository has lost {min(missing)} since it was saved")
    if commit != tree.commit:
        known = [f"^{tree.commit}"] if tree.commit else []
        words = ("rev-list", "--objects", "--quiet", commit, *known)
        git.must_bare(tree.common_dir, *words, seconds=SECONDS)


def _is_running(pid: str) -> bool:
    """Signal 0 asks only whether there is such a process; another user's may not be asked."""
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    return True


def _check_folder(tree: Tree) -> None:
    if folder_state(tree) != tree.folder_state:
        raise GitFailed("still_in_use", f"git has worked in {tree.top} since it was looked at")


def _drop_record(tree: Tree) -> None:
    if os.path.dirname(tree.git_dir) != os.path.join(tree.common_dir, "worktrees"):
        raise GitFailed("git_error", f"{tree.git_dir} is not the git folder of a linked worktree")
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(tree.git_dir, "gitdir"))  # without it, git prunes what is left
    shutil.rmtree(tree.git_dir)
    with suppress(OSError):  # other worktrees are still there
        os.rmdir(os.path.dirname(tree.git_dir))


def _note_of(tree: Tree) -> str:
    """What a removal that is cut short must know to be finished."""
    return os.path.join(tree.git_dir, NOTE)
