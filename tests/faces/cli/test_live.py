"""Looking at a live agent: logs, screen, attach, path; and what is shown while one is ended."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from house import House, alive, eventually
from pane import SERVER, Pane
from repo import Repo
from scenes import DEAF, started

TALKS = """
import os, sys, time
print("one\\x1b[31m red\\x1b]0;title\\x07\\x1b[0m", "api_key=abcdefghijklmnop", flush=True)
open(os.environ["KNELL_READY"], "w").close()
while not os.path.exists(os.environ["KNELL_READY"] + ".go"):
    time.sleep(0.02)
print("two", flush=True)
time.sleep(600)
"""


def talker(house: House, **wish: Any) -> Path:
    """An agent that prints a line, and another once the file is there."""
    ready = house.root / "talks.ready"
    house.knell.spawn(
        command=house.script(TALKS), name="luna", cwd=str(house.root),
        env={"KNELL_READY": str(ready)}, **wish,
    )  # fmt: skip
    eventually(ready.exists)
    return Path(f"{ready}.go")


@pytest.mark.parametrize("place", ["headless", "tmux"])
def test_logs_and_screen_show_what_it_printed_without_codes_and_secrets(
    house: House, place: str
) -> None:
    go = talker(house, place=place, server="test" if place == "tmux" else "")
    for verb in ("logs", "screen"):
        shown = eventually(lambda verb=verb: house.run(verb, "luna").stdout)
        assert shown == "one red api_key=[redacted]\n"
    go.touch()
    eventually(lambda: "two" in house.run("logs", "-n", "1", "luna").stdout)
    house.kill("luna")
    assert "two" in house.run("logs", "luna").stdout
    done = house.run("screen", "luna")
    assert ("two" in done.stdout, "has ended" in done.stderr) == (True, True)


@pytest.mark.parametrize("mark", ["\x1b[1m", "\x1b[0;38;5;208m", "\x1b]8;;http://x\x1b\\"])
def test_P16_logs_show_no_secret_in_which_a_colour_begins(house: House, mark: str) -> None:
    secret = f"sk-ant-api03-{'a1B2' * 16}"
    started(
        house,
        f"print('key', {secret[:9] + mark + secret[9:]!r}, 'ok', flush=True)\ntell()\nsleep()",
    )
    for verb in ("logs", "screen"):
        shown = eventually(lambda verb=verb: house.run(verb, "luna").stdout)
        assert shown == "key [redacted] ok\n"


@pytest.mark.parametrize("place", ["headless", "tmux"])
def test_logs_follow_until_the_end(house: House, place: str) -> None:
    go = talker(house, place=place, server="test" if place == "tmux" else "")
    follow = subprocess.Popen(
        [sys.executable, "-m", "knell", "logs", "-f", "luna"],
        env=house.env, cwd=house.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert follow.stdout
    assert "one" in follow.stdout.readline()
    go.touch()
    assert follow.stdout.readline() == "two\n"
    house.kill("luna")
    out, err = follow.communicate(timeout=300)
    assert (follow.returncode, out) == (0, "")
    assert err == "'luna' has ended: knell receipt luna\n"


def test_a_log_that_is_no_file_is_not_followed_elsewhere(house: House) -> None:
    talker(house, place="headless")
    [log] = house.state.glob("runs/*/output.log")
    log.unlink()
    log.symlink_to("/etc/hostname")
    done = house.run("logs", "luna")
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot read" in done.stderr


def test_path_is_where_it_works(house: House) -> None:
    house.spawn(name="luna")
    assert house.run("path", "luna").stdout == f"{house.root}\n"
    assert house.run("path", "nobody").returncode == 1


def test_attach_goes_to_the_pane(house: House) -> None:
    """From a terminal outside the server that has the agent, and then inside it."""
    talker(house, place="tmux", server="test")
    pane = Pane(house)
    pane.start("TMUX= knell attach luna")
    eventually(lambda: house.tmux("list-clients", server="test"))
    eventually(lambda: "one red" in pane.text())
    other = house.tmux("new-window", "-d", "-P", "-F", "#{pane_id}", "sh").strip()
    house.tmux("switch-client", "-t", other)
    command = house.run("attach", "--print", "luna", env=house.env | inside(house)).stdout
    assert "switch-client" in command
    house.tmux("detach-client", "-a")


def inside(house: House) -> dict[str, str]:
    return {"TMUX": house.tmux("display-message", "-p", "#{socket_path},#{pid},0").strip()}


def test_attach_says_why_it_cannot(house: House) -> None:
    house.spawn(name="luna")
    done = house.run("attach", "luna")
    assert done.returncode == 1
    assert "has no pane" in done.stderr
    house.kill("luna")
    assert "knell resume luna" in house.run("attach", "luna").stderr


# -- what a person sees while agents are ended -----------------------------------------------------


def test_progress_is_shown_rung_by_rung_and_leaves_no_trace(house: House) -> None:
    started(house, DEAF)
    pane = Pane(house)
    done = pane.start("knell kill --grace 4 luna")
    eventually(lambda: "TERM" in pane.text() and "/4 s" in pane.text())
    eventually(lambda: done in pane.text())
    shown = pane.text().splitlines()
    assert not any("/4 s" in line for line in shown)
    assert any(line.startswith("Ended process group") for line in shown)


def test_ctrl_c_in_the_middle_says_what_goes_on_anyway(house: House) -> None:
    pids = [started(house, DEAF, name=f"luna-{n}").pid for n in range(5)]
    pane = Pane(house)
    pane.start("knell kill --yes --grace 6 all")
    eventually(lambda: "luna-0  TERM" in pane.text())
    pane.press("C-c")
    eventually(lambda: "5 keepers go on ending their agents: knell status" in pane.text())
    eventually(lambda: not any(map(alive, pids)))


def test_a_pipe_gets_no_progress(house: House) -> None:
    started(house, DEAF)
    done = house.run("kill", "--grace", "1", "luna")
    assert (done.returncode, done.stderr) == (0, "")


# -- the question ----------------------------------------------------------------------------------


def test_kill_all_asks_and_takes_no_for_an_answer(house: House) -> None:
    house.spawn(name="luna")
    house.spawn(name="nova")
    pane = Pane(house)
    done = pane.start("knell kill all")
    eventually(lambda: "Kill these 2 agents?" in pane.text())
    assert "Would end 'luna'" in pane.text()
    pane.type("n", "Enter")
    eventually(lambda: done in pane.text())
    assert "nothing was ended" in pane.text()
    assert len(house.knell.list()) == 2
    done = pane.start("knell kill all")
    eventually(lambda: "Kill these 2 agents?" in pane.text())
    house.spawn(name="vega")
    pane.type("y", "Enter")
    eventually(lambda: "Meanwhile other agents are meant" in pane.text())
    pane.type("y", "Enter")
    eventually(lambda: done in pane.text())
    assert house.knell.list() == []


def test_work_that_is_in_no_commit_is_asked_about_before_a_cleanup(house: House) -> None:
    tree = Repo(house).worktree("fix-login")
    (tree / "new.txt").write_text("unsaved")
    house.knell.spawn(command=("sleep", "600"), name="luna", place="headless", cwd=str(tree))
    pane = Pane(house)
    done = pane.start("knell kill --cleanup luna")
    eventually(lambda: "Kill this agent?" in pane.text())
    pane.type("n", "Enter")
    eventually(lambda: done in pane.text())
    assert len(house.knell.list()) == 1
    pane.run("knell kill luna")  # without a cleanup nothing happens to it
    assert (tree / "new.txt").read_text() == "unsaved"


def test_few_by_name_and_yes_are_not_asked(house: House) -> None:
    for name in ("luna", "nova", "vega"):
        house.spawn(name=name, tag="dev")
    pane = Pane(house)
    pane.run("knell kill luna")
    pane.run("knell kill tag:dev")
    assert house.knell.list() == []
    house.spawn(name="kira")
    pane.run("knell kill all --yes")
    assert house.knell.list() == []


def test_without_a_terminal_nothing_is_asked(house: House) -> None:
    house.spawn(name="luna")
    assert house.run("kill", "all").returncode == 0
    assert house.knell.list() == []


# -- help -----------------------------------------------------------------------------------------


def test_help_stands_in_groups_that_name_every_verb_once(house: House) -> None:
    from knell.faces.cli.group import GROUPS, VERBS

    named = [verb for verbs in GROUPS.values() for verb in verbs]
    assert sorted(named) == sorted(VERBS)
    text = house.run("--help").stdout
    assert [text.index(f"\n{title}:") for title in GROUPS] == sorted(
        text.index(f"\n{title}:") for title in GROUPS
    )
    assert "list (ls, ps)" in text


def test_help_of_a_verb_is_its_help(house: House) -> None:
    assert house.run("help", "kill").stdout == house.run("kill", "--help").stdout
    assert "Usage: knell team add" in house.run("help", "team", "add").stdout
    assert house.run("help", "xyzzy").returncode == 2
    assert house.run("-V").stdout == house.run("--version").stdout


def test_the_manual_page_is_one_that_man_can_read(house: House) -> None:
    for words in ((), ("kill",), ("team", "add")):
        page = house.run("man", *words).stdout
        assert page.startswith('.TH "KNELL')
        assert ".SH SYNOPSIS" in page
    page = house.run("man", "kill").stdout
    assert "\\-\\-grace" in page


@pytest.mark.parametrize(("typed", "meant"), [("rm", "delete"), ("tail", "logs"), ("new", "spawn")])
def test_words_of_other_programs_are_understood(house: House, typed: str, meant: str) -> None:
    assert f"hint: did you mean {meant}?" in house.run(typed, "luna").stderr


def test_a_number_starts_so_many(house: House) -> None:
    done = house.run("2", "--in", "headless", "--name", "luna", "--", "sleep", "100")
    assert done.returncode == 0, done.stderr
    names = json.loads(house.run("list", "--json").stdout)["agents"]
    assert [one["name"] for one in names] == ["luna-1", "luna-2"]
    assert SERVER not in house.run("list").stdout
