"""knell's plugin in the real Claude Code: accepted, installed, used by the model, and out again."""

import json
import subprocess
import sys
from pathlib import Path

from e2e.claude_home import ClaudeHome
from e2e.model import ToolCall
from house import eventually

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "src/knell/plugin"
SERVER = "mcp__plugin_knell_knell"
SKILLS = sorted(path.name for path in (PLUGIN / "skills").iterdir())
LIMIT = 120.0


def claude(home: ClaudeHome, *words: str) -> str:
    done = subprocess.run(
        ["claude", "plugin", *words], env=home.house.env, cwd=home.project, check=False,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def put_knell_on_path(home: ClaudeHome) -> None:
    folder = home.house.root / "bin"
    folder.mkdir()
    (folder / "knell").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m knell "$@"\n')
    (folder / "knell").chmod(0o755)
    home.house.env["PATH"] = f"{folder}:{home.house.env['PATH']}"


def test_the_plugin_is_accepted_and_used(home: ClaudeHome) -> None:
    """Marketplace and plugin are valid by Claude's own strict look; installed, its hooks beat, its
    skills are told to the model, and the model lists the agents through its MCP server."""
    for path in (ROOT, PLUGIN):
        assert "Validation passed" in claude(home, "validate", "--strict", str(path))
    put_knell_on_path(home)
    settings = home.house.home / ".claude/settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"permissions": {"allow": [SERVER]}}))
    claude(home, "marketplace", "add", str(ROOT))
    claude(home, "install", "knell@knell")
    home.spawn("luna")
    call = ToolCall(f"{SERVER}__list-agents", {})
    home.model.calls["list"] = call
    home.type("call list")
    home.press("Enter")
    result = eventually(
        lambda: [one for one in home.model.results if one.tool == call.tool], LIMIT
    )[0]
    agents = json.loads(result.text)["agents"]
    assert [one["name"] for one in agents] == ["luna"]
    asked = json.dumps([one.body for one in home.model.asked])
    assert [name for name in SKILLS if f"knell:{name}" not in asked] == []
    assert list(home.house.state.glob("runs/*/heartbeat")), "the plugin's hooks beat"
    home.end("kill", "luna")
    claude(home, "uninstall", "knell@knell")
    claude(home, "marketplace", "remove", "knell")
    assert "knell@knell" not in settings.read_text()
