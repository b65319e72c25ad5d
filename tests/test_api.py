"""`from knell import Knell`: every verb as a method, with records that a type checker knows."""

import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from house import House, alive
from knell import Knell
from knell.core.codes import Code
from knell.core.errors import BadParameter, BadRequest, KnellError, NoSuchAgent, StillRunning
from knell.core.receipt import Endings, Proof, Receipt, Result
from knell.core.run import State
from knell.life.look.list import AgentView
from knell.life.start.resume import Resumed
from knell.life.start.spawn import Spawned


def sleeper(knell: Knell) -> Spawned:
    return knell.spawn(command=["sleep", "100"], name="luna", place="headless")


# What a program would write; checked by pyright as that program's author would.
PROGRAM = """
from knell import Knell
from knell.api.results import AgentView, Endings

with Knell() as knell:
    spawned = knell.spawn(command=["sleep", "100"], name="luna", place="headless")
    assert spawned.run.process is not None
    pid: int = spawned.run.process.pid
    agents: list[AgentView] = knell.list()
    endings: Endings = knell.kill("luna", grace=2)
    [receipt] = endings
    again = knell.resume("luna")
    knell.kill("all", force=True)
    print([agent.name for agent in agents], endings.ok, receipt.result, receipt.proof, end=" ")
    print(again.spawned.agent.name)
"""


@pytest.fixture
def knell(house: House) -> Knell:
    return house.knell


def test_a_life_through_the_api(knell: Knell) -> None:
    spawned = sleeper(knell)
    assert isinstance(spawned, Spawned)
    assert spawned.run.process
    assert alive(spawned.run.process.pid)
    [view] = knell.list()
    assert isinstance(view, AgentView)
    assert (view.name, view.state, view.pid) == ("luna", State.RUNNING, spawned.run.process.pid)
    endings = knell.kill("luna")
    assert isinstance(endings, Endings)
    assert endings.ok
    [receipt] = endings
    [target] = endings.targets
    assert (target.target, target.label, target.receipts) == ("luna", "", (receipt,))
    assert isinstance(receipt, Receipt)
    assert (receipt.result, receipt.proof) == (Result.ENDED, Proof.PROVEN)
    assert knell.list() == []
    resumed = knell.resume("luna")
    assert isinstance(resumed, Resumed)
    assert resumed.spawned.run.id != spawned.run.id
    assert [view.name for view in knell.list()] == ["luna"]
    knell.stop("luna")
    assert [run.ending.outcome.value for run in knell.show("luna").runs if run.ending] == [
        *("stopped", "killed")
    ]
    assert knell.receipt("luna").outcome == "stopped"


def test_a_program_runs_as_it_is_written(house: House) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("['luna'] True ended proven luna\n", "")


def test_a_program_is_understood_by_a_type_checker(tmp_path: Path) -> None:
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not installed beside this interpreter")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    done = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "--project", str(tmp_path), str(program)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_target_that_is_not_found_is_a_receipt_not_an_exception(knell: Knell) -> None:
    endings = knell.kill("nobody")
    assert [receipt.result for receipt in endings] == [Result.NOT_FOUND]
    assert not endings.ok


def test_errors_are_typed_and_carry_a_hint(knell: Knell) -> None:
    with pytest.raises(NoSuchAgent) as missing:
        knell.show("nobody")
    assert missing.value.target == "nobody"
    sleeper(knell)
    with pytest.raises(StillRunning) as running:
        sleeper(knell)
    assert isinstance(running.value, KnellError)
    assert running.value.hint


# What a program without a type checker could give → the argument that the error names.
WRONG_TYPES: dict[str, tuple[Callable[[Any], object], str]] = {
    "a text for a list": (lambda knell: knell.spawn("luna", args="fix it"), "args"),
    "a text for a command": (lambda knell: knell.spawn(command="sleep 100"), "command"),
    "bytes": (lambda knell: knell.spawn(command=["sleep", "9"], server=b"x"), "server"),
    "a list for a place": (lambda knell: knell.spawn(command=["sleep", "9"], place=[]), "place"),
    "a number in env": (lambda knell: knell.spawn(command=["x"], env={"A": 1}), "env"),
    "no name in env": (lambda knell: knell.spawn(command=["x"], env={"": "1"}), "env"),
    "no name of env's": (lambda knell: knell.spawn(command=["x"], env={"A=B": "1"}), "env"),
    "a null byte in env": (lambda knell: knell.spawn(command=["x"], env={"A": "\0"}), "env"),
    "half a character": (lambda knell: knell.spawn(command=["\ud800"]), "command"),
    "a null byte": (lambda knell: knell.skills.status(folder="\0"), "folder"),
    "no name": (lambda knell: knell.show(None), "name"),
    "a list of targets": (lambda knell: knell.kill(["luna"]), "targets"),
    "a number among targets": (lambda knell: knell.kill("luna", 7), "targets"),
    "a text for seconds": (lambda knell: knell.kill("luna", grace="2"), "grace"),
    "a text for yes": (lambda knell: knell.stop("luna", yes="no"), "yes"),
    "true for a PID": (lambda knell: knell.reap_foreign(*[True]), "pids"),
    "more than the store holds": (lambda knell: knell.events(after=1 << 64), "after"),
    "no deed with tasks": (lambda knell: knell.kill("luna", tasks="fial"), "tasks"),
    "no way to clean up": (lambda knell: knell.kill("luna", cleanup="sweep"), "cleanup"),
    "a part": (lambda knell: knell.team("red").add_task("dig", needs="plan"), "needs"),
    "a home": (lambda knell: type(knell)(home=7), "home"),
}


@pytest.mark.parametrize("wrong", WRONG_TYPES)
def test_an_argument_of_a_wrong_type_is_refused_before_anything_is_done(
    house: House, knell: Knell, wrong: str
) -> None:
    house.spawn(name="luna")
    call, name = WRONG_TYPES[wrong]
    with pytest.raises(BadParameter, match=f"^{name} must be ") as refused:
        call(knell)
    assert (refused.value.name, refused.value.code) == (name, Code.BAD_PARAMETER)
    assert [(view.name, view.state) for view in knell.list(with_ended=True)] == [
        ("luna", State.RUNNING)
    ]


@pytest.mark.parametrize(
    "wish", [{"startup": math.inf}, {"stay": math.inf}, {"stay": math.nan}, {"grace": -1.0}]
)
def test_seconds_that_nobody_can_wait_start_nothing(knell: Knell, wish: dict[str, float]) -> None:
    with pytest.raises(BadRequest, match="is not between"):
        knell.spawn(command=["sleep", "100"], place="headless", **wish)  # pyright: ignore[reportArgumentType]
    assert knell.list(with_ended=True) == []


def test_a_json_command_raises_nothing_whatever_its_name(knell: Knell) -> None:
    assert knell.invoke(7, None)["success"] is False


def test_nothing_is_opened_before_it_is_asked_for(tmp_path: Path) -> None:
    home = tmp_path / "state"
    with Knell(home=str(home)):
        assert not home.exists()


def test_the_home_that_is_given_wins(house: House, tmp_path: Path) -> None:
    with Knell(home=str(tmp_path / "other"), env=house.env) as other:
        assert other.list() == []
    assert (tmp_path / "other" / "knell.db").exists()


def test_two_of_them_see_the_same_agents(house: House, knell: Knell) -> None:
    sleeper(knell)
    with Knell(env=house.env) as other:
        assert [view.name for view in other.list()] == ["luna"]
        other.kill("luna")
    assert knell.list() == []


def test_closing_twice_is_no_error_and_asking_again_opens_again(knell: Knell) -> None:
    knell.list()
    knell.close()
    knell.close()
    assert knell.list() == []


def test_the_command_line_and_the_api_are_one(house: House, knell: Knell) -> None:
    sleeper(knell)
    [told] = house.json("list")["agents"]
    [view] = knell.list()
    assert told == view.to_json()
