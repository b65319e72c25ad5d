"""The small looks of a live view: has anything moved, one run closely, some agents by name."""

import os
import signal

from house import House, alive, eventually
from scenes import number, started


def test_nothing_moves_while_an_agent_sleeps_and_its_death_is_noticed(house: House) -> None:
    luna = started(house, "tell()\nsleep()")
    with house.knell as knell:
        now = knell.snapshot()
        assert not knell.has_moved(now)  # it has seen its process
        os.kill(luna.pid, signal.SIGKILL)
        eventually(lambda: not alive(luna.keeper))
        eventually(lambda: knell.has_moved(now))
        changes = knell.changes(now, look=False)
        assert changes.gone == ("luna",)
        assert not knell.has_moved(changes.snapshot)


def test_an_event_is_noticed_at_once(house: House) -> None:
    with house.knell as knell:
        now = knell.snapshot()
        assert not knell.has_moved(now)
        house.spawn(name="luna")
        assert knell.has_moved(now)
        house.kill("luna")


def test_one_run_is_looked_at_closely_and_no_other(house: House) -> None:
    luna, nova = house.spawn(name="luna"), house.spawn(name="nova")
    with house.knell as knell:
        knell.snapshot()
        close = knell.look_closely(luna.run.id)
        assert number(luna.run.process) in {one.process.pid for one in close.processes}
        assert number(nova.run.process) not in {one.process.pid for one in close.processes}
        found = knell.found_last(luna.run.id)
        assert found
        assert found.agent.name == "luna"
        assert knell.look_closely("no-such-run").trouble == "it is not on record"
    house.kill("all")


def test_rows_by_name_are_those_that_list_has(house: House) -> None:
    for name in ("luna", "nova", "wendy"):
        house.spawn(name=name)
    house.kill("nova")
    found = {view.name: view for view in house.knell.views_of("luna", "nova", "nobody")}
    assert set(found) == {"luna", "nova"}
    listed = {view.name: view for view in house.knell.list(with_ended=True)}
    assert found["nova"] == listed["nova"]
    assert (found["luna"].run, found["luna"].state) == (listed["luna"].run, "running")
    assert [view.name for view in house.knell.list("nova", "luna", with_ended=True)] == [
        "luna",
        "nova",
    ]
    house.kill("all")
