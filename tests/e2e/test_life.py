"""From spawn to purge with the real program: what is ended is gone, what was said is not."""

import shlex

import pytest

from e2e.claude_home import STUBBORN, ClaudeHome, reached
from house import eventually

PURGES = (("stop", "luna", "--purge-conversation"), ("delete", "luna", "--purge-conversation"))
VERBS = (("stop", "luna"), ("kill", "luna"), ("kill", "luna", "--force"))


def test_M24_stop_leaves_by_the_exit_keys_alone(home: ClaudeHome) -> None:
    """`knell stop` types what a person would type, and Claude leaves without any signal."""
    luna = home.spawn()
    home.say("say amber", "answer 1: amber")
    receipt = home.end("stop", "luna", "--capture-id", "--graceful")
    assert (receipt["result"], receipt["outcome"]) == ("ended", "stopped")
    assert (receipt["proof"], receipt["exit_code"], receipt["pid"]) == ("proven", 0, luna["pid"])
    assert reached(receipt) == ["exit_keys"]
    # Besides it there may be what it has just started, such as a look at git.
    [process] = [one for one in receipt["processes"] if one["via"] == "agent"]
    assert (process["pid"], process["ended_by"]) == (luna["pid"], "exit 0")
    assert "kill" not in {one["ended_by"] for one in receipt["processes"]}
    assert receipt["pane"]["closed"] is True
    assert "answer 1: amber" in receipt["screen"]
    assert receipt["warnings"] == []
    assert home.left_in_order()


def test_M22_the_receipt_tells_how_to_go_on(home: ClaudeHome) -> None:
    """The conversation is on disk, its last record is whole, and the resume line is right."""
    luna = home.spawn()
    name = luna["conversation"]
    assert home.session_of(luna["pid"]) == name
    home.say("say amber", "answer 1: amber")
    kept = home.end("stop", "luna", "--capture-id", "--graceful")["conversation"]
    assert [path.stem for path in home.conversations()] == [name]
    assert {record["sessionId"] for record in home.records() if "sessionId" in record} == {name}
    assert home.written("answer 1: amber")
    assert (kept["id"], kept["exists"], kept["complete"]) == (name, True, True)
    assert kept["source"] == "given"
    assert kept["resume"] == f"cd {shlex.quote(str(home.project))} && claude --resume {name}"


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_H40_what_was_said_comes_back(home: ClaudeHome, verb: tuple[str, ...]) -> None:
    """After any ending, `knell resume` shows the earlier exchange and the model is told of it."""
    home.serve_mcp(STUBBORN)
    luna = home.spawn()
    home.say("say amber", "answer 1: amber")
    if "--force" in verb:  # SIGKILL lets nobody finish writing
        eventually(lambda: home.written("answer 1: amber"))
    home.end(*verb)
    assert home.left_in_order() is ("--force" not in verb)
    again = home.resume()
    assert again["verdict"] == "resumed"
    assert again["conversation"] == luna["conversation"] == home.session_of(again["pid"])
    home.shows("answer 1: amber")
    home.say("say beryl", "answer 2: beryl after amber")
    home.end("kill", "luna")
    assert [path.stem for path in home.conversations()] == [luna["conversation"]]


@pytest.mark.parametrize("verb", PURGES, ids=lambda verb: verb[0])
def test_M31_a_purged_conversation_is_gone(home: ClaudeHome, verb: tuple[str, ...]) -> None:
    """Deleting asks for --yes, takes this conversation alone, and resume is refused afterwards."""
    home.spawn()
    home.say("say amber", "answer 1: amber")
    [path] = eventually(home.conversations)  # shown first, written a moment later
    other = path.with_name("11111111-2222-4333-8444-555555555555.jsonl")
    other.write_text("{}\n")
    home.knell(*verb, code=1)
    assert home.members()
    receipt = home.end(*verb, "--yes")
    assert receipt["conversation"]["purged"] == [str(path)]
    assert receipt["conversation"]["resume"] == ""
    assert home.conversations() == [other]
    refused = home.knell("resume", "luna", code=1)
    assert "is not on disk" in refused.stderr
    home.assert_nothing_left()


def test_M54_one_life(home: ClaudeHome) -> None:
    """spawn, exchange, stop, resume, exchange, kill, resume, purge; then resume is refused."""
    home.serve_mcp(STUBBORN)
    luna = home.spawn()
    home.say("say amber", "answer 1: amber")
    assert home.end("stop", "luna", "--capture-id", "--graceful")["outcome"] == "stopped"
    home.resume()
    home.say("say beryl", "answer 2: beryl after amber")
    assert home.end("kill", "luna")["outcome"] == "killed"
    again = home.resume()
    assert home.session_of(again["pid"]) == luna["conversation"]
    home.shows("answer 2: beryl after amber")
    home.end("stop", "luna", "--purge-conversation", "--yes")
    assert home.conversations() == []
    home.knell("resume", "luna", code=1)
    home.assert_nothing_left()
    assert len(home.mcp_pids()) == 6  # three lives, each with a server and its child
