"""Spawns that cannot work: the reason in one line, and a record that says the same."""

import os
from pathlib import Path

import pytest
from complaints import FAILED, USAGE, complaint
from house import House, descendants

PLACES = pytest.mark.parametrize("where", [("--in", "headless"), ("-L", "test")], ids=["headless", "tmux"])  # fmt: skip


@PLACES
def test_a_command_that_does_not_exist(house: House, where: tuple[str, ...]) -> None:
    """An ended run that failed, with the reason: not a lost one, and not one that spawns for ever."""
    args = ("spawn", "--name", "luna", *where, "--", "/no/such/command")
    what, hint = complaint(house.run(*args), FAILED)
    assert what == "'luna' did not start: cannot start /no/such/command: No such file or directory"
    assert hint == "quell receipt luna has the record"
    [agent] = house.json("list", "--all")["agents"]
    assert (agent["state"], agent["outcome"], agent["reason"]) == ("ended", "failed", "not_started")
    receipt = house.json("receipt", "luna")
    assert receipt["detail"] == "cannot start /no/such/command: No such file or directory"
    assert (receipt["outcome"], receipt["proof"]) == ("failed", "proven")
    assert house.json("list")["agents"] == []


@pytest.mark.parametrize("program", ["plain text", "a directory", "not executable"])
def test_a_command_that_cannot_be_executed(house: House, program: str) -> None:
    path = house.root / "program"
    if program == "a directory":
        path.mkdir()
    else:
        path.write_text("neither a script nor a program")
        path.chmod(0o755 if program == "plain text" else 0o644)
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


def test_a_cwd_that_is_a_file(house: House) -> None:
    file = house.root / "file"
    file.touch()
    complaint(house.run("spawn", "--cwd", str(file), "--", "sleep", "100"), USAGE)


def test_a_caller_whose_own_directory_is_gone(house: House) -> None:
    gone = house.root / "gone"
    gone.mkdir()
    line = f'cd "{gone}" && rmdir "{gone}" && exec "$0" -m quell spawn -- sleep 100'
    shell = house.process("sh", "-c", line, os.sys.executable, stdout=-1, stderr=-1)  # type: ignore[attr-defined]
    out, err = shell.communicate(timeout=60)
    assert b"Traceback" not in err
    assert err.startswith(b"error: ")
    assert shell.returncode in {FAILED, USAGE}
    assert out == b""


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "nothing to start"),
        (("--count", "0", "--", "true"), "--count 0 is not between"),
        (("--count", "1001", "--", "true"), "--count 1001 is not between"),
        (("--count", "x", "--", "true"), "'x' is not a valid integer"),
        (("--env", "=x", "--", "true"), "--env '=x' is not NAME=VALUE"),
        (("--grace", "-1", "--", "true"), "a wait of -1.0 seconds"),
        (("--grace", "nan", "--", "true"), "a wait of nan seconds"),
        (("--in", "emacs", "--", "true"), "'emacs' is not one of"),
        (("--nmae", "luna", "--", "true"), "No such option"),
        (("--name", "x", "claude", "--tag", "dev"), "--tag stands after claude"),
    ],
)
def test_a_bad_option_is_said_before_anything_exists(
    house: House, args: tuple[str, ...], told: str
) -> None:
    what, _ = complaint(house.run("spawn", *args), USAGE)
    assert told in what
    assert house.quell.events() == []


def test_a_null_byte_can_reach_no_command(house: House) -> None:
    """The shell cannot pass one; a program that uses the API can."""
    from quell.core.errors import BadRequest
    from quell.life.spawn import Wish

    for wish in (
        Wish("command", ("sleep", "1\0 2")),
        Wish("command", ("true",), env=(("A", "x\0y"),)),
        Wish("command", ("true",), cwd="/tmp\0x"),
    ):
        with pytest.raises(BadRequest):
            house.quell.spawn(wish._replace(place="headless"))
    assert house.quell.events() == []


def test_run_says_the_same_and_exits_as_a_shell_would(house: House) -> None:
    done = house.run("run", "--name", "luna", "--", "/no/such/command")
    assert done.returncode == 127
    assert "cannot start /no/such/command" in done.stderr
    assert house.json("receipt", "luna")["outcome"] == "failed"


def test_an_unwritable_directory_of_runs_is_said_once(house: House) -> None:
    (house.state / "runs").write_text("in the way")
    what, _ = complaint(house.run("spawn", "--name", "luna", "--", "sleep", "100"), FAILED)
    assert "luna" in what
    [agent] = house.json("list", "--all")["agents"]
    assert agent["outcome"] == "failed"
    Path(house.state / "runs").unlink()
