"""A registry of its own for each test."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from house import begin_script

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for mirror_samples, which the racers import as well

from mirror_samples import ODD, Registry  # noqa: E402

Open = Callable[[str | bytes], Registry]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / ".hermes"
    folder.mkdir(parents=True)
    return folder / "agent-sessions.yaml"


@pytest.fixture
def holding(file: Path) -> Open:
    """`holding(text)`: a registry with exactly that content."""

    def holding(content: str | bytes) -> Registry:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return Registry(file)

    return holding


@pytest.fixture
def registry(holding: Open) -> Registry:
    return holding(ODD)


@pytest.fixture
def tidy(registry: Registry) -> Registry:
    """One that a write has laid out once: from then on, lines that no write means stay."""
    registry.update("gate", {"tidy": 1})
    registry.update("gate", {}, ["tidy"])
    return registry


class Racer:
    """A process with the registry open, ended with the test."""

    def __init__(self, deed: str, *args: str) -> None:
        pipe = subprocess.PIPE
        racer = HERE / "mirror_racer.py"
        self.process = begin_script(racer, deed, *args, stdin=pipe, stdout=pipe, text=True)
        assert self.said() == "ready"

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self) -> tuple[str, int | None]:
        """What it said last, and its exit status."""
        out, _ = self.process.communicate(timeout=300)
        return out.strip(), self.process.returncode


@pytest.fixture
def racer() -> Iterator[Callable[..., Racer]]:
    started: list[Racer] = []

    def racer(deed: str, *args: str) -> Racer:
        started.append(Racer(deed, *args))
        return started[-1]

    yield racer
    for one in started:
        one.process.kill()
        one.process.communicate()
