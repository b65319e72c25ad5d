"""Files read, programs started, and trips to the store, per command and per agent."""

from collections import Counter

import pytest

from fast.counting import cost
from fast.tracing import statements
from house import House

PER_AGENT = 20  # statements that one more agent adds to `kill all`
AT_ONCE = 50  # that a kill needs besides; a slow machine makes it look once more, or twice


def synced(told: list[str]) -> int:
    """Commits that wait for the disk: those under synchronous = FULL."""
    full, found = False, 0
    for sql in told:
        if sql.startswith("PRAGMA synchronous"):
            full = sql.endswith("FULL")
        found += full and sql == "COMMIT"
    return found


def killed(house: House, agents: int) -> list[str]:
    for number in range(agents):
        house.spawn(name=f"luna-{number}")
    with statements(house) as told:
        # A keeper that a busy machine holds up for all of the grace is helped from outside, which
        # asks more of the store.
        [slain] = house.kill("all", grace=60)
    assert len(slain.receipts) == agents
    assert {receipt.proof for receipt in slain.receipts} == {"proven"}
    return told


def test_a_kill_waits_twice_for_the_disk(house: House) -> None:
    """One kill writes its claim and its end, each with one commit that waits for the disk."""
    told = min((killed(house, 1) for _ in range(3)), key=len)
    assert (synced(told), told.count("COMMIT")) == (2, 3)
    assert len(told) <= AT_ONCE + PER_AGENT


def test_so_does_a_kill_of_many(house: House) -> None:
    """`kill all` waits for the disk as often as one kill, and adds few statements per agent."""
    few, many = killed(house, 2), killed(house, 7)
    assert (synced(few), synced(many)) == (2, 2)
    assert many.count("COMMIT") <= few.count("COMMIT") + 1  # rungs, if not all fell due at once
    assert len(many) - len(few) <= 5 * PER_AGENT


def test_list_looks_once_at_each_agent(house: House) -> None:
    """`knell list` reads one file of /proc per agent, and none of its own directory."""
    house.spawn(name="luna")
    one = cost(house, "list")
    for name in ("nova", "vega"):
        house.spawn(name=name)
    three = cost(house, "list")
    assert three.proc() - one.proc() == Counter({"stat": 2})
    assert one.below(str(house.state / "runs")) == three.below(str(house.state / "runs")) == 0


def test_a_named_kill_reads_little_of_proc(house: House) -> None:
    """A kill by name reads no other process than its own ancestors and the agent's."""
    house.spawn(name="luna")
    house.spawn(name="nova")
    found = cost(house, "kill", "luna")
    assert not found.proc()["environ"]  # nobody's stamp: the machine was not searched
    assert found.proc()["stat"] <= 20
    assert sum(path.endswith("/journal") for path in found.opened) <= 2


@pytest.mark.parametrize(("place", "most"), [("headless", 0), ("tmux", 4)])
def test_a_kill_starts_few_programs(house: House, place: str, most: int) -> None:
    """A kill starts no program, and of tmux no more than four."""
    house.spawn(name="luna", place=place, server="test" if place == "tmux" else "")
    assert len(cost(house, "kill", "luna").started) <= most
