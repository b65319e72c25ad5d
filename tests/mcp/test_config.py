"""What quell mcp prints and needs: snippets that parse, and a sentence when the SDK is missing."""

import json
import os
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from complaints import USAGE, complaint
from house import House

PROGRAMS = ("claude", "codex", "gemini", "opencode", "cursor")
ADDRESS = "http://127.0.0.1:7377/mcp"


def printed(house: House, program: str, *options: str) -> dict[str, Any]:
    """The entry for quell, as that program would read it."""
    done = house.run("mcp", "--config", program, *options)
    assert done.returncode == 0
    assert "into " in done.stderr
    if program == "codex":
        return tomllib.loads(done.stdout)["mcp_servers"]["quell"]
    document = json.loads(done.stdout)
    assert json.loads(house.run("mcp", "--config", program, *options, "--json").stdout)["snippet"]
    return (document["mcp"] if program == "opencode" else document["mcpServers"])["quell"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_snippet_starts_this_very_quell(house: House, program: str) -> None:
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
        ("claude", "url", "Bearer ${QUELL_TOKEN}"),
        ("codex", "url", "QUELL_TOKEN"),
        ("gemini", "httpUrl", "Bearer $QUELL_TOKEN"),
        ("opencode", "url", "Bearer {env:QUELL_TOKEN}"),
        ("cursor", "url", "Bearer ${env:QUELL_TOKEN}"),
    ],
)
def test_over_http_the_token_is_read_from_the_environment(
    house: House, program: str, address: str, token: str
) -> None:
    house.env["QUELL_TOKEN"] = "secret"
    entry = printed(house, program, "--http")
    assert entry[address] == ADDRESS
    found = entry.get("bearer_token_env_var") or entry["headers"]["Authorization"]
    assert found == token
    assert "secret" not in json.dumps(entry)
    assert printed(house, program, "--http", "--port", "9")[address] == ADDRESS.replace("7377", "9")


def test_codex_is_told_which_variables_to_hand_on(house: House) -> None:
    """It keeps the environment from its servers, and quell's state may be anywhere."""
    assert {"QUELL_HOME", "QUELL_TOKEN"} <= set(printed(house, "codex")["env_vars"])


def test_an_unknown_program(house: House) -> None:
    complaint(house.run("mcp", "--config", "emacs"), USAGE)


@pytest.mark.parametrize("options", [(), ("--http", "--port", "0")])
def test_without_the_sdk_it_says_what_to_install(house: House, options: tuple[str, ...]) -> None:
    blocked = "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None\n"
    script = (
        f"{blocked}sys.argv[1:] = {['mcp', *options]!r}\nfrom quell.faces.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=house.env, cwd=house.root, capture_output=True, text=True, input="", timeout=60,
    )  # fmt: skip
    what, hint = complaint(done, USAGE)
    assert what == "quell mcp needs the mcp package"
    assert hint == "pip install 'quell[mcp]'"
