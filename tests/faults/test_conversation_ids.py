"""P15: an agent can write what knell takes for its conversation's id. No such text is an option."""

import json
from pathlib import Path

import pytest

from house import House, eventually
from known_kinds import ALL

KINDS = {kind.name: kind for kind in ALL if kind.resume}
EVIL = "--dangerously-skip-permissions"

# It tells of a session as its hook does, and by the note that claude keeps of itself.
AGENT = """#!/bin/sh
printf '%s\\n' "$*" >>"$HOME/argv"
printf '{"session_id": "%s", "source": "clear"}\\n' "$EVIL" >>"${KNELL_HEARTBEAT%/*}/session-start"
mkdir -p "$HOME/.claude/sessions" "$HOME/.claude/projects/x"
printf '{"sessionId": "%s"}' "$EVIL" >"$HOME/.claude/sessions/$$.json"
printf '{}\\n' >"$HOME/.claude/projects/x/$EVIL.jsonl"
exec sleep 600
"""


@pytest.fixture
def claude(house: House) -> Path:
    """A claude that names an option as its conversation. The file has what it was started with."""
    programs = house.root / "programs"
    programs.mkdir()
    (programs / "claude").write_text(AGENT)
    (programs / "claude").chmod(0o755)
    house.env.update(PATH=f"{programs}:{house.env['PATH']}", EVIL=EVIL)
    return house.home / "argv"


def test_P15_an_id_that_the_agent_wrote_is_no_option_of_its_resume(
    house: House, claude: Path
) -> None:
    assert house.run("spawn", "--name", "luna", "--in", "headless", "claude").returncode == 0
    eventually(claude.exists)
    eventually(claude.read_text)
    [started] = claude.read_text().splitlines()
    own = started.split()[started.split().index("--session-id") + 1]
    eventually(lambda: list(house.home.glob(f".claude/projects/x/{EVIL}.jsonl")))
    house.run("kill", "luna")
    assert house.json("show", "luna")["conversation"] in ("", own)
    house.run("resume", "luna")
    assert EVIL not in claude.read_text()
    house.run("kill", "luna")


def test_P15_a_person_who_gives_an_option_as_the_id_is_told(house: House, claude: Path) -> None:
    house.run("spawn", "--name", "luna", "--in", "headless", "claude")
    house.run("kill", "luna")
    refused = house.run("resume", "luna", f"--conversation={EVIL}")
    assert refused.returncode == 2
    assert "is no conversation id of claude" in refused.stderr
    assert EVIL not in (claude.read_text() if claude.exists() else "")


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("bad", [EVIL, "-x", "", "../../x", "a b", "*", "{id}", "a\n", "é"])
def test_P15_no_kind_takes_an_option_a_path_or_a_glob_for_an_id(name: str, bad: str) -> None:
    assert not KINDS[name].is_id(bad)


def test_P15_the_pattern_of_a_kind_from_outside_makes_nothing_unsafe_an_id(house: House) -> None:
    assert not KINDS["claude"]._replace(id_pattern=".*").is_id(EVIL)


def test_P15_the_row_of_the_registry_file_names_no_option_either(
    house: House, claude: Path
) -> None:
    folder = house.root / ".hermes"
    folder.mkdir()
    row = {"name": "luna", "status": "stopped", "claude_session_id_own": EVIL, "agent": "claude"}
    row |= {"pane": {"cwd": str(house.root)}}
    (folder / "agent-sessions.yaml").write_text(json.dumps({"tmux_sessions": [row]}))
    assert house.run("resume", "luna", cwd=house.root).returncode != 0
    assert not claude.exists()
