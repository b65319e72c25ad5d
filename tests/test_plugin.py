"""The plugin and its skills: the open format, every file where it belongs, versions that agree."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import knell
from knell.faces.cli.group import VERBS

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "src/knell/plugin"
SKILLS = sorted(path.name for path in (PLUGIN / "skills").iterdir())
SCRIPTS = {
    "create": "create_session.sh",
    "delete": "delete_session.sh",
    "monitor": "reconcile.sh",
    "resume": "resume_session.sh",
    "status": "status.sh",
    "stop": "stop_session.sh",
}
# The fields that agentskills.io names; programs ignore or refuse others.
FIELDS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}


def loaded(path: str) -> Any:
    return json.loads((ROOT / path).read_text("utf-8"))


def test_the_skills_are_all_here() -> None:
    tmux = [f"tmux-agent-orchestrate-{word}" for word in SCRIPTS]
    assert sorted(["knell-end-agents", "knell-lead-a-team", *tmux]) == SKILLS
    for word, script in SCRIPTS.items():
        folder = PLUGIN / f"skills/tmux-agent-orchestrate-{word}"
        assert [path.name for path in (folder / "scripts").iterdir()] == [script]
        assert f"scripts/{script}" in (folder / "SKILL.md").read_text("utf-8")


@pytest.mark.parametrize("name", SKILLS)
def test_a_skill_is_of_the_open_format(name: str) -> None:
    text = (PLUGIN / "skills" / name / "SKILL.md").read_text("utf-8")
    assert len(text.splitlines()) < 500
    _, front, body = text.split("---\n", 2)
    head = YAML(typ="safe").load(front)
    assert head["name"] == name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= 64
    assert "Use when " in head["description"]
    assert len(head["description"]) <= 1024
    assert head.keys() <= FIELDS
    assert body.strip().startswith("# ")


@pytest.mark.parametrize("name", SKILLS)
def test_every_command_of_a_skill_is_a_verb(name: str) -> None:
    text = (PLUGIN / "skills" / name / "SKILL.md").read_text("utf-8")
    verbs = re.findall(r"(?:^ *|`)knell ([a-z-]+)", text, re.MULTILINE)
    assert set(verbs) <= set(VERBS)
    assert verbs


def test_versions_agree() -> None:
    """Told once, in src/knell/__init__.py; `make docs` writes it into the others."""
    version = knell.__version__
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]
    assert loaded("src/knell/plugin/.claude-plugin/plugin.json")["version"] == version
    server = loaded("server.json")
    assert [server["version"], *(one["version"] for one in server["packages"])] == [version] * 2
    assert server["packages"][0]["runtimeArguments"][0]["value"] == f"knell[mcp]=={version}"
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_registry_of_mcp_servers_finds_its_name_in_the_readme() -> None:
    server = loaded("server.json")
    assert server["$schema"].split("/")[-2] == "2025-12-11"
    assert f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text("utf-8")
    assert len(server["description"]) <= 100
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])


def test_the_plugin_is_where_its_marketplace_says() -> None:
    [plugin] = loaded(".claude-plugin/marketplace.json")["plugins"]
    folder = ROOT / plugin["source"]
    assert json.loads((folder / ".claude-plugin/plugin.json").read_text())["name"] == plugin["name"]
    started = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["knell"]
    assert (started["command"], started["args"][0] in VERBS) == ("knell", True)
