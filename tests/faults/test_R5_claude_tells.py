"""R5: claude tells each conversation that it is in, by a hook that its run alone was given."""

import json
import os
import signal
import sys
from pathlib import Path

from house import House, eventually
from knell.core.telling import (
    TAIL,
    TellRequest,
    script_from_argument,
    script_from_input,
    told_lines,
)
from knell.kinds.claude import KIND

SECOND = "00000000-0000-4000-8000-000000000002"

# As 2.1.197 was seen to: SessionStart at the start and after /clear, to every hook of --settings.
# It keeps no note of itself, as one that was killed may have lost it.
AGENT = f"""#!{sys.executable}
import json, os, pathlib, subprocess, sys, time
words = sys.argv[1:]
settings = json.loads(pathlib.Path(words[words.index("--settings") + 1]).read_text())
first = words[words.index("--session-id") + 1]
folder = pathlib.Path(os.environ["HOME"], ".claude/projects/x")
folder.mkdir(parents=True)
for id, source in ((first, "startup"), ("{SECOND}", "clear")):
    (folder / (id + ".jsonl")).write_text("{{}}\\n")
    told = {{"session_id": id, "hook_event_name": "SessionStart", "source": source}}
    for entry in settings["hooks"]["SessionStart"]:
        for hook in entry["hooks"]:
            text = json.dumps(told, separators=(",", ":"))
            subprocess.run(hook["command"], shell=True, input=text, text=True, check=True)
pathlib.Path(os.environ["HOME"], "ready").write_text(settings.get("model", ""))
time.sleep(120)
"""


def test_R5_after_clear_and_a_crash_the_second_conversation_is_known(house: House) -> None:
    """The settings that the user gives himself stay in force."""
    programs = house.root / "programs"
    programs.mkdir()
    (programs / "claude").write_text(AGENT)
    (programs / "claude").chmod(0o755)
    house.env["PATH"] = f"{programs}:{house.env['PATH']}"
    hook = {"hooks": [{"type": "command", "command": f"cat >>{house.home}/users"}]}
    theirs = house.root / "theirs.json"
    theirs.write_text(json.dumps({"model": "opus", "hooks": {"SessionStart": [hook]}}))
    spawn = ("spawn", "--name", "luna", "--in", "headless", "claude", "--settings", str(theirs))
    assert house.run(*spawn).returncode == 0
    ready = house.home / "ready"
    eventually(lambda: ready.exists() and ready.read_text() == "opus")
    assert SECOND in (house.home / "users").read_text()
    pid = house.json("show", "luna")["pid"]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: house.json("show", "luna")["state"] == "ended")
    told = house.json("show", "luna")
    assert (told["conversation"], told["conversation_source"]) == (SECOND, "told")
    assert json.loads(theirs.read_text())["hooks"] == {"SessionStart": [hook]}


def written(folder: Path, script: str, *args: str, stdin: str = "") -> list[str]:
    import subprocess

    (folder / "tell").write_text(script)
    subprocess.run(["sh", str(folder / "tell"), *args], input=stdin, text=True, check=True)
    file = folder / "told"
    return [line.id for line in told_lines(file.read_bytes())] if file.exists() else []


def test_R5_only_an_id_is_written_down_never_what_was_said(tmp_path: Path) -> None:
    said = {"thread-id": "t-1", "input-messages": ['"thread-id":"evil"', "secret"]}
    text = json.dumps(said, separators=(",", ":"))
    assert written(tmp_path, script_from_argument("thread-id"), text) == ["t-1"]
    assert "secret" not in (tmp_path / "told").read_text()
    assert (tmp_path / "told").stat().st_mode & 0o077 == 0


def test_R5_what_is_no_id_is_not_written_down(tmp_path: Path) -> None:
    script = script_from_input("session_id")
    for text in ("", "{}", '{"session_id":"--evil x"}', '{"session_id":"$(id)"}', "x" * 100_000):
        assert written(tmp_path, script, stdin=text) == []
    assert written(tmp_path, script, stdin='{"session_id":"' + "a" * 9000) == ["a" * 128]


def test_R5_the_file_of_what_was_told_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "told").write_text("1 t-0\n" * 300_000)
    said = '{"thread-id":"t-1"}'
    assert written(tmp_path, script_from_argument("thread-id"), said) == ["t-1"]
    assert (tmp_path / "told").stat().st_size < TAIL


def test_R5_a_torn_or_foreign_line_is_no_word() -> None:
    lines = told_lines(b"1.5 one\n\xff\xfe\nx two\n99999999999999999 three\n2 torn")
    assert [(line.at, line.id) for line in lines] == [(1.5, "one"), (0.0, "two"), (0.0, "three")]


def test_R5_settings_that_are_none_are_left_to_claude() -> None:
    def start(*args: str, text: str | None = None) -> tuple[str, ...]:
        assert KIND.tell
        request = TellRequest(("claude", *args), {}, "/w", "/run", lambda _path: text)
        return KIND.tell(request).argv

    for text in (None, "[]", "{", '{"hooks": 1}', '{"hooks": {"SessionStart": {}}}'):
        assert start("--settings", "f", text=text) == ("claude", "--settings", "f")
    assert start("mcp", "list") == ("claude", "mcp", "list")
    given = start("--settings={}", "--", "--settings", "x")
    assert given == ("claude", "--settings", "/run/settings.json", "--", "--settings", "x")
