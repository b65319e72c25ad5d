"""Spawns that cannot work: the reason in one line, and a record that says the same."""

import subprocess
import sys

import pytest

from complaints import FAILED, USAGE, complaint
from house import House, descendants

PLACES = pytest.mark.parametrize(
    "where", [("--in", "headless"), ("-L", "test")], ids=["headless", "tmux"]
)


@PLACES
def test_a_command_that_does_not_exist(house: House, where: tuple[str, ...]) -> None:
    """An ended run that failed, with the reason: not lost, and not spawning for ever."""
    args = ("spawn", "--name", "luna", *where, "--", "/no/such/command")
    what, hint = complaint(house.run(*args), FAILED)
    assert what == "'luna' did not start: cannot start /no/such/command: No such file or directory"
    assert hint == "knell receipt luna has the record"
    [agent] = house.json("list", "--all")["agents"]
    assert (agent["state"], agent["outcome"], agent["reason"]) == ("ended", "failed", "not_started")
    receipt = house.json("receipt", "luna")
    assert receipt["detail"] == "cannot start /no/such/command: No such file or directory"
    assert receipt["outcome"] == "failed"
    assert house.json("list")["agents"] == []


@pytest.mark.parametrize("program", ["no program", "a directory", "not executable"])
def test_a_command_that_cannot_be_executed(house: House, program: str) -> None:
    path = house.root / "program"
    if program == "a directory":
        path.mkdir()
    else:
        path.write_bytes(b"\0\0 neither a script nor a program")
        path.chmod(0o755 if program == "no program" else 0o644)
    what, _ = complaint(house.run("spawn", "--name", "luna", "--", str(path)), FAILED)
    assert what.startswith(f"'luna' did not start: cannot start {path}: ")
    assert house.json("receipt", "luna")["outcome"] == "failed"


def test_a_failed_spawn_leaves_no_secret_and_no_process(house: House) -> None:
    before = set(descendants())
    house.run("spawn", "--env", "KEY=geheim", "--", "/no/such/command")
    for path in (house.state / "runs").rglob("*"):
        if path.is_file():
            assert "geheim" not in path.read_text(errors="replace")
            assert path.name not in {"launch", "ready"}
    assert set(descendants()) <= before


def test_a_name_whose_spawn_failed_is_free_again(house: House) -> None:
    house.run("spawn", "--name", "luna", "--", "/no/such/command")
    assert house.run("spawn", "--name", "luna", "--", "sleep", "100").returncode == 0


@PLACES
def test_a_cwd_that_does_not_exist(house: House, where: tuple[str, ...]) -> None:
    args = ("spawn", "--cwd", "/no/such/directory", *where, "--", "sleep", "100")
    what, hint = complaint(house.run(*args), USAGE)
    assert what == "/no/such/directory is not a directory"
    assert "--cwd" in hint
    assert house.json("list", "--all")["agents"] == []


def test_a_resume_into_a_directory_that_does_not_exist(house: House) -> None:
    """As asked or not at all; only its own directory, if that is gone, is made up for."""
    house.spawn(name="luna")
    house.kill("luna")
    what, _ = complaint(house.run("resume", "luna", "--cwd", "/no/such/directory"), USAGE)
    assert what == "/no/such/directory is not a directory"
    assert house.json("list")["agents"] == []


def test_a_cwd_that_is_a_file(house: House) -> None:
    file = house.root / "file"
    file.touch()
    complaint(house.run("spawn", "--cwd", str(file), "--", "sleep", "100"), USAGE)


def from_a_deleted_directory(house: House, *args: str) -> subprocess.CompletedProcess[str]:
    gone = house.root / "gone"
    gone.mkdir()
    line = 'cd "$0" && rmdir "$0" && exec "$@"'
    return subprocess.run(
        ["sh", "-c", line, str(gone), sys.executable, "-m", "knell", *args],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_a_caller_whose_own_directory_is_gone(house: House) -> None:
    what, hint = complaint(from_a_deleted_directory(house, "spawn", "--", "sleep", "100"), USAGE)
    assert what == "the directory you are in was deleted"
    assert "--cwd" in hint
    assert house.knell.events() == []


def test_a_spawn_elsewhere_and_a_kill_need_no_directory_to_stand_in(house: House) -> None:
    """A worktree that was removed under its shell is no reason to leave an agent alive."""
    where = ("--name", "luna", "--cwd", str(house.root))
    spawned = from_a_deleted_directory(house, "spawn", *where, "--", "sleep", "100")
    assert spawned.returncode == 0, spawned.stderr
    done = from_a_deleted_directory(house, "kill", "luna")
    assert done.returncode == 0, done.stderr
    assert house.json("list")["agents"] == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "no agent to start"),
        (("--count", "0", "--", "true"), "--count 0 is not between"),
        (("--count", "1001", "--", "true"), "--count 1001 is not between"),
        (("--count", "x", "--", "true"), "'x' is not a whole number"),
        (("--env", "=x", "--", "true"), "--env '=x' is not NAME=VALUE"),
        (("--grace", "-1", "--", "true"), "a wait of -1.0 seconds"),
        (("--grace", "nan", "--", "true"), "a wait of nan seconds"),
        (("--in", "emacs", "--", "true"), "no place is called 'emacs'"),
        (("--nmae", "luna", "--", "true"), "No such option"),
        (("--name", "x", "claude", "--tag", "dev"), "--tag stands after claude"),
    ],
)
def test_a_bad_option_is_said_before_anything_exists(
    house: House, args: tuple[str, ...], told: str
) -> None:
    what, _ = complaint(house.run("spawn", *args), USAGE)
    assert told in what
    assert house.knell.events() == []


def test_a_null_byte_can_reach_no_command(house: House) -> None:
    """The shell cannot pass one; a program that uses the API can."""
    from knell.core.errors import BadRequest

    spawn = house.knell.spawn
    with pytest.raises(BadRequest):
        spawn(command=["sleep", "1\0 2"], place="headless")
    with pytest.raises(BadRequest):
        spawn(command=["true"], env={"A": "x\0y"}, place="headless")
    with pytest.raises(BadRequest):
        spawn(command=["true"], cwd="/tmp\0x", place="headless")
    assert house.knell.events() == []


def test_run_says_the_same_and_exits_as_a_shell_would(house: House) -> None:
    done = house.run("run", "--name", "luna", "--", "/no/such/command")
    assert done.returncode == 127
    assert "cannot start /no/such/command" in done.stderr
    assert house.json("receipt", "luna")["outcome"] == "failed"


@pytest.mark.parametrize("verb", ["spawn", "run"])
def test_a_run_whose_directory_cannot_be_made(house: House, verb: str) -> None:
    (house.state / "runs").write_text("in the way")
    what, _ = complaint(house.run(verb, "--name", "luna", "--", "sleep", "100"), FAILED)
    assert "'luna'" in what
    [agent] = house.json("list", "--all")["agents"]
    assert (agent["state"], agent["outcome"]) == ("ended", "failed")
