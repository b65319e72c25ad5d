"""G1: a pid is not a process; who got the number later is never signalled."""

import json

import pytest

from house import House, alive
from knell.core import ladder
from knell.core.ports.endings import Callbacks, EndReport
from knell.core.ports.processes import Target
from knell.core.process import Gone, ProcessId, Unknown
from knell.processes.ending.loop import end
from knell.processes.os import system
from scenes import SLEEPS, in_pid_namespace, stranger

NAMESPACE = """
import json, os, signal, subprocess, sys, time
from knell.core import ladder
from knell.core.ports.endings import Callbacks
from knell.core.ports.processes import Target
from knell.core.process import Gone
from knell.processes.os import system
from knell.processes.ending.loop import end

def sleeper(**options):
    return os.posix_spawn("/bin/sleep", ("sleep", "90"), {}, **options)

def replaced(pid, **options):
    "Ends `pid`; the next process gets its number."
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(pid - 1))
    return sleeper(**options)

def climbed(process):
    target = Target("run", "", None, process, "", ladder.FORCE)
    return end([target], Callbacks(tuple))["run"]

def lives(pid):
    return os.waitpid(pid, os.WNOHANG) == (0, 0)

def knell(*words):
    return subprocess.run([sys.executable, "-m", "knell", *words], capture_output=True, text=True)
"""


def test_G1_a_kill_spares_the_stranger_who_got_the_pid(house: House) -> None:
    play = """
luna = sleeper()
knell("adopt", str(luna), "--name", "luna").check_returncode()
time.sleep(0.02)  # so that the start times differ
innocent = replaced(luna)
killed = knell("kill", "luna", "--json")
by_number = knell("kill", str(luna))
print(json.dumps([luna, innocent, lives(innocent), json.loads(killed.stdout), killed.returncode,
                  by_number.returncode, by_number.stderr]))
"""
    told = json.loads(in_pid_namespace(house, NAMESPACE + play))
    luna, innocent, lives, killed, code, by_number, complaint = told
    assert innocent == luna
    assert lives
    assert (killed["receipts"][0]["result"], code) == ("already_ended", 0)
    assert killed["receipts"][0]["processes"] == []
    assert by_number == 1
    assert "not an agent's" in complaint


def test_G1_a_pid_that_was_reused_within_one_clock_tick_is_told_apart(house: House) -> None:
    """Start times have a grain of 10 ms, so they alone would mix the two up."""
    play = """
for attempt in range(200):
    luna = system.identify(sleeper())
    innocent = replaced(luna.pid, setpgroup=0)
    if (innocent, system.identify(innocent).start) == (luna.pid, luna.start):
        break
    os.kill(innocent, signal.SIGKILL)
    os.waitpid(innocent, 0)
else:
    raise SystemExit("never within one tick")
refused = system.open_verified(luna) is None
gone = isinstance(system.look(luna), Gone)
print(json.dumps([luna.inode, refused, gone, climbed(luna).began, lives(innocent)]))
"""
    inode, refused, gone, began, lives = json.loads(in_pid_namespace(house, NAMESPACE + play))
    if not inode:
        pytest.skip("this kernel's pidfds carry no number of their own (Linux < 6.9)")
    assert refused
    assert gone
    assert not began
    assert lives


def test_G1_the_group_that_a_stranger_leads_under_the_old_number_is_spared(house: House) -> None:
    """A run is also looked for by the groups it led: their number must not be another's by now."""
    play = """
luna = system.identify(sleeper(setpgroup=0))
time.sleep(0.02)
innocent = replaced(luna.pid, setpgroup=0)
follower = sleeper(setpgroup=innocent)
print(json.dumps([innocent == luna.pid, climbed(luna).began, lives(innocent), lives(follower)]))
"""
    told = json.loads(in_pid_namespace(house, NAMESPACE + play))
    assert told == [True, False, True, True]


def test_G1_the_stranger_who_got_the_keepers_number_is_not_asked_to_end_the_run(
    house: House,
) -> None:
    play = """
import tempfile
keeper, agent = system.identify(sleeper()), system.identify(sleeper())
time.sleep(0.02)
innocent = replaced(keeper.pid)
target = Target("run", tempfile.mkdtemp(), keeper, agent, "", ladder.FORCE)
began = end([target], Callbacks(tuple))["run"].began
print(json.dumps([innocent == keeper.pid, began, lives(innocent), lives(agent.pid)]))
"""
    assert json.loads(in_pid_namespace(house, NAMESPACE + play)) == [True, True, True, False]


def test_G1_a_group_whose_number_became_free_is_not_the_runs_any_more(house: House) -> None:
    play = """
from knell.processes.table import Table
leader = system.identify(sleeper(setpgroup=0))
follower = sleeper(setpgroup=leader.pid)
led = {leader.pid: leader.start}
before = Table().still_led(led) == led
os.kill(follower, signal.SIGKILL)
os.waitpid(follower, 0)
time.sleep(0.02)
replaced(leader.pid, setpgroup=0)
print(json.dumps([before, Table().still_led(led)]))
"""
    assert json.loads(in_pid_namespace(house, NAMESPACE + play)) == [True, {}]


@pytest.mark.parametrize("changed", ["start", "boot", "inode"])
def test_G1_nothing_but_the_whole_identity_is_signalled(house: House, changed: str) -> None:
    innocent, _ = stranger(house, SLEEPS)
    real = system.identify(innocent)
    assert real
    other = {
        "start": real._replace(start=real.start - 1),
        "boot": real._replace(boot="0" * 36),
        "inode": real._replace(inode=real.inode + 1),
    }[changed]
    if changed == "inode" and not real.inode:
        pytest.skip("this kernel's pidfds carry no number of their own (Linux < 6.9)")
    assert system.open_verified(other) is None
    # A file can be mounted over the boot's id and over the start, so that another one alone does
    # not mean "gone"; the number of the pidfd comes from the kernel itself.
    unsure = changed == "boot" or (changed == "start" and real.inode)
    assert isinstance(system.look(other), Unknown if unsure else Gone)
    assert not climbed(other).began
    assert alive(innocent)
    assert climbed(real).began  # the same climb does end it when it is the one that was meant
    assert not alive(innocent)


def climbed(process: ProcessId) -> EndReport:
    target = Target("run", "", None, process, "", ladder.FORCE)
    return end([target], Callbacks(tuple))["run"]
