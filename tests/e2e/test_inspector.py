"""The MCP Inspector's command line, from npm, as a client of knell's server."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.shared_run import place_for
from house import House, eventually

PACKAGE = "@modelcontextprotocol/inspector"


@pytest.fixture(scope="module")
def inspector() -> Path:
    if not shutil.which("npm"):
        pytest.fail("the MCP Inspector comes with npm, which is not on PATH")
    quiet = ("--silent", "--no-audit", "--no-fund")
    with place_for("inspector") as where:
        command = where / "node_modules" / ".bin" / "mcp-inspector"
        if not command.exists():
            argv = ["npm", "install", *quiet, "--prefix", str(where), PACKAGE]
            subprocess.run(argv, check=True, timeout=280)
    return command


def asked(house: House, inspector: Path, *words: str) -> dict[str, Any]:
    """What the Inspector prints, called by an agent named ada."""
    told = house.root / "told.json"
    told.unlink(missing_ok=True)
    call = shlex.join([str(inspector), "--cli", sys.executable, "-m", "knell", "mcp", *words])
    script = f"{call} > {told}.new 2> {told}.err; mv {told}.new {told}; exec sleep 600"
    house.knell.spawn(
        command=("sh", "-c", script), name="ada", place="headless", cwd=str(house.root)
    )
    eventually(told.exists)
    return json.loads(told.read_text())


def test_the_inspector_lists_the_tools(house: House, inspector: Path) -> None:
    """The MCP Inspector reads every tool and its schemas."""
    tools = {one["name"]: one for one in asked(house, inspector, "--method", "tools/list")["tools"]}
    assert len(tools) == 14
    assert tools["kill-agent"]["outputSchema"]["properties"]["phase"]["enum"]


def test_the_inspector_ends_a_member(house: House, inspector: Path) -> None:
    """A leader ends a member of its team through the MCP Inspector."""
    house.spawn(name="luna")
    house.knell.spawn(command=("true",), name="ada", place="headless", cwd=str(house.root))
    eventually(lambda: [view.name for view in house.knell.list()] == ["luna"])
    house.knell.team("blue").create(leader="ada")
    house.knell.team("blue").add("luna")
    given = ("teamName=blue", "agentId=luna", "force=true")
    words = [word for one in given for word in ("--tool-arg", one)]
    told = asked(house, inspector, "--method", "tools/call", "--tool-name", "kill-agent", *words)
    assert told["structuredContent"] == {
        "success": True, "method": "force", "phase": "force_killed", "reassignedTasks": [],
    }  # fmt: skip
    assert [view.name for view in house.knell.list()] == ["ada"]
