"""A store to test. A new plug is one more line in PLUGS."""

import ctypes
import importlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from house import begin_script
from knell.core.ports.store import Store

HERE = Path(__file__).parent
NOW = "2030-01-01T00:00:00Z"
sys.path.insert(0, str(HERE))  # for store_samples, which the racers import as well

from store_samples import Clock, Open, Race  # noqa: E402

PLUGS = ("knell.stores.sqlite:SqliteStore",)


@pytest.fixture(params=PLUGS)
def plug(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def where(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "knell.db")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def plugged(plug: str) -> Callable[..., Store]:
    module, _, name = plug.partition(":")
    return getattr(importlib.import_module(module), name)


@cache
def new_files(plug: str) -> dict[str, bytes]:
    """The files of a store that nothing was put into. To make one takes longer than most tests."""
    with tempfile.TemporaryDirectory(prefix="knell-") as folder:
        plugged(plug)(f"{folder}/state/knell.db", now=lambda: NOW).close()
        return {path.name: path.read_bytes() for path in Path(folder, "state").iterdir()}


def lay_new(plug: str, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    for file, content in new_files(plug).items():
        (folder / file).touch(mode=0o600)
        (folder / file).write_bytes(content)


@pytest.fixture
def connect(plug: str, where: str, clock: Clock) -> Iterator[Open]:
    """Each call is one more connection to the same store."""
    stores: list[Store] = []

    def connect() -> Store:
        if not Path(where).parent.exists():
            lay_new(plug, Path(where).parent)
        stores.append(plugged(plug)(where, now=clock))
        return stores[-1]

    yield connect
    for store in stores:
        store.close()


@pytest.fixture
def store(connect: Open) -> Store:
    return connect()


@pytest.fixture
def race(plug: str, where: str) -> Race:
    """`race(20, "claim")`: what each of 20 processes said that claimed at the same moment."""

    def race(count: int, deed: str, *more: str) -> list[str]:
        to = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        words = (plug, where, deed, *more)
        racers = [begin_script(HERE / "store_racer.py", *words, **to) for _ in range(count)]
        try:
            for racer in racers:
                assert racer.stdout
                assert racer.stdout.readline() == "ready\n"
            for racer in racers:
                assert racer.stdin
                racer.stdin.write("go\n")
                racer.stdin.flush()
            return [racer.communicate(timeout=300)[0].strip() for racer in racers]
        finally:
            for racer in racers:
                racer.kill()
                racer.communicate()

    return race


@pytest.fixture
def humble(tmp_path: Path) -> Iterator[Path]:
    """A directory of our own in which modes bind even root, as they bind everybody else."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the kernel's version 3; this thread
    powers = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice 32 bits
    assert libc.capget(header, powers) == 0
    fewer = (ctypes.c_uint32 * 6)(*powers)
    fewer[0] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    assert libc.capset(header, fewer) == 0
    yield tmp_path
    assert libc.capset(header, powers) == 0
    tmp_path.chmod(0o700)
