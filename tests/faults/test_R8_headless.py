"""R8: an agent that works without a terminal continues with its next prompt, and with no other."""

import json
import uuid

import pytest

from complaints import FAILED, complaint
from contracts.m_scenes import Shop, notes, ready
from house import House, eventually

PROMPT = "luna' works without a terminal and needs its next prompt"


@pytest.fixture
def shop(house: House) -> Shop:
    shop = Shop(house)
    argv = ("spawn", "--name", "luna", "--in", "headless", "claude", "--model", "x", "-p", "one")
    assert shop.run(*argv).returncode == 0
    eventually(lambda: house.json("list")["agents"] == [])
    return shop


def heard(shop: Shop) -> list[str]:
    return [words[1] for _, words in notes(shop.house) if words[0] == "heard"]


def argv(shop: Shop) -> list[list[str]]:
    """Without --settings FILE, by which knell learns the conversation."""
    return [words[2][2:] for _, words in notes(shop.house) if words[0] == "ready"]


def test_R8_it_continues_with_the_next_prompt(shop: Shop) -> None:
    done = shop.run("resume", "luna", "--json", "--", "the next one")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "resumed")
    assert heard(shop) == ["one", "the next one"]
    first, second = ready(shop.house)
    assert first.conversation == second.conversation
    id = first.conversation
    assert argv(shop)[1][:5] == ["--print", "--resume", id, "--model", "x"]
    assert "answer to the next one after one" in shop.house.knell.receipt("luna").screen


def test_R8_it_takes_the_prompt_as_its_program_does(shop: Shop) -> None:
    assert shop.run("resume", "luna", "--", "-p", "the next one").returncode == 0
    assert shop.run("resume", "luna", "--", "and", "another", "--model", "y").returncode == 0
    assert heard(shop) == ["one", "the next one", "and another"]
    assert argv(shop)[2].count("--model") == 1


def test_R8_without_a_prompt_it_is_refused(shop: Shop) -> None:
    what, hint = complaint(shop.run("resume", "luna"), FAILED)
    assert PROMPT in what
    assert 'knell resume luna -- "the prompt"' in hint
    refused = json.loads(shop.run("resume", "luna", "--json", "--", "--model", "y").stdout)
    assert refused["code"] == "needs_prompt"
    assert heard(shop) == ["one"]


def test_R8_in_a_pane_it_goes_on_by_hand(shop: Shop) -> None:
    told = shop.resume("luna", "--in", "tmux", "-L", "test")
    assert (told["verdict"], heard(shop)) == ("resumed", ["one"])
    words = argv(shop)[1]
    assert (words[:2], "--print" in words) == (["--resume", told["conversation"]], False)


def test_R8_a_restart_works_through_its_prompt_again(shop: Shop) -> None:
    """In a new conversation; with the old one it would only hear its prompt twice."""
    assert PROMPT in complaint(shop.run("restart", "luna", "--resume"), FAILED).what
    assert shop.run("restart", "luna").returncode == 0
    first, second = eventually(lambda: ready(shop.house)[1:] and ready(shop.house))
    assert first.conversation != second.conversation
    eventually(lambda: heard(shop) == ["one", "one"])


def test_R8_a_failure_is_told_with_its_last_words(shop: Shop) -> None:
    lost = str(uuid.uuid4())  # one of its own: knell looks at all processes for who uses it
    folder = shop.house.home / ".claude/projects/elsewhere"
    folder.mkdir(parents=True)
    (folder / f"{lost}.jsonl").write_text('{"text": "x"}\n')  # so that only the program refuses
    done = shop.run("resume", "luna", "--conversation", lost, "--", "next")
    what = complaint(done, FAILED).what
    assert what.startswith("'luna' did not come back: it ended, exit code 1: ")
    assert f"No conversation found with session ID: {lost}" in what


def test_R8_a_run_in_a_terminal_continues_without_one(house: House) -> None:
    """`knell run claude -p` needs no terminal, so neither does what follows it."""
    shop = Shop(house)
    assert shop.run("run", "--name", "luna", "claude", "-p", "one").returncode == 0
    assert shop.run("resume", "luna", "--", "two").returncode == 0
    assert heard(shop) == ["one", "two"]
