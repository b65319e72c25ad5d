"""The hook commands, run as the programs run them: through a shell, with JSON on stdin."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from knell.core.hooks.entries import LINE_BYTES, Hooks, entries
from known_kinds import CLAUDE, GEMINI, HOOKS

SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "fish") if shutil.which(shell)]
ODD = "a dir with 'single' and \"double\" quotes, $HOME, `x` and a \\ in it"
TOLD = {"session_id": "s-1", "transcript_path": "/t.jsonl", "reason": "exit", "source": "startup"}


def run(
    program: Hooks, event: str, heartbeat: str | None, shell: str = "sh", **options: Any
) -> subprocess.CompletedProcess[bytes]:
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    if heartbeat is not None:
        env["KNELL_HEARTBEAT"] = heartbeat
    options.setdefault("input", json.dumps(TOLD).encode())
    command = entries(program)[event]["command"]
    return subprocess.run(
        [shell, "-c", command], env=env, capture_output=True, check=False, timeout=300, **options
    )


def silent(program: Hooks, done: subprocess.CompletedProcess[bytes]) -> bool:
    """Gemini wants JSON, the others take any word for something to tell the model."""
    said = b"{}\n" if program is GEMINI else b""
    return (done.returncode, done.stdout, done.stderr) == (0, said, b"")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fish writes there, and complains where it may not."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(params=HOOKS.values(), ids=list(HOOKS))
def program(request: pytest.FixtureRequest) -> Hooks:
    return request.param


@pytest.fixture
def rundir(tmp_path: Path) -> Path:
    made = tmp_path / ODD
    made.mkdir()
    return made


@pytest.mark.parametrize("shell", SHELLS)
def test_every_hook_touches_the_heartbeat(program: Hooks, rundir: Path, shell: str) -> None:
    heartbeat = rundir / "heartbeat"
    for event in entries(program):
        heartbeat.unlink(missing_ok=True)
        assert silent(program, run(program, event, str(heartbeat), shell))
        assert heartbeat.exists(), event


def test_a_heartbeat_that_is_there_becomes_new(program: Hooks, rundir: Path) -> None:
    heartbeat = rundir / "heartbeat"
    heartbeat.touch()
    os.utime(heartbeat, (1, 1))
    assert silent(program, run(program, program.beats[0], str(heartbeat)))
    assert heartbeat.stat().st_mtime > 1


@pytest.mark.parametrize("heartbeat", [None, ""])
def test_without_a_heartbeat_nothing_happens(
    program: Hooks, tmp_path: Path, heartbeat: str | None
) -> None:
    for event in entries(program):
        assert silent(program, run(program, event, heartbeat, cwd=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_tidied_away_is_no_error(program: Hooks, tmp_path: Path) -> None:
    for event in entries(program):
        assert silent(program, run(program, event, str(tmp_path / "gone" / "heartbeat")))
    assert list(tmp_path.iterdir()) == []


def test_start_and_end_of_a_session_are_written_down(program: Hooks, rundir: Path) -> None:
    heartbeat = str(rundir / "heartbeat")
    run(program, "SessionStart", heartbeat)
    for _ in range(2):
        run(program, "SessionEnd", heartbeat)
    assert {path.name for path in rundir.iterdir()} == {"heartbeat", "session-start", "session-end"}
    for name, number in (("session-start", 1), ("session-end", 2)):
        lines = (rundir / name).read_text().splitlines()
        assert len(lines) == number
        for line in lines:
            at, told = line.split(" ", 1)
            assert json.loads(told) == TOLD
            assert at[4] == at[7] == "-"
            assert at.endswith("Z")
        assert (rundir / name).stat().st_mode & 0o077 == 0


def test_only_start_and_end_are_written_down(program: Hooks, rundir: Path) -> None:
    for event in program.beats:
        run(program, event, str(rundir / "heartbeat"))
    assert [path.name for path in rundir.iterdir()] == ["heartbeat"]


def test_one_session_is_one_line_of_bounded_length(program: Hooks, rundir: Path) -> None:
    told = json.dumps(TOLD, indent=1).replace("\n", "\r\n") + " " * 1_000_000
    assert silent(
        program, run(program, "SessionEnd", str(rundir / "heartbeat"), input=told.encode())
    )
    line = (rundir / "session-end").read_text()
    assert line.count("\n") == 1
    assert len(line) <= LINE_BYTES + 30
    assert json.loads(line.split(" ", 1)[1]) == TOLD


@pytest.mark.parametrize("heartbeat", [None, "there"])
def test_whatever_is_told_is_taken(program: Hooks, rundir: Path, heartbeat: str | None) -> None:
    """A hook that leaves first makes its program's write fail: Claude shows that as an error."""
    much = b"x" * 4_000_000
    where = str(rundir / "heartbeat") if heartbeat else None
    for event in entries(program):
        command = entries(program)[event]["command"]
        env = {"PATH": os.environ["PATH"]} | ({"KNELL_HEARTBEAT": where} if where else {})
        with subprocess.Popen(
            ["sh", "-c", command], env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as hook:
            assert hook.stdin
            hook.stdin.write(much)  # raises BrokenPipeError if nobody reads
            hook.stdin.close()
        assert hook.returncode == 0


def test_a_closed_stdin_is_no_error(program: Hooks, rundir: Path) -> None:
    for event in entries(program):
        done = run(program, event, str(rundir / "heartbeat"), input=None, stdin=subprocess.DEVNULL)
        assert silent(program, done)


def test_gemini_may_expand_its_settings_first(rundir: Path) -> None:
    """Gemini pastes variables into every text of its settings before it runs anything."""
    import re

    heartbeat = rundir / "heartbeat"
    known = {
        "KNELL_HEARTBEAT": str(heartbeat),
        "HOME": os.environ["HOME"],
        "PATH": os.environ["PATH"],
    }

    def pasted(match: re.Match[str]) -> str:
        return known.get(match[1] or match[2], match[0])

    for event, handler in entries(GEMINI).items():
        heartbeat.unlink(missing_ok=True)
        command = re.sub(r"\$(?:(\w+)|\{([^}]+?)(?::-[^}]*)?\})", pasted, handler["command"])
        done = subprocess.run(
            ["bash", "-c", command], env=known, input=b"{}", capture_output=True, check=False
        )
        assert silent(GEMINI, done)
        assert heartbeat.exists(), event


def test_the_command_of_claude_is_one_that_needs_no_login_shell() -> None:
    """One quoted word for whatever shell reads it, and our mark at its end."""
    for handler in entries(CLAUDE).values():
        start, script, end = handler["command"].split("'")
        assert (start, end) == ("sh -c ", "")
        assert script.endswith(" # knell")
