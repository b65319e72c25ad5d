"""A team that no test of its file changes."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from house import open_house
from mcp_desk import Desk, team


@pytest.fixture(scope="module")
def quiet() -> Iterator[Desk]:
    """Ada's desk; luna is in her team."""
    with (
        tempfile.TemporaryDirectory(prefix="quell-", ignore_cleanup_errors=True) as root,
        open_house(Path(root)) as house,
    ):
        yield team(house, "stdio", "luna")
