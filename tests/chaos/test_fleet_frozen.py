"""A fleet whose database stands still (SIGSTOP of every process of it), for a minute when long."""

import json
import random
import subprocess
import time

import pytest

from chaos.conftest import is_long
from chaos.report import Tally
from fleets import Fleet
from hosts import Host
from house import House, alive, eventually, pause, state_and_parent
from knell.core.run import Run
from postgres import cluster

pytestmark = pytest.mark.stress

HOST = "build-7"
ENDED = "SELECT count(*) FROM knell.receipts WHERE run = %s AND receipt->>'result' = 'ended'"


def still_for() -> float:
    """Seconds; a statement of the link has one, so that it gives up in the short version too."""
    return 60.0 if is_long() else 15.0


def test_a_database_that_stands_still(house: House, chance: random.Random, tally: Tally) -> None:
    """While the database stands still the host works on; then nothing is missing or double."""
    with cluster().database() as database:
        fleet = Fleet(database, house.root)
        house.at_end.callback(fleet.close)
        host = fleet.join(HOST, link=False)
        fleet.link(HOST, KNELL_FLEET_DEADLINE="1")
        asked = [host.spawn(name=f"asked{n}").run for n in range(3)]
        here = [host.spawn(name=f"here{n}").run for n in range(3)]
        fleet.await_agent(HOST, here[-1].agent)
        askers = [
            fleet.boss.begin(
                "kill", f"{run.agent}@{HOST}", "--wait", str(still_for() * 2), "--json",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for run in asked
        ]  # fmt: skip
        pause(chance.uniform(0.0, 0.6))  # the freeze meets the orders somewhere on their way
        database.server.freeze()
        rounds = work_at_home(host, here, time.monotonic() + still_for())
        assert not [
            pid for pid in database.server.processes() if state_and_parent(pid)[0] not in "TZ"
        ]
        database.server.thaw()
        said = [asker.communicate(timeout=500)[0] for asker in askers]
        for run, text in zip(asked, said, strict=True):
            gone = not alive_run(run)
            assert gone or '"ended"' not in text, "nobody is called ended who lives"
            again = fleet.boss.run("kill", f"{run.agent}@{HOST}", "--wait", "200", "--json")
            assert again.returncode in (0, 1), again  # 1: it was over before
            eventually(lambda run=run: not alive_run(run))
        fleet.settled()
        for run in (*asked, *here):
            eventually(lambda run=run: database.sql(ENDED, run.id) == [(1,)])
        fleet.told_all(HOST)
        assert rounds > 0
        tally.broke(f"the fleet's database frozen for {still_for():.0f} s")
        house.at_end.close()


def work_at_home(host: Host, agents: list[Run], until: float) -> int:
    """Ends those agents, and goes on with others until that time. Each command comes to its end
    while the database stands still, or this would never end."""
    rounds, names = 0, [run.agent for run in agents]
    while names or time.monotonic() < until:
        rounds += 1
        name = names.pop() if names else host.spawn(name=f"round{rounds}").run.agent
        done = host.run("kill", name, "--json")
        assert done.returncode == 0, done
        [receipt] = json.loads(done.stdout)["receipts"]
        assert (receipt["result"], receipt["proof"]) == ("ended", "proven")
        assert host.run("list").returncode == 0
    return rounds


def alive_run(run: Run) -> bool:
    assert run.process
    return alive(run.process.pid)
