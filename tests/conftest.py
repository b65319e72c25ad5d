"""Fixtures that every real test uses: a private house, and proof that nothing was left."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from house import House, become_subreaper, open_house


def pytest_configure(config: pytest.Config) -> None:
    become_subreaper()


@pytest.fixture
def house() -> Iterator[House]:
    """State, tmux server and environment of its own; fails the test if a process is left."""
    with (
        tempfile.TemporaryDirectory(prefix="quell-", ignore_cleanup_errors=True) as root,
        open_house(Path(root)) as one,
    ):
        yield one
