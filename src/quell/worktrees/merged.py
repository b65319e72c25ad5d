"""Whether a commit's work has arrived elsewhere, and which commits would be held by nobody."""

import os

from quell.core.worktree import GitFailed
from quell.worktrees.running import Runner, failed

BASES = ("main", "master", "roadmap")
# Refs that belong to one worktree and vanish with it: they hold nothing for anybody.
_OWN = ("refs/bisect/*", "refs/worktree/*", "refs/rewritten/*")


def merged_into(git: Runner, common: str, commit: str, branch: str) -> tuple[str, bool]:
    """The base that has all of the commit's work, and whether by squash; ("", False): none has."""
    bases = [name for name in _bases(git, common) if name != f"refs/heads/{branch}"]
    for base in bases:
        said = git.ask(common, "merge-base", "--is-ancestor", commit, base)
        if said.code == 0:
            return short(base), False
        if said.code != 1:
            raise failed(("merge-base",), said)
    for base in bases:
        # A git before 2.38 cannot merge without a checkout: then nothing is known to be squashed.
        said = git.ask(common, "merge-tree", "--write-tree", base, commit)
        tree = git.ask(common, "rev-parse", "--verify", "--quiet", f"{base}^{{tree}}")
        if said.code == 0 and tree.code == 0 and said.out.split(b"\n")[0] == tree.out.strip():
            return short(base), True
    return "", False


def _bases(git: Runner, common: str) -> list[str]:
    """Full names of the branches that work is usually merged into, as far as they exist."""
    wanted = ["refs/remotes/origin/HEAD", *(f"refs/heads/{name}" for name in BASES)]
    checked_out = git.ask(common, "symbolic-ref", "--quiet", "HEAD")
    if checked_out.code == 0:
        wanted.append(checked_out.line)
    said = git.tell(common, "for-each-ref", "--format=%(refname)", *wanted)
    there = {os.fsdecode(line) for line in said.out.split(b"\n")}
    return [name for name in dict.fromkeys(wanted) if name in there]


def short(ref: str) -> str:
    return ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")


def commits_alone(git: Runner, common: str, commit: str, branch: str) -> int:
    """How many of its commits no branch, tag, remote or stash but its own branch holds."""
    own = (*_OWN, f"refs/heads/{branch}") if branch else _OWN
    hidden = [f"--exclude={pattern}" for pattern in own]
    said = git.tell(common, "rev-list", "--count", commit, "--not", *hidden, "--glob=refs/*")
    try:
        return int(said.out)
    except ValueError:
        raise GitFailed("git_error", "git rev-list did not count") from None
