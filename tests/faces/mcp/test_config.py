"""What knell mcp prints and needs: snippets that parse, and a sentence when the SDK is missing."""

import json
import os
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from complaints import USAGE, complaint
from house import House, eventually

PROGRAMS = ("claude", "codex", "gemini", "opencode", "cursor")
ADDRESS = "http://127.0.0.1:7377/mcp"


def printed(house: House, program: str, *options: str) -> dict[str, Any]:
    """The entry for knell, as that program would read it."""
    done = house.run("mcp", "--config", program, *options)
    assert done.returncode == 0
    assert "into " in done.stderr
    if program == "codex":
        return tomllib.loads(done.stdout)["mcp_servers"]["knell"]
    document = json.loads(done.stdout)
    assert json.loads(house.run("mcp", "--config", program, *options, "--json").stdout)["snippet"]
    return (document["mcp"] if program == "opencode" else document["mcpServers"])["knell"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_snippet_starts_this_very_knell(house: House, program: str) -> None:
    entry = printed(house, program)
    command = entry["command"]
    argv = command if program == "opencode" else [command, *entry["args"]]
    assert os.path.isabs(argv[0])
    assert argv[-1] == "mcp"
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(house.home)}
    done = subprocess.run([*argv, "--help"], env=bare, capture_output=True, text=True, check=True)
    assert "Model Context Protocol" in done.stdout


@pytest.mark.parametrize(
    ("program", "address", "token"),
    [
        ("claude", "url", "Bearer ${KNELL_TOKEN}"),
        ("codex", "url", "KNELL_TOKEN"),
        ("gemini", "httpUrl", "Bearer $KNELL_TOKEN"),
        ("opencode", "url", "Bearer {env:KNELL_TOKEN}"),
        ("cursor", "url", "Bearer ${env:KNELL_TOKEN}"),
    ],
)
def test_over_http_the_token_is_read_from_the_environment(
    house: House, program: str, address: str, token: str
) -> None:
    house.env["KNELL_TOKEN"] = "secret"
    entry = printed(house, program, "--http")
    assert entry[address] == ADDRESS
    found = entry.get("bearer_token_env_var") or entry["headers"]["Authorization"]
    assert found == token
    assert "secret" not in json.dumps(entry)
    assert printed(house, program, "--http", "--port", "9")[address] == ADDRESS.replace("7377", "9")


def test_codex_is_told_which_variables_to_hand_on(house: House) -> None:
    """It keeps the environment from its servers, and knell's state may be anywhere."""
    assert {"KNELL_HOME", "KNELL_TOKEN"} <= set(printed(house, "codex")["env_vars"])


def test_an_unknown_program(house: House) -> None:
    complaint(house.run("mcp", "--config", "emacs"), USAGE)


@pytest.mark.parametrize(
    "words",
    [
        ("mcp",),
        ("mcp", "--http", "--port", "0"),
        ("mcp", "--config", "claude"),
        ("spawn", "--mcp", "--in", "headless", "claude"),
    ],
    ids=" ".join,
)
def test_K8_without_the_sdk_it_says_what_to_install(house: House, words: tuple[str, ...]) -> None:
    blocked = "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None\n"
    script = f"{blocked}sys.argv[1:] = {list(words)!r}\nfrom knell.faces.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=house.env, cwd=house.root, capture_output=True, text=True, input="", timeout=300,
        check=False,
    )  # fmt: skip
    what, hint = complaint(done, USAGE)
    assert what == "knell mcp needs the package mcp"
    assert "pip install '.[mcp]'" in hint


# -- spawn --mcp -------------------------------------------------------------------------------


STAND_IN = """#!/bin/sh
{ for word; do echo "$word"; done; echo "env $OPENCODE_CONFIG_CONTENT"; } > "$HOME/new"
mv "$HOME/new" "$HOME/given"
exec sleep 600
"""


def given(house: House, kind: str, *words: str) -> list[str]:
    """What a program of that kind was started with."""
    folder = house.root / "bin"
    folder.mkdir()
    program = folder / kind
    program.write_text(STAND_IN)
    program.chmod(0o755)
    house.env["PATH"] = f"{folder}:{house.env['PATH']}"
    done = house.run("spawn", "--in", "headless", "--mcp", kind, *words)
    assert done.returncode == 0, done.stderr
    told = house.home / "given"
    eventually(told.exists)
    return told.read_text().splitlines()


def is_mine(command: str, args: list[str]) -> bool:
    return os.path.isabs(command) and args[-1] == "mcp"


def test_spawn_gives_claude_the_tools(house: House) -> None:
    words = given(house, "claude", "fix the tests", "--", "-v")
    [option] = [word for word in words if word.startswith("--mcp-config=")]
    entry = json.loads(option.partition("=")[2])["mcpServers"]["knell"]
    assert is_mine(entry["command"], entry["args"])
    assert words[-5:-1] == ["fix the tests", option, "--", "-v"], "behind -- nothing is an option"


def test_spawn_gives_codex_the_tools(house: House) -> None:
    words = given(house, "codex", "exec", "fix the tests")
    pairs = [words[at + 1] for at, word in enumerate(words) if word == "-c"]
    entry = tomllib.loads("\n".join(pairs))["mcp_servers"]["knell"]
    assert is_mine(entry["command"], entry["args"])
    at = words.index("exec")
    assert set(words[:at:2]) <= {"-c"}, "only settings stand before the subcommand"
    assert words[at : at + 2] == ["exec", "fix the tests"], "still a subcommand"


def test_spawn_gives_opencode_the_tools(house: House) -> None:
    words = given(house, "opencode")
    command = json.loads(words[-1].removeprefix("env "))["mcp"]["knell"]["command"]
    assert is_mine(command[0], command)


@pytest.mark.parametrize("words", [("gemini",), ("--", "sleep", "5")])
def test_spawn_says_for_whom_it_cannot(house: House, words: tuple[str, ...]) -> None:
    what, hint = complaint(house.run("spawn", "--in", "headless", "--mcp", *words), USAGE)
    assert "takes no MCP server for a single start" in what
    assert "claude, codex, copilot, opencode and qwen" in hint
    assert house.json("list")["agents"] == []
