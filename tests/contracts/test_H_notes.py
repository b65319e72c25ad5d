"""H40 to H43, C30: resume, agents without a PID, other hosts, headless agents; the JSON shape."""

from pathlib import Path

from contracts.h_scenes import as_nobody, claude, claude_notes, farewell, ghost, rows
from house import House, alive
from scenes import DEAF, SLEEPS, started
from watchers import configure

RECEIPT = {
    "agent": str,
    "run": str,
    "kind": str,
    "place": str,
    "by": str,
    "reason": str,
    "outcome": str,
    "result": str,
    "pid": int,
    "started_at": str,
    "finished_at": str,
    "duration_ms": int,
    "proof": str,
    "rungs": list,
    "processes": list,
    "survivors": list,
    "pane": dict,
    "tasks": list,
    "worktree": str,
    "conversation": dict,
    "warnings": list,
}


def test_H40_a_killed_agent_can_be_resumed_by_its_name(house: House) -> None:
    luna = started(house, SLEEPS, tag="dev")
    house.run("kill", "luna")
    assert farewell(house)["reason"] == "killed"
    assert house.run("r", "luna").returncode == 0
    agent = house.json("list")["agents"][0]
    assert (agent["name"], agent["tag"]) == ("luna", "dev")
    assert agent["run"] != luna.run.id
    assert Path(f"/proc/{agent['pid']}/cwd").resolve() == house.root.resolve()
    assert [one["outcome"] for one in house.json("show", "luna")["runs"]] == ["", "killed"]


def test_H40_the_conversation_goes_on(house: House) -> None:
    luna = claude(house)
    id_ = luna.agent.conversation
    receipt = house.json("kill", "luna")["receipts"][0]
    assert receipt["conversation"]["id"] == id_
    assert receipt["conversation"]["resume"].endswith(f"claude --resume {id_}")
    configure(house, "[resume]\nwait = 1\n")  # the stand-in never shows its conversation
    assert house.run("r", "luna").returncode == 0
    house.run("kill", "luna", "--grace", "20")
    argvs = [note for note in claude_notes(house) if isinstance(note, list)]
    assert argvs == [["--session-id", id_], ["--resume", id_]]


def test_H41_without_a_tracked_pid_stop_is_the_way(house: House) -> None:
    ghost(house)
    assert house.run("kill", "ghost").returncode == 1
    assert rows(house, "SELECT agent FROM instances") == [("ghost",)]
    done = house.run("stop", "ghost")
    assert done.returncode == 0
    assert rows(house, "SELECT agent FROM instances") == []
    assert farewell(house, "ghost")["outcome"] == "stopped"


def test_H42_an_agent_of_another_host_is_left_to_that_host(house: House) -> None:
    there = house.env | {"KNELL_HOST": "other"}
    house.run("spawn", "--in", "headless", "--name", "luna", "--", "sleep", "1000", env=there)
    nova = started(house, SLEEPS, name="nova")
    far = next(one for one in house.json("list")["agents"] if one["name"] == "luna")
    done = house.run("kill", "luna", "nova")
    assert (done.returncode, alive(nova.pid)) == (1, False)
    assert alive(far["pid"])
    assert rows(house, "SELECT agent FROM instances") == [("luna",)]
    assert house.run("kill", "luna", env=there).returncode == 0
    assert not alive(far["pid"])


def test_C30_the_refusal_names_the_host(house: House) -> None:
    there = house.env | {"KNELL_HOST": "other"}
    house.run("spawn", "--in", "headless", "--name", "luna", "--", "sleep", "1000", env=there)
    for target in ("luna", "all"):
        done = house.run("kill", target)
        assert done.returncode == 1
        assert "'luna' runs on host other" in done.stderr
        assert "on other" in done.stderr
    receipt = house.json("kill", "luna")["receipts"][0]
    assert receipt["result"] == "refused"
    assert house.run("kill", "luna", env=there).returncode == 0


def test_H43_a_headless_agent_gets_both_signals_and_no_pane_close(house: House) -> None:
    luna = started(house, DEAF)
    receipt = house.json("kill", "luna", "--grace", "0.3")["receipts"][0]
    assert not alive(luna.pid)
    assert [rung["reached"] for rung in receipt["rungs"]] == [True, True]
    assert receipt["pane"] == {"place": "headless", "id": "", "closed": None, "retry": ""}


# -- design, section 6: what --json promises -----------------------------------------------------


def test_H28_the_receipt_has_every_documented_key(house: House) -> None:
    luna = started(house, "child(SLEEP)\ntell()\nsleep()", place="tmux", server="test")
    told = house.json("kill", "luna")
    assert (told["ok"], len(told["receipts"])) == (True, 1)
    receipt = told["receipts"][0]
    assert {key: type(receipt[key]) for key in RECEIPT} == RECEIPT
    assert (receipt["result"], receipt["proof"]) == ("ended", "proven")
    assert (receipt["agent"], receipt["pid"], receipt["run"]) == ("luna", luna.pid, luna.run.id)
    assert {frozenset(rung) for rung in receipt["rungs"]} == {
        frozenset(("rung", "at_ms", "reached"))
    }
    assert {frozenset(one) for one in receipt["processes"]} == {
        frozenset(("pid", "command", "via", "ended_by"))
    }
    assert len(receipt["processes"]) == 2
    assert set(receipt["pane"]) == {"place", "id", "closed", "retry"}
    assert {"id", "exists", "resume"} <= set(receipt["conversation"])


def test_H35_a_failure_is_json_too(house: House) -> None:
    done = house.run("kill", "nobody", "--json")
    assert done.returncode == 1
    told = house.json("kill", "nobody")
    assert told["ok"] is False
    assert [receipt["result"] for receipt in told["receipts"]] == ["not_found"]
    assert set(RECEIPT) <= set(told["receipts"][0])


def test_H36_no_target_is_json_too(house: House) -> None:
    told = house.json("kill")
    assert (told["ok"], told["message"], told["exit"]) == (False, "no targets specified", 1)


def test_H37_a_survivor_is_named_with_state_and_reason(house: House) -> None:
    luna = started(house, SLEEPS)
    assert luna.run.keeper
    done = as_nobody(house, "kill", "luna", "--json")
    assert done.returncode == 1
    receipt = house.json("receipt", "luna")
    assert (receipt["result"], receipt["proof"]) == ("permission_denied", "survivors")
    survivor = receipt["survivors"][0]
    assert set(survivor) == {"pid", "command", "state", "why"}
    assert (survivor["pid"], survivor["why"]) == (luna.run.keeper.pid, "permission denied")
    assert alive(luna.pid)
