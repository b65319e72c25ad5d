"""Worktrees as agents leave them: one random step after another, and what must be left of each."""

import hashlib
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

from house import House
from knell.core.agent import Agent
from knell.core.receipt import Cleaning
from knell.core.run import Place, Run, State
from knell.core.worktree import Cleanup
from knell.life.end.cleanup import clean_up
from repo import Files, Repo, on_disk

NAMES = (
    *(b"a.txt", b"b", b"b/c", b"b/c/d", b'q"\n', b"half\xff", b"-x", b"e \\", b"*", b":(top)x"),
    *(b"x.nb", b"b/y.nb", b"z.crlf", b"w.big", b"x.log", b".env", b"node_modules/m/i.js"),
    *(b"caf\xc3\xa9", b"git~1", b"n" * 255, b"deep/er/than/that", b"\x01", b"v.u16"),
)
CONTENTS = (
    *(b"", b"1", b"one\n", b"one\r\ntwo\n", b"one\r\ntwo\r\n", b"kept\noutput 1\n", b"\0\xff\r\n"),
    *(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", b"x" * 70_000),
)
STEPS = (
    *("write", "write", "write", "write", "link", "run", "mode", "delete", "folder", "pipe"),
    *("stage", "intend", "hide", "skip", "commit", "amend", "detach", "back", "stash", "undo"),
    *(
        "attributes",
        "sparse",
        "submodule",
        "deinit",
        "nested",
        "hard link",
        "same time",
        "own ref",
        "mention",
        "notes",
        "line ends",
        "conflict",
    ),
)
ATTRIBUTES = """*.nb filter=strip
*.crlf text eol=crlf
*.big filter=lfs
*.id ident
*.u16 text working-tree-encoding=UTF-16
"""
IGNORED = "*.log\n.env\nnode_modules/\n"
# As git-lfs does it: the bytes lie in the repository under their digest, the commit has a pointer.
LFS = """f=$(mktemp); cat > $f; n=$(sha256sum < $f | cut -c1-64); s=$(wc -c < $f)
d={}/lfs/objects/$(echo $n | cut -c1-2)/$(echo $n | cut -c3-4); mkdir -p $d; mv $f $d/$n
printf 'version 1\\noid sha256:%s\\nsize %s\\n' $n $s"""
# Saves again and again under one name, as an editor does; says how far it got.
WRITER = """
import os, sys
number = 0
print("ready", flush=True)
try:
    while number < int(sys.argv[2]):
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(str(number + 1))
        os.replace(sys.argv[1] + ".new", sys.argv[1])
        number += 1
except OSError:
    pass
print(number)
"""
COUNT = itertools.count()
Step = tuple[str, bytes, bytes]


class Scene:
    """One repository with a worktree of an agent that has ended."""

    def __init__(self, house: House) -> None:
        self.house = house
        number = next(COUNT)
        self.repo = Repo(house, f"repo{number}")
        common = self.repo.main / ".git"
        for key, value in {
            "filter.strip.clean": "sed /^output/d",
            "filter.lfs.clean": LFS.format(common),
            "protocol.file.allow": "always",
            "core.protectNTFS": "false",
        }.items():
            self.repo.git("config", key, value)
        (self.repo.main / ".gitignore").write_text(IGNORED)
        self.repo.commit(self.repo.main, "first.nb", "one\n")
        self.work = self.repo.worktree(f"work{number}")
        self.module_commit = ""

    # -- what an agent does ----------------------------------------------------------------------

    def play(self, step: Step) -> None:
        """One thing that an agent may do; what cannot be done is left undone."""
        what, name, content = step
        if what in ("submodule", "deinit", "nested", "sparse", "conflict", "mention", "notes"):
            getattr(self, f"_{what}")()
        elif what in GIT:
            self.git(
                "--literal-pathspecs", *GIT[what], *([os.fsdecode(name)] * (what in WITH_NAME))
            )
        else:
            try:
                self._touch(what, self.file(name), content)
            except OSError:
                pass  # a folder in the way, or a file where a folder is wanted

    def git(self, *words: str, cwd: Path | None = None) -> str:
        return self.repo.git(*words, cwd=cwd or self.work, check=False)

    def file(self, name: bytes) -> Path:
        return Path(os.fsdecode(os.path.join(os.fsencode(self.work), name)))

    def _touch(self, what: str, file: Path, content: bytes) -> None:
        if what == "attributes":
            (self.work / ".gitattributes").write_text(ATTRIBUTES)
        elif what == "delete":
            file.unlink()
        elif what == "run":
            file.chmod(0o755)
        elif what == "mode":
            file.chmod(0o400)
        elif what == "same time" and file.is_file():  # never a pipe, which would wait
            was = file.stat()
            file.write_bytes(bytes(reversed(file.read_bytes())))
            os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
        elif what == "folder":
            file.mkdir(parents=True)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            if what == "link":
                os.symlink(content[:200].replace(b"\0", b"") or b"nowhere", os.fsencode(file))
            elif what == "pipe":
                os.mkfifo(file)
            elif what == "hard link":
                os.link(self.work / "a.txt", file)
            else:
                file.write_bytes(content)

    def _submodule(self) -> None:
        inner = self.repo.root / f"inner{next(COUNT)}"
        self.git("init", "-q", str(inner), cwd=self.repo.root)
        self.git("commit", "-q", "--allow-empty", "-m", "inner", cwd=inner)
        self.git("submodule", "add", "-q", str(inner), "lib")
        self.git("commit", "-qm", "with lib")
        if (self.work / "lib" / ".git").exists():
            self.git("commit", "-q", "--allow-empty", "-m", "unpushed", cwd=self.work / "lib")

    def _deinit(self) -> None:
        if (self.work / "lib" / ".git").exists():
            self.module_commit = self.git("rev-parse", "HEAD", cwd=self.work / "lib")
            self.git("submodule", "deinit", "-q", "--force", "lib")

    def _nested(self) -> None:
        self.git("init", "-q", "nested")

    def _mention(self) -> None:
        """A branch's log talks of a commit that only HEAD's own log may know."""
        head = self.git("rev-parse", "HEAD")
        self.git("checkout", "-q", "-B", f"other{next(COUNT)}", "main")
        self.git("commit", "-q", "--allow-empty", "-m", f"Instead of {head}")

    def _notes(self) -> None:
        for ref in ("one", "two"):
            self.git("notes", f"--ref={ref}", "add", "-f", "-m", ref, "HEAD")
        self.git("notes", "--ref=one", "merge", "two")

    def _sparse(self) -> None:
        self.git("sparse-checkout", "set", "--cone", "b")

    def _conflict(self) -> None:
        main = self.repo.main
        if not self.git("branch", "--list", "other"):
            self.git("checkout", "-q", "-b", "other", cwd=main)
            self.repo.commit(main, "a.txt", "another\n")
            self.git("checkout", "-q", "main", cwd=main)
        self.git("merge", "-q", "other")

    # -- what must be left -----------------------------------------------------------------------

    def clean(self, mode: Cleanup, *, saves: int = 0) -> Cleaning:
        """Cleans up, and checks that everything is there or can be brought back.

        Meanwhile another program saves a file so many times."""
        files, commits, index = self._files(), self._commits(), self._index()
        process = self._start_writer(saves) if saves else None
        run = Run(f"run{next(COUNT)}", "luna", "here", State.ENDED, Place("headless"), OLD)
        agent = Agent("luna", "command", str(self.work))
        told = clean_up(self.house.knell.world, run, agent, mode)
        if process and (last := self._end_writer(process)):
            files[b"late.txt"] = ("100644", last)
        if told.state == "kept":
            now = self._files()
            now.pop(b"late.txt.new", None)
            changed = {path for path in {**now, **files} if now.get(path) != files.get(path)}
            assert not changed, (changed, told)
            assert self._index() == index
        else:
            assert told.state == "removed", told
            assert not [name for name in os.listdir(self.repo.root) if "removing" in name]
            saved = self.repo.saved(told.rescue or told.branch or commits[0])
            lost = {path: file for path, file in files.items() if saved.get(path) != file}
            lost = {path: file for path, file in lost.items() if not self._is_in_lfs(file[1])}
            assert not lost, (lost, told)
            if self.git("rev-parse", "-q", "--verify", f"{told.rescue}^2", cwd=self.repo.main):
                self._check_index(f"{told.rescue}^2", index)
        known = self.git("rev-list", "--all", "--reflog", cwd=self.repo.main).split()
        if told.state == "removed":
            assert set(commits) <= set(known)
        if self.module_commit and told.state == "removed":
            self._check_module(told.rescue)
        assert self.git("fsck", "--no-dangling", cwd=self.repo.main) == ""
        return told

    def _files(self) -> Files:
        """Without caches, and without what lies in repositories of its own."""
        spared = (b"node_modules/", *((b"nested/",) if (self.work / "nested").exists() else ()))
        found = on_disk(self.work)
        return {path: file for path, file in found.items() if not path.startswith(spared)}

    def _index(self) -> list[str]:
        return self.git("ls-files", "-s", "-z").split("\0") if self.work.exists() else []

    def _check_index(self, commit: str, index: list[str]) -> None:
        """Everything that was staged is there; `add -N` stages nothing."""
        lines = self.git("ls-tree", "-r", "-z", "--full-tree", commit, cwd=self.repo.main)
        held = {re.sub(" (blob|commit) ", " ", line) for line in lines.split("\0")}
        staged = {line.replace(" 0\t", "\t", 1) for line in index if EMPTY not in line}
        assert staged <= held, staged - held

    def _commits(self) -> list[str]:
        """Every commit that HEAD ever was here, the present one first."""
        named = self.git("log", "--walk-reflogs", "--format=%H", "HEAD").split()
        head = self.git("rev-parse", "--quiet", "--verify", "HEAD").split()  # or none yet
        return list(dict.fromkeys([*head, *named]))

    def _check_module(self, rescue: str) -> None:
        """Its unpushed commit can be read from the folder that the rescue brings back."""
        assert rescue
        for parent in self.git("rev-parse", f"{rescue}^2^@", cwd=self.repo.main).split():
            files = self.repo.saved(parent)
            if b"modules/lib/HEAD" in files:
                folder = self.repo.root / f"module{next(COUNT)}"
                for path, (_, content) in files.items():
                    file = folder / os.fsdecode(path)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
                at = folder / "modules" / "lib"
                kind = self.git(f"--git-dir={at}", f"--work-tree={at}", "cat-file", "-t",
                                self.module_commit, cwd=at)  # fmt: skip
                assert kind == "commit"
                return
        raise AssertionError(f"{rescue} does not hold the submodule's folder")

    def _is_in_lfs(self, content: bytes) -> bool:
        name = hashlib.sha256(content).hexdigest()
        store = self.repo.main / ".git" / "lfs" / "objects"
        return (store / name[:2] / name[2:4] / name).exists()

    def _start_writer(self, saves: int) -> "subprocess.Popen[str]":
        argv = [sys.executable, "-S", "-c", WRITER, str(self.work / "late.txt"), str(saves)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd="/")
        assert process.stdout is not None
        assert process.stdout.readline()
        return process

    def _end_writer(self, process: "subprocess.Popen[str]") -> bytes:
        """What it saved last; nothing if it never did."""
        late = self.work / "late.txt"
        assert process.stdout is not None
        if killed := self.work.exists() and process.poll() is None:
            process.kill()
        with process:
            out = process.stdout.read()
        if killed:
            return late.read_bytes() if late.exists() else b""
        return out.strip().encode().removeprefix(b"0")


EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
OLD = "2020-01-01T00:00:00Z"
GIT = {
    "stage": ("add", "-A", "--"),
    "intend": ("add", "-N", "--"),
    "hide": ("update-index", "--assume-unchanged", "--"),
    "skip": ("update-index", "--skip-worktree", "--"),
    "commit": ("commit", "-qam", "more"),
    "amend": ("commit", "-q", "--amend", "--allow-empty", "-m", "amended"),
    "detach": ("checkout", "-q", "--detach"),
    "back": ("checkout", "-q", "-f", "main~0"),
    "stash": ("stash", "-q"),
    "own ref": ("symbolic-ref", "HEAD", "refs/worktree/own"),
    "line ends": ("config", "core.autocrlf", "true"),
    "undo": ("reset", "-q", "--hard", "HEAD~1"),
}
WITH_NAME = ("stage", "intend", "hide", "skip")
