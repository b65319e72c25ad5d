"""R1, R5, R9: each agent comes back to its own conversation, or knell says that it is unsure."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from house import House, eventually

STAND_IN = Path(__file__).parents[1] / "support/codex_stand_in.py"
USERS = """#!/bin/sh
printf '%s\\n' "$#" >>"$HOME/users.notify"
"""


class Codexes:
    """A home with the stand-in for codex, one project, and what the stand-ins noted."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.project = house.root / "project"
        programs = house.root / "programs"
        for folder in (self.project, programs):
            folder.mkdir()
        text = f"#!{sys.executable}\n{STAND_IN.read_text()}"
        (programs / "codex").write_text(text)
        (programs / "codex").chmod(0o755)
        house.env["PATH"] = f"{programs}:{house.env['PATH']}"

    def notes(self, pid: int, word: str) -> list[str]:
        file = self.house.home / "codex.notes"
        lines = map(json.loads, file.read_text().splitlines() if file.exists() else ())
        return [line[2] for line in lines if line[:2] == [pid, word]]

    def spawn(self, name: str, *args: str, env: dict[str, str] | None = None) -> int:
        spawned = self.house.knell.spawn(
            "codex", args=args, name=name, place="tmux", server="test", session=name,
            cwd=str(self.project), env=env or {},
        )  # fmt: skip
        assert spawned.run.process
        pid = spawned.run.process.pid
        eventually(lambda: self.notes(pid, "ready"))
        return pid

    def turn(self, pid: int) -> str:
        """One exchange; the conversation that it was in."""
        before = len(self.notes(pid, "turn"))
        os.kill(pid, signal.SIGUSR1)
        return eventually(lambda: self.notes(pid, "turn")[before:])[0]

    def anew(self, pid: int) -> None:
        before = len(self.notes(pid, "new"))
        os.kill(pid, signal.SIGUSR2)
        eventually(lambda: self.notes(pid, "new")[before:])

    def go_to(self, pid: int, id: str) -> None:
        """The person chooses that conversation by /resume, and says nothing."""
        (self.house.home / "codex.goto").write_text(id)
        self.anew(pid)

    def crash(self, name: str, pid: int) -> None:
        """It dies while nobody looks."""
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: self.house.json("show", name)["state"] == "ended")

    def conversation(self, name: str) -> tuple[str, str]:
        told = self.house.json("show", name)
        return told["conversation"], told["conversation_source"]

    def resume(self, name: str) -> str:
        """The conversation that the program itself is in now."""
        done = self.house.run("resume", name, "--json", cwd=self.project)
        assert done.returncode == 0, done.stderr
        pid = json.loads(done.stdout)["pid"]
        return eventually(lambda: self.notes(pid, "ready"))[0]

    def files(self) -> set[str]:
        return {path.stem[-36:] for path in self.house.home.glob(".codex/sessions/*/*/*/*.jsonl")}


@pytest.fixture
def codexes(house: House) -> Codexes:
    return Codexes(house)


def test_R1_two_in_one_directory_come_back_each_to_its_own(codexes: Codexes) -> None:
    luna, nova = codexes.spawn("luna"), codexes.spawn("nova")
    mine, theirs = codexes.turn(luna), codexes.turn(nova)
    assert codexes.house.run("kill", "luna", "nova").returncode == 0
    assert (codexes.resume("luna"), codexes.resume("nova")) == (mine, theirs)


def test_R1_one_that_died_while_nobody_looked_told_its_conversation(codexes: Codexes) -> None:
    luna, nova = codexes.spawn("luna"), codexes.spawn("nova")
    mine = codexes.turn(luna)
    codexes.turn(nova)
    os.kill(luna, signal.SIGKILL)
    eventually(lambda: codexes.house.json("show", "luna")["state"] == "ended")
    told = codexes.house.json("show", "luna")
    assert (told["conversation"], told["conversation_source"]) == (mine, "told")


def test_R1_R9_purging_one_leaves_the_neighbours_and_no_way_back_is_named(
    codexes: Codexes,
) -> None:
    luna, nova = codexes.spawn("luna"), codexes.spawn("nova")
    codexes.turn(luna)
    theirs = codexes.turn(nova)
    done = codexes.house.run("stop", "--mode", "hard", "--purge-conversation", "--yes", "luna")
    assert (done.returncode, codexes.files()) == (0, {theirs}), done.stderr
    assert "To resume" not in done.stdout


def test_R1_what_is_not_sure_is_shown_and_neither_resumed_nor_purged(codexes: Codexes) -> None:
    """It has said nothing yet, and a person's own codex has spoken in the same directory."""
    codexes.spawn("luna")
    env = {**codexes.house.env, "SAYS": "mine\x1b[2J alone"}
    person = subprocess.Popen(["codex"], env=env, cwd=codexes.project)
    try:
        eventually(lambda: codexes.notes(person.pid, "ready"))
        theirs = codexes.turn(person.pid)
    finally:
        person.terminate()
        person.wait()
    house = codexes.house
    stop = ("stop", "--mode", "hard", "--purge-conversation", "--yes", "luna")
    assert (house.run(*stop).returncode, codexes.files()) == (1, {theirs})
    done = house.run("resume", "luna", cwd=codexes.project)
    assert (done.returncode, theirs in done.stderr) == (1, True)
    assert '"mine [2J alone"' in done.stderr
    assert "\x1b" not in done.stderr
    assert house.json("show", "luna")["conversation_source"] == "unsure"
    chosen = house.run("resume", "luna", "--conversation", theirs, "--json", cwd=codexes.project)
    assert json.loads(chosen.stdout)["conversation"] == theirs


def test_R1_a_conversation_that_another_is_in_is_not_resumed(codexes: Codexes) -> None:
    luna = codexes.spawn("luna")
    mine = codexes.turn(luna)
    codexes.house.run("kill", "luna")
    argv = ["codex", "resume", mine]
    person = subprocess.Popen(argv, env=codexes.house.env, cwd=codexes.project)
    try:
        eventually(lambda: codexes.notes(person.pid, "ready"))
        done = codexes.house.run("resume", "luna", cwd=codexes.project)
        assert (done.returncode, "is in use by process" in done.stderr) == (1, True), done.stderr
    finally:
        person.terminate()
        person.wait()


@pytest.mark.parametrize(("mode", "code"), [("r", 0), ("a", 1)])
def test_R1_who_only_reads_a_conversation_is_not_in_it(
    codexes: Codexes, mode: str, code: int
) -> None:
    """gemini reads its neighbours' conversations as it starts; a person may look at one."""
    mine = codexes.turn(codexes.spawn("luna"))
    codexes.house.run("kill", "luna")
    [path] = codexes.house.home.glob(f".codex/sessions/*/*/*/*{mine}.jsonl")
    with path.open(mode) as file:
        other = subprocess.Popen(["sleep", "100"], pass_fds=[file.fileno()])
    try:
        done = codexes.house.run("resume", "luna", cwd=codexes.project)
        assert (done.returncode, "is in use by process" in done.stderr) == (code, code == 1)
    finally:
        other.terminate()
        other.wait()


def test_R5_new_is_followed_and_a_nested_one_is_not(codexes: Codexes) -> None:
    luna = codexes.spawn("luna", env={"NEST": "1"})
    first = codexes.turn(luna)
    nested = int(eventually(lambda: codexes.notes(luna, "nested"))[0])
    eventually(lambda: codexes.notes(nested, "ready"))
    inner = codexes.turn(nested)
    assert codexes.house.json("show", "luna")["conversation"] == first
    codexes.anew(luna)
    second = codexes.turn(luna)
    told = codexes.house.json("show", "luna")
    assert told["conversation"] == second
    assert len({first, second, inner}) == 3
    codexes.house.run("kill", "luna")
    assert codexes.resume("luna") == second


def two_spoken_in(codexes: Codexes) -> tuple[int, str, str]:
    luna = codexes.spawn("luna")
    first = codexes.turn(luna)
    codexes.anew(luna)
    return luna, first, codexes.turn(luna)


def test_R1_what_was_chosen_and_not_spoken_in_comes_back(codexes: Codexes) -> None:
    luna, first, second = two_spoken_in(codexes)
    assert codexes.conversation("luna")[0] == second
    codexes.go_to(luna, first)
    assert codexes.conversation("luna") == (first, "held")
    assert codexes.house.run("kill", "luna").returncode == 0
    assert codexes.resume("luna") == first


def test_R1_after_a_crash_what_was_chosen_and_not_spoken_in_makes_it_unsure(
    codexes: Codexes,
) -> None:
    luna, first, second = two_spoken_in(codexes)
    codexes.go_to(luna, first)
    codexes.crash("luna", luna)
    assert codexes.conversation("luna")[1] == "unsure"
    done = codexes.house.run("resume", "luna", cwd=codexes.project)
    assert (done.returncode, first in done.stderr, second in done.stderr) == (1, True, True)
    codexes.turn(codexes.spawn("nova"))  # it removes the locks of the dead
    assert codexes.conversation("luna")[1] == "unsure"


@pytest.mark.parametrize("way", ["kill", "crash"])
def test_R5_after_new_and_without_a_word_it_is_unsure(codexes: Codexes, way: str) -> None:
    """The person has left the old conversation, and has begun none: neither is his wish."""
    luna = codexes.spawn("luna")
    first = codexes.turn(luna)
    assert codexes.conversation("luna")[0] == first
    codexes.anew(luna)
    if way == "kill":
        codexes.house.run("kill", "luna")
    else:
        codexes.crash("luna", luna)
    assert codexes.conversation("luna")[1] == "unsure"
    done = codexes.house.run("resume", "luna", cwd=codexes.project)
    assert (done.returncode, f"it was in {first}" in done.stderr) == (1, True), done.stderr
    purge = ("stop", "luna", "--purge-conversation", "--yes")
    assert (codexes.house.run(*purge).returncode, codexes.files()) == (1, {first})


def test_R1_neighbours_that_crash_together_are_each_sure_of_their_own(codexes: Codexes) -> None:
    """The locks of all are left behind; what each was told says whose they are."""
    pids = {name: codexes.spawn(name) for name in ("luna", "nova", "mira")}
    mine = {name: codexes.turn(pid) for name, pid in pids.items()}
    for pid in pids.values():
        os.kill(pid, signal.SIGKILL)
    for name, id in mine.items():
        eventually(lambda name=name: codexes.house.json("show", name)["state"] == "ended")
        assert codexes.conversation(name) == (id, "told")
    assert {name: codexes.resume(name) for name in mine} == mine


def test_R1_what_an_ended_neighbour_comes_back_to_is_not_purged(codexes: Codexes) -> None:
    """luna went on in nova's conversation, by the program's own list or by a forged word."""
    nova = codexes.spawn("nova")
    theirs = codexes.turn(nova)
    codexes.house.run("kill", "nova")
    luna = codexes.spawn("luna")
    codexes.turn(luna)
    run = codexes.house.json("show", "luna")["run"]
    with (codexes.house.state / "runs" / run / "told").open("a") as told:
        told.write(f"{time.time():.3f} {theirs}\n")
    codexes.crash("luna", luna)
    assert codexes.conversation("luna")[0] == theirs
    done = codexes.house.run("stop", "luna", "--purge-conversation", "--yes")
    assert (done.returncode, theirs in codexes.files()) == (1, True)
    assert "it is that of 'nova', too" in done.stdout + done.stderr
    assert codexes.resume("nova") == theirs


@pytest.mark.parametrize("forged", ["--last", "../../x", "*", "x" * 9000, "", "\x1b[2J", "\0"])
def test_R1_a_forged_word_that_is_no_id_changes_nothing(codexes: Codexes, forged: str) -> None:
    luna = codexes.spawn("luna")
    mine = codexes.turn(luna)
    run = codexes.house.json("show", "luna")["run"]
    with (codexes.house.state / "runs" / run / "told").open("a") as told:
        told.write(f"99999999999.9 {forged}\n")
    codexes.crash("luna", luna)
    assert codexes.conversation("luna") == (mine, "held")
    assert codexes.resume("luna") == mine


@pytest.mark.parametrize("swapped", ["gone", "another"])
def test_R1_a_file_that_is_swapped_while_it_is_resumed_is_told(
    codexes: Codexes, swapped: str
) -> None:
    """The program finds another file than knell did: it comes up in another conversation."""
    luna = codexes.spawn("luna")
    codexes.turn(luna)
    codexes.house.run("kill", "luna")
    env = {"SWAP": swapped}
    done = codexes.house.run("resume", "luna", cwd=codexes.project, env=codexes.house.env | env)
    assert done.returncode == 1, done.stdout
    assert "another conversation" in done.stdout + done.stderr


def test_R1_a_root_that_is_a_link_changes_nothing(codexes: Codexes) -> None:
    elsewhere = codexes.house.root / "elsewhere"
    elsewhere.mkdir()
    (codexes.house.home / ".codex").symlink_to(elsewhere)
    luna, first, _ = two_spoken_in(codexes)
    codexes.go_to(luna, first)
    assert codexes.conversation("luna") == (first, "held")
    codexes.house.run("kill", "luna")
    assert codexes.resume("luna") == first


def test_R9_a_running_one_is_known_and_the_line_keeps_its_flags(codexes: Codexes) -> None:
    luna = codexes.spawn("luna", "-s", "read-only")
    mine = codexes.turn(luna)
    told = codexes.house.json("show", "luna")
    assert (told["conversation"], told["state"]) == (mine, "running")
    assert told["conversation_source"] in ("told", "held")
    assert told["resume"].endswith(f"codex resume {mine} --no-daemon -s read-only")


def test_R5_the_users_own_notify_program_is_started_too(codexes: Codexes) -> None:
    users = codexes.house.root / "users-notify"
    users.write_text(USERS)
    users.chmod(0o755)
    (codexes.house.home / ".codex").mkdir()
    settings = codexes.house.home / ".codex/config.toml"
    settings.write_text(f"notify = [{json.dumps(str(users))}, 'one']\n")
    luna = codexes.spawn("luna")
    mine = codexes.turn(luna)
    assert (codexes.house.home / "users.notify").read_text().split() == ["2", "2"]
    assert codexes.house.json("show", "luna")["conversation"] == mine


def test_R1_another_home_is_not_searched(codexes: Codexes) -> None:
    """The caller's environment names another home than the agent was started with."""
    luna = codexes.spawn("luna")
    mine = codexes.turn(luna)
    codexes.house.run("kill", "luna")
    other = codexes.house.env | {"CODEX_HOME": str(codexes.house.root / "other")}
    done = codexes.house.run("resume", "luna", cwd=codexes.project, env=other)
    assert (done.returncode, "set CODEX_HOME" in done.stderr) == (1, True), done.stderr
    assert codexes.resume("luna") == mine
