"""G51, G52: agents that end themselves, and agents that start agents."""

import sys

import pytest

from house import House, alive, eventually
from knell.core.receipt import Proof, Result
from scenes import Played, adopted, event_types, list_names, started

# -- G51: an agent ends itself ---------------------------------------------------------------------

# Its children must go too, also the one that left the group; it does not live to see the record.
SELF = """
child(SLEEP, session=True)
import subprocess
def knell(*words):
    return subprocess.run([sys.executable, "-m", "knell", *words], capture_output=True, text=True)
tell()
while not os.path.exists(os.environ["KNELL_READY"] + ".go"):
    time.sleep(0.01)
done = knell(*{words!r})
with open(os.environ["KNELL_READY"] + ".lived", "w") as file:
    file.write(done.stdout + done.stderr)
sleep()
"""


def ends_itself(house: House, begin, *words: str) -> Played:
    """Plays it to the end: the agent, which runs `knell WORDS` inside itself, is gone."""
    luna = begin(house, SELF.format(words=words))
    nod(house, "go")
    eventually(lambda: not alive(luna.pid))
    eventually(lambda: not luna.keeper or not alive(luna.keeper))
    return luna


def names(house: House) -> list[str]:
    """Who runs, as the API lists them: a look that may be repeated often."""
    return [view.name for view in house.knell.list()]


# what it runs → (outcome, reason, detail) of the record
ENDINGS = {
    "stop": ("stopped", "self", ""),
    "stop luna": ("stopped", "self", ""),
    "stop luna --reason done": ("stopped", "done", ""),
    "kill luna --reason done": ("killed", "killed", "done"),
    "kill luna --force": ("killed", "killed", ""),
    "kill all --yes": ("killed", "killed", ""),
}


@pytest.mark.parametrize("begin", [started, adopted])
@pytest.mark.parametrize("line", ENDINGS)
def test_G51_an_agent_that_ends_itself_is_ended_and_recorded(
    house: House, begin, line: str
) -> None:
    ends_itself(house, begin, *line.split())
    eventually(lambda: names(house) == [])
    assert list_names(house) == []
    receipt = house.knell.receipt("luna")
    assert (receipt.outcome, receipt.reason, receipt.detail) == ENDINGS[line]
    assert (receipt.result, receipt.by) == (Result.ENDED, "agent:luna")
    assert len(receipt.processes) >= 2  # the child that left the group is among them
    assert event_types(house).count("life.stopped") == 1


def test_G51_an_agent_in_a_pane_ends_itself_and_its_pane(house: House) -> None:
    def in_tmux(house: House, body: str) -> Played:
        return started(house, body, place="tmux", server="test")

    ends_itself(house, in_tmux, "stop")
    eventually(lambda: house.panes() == [])
    receipt = house.knell.receipt("luna")
    assert (receipt.by, receipt.outcome, receipt.proof) == ("agent:luna", "stopped", Proof.PROVEN)


# -- G52: runs within runs -------------------------------------------------------------------------

# Starts an agent through knell, then does as it is told.
PARENT = """
import json, subprocess
argv = [sys.executable, "-m", "knell", "spawn", "--in", "headless", "--name", "child", "--json",
        "--", sys.executable, "-S", "-c", {child!r}]
answer = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
tell(answer["agents"][0]["pid"], answer["agents"][0]["run"])
while not os.path.exists(os.environ["KNELL_READY"] + ".go"):
    time.sleep(0.01)
if {then!r}:
    subprocess.run([sys.executable, "-m", "knell", *{then!r}])
"""
CHILD = "import signal, time; signal.alarm(1200); time.sleep(90)"
# One that was adopted before it starts the child: that is how knell knows whose child it is.
WAITS_FIRST = """
tell()
while not os.path.exists(os.environ["KNELL_READY"] + ".begin"):
    time.sleep(0.01)
"""


def nod(house: House, word: str) -> None:
    """Lets the only body of the house go on."""
    note = next(house.root.glob("*.told"))
    note.with_name(f"{note.name}.{word}").touch()


def family(house: House, *then: str, **wish: str) -> tuple[Played, int, str]:
    """A parent, and the pid and run of the child that it started through knell."""
    parent = started(house, PARENT.format(child=CHILD, then=then), name="parent", **wish)
    return parent, int(parent.told[0]), parent.told[1]


def adopted_family(house: House, *then: str) -> tuple[Played, int]:
    body = WAITS_FIRST + PARENT.format(child=CHILD, then=then)
    parent = adopted(house, body, name="parent")
    nod(house, "begin")
    note = next(house.root.glob("*.told"))
    return parent, int(eventually(lambda: note.read_text().split())[0])


@pytest.mark.parametrize("place", ["headless", "tmux"])
@pytest.mark.parametrize("verb", ["kill", "stop"])
def test_G52_the_end_of_a_parent_is_the_end_of_its_child(
    house: House, verb: str, place: str
) -> None:
    server = "test" if place == "tmux" else ""
    parent, child, run = family(house, place=place, server=server)
    told = house.json(verb, "parent")
    assert told["ok"]
    assert [receipt["agent"] for receipt in told["receipts"]] == ["child", "parent"]
    assert [receipt["run"] for receipt in told["receipts"]] == [run, parent.run.id]
    assert [receipt["result"] for receipt in told["receipts"]] == ["ended", "ended"]
    assert not alive(child)
    assert not alive(parent.pid)
    assert house.knell.receipt("child").run == run
    assert event_types(house, "child").count("life.stopped") == 1
    assert list_names(house) == []


def test_G52_so_it_is_with_a_parent_that_was_adopted(house: House) -> None:
    parent, child = adopted_family(house)
    told = house.json("kill", "parent")
    assert [receipt["agent"] for receipt in told["receipts"]] == ["child", "parent"]
    assert not alive(child)
    assert not alive(parent.pid)


@pytest.mark.parametrize("spared", [True, False])
def test_G52_a_parent_that_ends_itself_takes_its_child_along_unless_told_not_to(
    house: House, *, spared: bool
) -> None:
    options = ("--no-children",) if spared else ("--yes",)
    parent, child = adopted_family(house, "kill", "parent", *options)
    nod(house, "go")
    eventually(lambda: not alive(parent.pid))
    eventually(lambda: names(house) == (["child"] if spared else []))
    assert alive(child) is spared


@pytest.mark.parametrize("verb", ["kill", "stop"])
def test_G52_no_children_spares_them(house: House, verb: str) -> None:
    parent, child, _ = family(house)
    told = house.json(verb, "parent", "--no-children")
    assert [receipt["agent"] for receipt in told["receipts"]] == ["parent"]
    assert not alive(parent.pid)
    assert alive(child)
    assert list_names(house) == ["child"]
    assert house.run("kill", "child").returncode == 0
    assert not alive(child)


def test_G52_a_dry_run_shows_the_children_too(house: House) -> None:
    _, child, _ = family(house)
    told = house.json("kill", "parent", "--dry-run")
    assert [receipt["agent"] for receipt in told["receipts"]] == ["child", "parent"]
    shown = [{p["pid"] for p in receipt["processes"]} for receipt in told["receipts"]]
    assert child in shown[0]
    assert not shown[0] & shown[1]  # each process once, under the run that it belongs to
    assert alive(child)


def test_G52_a_parent_that_exits_leaves_its_child_and_its_keeper_does_not_wait(
    house: House,
) -> None:
    parent, child, _ = family(house)
    nod(house, "go")
    eventually(lambda: not alive(parent.keeper))
    assert alive(child)
    assert list_names(house) == ["child"]
    receipt = house.knell.receipt("parent")
    assert (receipt.outcome, receipt.by) == ("completed", "agent")
    assert child not in [process.pid for process in receipt.processes]


def test_G52_a_child_does_not_end_its_parent(house: House) -> None:
    """Nor anything above: `all` from inside means the others, and needs --yes."""
    kill = f"[{sys.executable!r}, '-m', 'knell', 'kill', 'parent', '--yes']"
    child = (
        "import subprocess, time, sys, os\n"
        f"done = subprocess.run({kill}, capture_output=True, text=True)\n"
        "path = os.environ['KNELL_READY'] + '.answer'\n"
        "open(path + '.new', 'w').write(f'{done.returncode} {done.stderr}')\n"
        "os.rename(path + '.new', path)\n"
        "time.sleep(90)\n"
    )
    parent = started(house, PARENT.format(child=child, then=()), name="parent")
    answer = eventually(lambda: list(house.root.glob("*.answer")))[0].read_text()
    assert answer.startswith("1 ")
    assert "ancestors" in answer
    assert alive(parent.pid)
    assert house.knell.kill("parent")[-1].result is Result.ENDED
