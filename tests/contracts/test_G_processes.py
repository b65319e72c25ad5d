"""G2 to G6: all of it, nobody else, and the moment it is gone."""

import ast
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import knell
from house import House, alive, eventually
from knell.core.receipt import Result
from scenes import (
    DEAF,
    PROLOGUE,
    SLEEPS,
    TIDY,
    adopted,
    end,
    eventually_told,
    fresh_note,
    list_names,
    number,
    started,
    state_letter,
    stranger,
)

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
    line = f"KNELL_READY={note} {sys.executable} -S {script}"
    house.tmux("send-keys", "-t", pane, line, "Enter")
    return [int(word) for word in eventually_told(note)]


def test_G2_the_job_of_a_shell_in_a_pane_dies_with_its_runaway_child(house: House) -> None:
    shell = ("bash", "--norc", "--noprofile", "-i")
    run = house.knell.spawn(command=shell, name="luna", place="tmux", server="test").run
    job, group, escaped = typed_job(house, run.place.pane)
    assert group == job != number(run.process)  # the shell's group does not hold it
    assert house.kill("luna", grace=0.3)[0].receipts[0].result is Result.ENDED
    assert not any(map(alive, (number(run.process), job, escaped)))


def test_G2_the_same_in_a_pane_that_knell_did_not_open(house: House) -> None:
    house.tmux("new-session", "-d", "-s", "own", "bash --norc --noprofile -i")
    shell = int(house.tmux("display-message", "-p", "-t", "=own:", "#{pane_pid}"))
    job, group, escaped = typed_job(house, "=own:")
    assert group == job != shell
    house.knell.adopt("own", name="luna", server="test")
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
def test_G4_knell_ends_neither_itself_nor_what_it_runs_in(
    house: House, verb: str, caller: str
) -> None:
    """`exec` makes the shell's pid knell's own; without it the shell is knell's parent."""
    line = f"{sys.executable} -m knell {verb} $$"
    line = f"exec {line}" if caller == "itself" else f"{line}; echo survived $?"
    done = subprocess.run(
        ["sh", "-c", line], env=house.env, cwd=house.root, capture_output=True, text=True,
        check=False, timeout=300,
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
while not os.path.exists(os.environ["KNELL_READY"] + ".go"):
    time.sleep(0.01)
def go_on():
    while open("/proc/self/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
        pass
    time.sleep(90)
threading.Thread(target=go_on).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.mark.parametrize("begin", [started, adopted])
@pytest.mark.parametrize("force", [True, False])
def test_G5_one_whose_main_thread_has_exited_is_alive_and_gets_ended(
    house: House, begin, *, force: bool
) -> None:
    luna = begin(house, HEADLESS_CHICKEN)
    note = next(house.root.glob("*.told"))
    note.with_name(note.name + ".go").touch()
    eventually(lambda: state_letter(luna.pid) == "Z")
    assert list_names(house) == ["luna"]
    receipt = house.kill("luna", force=force)[0].receipts[0]
    assert receipt.result is Result.ENDED
    assert receipt.warnings == ()  # its keeper, if it has one, ended it without help
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
    sources = Path(knell.__file__).parent.rglob("*.py")
    sleeps = [
        f"{path.name}:{node.lineno}"
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "sleep")
    ]
    assert sleeps == []
