"""Two hands at one agent at the same moment: one wins, the other is told, nothing is left."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from house import House, alive, eventually
from preloaded import Forked
from scenes import DEAF, event_types, started

ROUNDS = 5
Knelling = subprocess.Popen[Any] | Forked


def begun(house: House, *args: str) -> Knelling:
    """`knell ARGS`, not waited for."""
    pipe = subprocess.PIPE
    return house.begin(*args, text=True, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)


def over(*commands: Knelling) -> list[tuple[int | None, str, str]]:
    """Exit code, output and complaints of each."""
    said = [command.communicate(timeout=300) for command in commands]
    return [(c.returncode, out, err) for c, (out, err) in zip(commands, said, strict=True)]


# -- two spawns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [("--in", "headless"), ("-L", "test")], ids=["headless", "tmux"])
def test_of_two_spawns_of_one_name_exactly_one_wins(house: House, where: tuple[str, ...]) -> None:
    for number in range(ROUNDS):
        args = ("spawn", "--name", f"luna-{number}", *where, "--", "sleep", "100")
        ends = over(*(begun(house, *args) for _ in range(2)))
        won = [end for end in ends if end[0] == 0]
        lost = [end for end in ends if end[0] == 1]
        assert (len(won), len(lost)) == (1, 1), ends
        assert lost[0][2].splitlines()[0] == f"error: 'luna-{number}' is still running"
        assert lost[0][2].splitlines()[1].startswith("hint: ")
        assert len(house.json("show", f"luna-{number}")["runs"]) == 1
    assert len(house.json("list")["agents"]) == ROUNDS


def test_many_unnamed_spawns_get_a_name_each(house: House) -> None:
    """Or say that the name was taken a moment ago; nobody gets another's."""
    ends = over(*(begun(house, "spawn", "--json", "--", "sleep", "100") for _ in range(5)))
    names = [json.loads(out)["agents"][0]["name"] for code, out, _ in ends if code == 0]
    assert names
    assert len(set(names)) == len(names)
    assert sorted(names) == sorted(agent["name"] for agent in house.json("list")["agents"])
    assert all("still running" in err for code, _, err in ends if code)


# -- two kills -----------------------------------------------------------------------------------


def test_of_two_kills_one_climbs_and_both_tell_the_same(house: House) -> None:
    pid = started(house, DEAF).pid
    ends = over(*(begun(house, "kill", "--json", "--grace", "0.5", "luna") for _ in range(2)))
    assert [code for code, _, _ in ends] == [0, 0], ends
    receipts = [json.loads(out)["receipts"][0] for _, out, _ in ends]
    assert sorted(receipt["result"] for receipt in receipts) == ["already_ended", "ended"]
    assert receipts[0]["run"] == receipts[1]["run"]
    assert receipts[0]["processes"] == receipts[1]["processes"]
    assert {receipt["proof"] for receipt in receipts} == {"proven"}
    types = event_types(house)
    assert types.count("life.stopping") == types.count("life.stopped") == 1
    rungs = [
        event.data["rung"] for event in house.knell.events(agent="luna") if "rung" in event.data
    ]
    assert rungs[0] == "term"
    assert len(rungs) == len(set(rungs)), "no rung is climbed twice"
    assert not alive(pid)


def test_a_crowd_of_kills_records_one_ending_each(house: House) -> None:
    pids = [started(house, "tell()\nsleep()", name=f"agent-{n}").pid for n in range(3)]
    targets = ("all", "agent-*", "agent-0", "agent-1", "agent-2")
    ends = over(*(begun(house, "kill", target) for target in targets))
    assert [code for code, _, _ in ends] == [0] * len(targets), ends
    assert not any(map(alive, pids))
    for number in range(3):
        assert event_types(house, f"agent-{number}").count("life.stopped") == 1


def test_a_kill_and_a_stop_at_once_end_it_once(house: House) -> None:
    pid = started(house, DEAF).pid
    grace = ("--grace", "0.3")
    ends = over(begun(house, "stop", *grace, "luna"), begun(house, "kill", *grace, "luna"))
    assert [code for code, _, _ in ends] == [0, 0], ends
    assert not alive(pid)
    assert event_types(house).count("life.stopped") == 1


# -- a kill during a spawn -----------------------------------------------------------------------


def slow_tmux(house: House) -> tuple[Path, Path]:
    """A tmux that opens nothing before the test says so: (it was asked, it may go on)."""
    asked, go = house.root / "asked", house.root / "go"
    real = shutil.which("tmux")
    folder = house.root / "bin"
    folder.mkdir()
    (folder / "tmux").write_text(
        "#!/bin/sh\n"
        f'case "$*" in *keeper.py*) : > "{asked}"\n'
        f'until [ -e "{go}" ]; do sleep 0.02; done;; esac\n'
        f'exec "{real}" "$@"\n'
    )
    (folder / "tmux").chmod(0o755)
    house.env["PATH"] = f"{folder}:{house.env['PATH']}"
    return asked, go


def test_a_kill_during_a_spawn_waits_and_ends_what_comes(house: House) -> None:
    asked, go = slow_tmux(house)
    spawn = begun(house, "spawn", "--name", "luna", "-L", "test", "--", "sleep", "100")
    eventually(asked.exists)
    assert [agent["state"] for agent in house.json("list")["agents"]] == ["spawning"]
    kill = begun(house, "kill", "--json", "luna")
    eventually(lambda: in_its_database(kill, house))
    assert kill.poll() is None, "it waits for the spawn"
    go.touch()
    (code, out, err), _ = over(kill, spawn)
    assert code == 0, err
    [receipt] = json.loads(out)["receipts"]
    assert (receipt["result"], receipt["proof"]) == ("ended", "proven")
    assert not alive(receipt["pid"])
    assert house.json("list")["agents"] == []
    assert house.panes() == []


def in_its_database(command: Knelling, house: House) -> bool:
    fds = Path(f"/proc/{command.pid}/fd")
    links = [os.readlink(fd) for fd in fds.iterdir() if fd.is_symlink()]
    return str(house.state / "knell.db") in links


def test_a_spawner_that_dies_half_way_blocks_nobody(house: House) -> None:
    asked, go = slow_tmux(house)
    spawn = begun(house, "spawn", "--name", "luna", "-L", "test", "--", "sleep", "100")
    eventually(asked.exists)
    spawn.send_signal(signal.SIGKILL)
    over(spawn)
    go.touch()
    done = house.run("stop", "luna")
    assert done.returncode == 0, done.stderr
    eventually(lambda: house.json("list")["agents"] == [])
    eventually(lambda: house.panes() == [])
    assert house.run("spawn", "--name", "luna", "--", "true").returncode == 0


def test_a_race_of_spawns_and_kills_leaves_nobody(house: House) -> None:
    """Whoever is first: after the last kill nothing of the name lives."""
    for _ in range(ROUNDS):
        commands = [
            begun(house, "spawn", "--name", "luna", "--", "sleep", "100"),
            begun(house, "kill", "--grace", "0.5", "luna"),
        ]
        (spawn_code, _, spawn_err), (kill_code, _, kill_err) = over(*commands)
        assert spawn_code == 0, spawn_err
        assert kill_code in {0, 1}, kill_err
        assert "Traceback" not in spawn_err + kill_err
        if kill_code:
            assert "not found" in kill_err
        assert house.run("kill", "luna").returncode == 0
        assert house.json("list")["agents"] == []
        assert house.json("status")["orphans"] == []
