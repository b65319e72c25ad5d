"""`make fleet-demo` shows what it promises, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from house import descendants, eventually

ROOT = Path(__file__).resolve().parents[2]
DEMO = [sys.executable, str(ROOT / "scripts" / "fleet-demo")]


def left(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir() if one.name.startswith("knell-")]


def begun(tmp_path: Path) -> "subprocess.Popen[str]":
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    return subprocess.Popen(
        DEMO, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip


def test_it_ends_agents_on_three_hosts_one_of_them_cut_off_and_back(tmp_path: Path) -> None:
    demo = begun(tmp_path)
    said, _ = demo.communicate(timeout=550)
    assert demo.returncode == 0, said
    for words in ("build-3: pending", "exit code 4", "still works", "iris: killed, proven gone",
                  "4 endings proven, 0 left; 2 others untouched"):  # fmt: skip
        assert words in said
    eventually(lambda: demo.pid not in descendants())
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "at", "fewest"),
    [  # once with all that it ever starts, and once while it has only begun
        pytest.param(signal.SIGINT, "Every agent of the fleet", 6, id="2"),
        pytest.param(signal.SIGTERM, "A private PostgreSQL and three hosts", 3, id="15"),
    ],
)
def test_interrupted_it_leaves_nothing(tmp_path: Path, number: int, at: str, fewest: int) -> None:
    demo = begun(tmp_path)
    assert demo.stdout
    assert any(at in line for line in demo.stdout)
    below = descendants(demo.pid)
    assert len(below) > fewest
    demo.send_signal(number)
    demo.communicate(timeout=300)
    assert demo.returncode == 128 + number
    eventually(lambda: not {*below} & {*descendants()})
    assert left(tmp_path) == []
