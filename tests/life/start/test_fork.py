"""`f NAME` copies a conversation into a new agent; `r ID` opens one that no agent has had."""

import json
import sys
from pathlib import Path

import pytest

from house import House, eventually
from knell.core.errors import NotResumable
from knell.kinds.claude import KIND

ID = "11111111-2222-4333-8444-555555555555"
# It tells its hook which conversation it is given, notes its arguments, and waits. Claude 2.1.197
# tells the same where it begins a copy: the id of the copy is in its note of itself alone.
PROGRAM = """#!{python} -S
import json, signal, subprocess, sys
words = sys.argv[1:]
if "--resume" in words:
    told = json.dumps({{"session_id": words[words.index("--resume") + 1]}}, separators=(",", ":"))
    settings = json.load(open(words[words.index("--settings") + 1]))
    for entry in settings["hooks"]["SessionStart"]:
        command = entry["hooks"][0]["command"]
        subprocess.run(command, shell=True, input=told, text=True, check=True)
print(*words, file=open("{argv}", "a"))
signal.alarm(600)
signal.pause()
"""
PANE = ("--in", "tmux", "--tmux-server", "test", "--session", "test")


@pytest.fixture
def claude(house: House) -> House:
    """With a stand-in for claude, and one for gemini."""
    folder = house.root / "bin"
    folder.mkdir()
    for name in ("claude", "gemini"):
        program = folder / name
        program.write_text(PROGRAM.format(python=sys.executable, argv=house.root / "argv"))
        program.chmod(0o755)
    house.env["PATH"] = f"{folder}:{house.env['PATH']}"
    return house


def written(house: House, cwd: Path, id: str) -> None:
    """A conversation as claude writes it."""
    assert KIND.cwd_key
    folder = house.home / ".claude" / "projects" / KIND.cwd_key(str(cwd.resolve()))
    folder.mkdir(parents=True, exist_ok=True)
    record = {"type": "user", "cwd": str(cwd.resolve()), "sessionId": id}
    (folder / f"{id}.jsonl").write_text(json.dumps(record) + "\n")


def last_argv(house: House, count: int) -> list[str]:
    noted = house.root / "argv"
    eventually(lambda: noted.exists() and len(noted.read_text().splitlines()) >= count)
    return noted.read_text().splitlines()[count - 1].split()


def test_a_fork_begins_with_the_conversation_and_the_first_runs_on(claude: House) -> None:
    done = claude.run("spawn", *PANE, "--name", "luna", "--tag", "night", "claude", "--model", "x")
    assert done.returncode == 0, done.stderr
    id = claude.json("show", "luna")["conversation"]
    written(claude, claude.root, id)
    done = claude.run("f", "luna", *PANE, "--", "another way")
    assert (done.returncode, "luna-fork: claude runs" in done.stdout) == (0, True), done.stderr
    argv = last_argv(claude, 2)
    assert argv[2:5] == ["--resume", id, "--fork-session"]
    assert argv[-5:] == ["--model", "x", "--", "another", "way"]
    views = {view.name: view for view in claude.knell.list()}
    assert set(views) == {"luna", "luna-fork"}
    assert views["luna-fork"].tag == "night"
    told = claude.json("show", "luna-fork")
    assert told["conversation"] != id  # it is a new one, whose id claude has yet to tell
    again = claude.json("fork", "luna", *PANE)
    assert again["name"] == "luna-fork-2"
    claude.kill("all")


def test_who_ended_can_be_forked_too_and_a_lost_conversation_cannot(claude: House) -> None:
    claude.run("spawn", *PANE, "--name", "luna", "claude")
    id = claude.json("show", "luna")["conversation"]
    claude.kill("luna")
    done = claude.run("fork", "luna", *PANE)
    assert (done.returncode, "is not on disk" in done.stderr) == (1, True)
    written(claude, claude.root, id)
    assert claude.run("fork", "luna", *PANE, "--name", "vega").returncode == 0
    assert [view.name for view in claude.knell.list()] == ["vega"]
    claude.kill("all")


def test_a_fork_that_runs_is_not_in_its_origins_conversation(claude: House) -> None:
    """Its command line names that conversation, as that of one who is in it does."""
    claude.run("spawn", *PANE, "--name", "luna", "claude")
    id = claude.json("show", "luna")["conversation"]
    written(claude, claude.root, id)
    claude.run("fork", "luna", *PANE)
    last_argv(claude, 2)
    assert claude.json("show", "luna-fork")["conversation_source"] == "unsure"
    claude.kill("luna")
    resumed = claude.run("resume", "luna", *PANE)
    assert "is in use by" not in resumed.stderr
    claude.kill("luna")
    claude.run("spawn", *PANE, "--name", "mira", "claude", "--resume", id, "--model", "fork")
    refused = claude.run("resume", "luna", *PANE)
    assert (refused.returncode, "is in use by" in refused.stderr) == (1, True)
    claude.kill("all")


def test_ending_an_agent_leaves_its_fork_alone_where_a_supervisor_runs(claude: House) -> None:
    """What a vendor's supervisor starts again is ended, and a fork is no such thing."""
    claude.run("spawn", *PANE, "--name", "luna", "claude")
    id = claude.json("show", "luna")["conversation"]
    written(claude, claude.root, id)
    claude.run("fork", "luna", *PANE)
    last_argv(claude, 2)
    daemon = claude.process(str(claude.root / "bin" / "claude"), "daemon", "run")
    last_argv(claude, 3)
    [[receipt]] = [one.receipts for one in claude.kill("luna")]
    daemon.kill()
    daemon.wait()
    assert "revived" not in [one.code for one in receipt.warnings]
    assert [view.name for view in claude.knell.list()] == ["luna-fork"]
    claude.kill("all")


def test_a_program_that_cannot_fork_is_said(claude: House) -> None:
    claude.run("spawn", *PANE, "--name", "luna", "gemini")
    with pytest.raises(NotResumable, match="no way to fork a conversation of gemini"):
        claude.knell.fork("luna")
    claude.kill("all")


def test_a_conversation_of_no_agent_is_opened_where_it_was_held(claude: House) -> None:
    project = claude.root / "project"
    project.mkdir()
    written(claude, project, ID)
    done = claude.run("r", ID, *PANE)
    assert done.returncode == 0, done.stderr
    assert f"continues conversation {ID}" in done.stdout
    assert last_argv(claude, 1)[2:4] == ["--resume", ID]
    [view] = claude.knell.list()
    assert (view.kind, view.cwd) == ("claude", str(project.resolve()))
    assert claude.json("show", view.name)["conversation"] == ID
    refused = claude.run("r", ID, *PANE)  # it is in use now, and belongs to that agent
    assert (refused.returncode, len(claude.knell.list())) == (1, 1)
    claude.kill("all")


@pytest.mark.parametrize("word", [ID, "luna", "../../etc/passwd", "-x", "*" * 40])
def test_what_is_neither_agent_nor_conversation_starts_nothing(claude: House, word: str) -> None:
    done = claude.run("r", "--", word)
    assert done.returncode in (1, 2), done.stdout
    assert claude.knell.list() == []
