"""G48 to G50: what would happen is shown first, all at once, and who asked is written down."""

from typing import Any

import pytest

from house import House, alive, descendants, eventually
from knell.life.start.spawn import Spawned
from scenes import DEAF, SLEEPS, adopted, end, event_types, list_names, number, started

# -- G48: a dry run names everybody and ends nobody ------------------------------------------------


def tree_of(house: House, spawned: Spawned) -> set[int]:
    """The truth, by the eyes of this test: all below it but tmux is the run's."""
    server = spawned.run.place.server_pid
    tree = {pid for pid in descendants() if pid != server}
    assert {number(spawned.run.keeper), number(spawned.run.process)} < tree
    return tree


def pids(receipts: list[dict[str, Any]]) -> set[int]:
    return {process["pid"] for receipt in receipts for process in receipt["processes"]}


@pytest.mark.parametrize("verb", ["kill", "stop"])
@pytest.mark.parametrize("place", ["tmux", "headless"])
def test_G48_a_dry_run_names_every_process_and_ends_none(
    house: House, verb: str, place: str
) -> None:
    server = "test" if place == "tmux" else ""
    spawned = house.spawn("scrubbed", name="luna", place=place, server=server)
    tree = tree_of(house, spawned)
    before = event_types(house)
    told = house.json(verb, "luna", "--dry-run")
    assert pids(told["receipts"]) == tree
    assert told["receipts"][0]["result"] == "would_end"
    assert told["receipts"][0]["pane"]["id"] == spawned.run.place.pane
    text = house.run(verb, "luna", "--dry-run").stdout
    assert [str(pid) for pid in tree if f" {pid} " not in text] == []
    assert all(map(alive, tree))
    assert event_types(house) == before
    assert [agent.state for agent in house.knell.list()] == ["running"]
    assert len(house.panes()) == (place == "tmux")


def test_G48_kill_all_shows_every_run_and_orphan_before_it_ends_them(house: House) -> None:
    luna = house.spawn("setsid", name="luna")
    house.spawn("plain", name="nova")
    assert house.run("stop", "luna", "--mode", "soft").returncode == 0
    tree = tree_of(house, luna)
    told = house.json("kill", "all", "--dry-run")
    assert {receipt["agent"] for receipt in told["receipts"]} == {"luna", "nova"}
    assert pids(told["receipts"]) == tree
    assert all(map(alive, tree))
    assert house.run("kill", "all").returncode == 0
    assert not any(map(alive, tree))


@pytest.mark.parametrize("words", [("--dry-run",), ("--dry-run", "--yes"), ()])
def test_G48_reap_shows_what_it_would_end(house: House, words: tuple[str, ...]) -> None:
    luna = house.spawn("setsid", name="luna")
    assert house.run("stop", "luna", "--mode", "soft").returncode == 0
    tree = tree_of(house, luna)
    told = house.json("reap", *words)
    assert [orphan["pid"] for orphan in told["orphans"]] == [number(luna.run.process)]
    assert pids(told["receipts"]) == (tree if words else set())
    assert str(number(luna.run.process)) in house.run("reap", *words).stdout
    assert all(map(alive, tree))
    assert "orphan.ended" not in event_types(house)
    assert house.run("reap", "--yes").returncode == 0
    assert not any(map(alive, tree))


def test_G48_what_a_dry_run_shows_of_an_adopted_agent_is_what_a_kill_ends(house: House) -> None:
    luna = adopted(house, "child(SLEEP, session=True)\nchild(SLEEP)\ntell()\nsleep()")
    shown = pids(house.json("kill", "luna", "--dry-run")["receipts"])
    assert len(shown) == 3
    assert all(map(alive, shown))
    assert pids(house.json("kill", "luna")["receipts"]) == shown
    assert not any(map(alive, shown))
    assert luna.pid in shown


# -- G49: many take as long as the slowest ---------------------------------------------------------


def test_G49_ten_deaf_agents_take_one_grace_not_ten(house: House) -> None:
    kept = [started(house, DEAF, name=f"kept-{n}") for n in range(5)]
    held = [adopted(house, DEAF, name=f"held-{n}") for n in range(5)]
    receipts = house.json("kill", "all", "--grace", "4")["receipts"]
    assert len(receipts) == 10
    assert not any(alive(one.pid) for one in (*kept, *held))
    # The last of them began before the first of them was over: none waited for another.
    began, over = ([one[key] for one in receipts] for key in ("started_at", "finished_at"))
    assert max(began) < min(over)


# -- G50: who and why ------------------------------------------------------------------------------


def last(house: House, kind: str) -> dict[str, Any]:
    return [event.data for event in house.knell.events(agent="luna") if event.type == kind][-1]


def words_of(told: dict[str, Any]) -> tuple[str, ...]:
    return tuple(told[key] for key in ("by", "reason", "detail"))


@pytest.mark.parametrize("begin", [started, adopted])
def test_G50_a_kill_says_who_and_why_in_the_event_and_the_receipt(house: House, begin) -> None:
    begin(house, SLEEPS)
    assert house.run("kill", "luna", "--reason", "burns money").returncode == 0
    assert words_of(last(house, "life.stopped")) == ("operator", "killed", "burns money")
    assert last(house, "life.stopping")["by"] == "operator"
    receipt = house.knell.receipt("luna").to_json()
    assert words_of(receipt) == ("operator", "killed", "burns money")
    assert receipt["outcome"] == "killed"
    assert receipt["started_at"] < receipt["finished_at"]


def test_G50_a_stop_does_too(house: House) -> None:
    started(house, SLEEPS)
    assert house.run("stop", "luna", "--reason", "user_request").returncode == 0
    told = last(house, "life.stopped")
    assert (told["by"], told["reason"], told["outcome"]) == ("operator", "user_request", "stopped")
    receipt = house.knell.receipt("luna")
    assert (receipt.by, receipt.reason, receipt.outcome) == ("operator", "user_request", "stopped")


def test_G50_an_agent_that_kills_another_is_named(house: House) -> None:
    luna = started(house, SLEEPS)
    body = (
        "import subprocess\n"
        "subprocess.run([sys.executable, '-m', 'knell', 'kill', 'luna'], check=True)\n"
        "tell()\nsleep()"
    )
    started(house, body, name="boss")
    assert not alive(luna.pid)
    assert last(house, "life.stopped")["by"] == "agent:boss"
    assert house.knell.receipt("luna").by == "agent:boss"
    assert list_names(house) == ["boss"]


def test_G50_a_caller_that_scrubbed_its_environment_is_still_named(house: House) -> None:
    started(house, SLEEPS)
    body = (
        "import subprocess\n"
        "env = {k: v for k, v in os.environ.items() if k not in ('KNELL_RUN', 'KNELL_AGENT')}\n"
        "subprocess.run([sys.executable, '-m', 'knell', 'kill', 'luna'], env=env, check=True)\n"
        "tell()\nsleep()"
    )
    started(house, body, name="boss")
    assert house.knell.receipt("luna").by == "agent:boss"


def test_G50_the_end_of_an_orphan_is_on_record(house: House) -> None:
    luna = started(house, SLEEPS)
    house.run("stop", "luna", "--mode", "soft")
    assert house.run("reap", "--yes").returncode == 0
    told = last(house, "orphan.ended")
    assert (told["by"], told["reason"], told["pid"]) == ("operator", "reaped", luna.pid)


def test_G50_an_end_that_nobody_asked_for_says_so(house: House) -> None:
    luna = started(house, SLEEPS)
    end(luna.pid)
    eventually(lambda: not alive(luna.keeper))
    assert list_names(house) == []
    told = last(house, "life.stopped")
    assert (told["by"], told["reason"], told["outcome"]) == ("agent", "crashed", "failed")
    assert "signal 9" in told["detail"]
