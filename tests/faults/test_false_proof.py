"""An end is proven only by what the agent cannot write, and never after its keeper was killed."""

import os
import signal

import pytest

from house import House, alive, eventually
from needs import mounted
from scenes import DEAF, SLEEPS, Played, end, list_names, started

ESCAPES = """
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)  # so that only the keeper has it as a child
    with open("elsewhere/cgroup.procs", "w") as file:
        file.write("0")
    with open("daemon.new", "w") as file:
        file.write(str(os.getpid()))
    os.rename("daemon.new", "daemon")
    os.execve("/bin/sleep", ["sleep", "99"], {})
os.wait()
while not os.path.exists("daemon"): time.sleep(0.01)
tell()
sleep()
"""


def keeper_is_killed(luna: Played) -> None:
    os.kill(luna.keeper, signal.SIGKILL)
    eventually(lambda: not alive(luna.keeper))


@pytest.mark.needs_cgroup
def test_P5_an_empty_cgroup_proves_nothing_once_the_keeper_was_killed(house: House) -> None:
    """A daemon without the stamp has moved itself into another cgroup."""
    home = mounted()
    assert home
    elsewhere = home / f"elsewhere-{os.urandom(4).hex()}"
    elsewhere.mkdir()
    (house.root / "elsewhere").symlink_to(elsewhere)
    try:
        luna = started(house, ESCAPES)
        assert luna.run.cgroup
        daemon = int((house.root / "daemon").read_text())
        keeper_is_killed(luna)
        receipt = house.kill("luna", grace=0.3)[0].receipts[0]
        assert alive(daemon)  # no look could find it
        assert receipt.proof == "none_found"
        end(daemon)
    finally:
        eventually(lambda: not (elsewhere / "cgroup.procs").read_text())
        elsewhere.rmdir()


FORGERIES = ["ended\techild\t{at}", "ended\techild\t{at}\t{token}", "ended\techild\t{at}\t{run}"]


@pytest.mark.parametrize("line", FORGERIES, ids=["plain", "token", "run"])
def test_P5_an_end_that_the_agent_wrote_itself_is_not_believed(house: House, line: str) -> None:
    forges = f"""
rundir = os.path.dirname(os.environ["KNELL_HEARTBEAT"])
words = dict(at=time.time(), token=os.environ["KNELL_TOKEN"], run=os.environ["KNELL_RUN"])
with open(rundir + "/journal", "a") as file:
    file.write({line!r}.format(**words) + "\\n")
os.kill(os.getppid(), signal.SIGKILL)
"""
    luna = started(house, forges + DEAF)
    eventually(lambda: not alive(luna.keeper))
    assert list_names(house) == ["luna"]
    house.run("watch", "--once")
    assert list_names(house) == ["luna"]
    receipt = house.kill("luna", grace=0)[0].receipts[0]
    assert not alive(luna.pid)
    assert (receipt.result, receipt.proof) == ("ended", "none_found")


def test_P5_a_keepers_own_last_word_is_believed(house: House) -> None:
    luna = started(house, SLEEPS)
    receipt = house.kill("luna")[0].receipts[0]
    assert receipt.proof == "proven"
    journal = house.knell.world.archive.journal(luna.run.id) or b""
    assert journal.splitlines()[-1].split(b"\t")[:2] == [b"ended", b"echild"]
