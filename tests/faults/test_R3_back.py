"""R3: resume means back: where the person is, and said only once the program is in its
conversation."""

import json
import os
import shlex
import signal
import sys

import pytest

from complaints import FAILED, complaint
from contracts.m_scenes import Shop, claude_file, configure, ready
from house import House, alive, eventually
from knell.core.run import Place
from shells import Shell

NONE_HERE = "'luna' ran in a terminal, and there is none here"


@pytest.fixture
def shop(house: House) -> Shop:
    return Shop(house)


def person(shop: Shop) -> Shell:
    """At a shell in the shop, with the stand-ins on the PATH."""
    shell = Shell(shop.house)
    shell.type(f"export PATH={shop.house.root}/programs:$PATH; cd {shlex.quote(str(shop.folder))}")
    return shell


def run_in_terminal(shop: Shop) -> Shell:
    """A claude that a person has run by the README's alias, and left by its own exit."""
    shell = person(shop)
    shell.type("knell run --name luna claude; echo left=$?")
    eventually(lambda: ready(shop.house))
    shell.shows("\u276f")
    leave(shell)
    shell.shows("left=0")
    return shell


def leave(shell: Shell) -> None:
    shell.house.tmux("send-keys", "-t", shell.pane, "-l", "/exit")
    shell.shows("\u276f /exit")
    shell.press("Enter")


def place(shop: Shop) -> Place:
    [run] = shop.house.knell.world.store.runs.live()
    return run.place


# -- where the person is -------------------------------------------------------------------------


def test_R3_what_was_run_in_a_terminal_comes_back_in_this_terminal(shop: Shop) -> None:
    """With the program's exit code and its receipt, as `run` has them."""
    shell = run_in_terminal(shop)
    shell.type("clear; knell resume luna; echo back=$?")
    second = eventually(lambda: ready(shop.house)[1:])[0]
    assert second.conversation == ready(shop.house)[0].conversation
    shell.shows("earlier: hello")
    assert place(shop).name == "terminal"
    os.kill(second.pid, signal.SIGTERM)
    shell.shows(f"back={128 + signal.SIGTERM}")
    receipt = shop.house.knell.receipt("luna")
    assert (receipt.outcome, receipt.exit_code, receipt.proof) == ("failed", 143, "proven")


def test_R3_inside_tmux_a_script_gets_it_a_pane(shop: Shop) -> None:
    shell = run_in_terminal(shop)
    said = json.loads(shell.ask("knell resume luna --json < /dev/null"))
    assert said["verdict"] == "resumed"
    second = ready(shop.house)[1]
    assert second.conversation == said["conversation"]
    assert place(shop).name == "tmux"
    assert place(shop).pane in set(shop.house.panes()) - {shell.pane}


def test_R3_without_a_terminal_nothing_is_started(shop: Shop) -> None:
    run_in_terminal(shop)
    what, hint = complaint(shop.run("resume", "luna"), FAILED)
    assert (what, "--in tmux" in hint) == (NONE_HERE, True)
    assert json.loads(shop.run("resume", "luna", "--json").stdout)["code"] == "no_terminal"
    assert "this terminal" in complaint(shop.run("resume", "luna", "--in", "terminal"), FAILED).what
    assert len(ready(shop.house)) == 1
    told = shop.resume("luna", "--in", "tmux", "-L", "test")
    assert (told["verdict"], len(ready(shop.house))) == ("resumed", 2)


def test_R3_a_session_that_is_named_means_tmux(shop: Shop) -> None:
    run_in_terminal(shop)
    shop.resume("luna", "-L", "test", "--session", "back")
    assert shop.has_session("back")


def test_R3_a_command_does_not_lose_its_terminal_either(house: House) -> None:
    """Of a command it is not known whether it needs one, so a person must say."""
    assert house.run("run", "--name", "luna", "--", "true").returncode == 0
    assert complaint(house.run("resume", "luna"), FAILED).what == NONE_HERE
    assert house.run("resume", "luna", "--in", "headless").returncode == 0


def test_R3_a_restart_takes_this_terminal_too(shop: Shop) -> None:
    shell = run_in_terminal(shop)
    shell.type("clear; knell restart luna; echo back=$?")
    second = eventually(lambda: ready(shop.house)[1:])[0]
    assert second.conversation != ready(shop.house)[0].conversation
    assert place(shop).name == "terminal"
    leave(shell)
    shell.shows("back=0")


def test_R3_a_restart_by_a_script_comes_up_in_the_same_tmux(shop: Shop) -> None:
    shell = run_in_terminal(shop)
    assert shop.run("restart", "luna").returncode == 0
    assert (place(shop).name, place(shop).pane != shell.pane) == ("tmux", True)


def test_R3_a_restart_without_a_terminal_is_refused_before_anything_is_stopped(shop: Shop) -> None:
    luna = shop.house.process(sys.executable, "-m", "knell", "run", "--name", "luna", "claude")
    eventually(lambda: ready(shop.house))
    assert complaint(shop.run("restart", "luna"), FAILED).what == NONE_HERE
    assert alive(ready(shop.house)[0].pid)
    assert shop.run("kill", "luna").returncode == 0
    luna.wait(timeout=60)


# -- back, or not --------------------------------------------------------------------------------


def test_R3_one_that_ends_is_not_called_resumed(shop: Shop) -> None:
    """It ended a second after it had started: exit 1, with its code and its own last words."""
    assert shop.run("spawn", "--name", "luna", "-L", "test", "claude").returncode == 0
    eventually(lambda: ready(shop.house))
    assert shop.run("stop", "luna").returncode == 0
    shop.house.env["STAND_IN"] = "fails"
    what, _ = complaint(shop.run("resume", "luna"), FAILED)
    assert what == "'luna' did not come back: it ended, exit code 3: no key was given"
    assert shop.house.json("list")["agents"] == []


def test_R3_what_was_not_seen_is_said(shop: Shop) -> None:
    """A program without a note of its session, whose screen shows nothing of the conversation."""
    configure(shop.house, "[resume]\nwait = 1\n")
    shop.spawn(habits="noteless")
    shop.run("stop", "luna")
    done = shop.run("resume", "luna", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["verdict"]) == (0, "started")
    assert [one["code"] for one in told["warnings"]] == ["conversation_unseen"]


def test_R3_what_was_said_last_is_seen_on_the_screen(shop: Shop) -> None:
    shop.spawn(habits="noteless")
    shop.run("stop", "luna")
    said = "please mend the fence of the garden before it rains"
    record = {"type": "user", "message": {"role": "user", "content": said}, "text": said}
    with claude_file(shop, ready(shop.house)[0].conversation).open("a") as file:
        file.write(json.dumps(record) + "\n")
    assert shop.resume("luna")["verdict"] == "resumed"


# -- a first start -------------------------------------------------------------------------------


def test_R3_a_spawn_that_would_die_for_want_of_a_terminal_is_refused(shop: Shop) -> None:
    for words in (("claude",), ("claude", "--model", "x")):
        what, hint = complaint(shop.run("spawn", "--name", "luna", *words), FAILED)
        assert what == "claude needs a terminal to run in"
        assert "--in tmux" in hint
    assert shop.house.json("list", "--all")["agents"] == []
    assert ready(shop.house) == []


def test_R3_a_spawn_where_somebody_wants_it_is_told_of_its_death(shop: Shop) -> None:
    """It dies a second later, long after it was seen alive."""
    argv = ("spawn", "--name", "luna", "--in", "headless", "--env", "STAND_IN=fails", "claude")
    what, _ = complaint(shop.run(*argv), FAILED)
    assert what == "'luna' did not start: it ended at once, exit code 3: no key was given"


def test_R3_a_prompt_alone_needs_no_terminal(shop: Shop) -> None:
    done = shop.run("spawn", "--name", "luna", "claude", "-p", "one")
    assert (done.returncode, done.stderr) == (0, "")
