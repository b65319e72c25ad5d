"""Fixtures that every real test uses: a private house, and proof that nothing was left."""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from house import House, become_subreaper, open_house


def pytest_configure(config: pytest.Config) -> None:
    become_subreaper()
    # Whoever runs the tests in the background may ignore these, and every agent would inherit that.
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)


@pytest.fixture
def house() -> Iterator[House]:
    """State, tmux server and environment of its own; fails the test if a process is left."""
    with (
        tempfile.TemporaryDirectory(prefix="quell-", ignore_cleanup_errors=True) as root,
        open_house(Path(root)) as one,
    ):
        yield one
