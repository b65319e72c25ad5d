"""Real repositories in a house of their own, and what is in them byte for byte."""

import contextlib
import io
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from house import House
from knell.core.agent import Agent
from knell.core.ports.git import Rescue, Tree
from knell.core.process import Unknown
from knell.core.receipt import Cleaning
from knell.core.run import Place, Run, State
from knell.core.worktree import Cleanup
from knell.git.worktrees import Git
from knell.life.end.cleanup import clean_up

SOMEBODY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}
REF = "refs/knell/rescue/luna/1"
Files = dict[bytes, tuple[str, bytes]]
BYSTANDER = "import mmap, os, signal, sys\n{}\nprint(1, flush=True)\nsignal.pause()"


@contextlib.contextmanager
def bystander(house: House, habit: str, *args: str) -> Iterator[int]:
    """A process that no run owns and that has shown its habit; gone when the block ends."""
    argv = (sys.executable, "-S", "-c", BYSTANDER.format(habit), *args)
    with house.process(*argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


class Repo:
    """A repository with one commit on `main`, and worktrees beside it."""

    def __init__(self, house: House, name: str = "repo", *init: str, commit: bool = True) -> None:
        self.root = house.root
        # Whoever runs the tests has settings of their own; git for knell has no name at all.
        self.env = house.env | {"GIT_CONFIG_NOSYSTEM": "1"}
        self.main = house.root / name
        self.git("init", "-q", "-b", "main", *init, name, cwd=house.root)
        if commit:
            self.commit(self.main, "a.txt", "a\n")
        self.trees = Git(self.env)

    def git(self, *words: str, cwd: Path | None = None, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=cwd or self.main,
            env=self.env | SOMEBODY,
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert not check or done.returncode == 0, (words, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def commit(self, where: Path, name: str, text: str) -> str:
        (where / name).write_text(text)
        self.git("add", "--all", cwd=where)
        self.git("commit", "-qm", f"{name}: {text.strip()}", cwd=where)
        return self.git("rev-parse", "HEAD", cwd=where)

    def worktree(self, name: str = "work", *words: str) -> Path:
        """A linked worktree on a new branch of its own name, unless `words` say otherwise."""
        path = self.root / name
        self.git("worktree", "add", "-q", *(words or ("-b", name)), str(path))
        return path

    def tree(self, path: Path) -> Tree:
        found = self.trees.describe(str(path), raw=True)
        assert isinstance(found, Tree), found
        return found

    def unknown(self, path: Path) -> str:
        found = self.trees.describe(str(path))
        assert isinstance(found, Unknown), found
        return found.why

    def rescue(self, path: Path, ref: str = REF) -> Rescue:
        return self.trees.rescue(self.tree(path), ref, "Saved")

    def refs(self) -> list[str]:
        return self.git("for-each-ref", "--format=%(refname)").split()

    def saved(self, commit: str) -> Files:
        """Every file of a commit: its mode and its bytes."""
        listed = subprocess.run(
            ["git", "ls-tree", "-r", "-z", "--full-tree", commit],
            cwd=self.main, env=self.env, capture_output=True, check=True,
        ).stdout  # fmt: skip
        names: list[tuple[bytes, str, str]] = []
        for line in filter(None, listed.split(b"\0")):
            facts, path = line.split(b"\t", 1)
            mode, kind, name = facts.decode().split(" ")
            if kind == "blob":
                names.append((path, mode, name))
        answers = io.BytesIO(
            subprocess.run(
                ["git", "cat-file", "--batch=%(objectsize)"],
                cwd=self.main, env=self.env, capture_output=True, check=True,
                input="".join(f"{name}\n" for *_, name in names).encode(),
            ).stdout
        )  # fmt: skip
        found: Files = {}
        for path, mode, _ in names:
            found[path] = (mode, answers.read(int(answers.readline())))
            answers.read(1)
        return found

    def blob(self, name: str) -> bytes:
        return subprocess.run(
            ["git", "cat-file", "blob", name],
            cwd=self.main, env=self.env, capture_output=True, check=True,
        ).stdout  # fmt: skip


def cleaned(house: House, work: Path, mode: Cleanup = Cleanup.SAFE) -> Cleaning:
    """What came of the worktree of an agent that ended long ago."""
    old = "2020-01-01T00:00:00Z"
    run = Run("run1", "luna", "here", State.ENDED, Place("headless"), old)
    return clean_up(house.knell.world, run, Agent("luna", "command", str(work)), mode)


def on_disk(top: Path) -> Files:
    """Every file below a directory as git would have it, without `.git`."""
    found: Files = {}
    root = os.fsencode(top)
    for here, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != b".git"]
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        for name in (*files, *links):
            path = os.path.join(here, name)
            plain = stat.S_IFMT(os.lstat(path).st_mode) in (stat.S_IFREG, stat.S_IFLNK)
            if name != b".git" and plain:  # git keeps no pipe and no socket
                found[os.path.relpath(path, root)] = _file(path)
    return found


def _file(path: bytes) -> tuple[str, bytes]:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return "120000", os.readlink(path)
    return ("100755" if mode & 0o100 else "100644"), Path(os.fsdecode(path)).read_bytes()
