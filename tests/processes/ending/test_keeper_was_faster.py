"""A keeper that exits a moment before an ending begins has left its proof in the journal."""

import os
from pathlib import Path

from house import House
from knell.core import ladder
from knell.core.ports.endings import Callbacks
from knell.core.ports.processes import Target
from knell.core.receipt import Proof
from knell.processes.ending.loop import end
from knell.processes.journal import read_journal


def test_the_proof_of_a_keeper_that_was_faster_counts(house: House) -> None:
    """Without a cgroup, as for an ordinary user, only the keeper's own word proves it."""
    run = house.spawn(name="luna").run
    world = house.knell.world
    known = world.store.runs.run(run.id)
    assert known
    target = Target(run.id, world.rundir(run.id), run.keeper, run.process, "", ladder.KILL)
    target = target._replace(seal=known.seal)
    house.kill("luna")
    assert run.keeper
    keeper = run.keeper.pid
    if Path(f"/proc/{keeper}").exists():
        os.waitpid(keeper, 0)  # a child of this process, which tidies up after the dead
    assert world.archive.put_back(run.id)  # as it lies before whoever recorded it puts it away
    assert read_journal(target.rundir, target.seal).proven
    report = end([target], Callbacks(tuple))[run.id]
    assert report.proof is Proof.PROVEN
    adopted = end([target._replace(keeper=None)], Callbacks(tuple))[run.id]
    assert adopted.proof is Proof.NONE_FOUND
