"""A new session comes last, and nothing else moves."""

from collections.abc import Callable
from pathlib import Path

import pytest
from mirror_samples import ODD, Registry, difference

from knell.core.errors import RegistryFailed

Open = Callable[[str | bytes], Registry]

FIELDS = {
    "status": "running",
    "tmux_server": "default",
    "pane": {"id": "%3", "pid": 12, "cwd": "/w x"},
    "mcp_attachments": [],
    "claude_session_id_own": None,
}


def test_M3_the_first_session_makes_file_and_directory(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "new" / ".hermes" / "agent-sessions.yaml")
    registry.add("a-creator-claude", FIELDS)
    assert registry.text == (
        "tmux_sessions:\n- name: a-creator-claude\n  status: running\n  tmux_server: default\n"
        "  pane:\n    id: '%3'\n    pid: 12\n    cwd: /w x\n"
        "  mcp_attachments: []\n  claude_session_id_own: null\n"
    )
    assert registry.file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", [
    "", "# mine\n", "# mine", "---\n", "version: 1\n", "version: 1", "{}", '{"v": 1}',
    "tmux_sessions:\n", "tmux_sessions: []   # nobody\nversion: 1\n", "tmux_sessions: null",
    "tmux_sessions:\n  - name: a\n    x: 1", "tmux_sessions:\n  -   name: a\nversion: 1\n",
    "tmux_sessions: [{name: a}]", "tmux_sessions:\n- {name: a}\n",
    "tmux_sessions:\r\n- name: a\r\n",
])  # fmt: skip
def test_M9_a_new_session_comes_last_and_nothing_moves(holding: Open, text: str) -> None:
    registry = holding(text)
    before = registry.data() or {}
    registry.add("z", {**FIELDS, "screen": "1\n2\n"})
    new = {"name": "z", **FIELDS, "screen": "1\n2\n"}
    after = {**before, "tmux_sessions": [*(before.get("tmux_sessions") or []), new]}
    assert registry.data() == after
    went, _ = difference(text, registry.text)
    assert len(went) <= 1  # an empty list, or a last line without its end
    assert registry.text.count("\n") - registry.text.count("\r\n") in {0, registry.text.count("\n")}


def test_M9_a_new_session_moves_nothing_of_people(tidy: Registry) -> None:
    before, text = tidy.data(), tidy.text
    tidy.add("z", FIELDS)
    assert tidy.data()["tmux_sessions"] == [*before["tmux_sessions"], {"name": "z", **FIELDS}]
    assert difference(text, tidy.text)[0] == []


def test_M56_a_name_is_given_once(registry: Registry) -> None:
    with pytest.raises(RegistryFailed, match="has a session 'gate' already"):
        registry.add("gate", FIELDS)
    assert registry.text == ODD
