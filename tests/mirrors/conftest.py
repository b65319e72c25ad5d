"""A registry of its own for each test."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
