"""G1–G6: which process is meant, all of it, nobody else, and the moment it is gone."""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import quell
from house import House, alive, eventually
from quell.core import ladder
from quell.core.ports import Target
from quell.core.process import Gone, ProcessId
from quell.core.receipt import Result
from quell.life.adopt import AdoptWish
from quell.processes import identity
from quell.processes.kernel import LinuxKernel
from scenes import (
    DEAF,
    PROLOGUE,
    SLEEPS,
    TIDY,
    adopted,
    end,
    eventually_told,
    fresh_note,
    in_pid_namespace,
    list_names,
    started,
    state_letter,
    stranger,
)

# -- G1: a pid that was given to somebody else -----------------------------------------------------

NAMESPACE = """
import json, os, signal, subprocess, sys, time
from quell.core import ladder
from quell.core.ports import Target
from quell.core.process import Gone
from quell.processes import identity
from quell.processes.kernel import LinuxKernel

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
    return LinuxKernel().climb([target], [], lambda _: None, lambda _: "")["run"]

def lives(pid):
    return os.waitpid(pid, os.WNOHANG) == (0, 0)

def quell(*words):
    return subprocess.run([sys.executable, "-m", "quell", *words], capture_output=True, text=True)
"""


def test_G1_a_kill_spares_the_stranger_who_got_the_pid(house: House) -> None:
    play = """
luna = sleeper()
quell("adopt", str(luna), "--name", "luna").check_returncode()
time.sleep(0.02)  # so that the start times differ
innocent = replaced(luna)
killed = quell("kill", "luna", "--json")
by_number = quell("kill", str(luna))
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
    luna = identity.identify(sleeper())
    innocent = replaced(luna.pid, setpgroup=0)
    if (innocent, identity.identify(innocent).start) == (luna.pid, luna.start):
        break
    os.kill(innocent, signal.SIGKILL)
    os.waitpid(innocent, 0)
else:
    raise SystemExit("never within one tick")
refused = identity.open_verified(luna) is None
gone = isinstance(LinuxKernel().look(luna), Gone)
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
luna = identity.identify(sleeper(setpgroup=0))
time.sleep(0.02)
innocent = replaced(luna.pid, setpgroup=0)
follower = sleeper(setpgroup=innocent)
print(json.dumps([innocent == luna.pid, climbed(luna).began, lives(innocent), lives(follower)]))
"""
    told = json.loads(in_pid_namespace(house, NAMESPACE + play))
    assert told == [True, False, True, True]


@pytest.mark.parametrize("changed", ["start", "boot", "inode"])
def test_G1_nothing_but_the_whole_identity_is_signalled(house: House, changed: str) -> None:
    innocent, _ = stranger(house, SLEEPS)
    real = identity.identify(innocent)
    assert real
    other = {
        "start": real._replace(start=real.start - 1),
        "boot": real._replace(boot="0" * 36),
        "inode": real._replace(inode=real.inode + 1),
    }[changed]
    if changed == "inode" and not real.inode:
        pytest.skip("this kernel's pidfds carry no number of their own (Linux < 6.9)")
    assert identity.open_verified(other) is None
    assert isinstance(identity.look(other), Gone)
    assert not climbed(other).began
    assert alive(innocent)
    assert climbed(real).began  # the same climb does end it when it is the one that was meant
    assert not alive(innocent)


def climbed(process: ProcessId):
    target = Target("run", "", None, process, "", ladder.FORCE)
    return LinuxKernel().climb([target], [], lambda _: None, lambda _: "")["run"]


# -- G2: neither a pid nor a group nor a pane is the whole tree ------------------------------------

# Told by the shell's job: its own pid, and that of a child in a session of its own.
JOB = """
escaped = os.fork()
if not escaped:
    os.setsid()
    [signal.signal(n, signal.SIG_IGN) for n in (1, 15)]
    time.sleep(90)
    os._exit(0)
while os.getsid(escaped) != escaped:
    pass
tell(os.getpid(), os.getpgid(0), escaped)
sleep()
"""


def typed_job(house: House, pane: str) -> list[int]:
    """Types the job at the shell in `pane`; its pid, its group and its runaway child."""
    note, script = fresh_note(house), house.root / "job.py"
    script.write_text(PROLOGUE + JOB)
    line = f"QUELL_READY={note} {sys.executable} -S {script}"
    house.tmux("send-keys", "-t", pane, line, "Enter")
    return [int(word) for word in eventually_told(note)]


def test_G2_the_job_of_a_shell_in_a_pane_dies_with_its_runaway_child(house: House) -> None:
    shell = ("bash", "--norc", "--noprofile", "-i")
    wish = quell.life.spawn.Wish("command", shell, "luna", place="tmux", server="test")
    run = house.quell.spawn(wish).run
    job, group, escaped = typed_job(house, run.place.pane)
    assert group == job != run.process.pid  # the shell's group does not hold it
    assert house.kill("luna", grace=0.3)[0].receipts[0].result is Result.ENDED
    assert not any(map(alive, (run.process.pid, job, escaped)))


def test_G2_the_same_in_a_pane_that_quell_did_not_open(house: House) -> None:
    house.tmux("new-session", "-d", "-s", "own", "bash --norc --noprofile -i")
    shell = int(house.tmux("display-message", "-p", "-t", "=own:", "#{pane_pid}"))
    job, group, escaped = typed_job(house, "=own:")
    assert group == job != shell
    house.quell.adopt(AdoptWish("own", name="luna", server="test"))
    assert house.kill("luna", grace=0.3)[0].receipts[0].result is Result.ENDED
    assert not any(map(alive, (shell, job, escaped)))


# -- G3, G4: a process that leads no group, and those who share it ---------------------------------


def test_G3_a_process_that_leads_no_group_is_ended_not_called_dead(house: House) -> None:
    luna = adopted(house, SLEEPS)
    assert os.getpgid(luna.pid) == os.getpgid(0) != luna.pid  # killpg(pid) would say ESRCH
    done = house.run("kill", "luna")
    assert not alive(luna.pid)
    assert done.returncode == 0
    assert "already terminated" not in done.stdout
    assert "Ended" in done.stdout


def test_G4_innocents_in_the_same_group_survive(house: House) -> None:
    leader, _ = stranger(house, SLEEPS, setpgroup=0)
    luna = adopted(house, DEAF, setpgroup=leader)
    sibling, _ = stranger(house, SLEEPS, setpgroup=leader)
    ours = adopted(house, SLEEPS, name="ours")  # in the group of this very test
    receipts = [r for one in house.kill("luna", "ours", grace=0.2) for r in one.receipts]
    assert [len(receipt.processes) for receipt in receipts] == [1, 1]
    assert not alive(luna.pid)
    assert not alive(ours.pid)
    assert alive(leader)
    assert alive(sibling)
    end(leader, sibling)


@pytest.mark.parametrize("verb", ["kill", "adopt"])
@pytest.mark.parametrize("number", ["0", "1", "pid:1"])
def test_G4_init_is_never_a_target(house: House, verb: str, number: str) -> None:
    done = house.run(verb, number)
    assert done.returncode == 1
    assert "never" in done.stderr


@pytest.mark.parametrize("verb", ["kill", "adopt"])
@pytest.mark.parametrize("caller", ["itself", "ancestor"])
def test_G4_quell_ends_neither_itself_nor_what_it_runs_in(
    house: House, verb: str, caller: str
) -> None:
    """`exec` makes the shell's pid quell's own; without it the shell is quell's parent."""
    line = f"{sys.executable} -m quell {verb} $$"
    line = f"exec {line}" if caller == "itself" else f"{line}; echo survived $?"
    done = subprocess.run(
        ["sh", "-c", line], env=house.env, cwd=house.root, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert "runs this command" in done.stderr
    if caller == "itself":
        assert done.returncode == 1
    else:
        assert done.stdout == "survived 1\n"


# -- G5: the dead who are not buried, and the living who look dead ---------------------------------


def test_G5_a_zombie_is_dead_at_once(house: House) -> None:
    """Its parent, this test, reaps it only after the kill has returned."""
    luna = adopted(house, SLEEPS)
    began = time.monotonic()
    receipt = house.kill("luna", grace=60)[0].receipts[0]
    assert time.monotonic() - began < 30
    assert state_letter(luna.pid) == "Z"
    assert receipt.result is Result.ENDED
    assert receipt.rungs[-1]._replace(at_ms=0) == ("kill", 0, False)


def test_G5_one_that_was_a_zombie_before_is_no_longer_listed(house: House) -> None:
    luna = adopted(house, SLEEPS)
    os.kill(luna.pid, signal.SIGKILL)
    eventually(lambda: state_letter(luna.pid) == "Z")
    assert list_names(house) == []
    done = house.run("kill", "luna")
    assert state_letter(luna.pid) == "Z"
    assert done.returncode == 0
    assert "already terminated" in done.stdout


HEADLESS_CHICKEN = """
import ctypes, threading
tell()
while not os.path.exists(os.environ["QUELL_READY"] + ".go"):
    time.sleep(0.01)
def go_on():
    while open("/proc/self/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
        pass
    time.sleep(90)
threading.Thread(target=go_on).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.mark.parametrize("begin", [started, adopted])
def test_G5_one_whose_main_thread_has_exited_is_alive_and_gets_ended(house: House, begin) -> None:
    luna = begin(house, HEADLESS_CHICKEN)
    note = next(house.root.glob("*.told"))
    note.with_name(note.name + ".go").touch()
    eventually(lambda: state_letter(luna.pid) == "Z")
    assert list_names(house) == ["luna"]
    receipt = house.kill("luna")[0].receipts[0]
    assert receipt.result is Result.ENDED
    assert [process.pid for process in receipt.processes] == [luna.pid]
    eventually(lambda: not any(task != str(luna.pid) for task in tasks(luna.pid)))


def tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


# -- G6: no sleeping ------------------------------------------------------------------------------


@pytest.mark.parametrize("begin", [started, adopted])
def test_G6_a_kill_returns_when_the_agent_ends_not_when_the_grace_does(house: House, begin) -> None:
    luna = begin(house, TIDY)
    began = time.monotonic()
    receipt = house.kill("luna", grace=60)[0].receipts[0]
    assert time.monotonic() - began < 30
    assert receipt.duration_ms >= 200  # it did wait for the tidying up
    assert not alive(luna.pid)
    assert [rung.rung for rung in receipt.rungs if rung.reached] == ["term"]


def test_G6_no_source_file_sleeps() -> None:
    sources = Path(quell.__file__).parent.rglob("*.py")
    sleeps = [
        f"{path.name}:{node.lineno}"
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep")
    ]
    assert sleeps == []
