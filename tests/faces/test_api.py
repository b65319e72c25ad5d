"""`from quell import Quell`: every verb as a method, with records that a type checker knows."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from house import House, alive
from quell import Quell
from quell.core.errors import NoSuchAgent, QuellError, StillRunning
from quell.core.lifecycle import State
from quell.core.receipt import Proof, Receipt, Result
from quell.life.kill import KillWish, Slain
from quell.life.resume import Resumed, ResumeWish
from quell.life.spawn import Spawned, Wish
from quell.life.stop import StopWish
from quell.life.view import AgentView

SLEEPER = Wish("command", ("sleep", "100"), name="luna", place="headless")

# What a program would write; checked by pyright as that program's author would.
PROGRAM = """
from quell import Quell
from quell.core.receipt import Receipt
from quell.life.kill import KillWish
from quell.life.resume import ResumeWish
from quell.life.spawn import Wish

with Quell() as quell:
    spawned = quell.spawn(Wish("command", ("sleep", "100"), name="luna", place="headless"))
    assert spawned.run.process is not None
    pid: int = spawned.run.process.pid
    names: list[str] = [view.name for view in quell.list()]
    [slain] = quell.kill(KillWish(("luna",)))
    receipts: tuple[Receipt, ...] = slain.receipts
    again = quell.resume(ResumeWish("luna"))
    quell.kill(KillWish(("all",), force=True))
    print(names, receipts[0].result, receipts[0].proof, again.spawned.agent.name)
"""


@pytest.fixture
def quell(house: House) -> Quell:
    return house.quell


def test_a_life_through_the_api(quell: Quell) -> None:
    spawned = quell.spawn(SLEEPER)
    assert isinstance(spawned, Spawned)
    assert spawned.run.process
    assert alive(spawned.run.process.pid)
    [view] = quell.list()
    assert isinstance(view, AgentView)
    assert (view.name, view.state, view.pid) == ("luna", State.RUNNING, spawned.run.process.pid)
    [slain] = quell.kill(KillWish(("luna",)))
    assert isinstance(slain, Slain)
    [receipt] = slain.receipts
    assert isinstance(receipt, Receipt)
    assert (receipt.result, receipt.proof) == (Result.ENDED, Proof.PROVEN)
    assert quell.list() == []
    resumed = quell.resume(ResumeWish("luna"))
    assert isinstance(resumed, Resumed)
    assert resumed.spawned.run.id != spawned.run.id
    assert [view.name for view in quell.list()] == ["luna"]
    quell.stop(StopWish(("luna",)))
    assert [run.ending.outcome.value for run in quell.show("luna").runs if run.ending] == [
        *("stopped", "killed")
    ]
    assert quell.receipt("luna").outcome == "stopped"


def test_a_program_runs_as_it_is_written(house: House) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("['luna'] ended proven luna\n", "")


def test_a_program_is_understood_by_a_type_checker(tmp_path: Path) -> None:
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not installed beside this interpreter")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    done = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "--project", str(tmp_path), str(program)],
        capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_target_that_is_not_found_is_a_receipt_not_an_exception(quell: Quell) -> None:
    [slain] = quell.kill(KillWish(("nobody",)))
    assert [receipt.result for receipt in slain.receipts] == [Result.NOT_FOUND]


def test_errors_are_typed_and_carry_a_hint(quell: Quell) -> None:
    with pytest.raises(NoSuchAgent) as missing:
        quell.show("nobody")
    assert missing.value.target == "nobody"
    quell.spawn(SLEEPER)
    with pytest.raises(StillRunning) as running:
        quell.spawn(SLEEPER)
    assert isinstance(running.value, QuellError)
    assert running.value.hint


def test_nothing_is_opened_before_it_is_asked_for(tmp_path: Path) -> None:
    home = tmp_path / "state"
    with Quell(home=str(home)):
        assert not home.exists()


def test_the_home_that_is_given_wins(house: House, tmp_path: Path) -> None:
    with Quell(home=str(tmp_path / "other"), env=house.env) as other:
        assert other.list() == []
    assert (tmp_path / "other" / "quell.db").exists()


def test_two_of_them_see_the_same_agents(house: House, quell: Quell) -> None:
    quell.spawn(SLEEPER)
    with Quell(env=house.env) as other:
        assert [view.name for view in other.list()] == ["luna"]
        other.kill(KillWish(("luna",)))
    assert quell.list() == []


def test_closing_twice_is_no_error_and_asking_again_opens_again(quell: Quell) -> None:
    quell.list()
    quell.close()
    quell.close()
    assert quell.list() == []


def test_the_command_line_and_the_api_are_one(house: House, quell: Quell) -> None:
    quell.spawn(SLEEPER)
    [told] = house.json("list")["agents"]
    [view] = quell.list()
    assert told == view.to_json()
