"""P50: an agent that writes into its keeper's journal, or takes its keeper's means, has no innocent
ended and nothing proven."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from house import House, alive, eventually
from knell.core.errors import LaunchFailed
from knell.core.ports.keepers import Order
from knell.core.process import ProcessId
from knell.core.receipt import Proof
from knell.core.run import State
from knell.life.start.confirm import confirm_birth
from knell.processes import keepers
from knell.processes.os import system
from scenes import DEAF, SLEEPS, started

SESSION = "tmux -L x -f /dev/null new-session -d -s work sleep 333"
LEAVES = "signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))\n"
WRITES = """
with open(os.path.dirname(os.environ["KNELL_HEARTBEAT"]) + "/journal", "a") as file:
    file.write({lines!r}.replace("ME", str(os.getpid())))
"""


@pytest.fixture
def one(house: House) -> Iterator[ProcessId]:
    """Somebody who has nothing to do with the agent."""
    process = house.process("sleep", "99")
    found = system.identify(process.pid)
    assert found
    yield found
    process.kill()
    process.wait()


def called_kept(one: ProcessId) -> str:
    """The line by which a keeper says that it has spared somebody."""
    return f"kept\t{one.pid}\t{one.start}\t{one.inode}\tS\tkept: sleep\tsleep 99\n"


@pytest.mark.parametrize("how", ["kill", "exit", "keeper killed"])
def test_P50_whom_an_agent_calls_its_child_is_not_reaped(
    house: House, one: ProcessId, how: str
) -> None:
    luna = started(house, LEAVES + WRITES.format(lines=called_kept(one)) + SLEEPS)
    if how == "keeper killed":
        house.process("kill", "-KILL", str(luna.keeper)).wait()
        eventually(lambda: not alive(luna.keeper))
    if how == "exit":
        house.process("kill", "-USR1", str(luna.pid)).wait()
        eventually(lambda: not alive(luna.keeper))
    else:
        house.kill("luna", grace=1)
    assert house.json("reap")["orphans"] == []
    house.run("reap", "--yes")
    assert alive(one.pid)


def test_P50_a_birth_that_the_agent_wrote_leads_to_nobody(house: House, one: ProcessId) -> None:
    """The store is rebuilt from the journal, which has two keepers and two births by then."""
    words = f"{one.pid}\t{one.start}\t{one.boot}\t{one.inode}"
    lines = f"keeper\t{words}\t1\nborn\t{words}\t\n"
    luna = started(house, WRITES.format(lines=lines) + SLEEPS)
    house.knell.close()
    for record in house.state.glob("runs/*/record.json"):
        record.unlink()
    for name in ("knell.db", "knell.db-wal", "knell.db-shm"):
        (house.state / name).unlink(missing_ok=True)
    [shown] = house.json("list")["agents"]
    assert shown["pid"] == luna.pid
    house.kill("luna", grace=1)
    assert alive(one.pid)
    assert not alive(luna.pid)


def test_P50_a_birth_is_written_down_before_the_agent_can_write(house: House) -> None:
    """So it is there even if its program cannot be started, and then it was none."""
    rundir = str(house.state / "runs" / "one")
    order = Order(argv=("/no/such",), cwd="/", env=house.env, grace=0.3, seal="")
    os.close(keepers.prepare(rundir, order).fifo)
    house.process(*keepers.keeper_argv(rundir, detach=False)).wait()
    lines = Path(rundir, "journal").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines][:3] == ["keeper", "born", "failed"]
    assert keepers.journal(rundir).process is None


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_P50_a_keeper_that_cannot_look_proves_nothing(house: House, how: str) -> None:
    """The agent has a pane in another's tmux server, and has taken from its keeper the right to
    open files."""
    house.tmux("new-session", "-d", "-s", "mine", "sleep 444", server="x")
    luna = started(house, LEAVES + f"os.system('{SESSION}')\ntell()\nsleep()")
    form = "#{session_name} #{pane_pid}"
    told = house.tmux("list-panes", "-a", "-F", form, server="x").splitlines()
    panes = {name: int(pid) for name, pid in map(str.split, told)}
    resource.prlimit(luna.keeper, resource.RLIMIT_NOFILE, (4, 4))
    if how == "exit":
        house.process("kill", "-USR1", str(luna.pid)).wait()
        eventually(lambda: not alive(luna.keeper))
        assert [one["name"] for one in house.json("list")["agents"]] == ["luna"]
    receipt = house.kill("luna", grace=1)[0].receipts[0]
    assert receipt.proof is Proof.NONE_FOUND
    assert not alive(panes["work"])
    assert alive(panes["mine"])


def test_P50_nobody_is_safe_because_he_calls_himself_stuck(house: House) -> None:
    """His keeper cannot act, and by its journal he is still there after SIGKILL."""
    line = "stuck\tME\t1\t0\tD\tstill there after SIGKILL\tme\n"
    writes = WRITES.format(lines=line)
    luna = started(house, writes + DEAF)
    resource.prlimit(luna.keeper, resource.RLIMIT_NOFILE, (4, 4))
    receipt = house.kill("luna", grace=0.1)[0].receipts[0]
    assert (receipt.result, receipt.survivors) == ("ended", ())
    assert not alive(luna.pid)


def test_P50_an_agent_of_which_no_journal_tells_is_not_written_off(house: House) -> None:
    """It has moved its run's directory away before `spawn` could read there that it lives."""
    luna = started(house, SLEEPS)
    rundir = house.state / "runs" / luna.run.id
    rundir.rename(house.root / "aside")
    unborn = luna.run._replace(state=State.SPAWNING, keeper=None, process=None)
    with pytest.raises(LaunchFailed):
        confirm_birth(house.knell.world, unborn, keepers.journal(str(rundir)))
    assert not alive(luna.pid)
    assert house.json("list")["agents"] == []
    assert house.json("receipt", "luna")["reason"] == "not_started"


def test_P50_the_event_of_an_end_tells_no_secret_of_the_command(house: House) -> None:
    """It is printed, and other agents may ask for it. The agent itself can still be resumed."""
    argv = ("sh", "-c", "sleep 99", "--api-key", "Zx81kQplZx81kQpl")
    house.run("spawn", "--name", "luna", "--in", "headless", "--", *argv)
    house.run("kill", "luna")
    [told] = [e for e in house.json("events")["events"] if e["type"] == "life.stopped"]
    assert told["data"]["snapshot"]["agent"]["args"] == ["sh -c sleep 99 --api-key [redacted]"]
    assert "Zx81kQpl" not in house.run("events", "--json").stdout
    known = house.knell.world.store.runs.agent("luna")
    assert known
    assert known.args == argv


def test_P50_the_watch_wakes_the_stopped_keeper_of_a_dead_agent(house: House) -> None:
    stops = "signal.signal(10, lambda *_: (os.kill(os.getppid(), signal.SIGSTOP), os._exit(3)))\n"
    luna = started(house, stops + SLEEPS)
    house.process("kill", "-USR1", str(luna.pid)).wait()
    eventually(lambda: not alive(luna.pid))
    house.run("watch", "--once")
    eventually(lambda: not alive(luna.keeper))
    assert house.json("list")["agents"] == []
    receipt = house.json("receipt", "luna")
    assert (receipt["outcome"], receipt["exit_code"], receipt["proof"]) == ("failed", 3, "proven")
