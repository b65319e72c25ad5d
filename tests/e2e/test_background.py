"""Claude's own daemon, which runs what `/bg` moves to the background and would outlive its pane."""

import os
from pathlib import Path

import pytest

from e2e.claude_home import ClaudeHome
from house import eventually
from knell.kinds.claude import KIND
from scenes import end


def somebody_elses(*ours: int) -> list[str]:
    """Claudes that run here already: knell leaves the daemon to them, for it may serve them too."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            argv = [os.fsdecode(word) for word in entry.read_bytes().split(b"\0")]
        except OSError:
            continue
        if int(entry.parent.name) not in ours and KIND.runs_in(argv):
            found.append(entry.parent.name)
    return found


def test_G19_what_moved_to_the_background_ends_too(home: ClaudeHome) -> None:
    """After `/bg`, Claude's daemon, its spare session and the moved one end with luna's run."""
    if others := somebody_elses():
        pytest.skip(f"another claude runs here (PID {', '.join(others)}), and may need the daemon")
    home.spawn()
    home.say("say amber", "answer 1: amber")
    home.type("/bg")
    home.press("Enter")
    eventually(lambda: any(" daemon run " in line for line in home.processes().values()))
    eventually(lambda: not any("keeper.py" in line for line in home.processes().values()))
    left = home.members()
    if left and (others := somebody_elses(*left)):
        end(*left)
        pytest.skip(f"another claude was started meanwhile (PID {', '.join(others)})")
    assert left == []
    receipt = home.house.knell.receipt("luna")
    assert receipt.outcome == "completed"
    assert any(" daemon run " in process.command for process in receipt.processes)
    assert home.conversations()
