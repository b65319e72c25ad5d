"""No process survives, whatever its habit and wherever its agent ran."""

import pytest

from house import House, alive, descendants
from knell.api.habits import HABITS
from knell.core.receipt import Proof, Result

GRACE = 0.3


@pytest.mark.parametrize("place", ["headless", "tmux"])
@pytest.mark.parametrize("habit", HABITS)
def test_no_process_survives(house: House, habit: str, place: str) -> None:
    """Judged by this test's own eyes: it is the subreaper of everything that slips."""
    before = set(descendants())
    server = "test" if place == "tmux" else ""
    spawned = house.spawn(habit, name="luna", place=place, server=server)
    receipts = house.kill("luna", grace=GRACE)[0].receipts
    assert receipts[0].proof is Proof.PROVEN
    assert receipts[0].result in (Result.ENDED, Result.ALREADY_ENDED)
    assert spawned.run.process
    assert not alive(spawned.run.process.pid)
    if place == "tmux":
        house.tmux("kill-server")
    assert set(descendants()) <= before
