"""A machine full of processes: an ending looks at its own, and finds them among all others."""

import pytest

from chaos.conftest import is_long
from chaos.crowd import crowd, looked_at
from chaos.report import Tally
from house import House, alive
from scenes import adopted, started

pytestmark = pytest.mark.stress
MANY = 10_000 if is_long() else 1_500
FAULT = f"{MANY} other processes on the machine"
SCANS = 8  # three must find nothing; before those one finds, one stops, one kills, one sees it dead
FILES = 2  # read of each process in a scan: its line, and its environment for the stamp
APART = "child(SLEEP, session=True)\ntell()\nsleep()"


def test_kept_run_in_a_crowd(house: House, tally: Tally) -> None:
    """The ending of a kept run looks at no other process of the machine, however many there are"""
    luna = started(house, APART)
    with crowd(house, MANY) as others:
        assert len(others) > MANY
        listed, seen = looked_at(house, "list", "--names")
        assert listed.stdout == "luna\n", listed
        assert not others.intersection(seen)
        done, seen = looked_at(house, "kill", "luna")
        assert done.returncode == 0, done
        assert "proven gone" in done.stdout
        assert not others.intersection(seen)
        assert not alive(luna.pid)
        assert all(map(alive, others))
    tally.broke(FAULT)


def test_adopted_run_in_a_crowd(house: House, tally: Tally) -> None:
    """Without a keeper the machine is searched, but only as often as it takes to be sure"""
    luna = adopted(house, APART)
    with crowd(house, MANY) as others:
        done, seen = looked_at(house, "kill", "luna", "--force")
        assert done.returncode == 0, done
        assert "2 processes, none found" in done.stdout
        assert not alive(luna.pid)
        assert all(map(alive, others))
    reads = sum(pid in others for pid in seen)
    assert len(others) < reads <= len(others) * FILES * SCANS, reads / len(others)
    tally.broke(FAULT)
