"""Whatever an agent did to its files: after any cleaning every byte is there, or in the rescue."""

import itertools
import os
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from house import House
from quell.core.agent import Agent
from quell.core.lifecycle import State
from quell.core.run import Place, Run
from quell.core.worktree import Cleanup
from quell.life.cleanup import cleaned
from worktrees.repo import Files, Repo, on_disk

NAMES = (b"a.txt", b"b", b"b/c", b"b/c/d", b'q"\n', b"half\xff", b"-x", b"e \\")
COUNT = itertools.count()

paths = st.sampled_from(NAMES)
contents = st.binary(max_size=12)
steps = st.one_of(
    st.tuples(st.just("write"), paths, contents),
    st.tuples(st.just("link"), paths, st.sampled_from([b"a.txt", b"/nowhere", b"b\n"])),
    st.tuples(st.just("run"), paths, st.just(b"")),
    st.tuples(st.just("delete"), paths, st.just(b"")),
    st.tuples(st.just("stage"), paths, st.just(b"")),
    st.tuples(st.just("hide"), paths, st.just(b"")),
    st.tuples(st.just("commit"), paths, st.just(b"")),
)


def play(repo: Repo, work: Path, step: tuple[str, bytes, bytes]) -> None:
    """One thing that an agent may do; what cannot be done is left undone."""
    what, name, content = step
    file = Path(os.fsdecode(os.path.join(os.fsencode(work), name)))
    if what in ("stage", "hide"):
        verb = ("add", "-A") if what == "stage" else ("update-index", "--assume-unchanged")
        repo.git("--literal-pathspecs", *verb, "--", os.fsdecode(name), cwd=work, check=False)
        return
    if what == "commit":
        repo.git("commit", "-qm", "more", cwd=work, check=False)
        return
    try:
        if what == "delete":
            file.unlink()
        elif what == "run":
            file.chmod(0o755)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            if what == "link":
                os.symlink(content, os.fsencode(file))
            else:
                file.write_bytes(content)
    except OSError:
        pass  # a folder in the way, or a file where a folder is wanted


def staged(repo: Repo, work: Path) -> Files:
    lines = repo.git("ls-files", "-s", "-z", cwd=work).encode("utf-8", "surrogateescape")
    found: Files = {}
    for line in filter(None, lines.split(b"\0")):
        facts, path = line.split(b"\t", 1)
        mode, name, _ = facts.decode().split(" ")
        found[path] = (mode, repo.blob(name))
    return found


def over(house: House, work: Path) -> tuple[Run, Agent]:
    """A run that has ended; no process is needed for what is asked here."""
    number = next(COUNT)
    run = Run(
        f"run{number}", "luna", "here", State.ENDED, Place("headless"), "2020-01-01T00:00:00Z"
    )
    return run, Agent("luna", "command", str(work))


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=st.lists(steps, max_size=4), after=st.lists(steps, max_size=8))
def test_every_byte_is_still_somewhere(
    house: House, before: list[tuple[str, bytes, bytes]], after: list[tuple[str, bytes, bytes]]
) -> None:
    repo = Repo(house, f"repo{next(COUNT)}")
    work = repo.worktree(f"work{next(COUNT)}")
    for step in before:
        play(repo, work, step)
    repo.git("add", "--all", cwd=work)
    repo.git("commit", "-qm", "before", cwd=work, check=False)
    for step in after:
        play(repo, work, step)
    files, index = on_disk(work), staged(repo, work)
    for mode in (Cleanup.SAFE, Cleanup.FORCE):
        told = cleaned(house.quell.world, *over(house, work), mode)
        assert told.failed == ()
        assert on_disk(work) == (files if told.state == "kept" else {})
        if told.rescue:
            assert repo.saved(told.rescue) == files
            assert repo.saved(f"{told.rescue}^2") == index
        elif told.state == "removed":
            assert repo.saved(told.branch) == files == index
        if told.state == "removed":
            return
    raise AssertionError("force did not remove it")
