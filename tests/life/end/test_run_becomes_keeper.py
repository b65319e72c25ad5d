"""A run that is ended while `knell run` turns into its keeper, which records nothing more."""

import subprocess

import pytest

from house import House, alive, eventually
from knell.core import ladder
from knell.core.ending_steps import Way
from knell.core.receipt import Proof
from knell.core.run import Ending, Outcome, State
from knell.life.end.engine import end
from shells import agent, path_with_knell


@pytest.mark.timeout(300)
def test_its_ending_waits_for_no_owner_that_is_its_keeper(house: House) -> None:
    words, log = agent(house, "wait()")
    env = house.env | {"PATH": path_with_knell(house)}
    line = ["bash", "-c", f"exec knell run --name luna -- {words}"]
    with subprocess.Popen(line, env=env, cwd=house.root, stdin=subprocess.DEVNULL) as running:
        pid = log.await_pid()
        world = house.knell.world
        run = eventually(world.store.runs.live)[0]  # as a kill that came early has it
        assert (run.state, run.owner and run.owner.pid) == (State.SPAWNING, running.pid)
        [receipt] = end(
            world, [run], Way(ladder.KILL, Ending(Outcome.KILLED, "operator", "killed"))
        )
        assert (receipt.proof, alive(pid)) == (Proof.PROVEN, False)
