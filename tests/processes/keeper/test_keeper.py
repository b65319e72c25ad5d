"""What a keeper ends, in which order, and by what it proves that nothing is left."""

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from house import House, alive, eventually, pause
from keepers import SEAL, SEALED, kept
from knell.core.ports.keepers import Order
from knell.processes import keepers as launching
from knell.processes.journal import ask_end, read_journal
from scenes import DEAF, SLEEPS, started, state_letter
from shells import agent, keeper_of

# -- what an agent leaves behind -------------------------------------------------------------------

LEAVES = """
for number in range(3):
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        os.environ.clear()
        if number == 2:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        say("left", os.getpid())
        time.sleep(99)
    os.wait()
while open(sys.argv[1]).read().count("left") < 3:
    time.sleep(0.01)
"""


@pytest.mark.parametrize("code", [0, 3])
def test_G2_what_an_agent_leaves_behind_is_ended_and_told(house: House, code: int) -> None:
    words, log = agent(house, LEAVES + f"os._exit({code})")
    done = house.run("run", "--name", "luna", "--grace", "0.3", "--", *words.split())
    assert done.returncode == code
    left = {int(line.split()[1]) for line in log.lines()}
    assert len(left) == 3
    assert not any(map(alive, left))
    receipt = house.json("receipt", "luna")
    assert receipt["outcome"] == ("failed" if code else "completed")
    assert (receipt["proof"], receipt["exit_code"]) == ("proven", code)
    assert {process["pid"] for process in receipt["processes"]} == left
    assert [rung["rung"] for rung in receipt["rungs"]] == ["term", "kill"]
    assert {process["ended_by"] for process in receipt["processes"]} == {"term", "kill"}


DAWDLES = """
def finish(*_):
    time.sleep(0.3)
    say("done")
    os._exit(0)
if not os.fork():
    signal.signal(signal.SIGTERM, finish)
    os.setsid()
    say("child", os.getpid())
    time.sleep(99)
while not os.path.getsize(sys.argv[1]):
    time.sleep(0.01)
os._exit(4)
"""


def test_G8_the_keeper_stays_until_the_last_child_is_gone(house: House) -> None:
    """Its exit is the proof: a child that takes its time holds it up."""
    words, log = agent(house, DAWDLES)
    done = house.run("run", "--name", "luna", "--grace", "50", "--", *words.split())
    assert done.returncode == 4
    assert log.lines()[-1] == "done"
    (rung,) = house.knell.receipt("luna").rungs
    assert rung.rung == "term"


def test_G6_what_is_left_need_not_wait_once_the_agent_has_gone(house: House) -> None:
    """Half of the grace is the agent's alone, but only while it is there."""
    began = time.monotonic()
    words, _ = agent(house, DAWDLES)
    house.run("run", "--name", "luna", "--grace", "50", "--", *words.split())
    assert time.monotonic() - began < 20


def test_an_agent_that_something_else_killed_has_failed_by_that_signal(house: House) -> None:
    """As the OOM killer does it; its child goes with it."""
    luna = started(house, "child(SLEEP, session=True)\ntell()\nsleep()")
    os.kill(luna.pid, signal.SIGKILL)
    keeper = keeper_of(house, "luna")
    eventually(lambda: not alive(keeper))
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.exit_signal, receipt.proof) == ("failed", 9, "proven")
    assert len(receipt.processes) == 1


def test_a_keeper_that_is_terminated_by_hand_ends_its_run_first(house: House) -> None:
    luna = started(house, "child(SLEEP, session=True)\ntell()\nsleep()")
    keeper = keeper_of(house, "luna")
    os.kill(keeper, signal.SIGTERM)
    eventually(lambda: not alive(keeper))
    assert not alive(luna.pid)
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.reason) == ("terminated", "keeper_signalled")
    assert receipt.proof == "proven"


# -- signals ---------------------------------------------------------------------------------------

SLOW = """
signal.signal(signal.SIGTERM, lambda *_: say("term", os.getpid()))
for session in (False, True):
    if not os.fork():
        if session:
            os.setsid()
        say("child", os.getpid())
        while True:
            time.sleep(9)
    while open(sys.argv[1]).read().count("child") < 1 + session:
        time.sleep(0.01)
wait()
"""


def test_G11_everybody_gets_one_term_the_agents_group_first(house: House) -> None:
    """A second one is what many programs take for "at once"."""
    run = kept(house, SLOW, grace=0.6)
    agent_pid = run.log.await_pid()
    run.ask(0.6)
    journal = run.wait()
    terms = [int(line.split()[1]) for line in run.log.lines() if line.startswith("term")]
    children = [int(line.split()[1]) for line in run.log.lines() if line.startswith("child")]
    assert sorted(terms) == sorted([agent_pid, *children])
    assert terms[-1] == children[1]  # in a session of its own: half-way, as the agent would not go
    assert [rung.rung for rung in journal.rungs] == ["term", "kill"]
    assert {process.ended_by for process in journal.processes} == {"kill"}


def test_G6_an_ending_that_was_asked_for_patiently_can_be_hurried(house: House) -> None:
    run = kept(house, "signal.signal(15, signal.SIG_IGN)\nwait()")
    run.log.await_pid()
    run.ask(60.0)
    eventually(lambda: run.journal().rungs)
    run.ask(0.0)
    journal = run.wait()
    assert [rung.rung for rung in journal.rungs] == ["term", "kill"]
    assert journal.proven


def test_a_grace_of_nothing_kills_without_asking(house: House) -> None:
    run = kept(house, "hear(signal.SIGTERM)\nwait()")
    run.log.await_pid()
    run.ask(0.0)
    journal = run.wait()
    assert [rung.rung for rung in journal.rungs] == ["kill"]
    assert "SIGTERM" not in run.log.lines()
    assert run.process.returncode == 128 + signal.SIGKILL


def test_a_keeper_that_is_asked_before_it_starts_starts_nothing(house: House) -> None:
    words, log = agent(house, "wait()")
    rundir = str(house.state / "runs" / "early")
    order = Order(argv=tuple(words.split()), cwd="/", env=house.env, grace=1.0, seal=SEAL)
    os.close(launching.prepare(rundir, order).fifo)
    ask_end(rundir, 0.0)
    done = subprocess.run(launching.keeper_argv(rundir, detach=False), check=False, timeout=300)
    journal = read_journal(rundir, SEALED)
    assert (done.returncode, log.lines()) == (127, [])
    assert (journal.process, journal.proven) == (None, True)
    assert "cancelled" in journal.failure


def test_a_keeper_sleeps_while_its_agent_does(house: House) -> None:
    """Nothing wakes it: an idle fleet costs no CPU."""
    started(house, SLEEPS)
    keeper = keeper_of(house, "luna")
    eventually(lambda: is_asleep(keeper))
    before = switches(keeper)
    house.run("list")
    assert switches(keeper) == before


def is_asleep(pid: int) -> bool:
    """Whether it does nothing for a moment; where it sleeps, it tells only root."""
    before = switches(pid)
    pause(0.2)
    return switches(pid) == before


def switches(pid: int) -> list[str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return [line for line in lines if "ctxt_switches" in line]


# -- trouble ---------------------------------------------------------------------------------------


def test_a_full_disk_saves_nobody(house: House) -> None:
    """What cannot be written down is done all the same; only then its keeper proves nothing."""
    run = kept(house, "signal.signal(15, signal.SIG_IGN)\nwait()")
    pid = run.log.await_pid()
    size = os.path.getsize(os.path.join(run.rundir, "journal"))
    resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (size, size))
    run.ask(0.1)
    journal = run.wait()
    assert not alive(pid)
    assert run.process.returncode == 128 + signal.SIGKILL
    assert not journal.ended


CHAIN = """
if [ $1 -gt 0 ]; then sh "$0" $(($1 - 1)) $2 & else echo last $$ >> $2; fi
exec sleep 99
"""
SHALLOW = """
import sys
sys.setrecursionlimit(120)
del sys.argv[0]
exec(open(sys.argv[0]).read(), {"__name__": "__main__", "__file__": sys.argv[0]})
"""


def test_a_chain_deeper_than_the_stack_is_ended(house: House) -> None:
    """Its keeper walks the tree with a stack of 120 frames, instead of a tree of thousands."""
    length = 150
    chain = house.root / "chain.sh"
    chain.write_text(CHAIN)
    body = f"os.execvp('sh', ['sh', '{chain}', '{length}', sys.argv[1]])"
    run = kept(house, body, python=("-c", SHALLOW))
    last = int(run.log.await_line("last").split()[1])
    run.ask(0.0)
    journal = run.wait()
    assert not alive(last)
    assert (len(journal.processes), journal.proven) == (length + 1, True)


HEADLESS_CHILD = """
if not os.fork():
    import ctypes, threading
    threading.Thread(target=lambda: (say("left", os.getpid()), time.sleep(99))).start()
    ctypes.CDLL(None).pthread_exit(None)
wait()
"""


def test_G5_a_child_whose_main_thread_has_left_is_alive_and_is_ended(house: House) -> None:
    """The kernel shows it as a zombie, and yet it works on."""
    run = kept(house, HEADLESS_CHILD)
    run.log.await_pid()
    left = int(run.log.await_line("left").split()[1])
    eventually(lambda: state_letter(left) == "Z")
    run.ask(0.2)
    journal = run.wait()
    assert journal.proven
    assert left in {process.pid for process in journal.processes}
    assert state_letter(left) == ""


def test_a_deaf_agent_is_not_spared_because_a_pattern_means_its_children(house: House) -> None:
    luna = started(house, DEAF, keep=("*",))
    receipt = house.kill("luna", grace=0.2)[0].receipts[0]
    assert (receipt.result, receipt.kept) == ("ended", ())
    assert not alive(luna.pid)
