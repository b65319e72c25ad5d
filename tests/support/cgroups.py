"""Where tests may make cgroups, and who is in one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from house import eventually
from needs import mounted
from scenes import removed


def inside(path: str) -> set[int]:
    return {int(pid) for pid in Path(path, "cgroup.procs").read_text().split()}


@contextmanager
def own_cgroup() -> Iterator[Path]:
    """One of the test's own; whoever was in it, or in one below, must be gone at the end."""
    place = mounted()
    assert place
    path = place / f"test-{os.getpid()}-{os.urandom(3).hex()}"
    path.mkdir()
    try:
        yield path
    finally:
        for inner in (*path.glob("*/"), path):
            eventually(lambda inner=inner: removed(inner))
