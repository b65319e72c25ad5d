"""`--json` on every verb gives one document on standard output, whatever happens."""

import json
from typing import Any

import pytest

from house import House
from knell.faces.cli.group import VERBS

# Their standard output is another program's, a script, or a show.
WITHOUT = {"help", "man", "run", "completion", "demo", "mcp", "top", "web", "fleet"}

CASES: dict[str, tuple[str, ...]] = {
    "spawn": ("spawn", "--json", "--name", "nova", "--", "sleep", "100"),
    "list": ("list", "--json"),
    "list --all": ("list", "--all", "--json"),
    "list --names": ("list", "--names", "--json"),
    "status": ("status", "--json"),
    "status NAME": ("status", "--json", "luna"),
    "show": ("show", "--json", "luna"),
    "tree": ("tree", "--json", "luna"),
    "stop": ("stop", "--json", "luna"),
    "stop --mode soft": ("stop", "--json", "--mode", "soft", "luna"),
    "stop --dry-run": ("stop", "--json", "--dry-run", "luna"),
    "kill": ("kill", "--json", "luna"),
    "kill --dry-run": ("kill", "--json", "--dry-run", "luna"),
    "kill all": ("kill", "--json", "all"),
    "reap": ("reap", "--json"),
    "reap --yes": ("reap", "--json", "--yes"),
    "reap --foreign": ("reap", "--json", "--foreign"),
    "team": ("team", "--json"),
    "task": ("task", "--json"),
    "events": ("events", "--json"),
    "receipt": ("receipt", "--json", "kira"),
    "resume": ("resume", "--json", "kira"),
    "doctor": ("doctor", "--json"),
    "watch": ("watch", "--json", "--once"),
}
# These change nothing that another of them would tell.
LOOKS = {
    *("list", "list --all", "list --names", "status", "status NAME", "show", "tree"),
    *("team", "task", "stop --dry-run", "kill --dry-run", "reap", "reap --foreign", "events"),
    *("receipt", "doctor"),
}
BAD: dict[str, tuple[tuple[str, ...], int]] = {
    "unknown name": (("show", "--json", "nobody"), 1),
    "unknown verb": (("kil", "--json"), 2),
    "unknown option": (("list", "--json", "--nope"), 2),
    "missing name": (("show", "--json"), 2),
    "no target": (("kill", "--json"), 1),
    "bad name": (("spawn", "--json", "--name", "a b", "--", "true"), 2),
    "no such command": (("spawn", "--json", "--", "/no/such/command"), 1),
    "still running": (("resume", "--json", "luna"), 1),
    "bad number": (("kill", "--json", "--grace", "x", "luna"), 2),
}


@pytest.fixture
def peopled(house: House) -> House:
    """Luna lives, kira has ended."""
    house.spawn(name="luna")
    house.spawn(name="kira")
    house.kill("kira")
    return house


def document(text: str) -> Any:
    """The one document that `text` is, to the last character."""
    return json.loads(text)


def answers(house: House, args: tuple[str, ...]) -> str:
    """What is wrong with its answer; empty if nothing is."""
    done = house.run(*args)
    if (done.returncode, done.stderr) != (0, ""):
        return str(done)
    return "" if isinstance(document(done.stdout), dict) else done.stdout


@pytest.mark.parametrize("case", [case for case in CASES if case not in LOOKS])
def test_a_verb_answers_with_one_document(peopled: House, case: str) -> None:
    assert answers(peopled, CASES[case]) == ""


def test_a_verb_that_looks_answers_with_one_document(peopled: House) -> None:
    told = {case: answers(peopled, args) for case, args in CASES.items() if case in LOOKS}
    assert told.keys() == LOOKS
    assert {case: wrong for case, wrong in told.items() if wrong} == {}


def test_an_error_is_one_document_too(peopled: House) -> None:
    """All in one house: what is refused changes nothing that the next one could meet."""
    for case, (args, code) in BAD.items():
        done = peopled.run(*args)
        assert done.returncode == code, (case, done.stderr)
        told = document(done.stdout)
        assert told["ok"] is False, case
        assert (told["exit"], bool(told["message"]), bool(told["hint"])) == (code, True, True), case
        assert done.stderr == f"error: {told['message']}\nhint: {told['hint']}\n", case


def test_a_kill_that_found_nobody_is_a_receipt(peopled: House) -> None:
    done = peopled.run("kill", "--json", "nobody", "luna")
    assert done.returncode == 1
    told = document(done.stdout)
    assert told["ok"] is False
    results = {receipt["agent"]: receipt["result"] for receipt in told["receipts"]}
    assert results == {"nobody": "not_found", "luna": "ended"}


@pytest.mark.parametrize("verb", sorted(set(VERBS) - WITHOUT))
def test_every_verb_has_the_option(house: House, verb: str) -> None:
    assert "--json" in house.run(verb, "--help").stdout


def test_the_shape_of_list(peopled: House) -> None:
    [luna] = peopled.json("list")["agents"]
    assert {
        *("name", "kind", "state", "outcome", "activity", "pid", "place", "team", "tag", "role"),
        *("task", "heartbeat_age_s", "activity_age_s", "cwd"),
    } <= set(luna)
    assert (luna["name"], luna["state"], luna["outcome"]) == ("luna", "running", "")


def test_the_shape_of_kill(peopled: House) -> None:
    told = peopled.json("kill", "luna")
    assert set(told) == {"ok", "receipts"}
    [receipt] = told["receipts"]
    assert {
        *("agent", "run", "kind", "place", "by", "reason", "outcome", "result", "pid"),
        *("started_at", "finished_at", "duration_ms", "proof", "rungs", "processes"),
        *("survivors", "pane", "tasks", "worktree", "conversation", "warnings"),
    } <= set(receipt)


def test_half_a_character_breaks_no_document(house: House) -> None:
    """A command line is bytes; a terminal that insists on UTF-8 gets them escaped."""
    strict = house.env | {"PYTHONIOENCODING": "utf-8:strict"}
    words = ("sh", "-c", "sleep 100; true", "\udcff")
    spawned = house.run("spawn", "--name", "luna", "--", *words, env=strict)
    assert spawned.returncode == 0, spawned.stderr
    for args in (("show", "luna"), ("tree", "luna"), ("events",), ("kill", "luna")):
        done = house.run(*args, "--json", env=strict)
        assert done.returncode == 0, done.stderr
        assert document(done.stdout)
    assert house.json("show", "luna")["args"] == list(words)
