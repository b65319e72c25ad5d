"""What every test gets: a private house, the rights it needs or a skip, no limits on time."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck

from house import House, become_subreaper, open_house
from needs import REASONS, skip_without

HERE = Path(__file__).parent
MANY_NEW = 50  # files of tests that nobody has read yet: it pays to read them first
LINUX_ROOMS = ("bench", "chaos", "e2e", "fast")
LINUX_WORDS = ("/proc", "unshare", "pidfd", "cgroup", "setns", "prctl", "portable_scenes")

# How long examples take says how busy the machine is, and how large they are is chance: neither
# says anything about knell. Where the examples of a test share a fixture, that is meant.
UNCHECKED = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
    HealthCheck.function_scoped_fixture,
]


def pytest_configure(config: pytest.Config) -> None:
    become_subreaper()
    # A shell that runs the tests in the background may ignore these signals, and every agent that
    # a test starts would inherit that.
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)
    # The same examples each time: whoever changes one line is not stopped by another's rare case.
    # `make chaos` looks for new ones, with a seed that it prints.
    same = not os.environ.get("KNELL_CHAOS")
    hypothesis.settings.register_profile(
        "knell", deadline=None, derandomize=same, database=None, suppress_health_check=UNCHECKED
    )
    hypothesis.settings.load_profile("knell")


def pytest_sessionstart(session: pytest.Session) -> None:
    """In a fresh clone, pytest rewrites the assertions of every file, which takes longer than all
    else that it does before the first test. With several processes each would do it by itself:
    here a process a core does it for all."""
    many = session.config.getoption("numprocesses", None) or 0
    if many > 1 and not sys.dont_write_bytecode and len(never_read()) > MANY_NEW:
        shares = [path for path in HERE.iterdir() if path.is_dir() or path.name.startswith("test_")]
        argv = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-n", "0"]
        cores = os.cpu_count() or 1
        readers = [
            subprocess.Popen([*argv, *sorted(shares)[core::cores]], stdout=subprocess.DEVNULL)
            for core in range(cores)
        ]
        for reader in readers:
            reader.wait()


def never_read() -> list[Path]:
    """The files of tests whose rewritten code Python's cache has not."""
    kept = {path.name.partition(".")[0] for path in HERE.rglob("__pycache__/test_*-pytest-*.pyc")}
    return [path for path in HERE.rglob("test_*.py") if path.stem not in kept]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make chaos` stresses; `make test` must be over in minutes. What only Linux has is marked."""
    for item in items:
        if needs_linux(item):
            item.add_marker("needs_linux")
    if not os.environ.get("KNELL_CHAOS"):
        config.hook.pytest_deselected(items=[one for one in items if is_stress(one)])
        items[:] = [one for one in items if not is_stress(one)]


def pytest_collection_finish() -> None:
    """Eight thousand tests stay in memory: looking through them at each collection is dear."""
    gc.collect()
    gc.freeze()


def needs_linux(item: pytest.Item) -> bool:
    """Whether the file of a test says so by what it looks at, or by where it lies."""
    path = item.path.relative_to(HERE)
    return path.parts[0] in LINUX_ROOMS or any(word in text_of(item.path) for word in LINUX_WORDS)


@cache
def text_of(path: Path) -> str:
    return path.read_text()


def is_stress(item: pytest.Item) -> bool:
    return item.get_closest_marker("stress") is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    for need in REASONS:
        if item.get_closest_marker(need):
            skip_without(need)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Counts what this user or this machine could not show."""
    skipped: list[pytest.TestReport] = terminalreporter.getreports("skipped")
    reasons = [one.longrepr[2] for one in skipped if isinstance(one.longrepr, tuple)]
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    told = [f"{counts[reason]} skipped: {reason}" for reason in REASONS.values()]
    other = sum(counts.values()) - sum(counts[reason] for reason in REASONS.values())
    terminalreporter.write_line("; ".join([*told, f"{other} skipped for another reason"]))


@pytest.fixture
def house() -> Iterator[House]:
    """State, tmux server and environment of its own; fails the test if a process is left."""
    with (
        tempfile.TemporaryDirectory(prefix="knell-", ignore_cleanup_errors=True) as root,
        open_house(Path(root)) as one,
    ):
        yield one


@pytest.fixture
def unused(house: House) -> None:
    """The house is as before the first command: it has no store."""
    (house.state / "knell.db").unlink()
