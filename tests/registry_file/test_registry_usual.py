"""A registry as tools write it, with notes of people: only lines of the changed row are others."""

from collections.abc import Callable

import pytest
from mirror_samples import EPOCH, NOW, Registry, difference

from knell.core.errors import RegistryFailed

Open = Callable[[str | bytes], Registry]

SHOP, BANK = "shop-creator-claude", "bank-creator-agy"
STOP = {"status": "stopped", "stop_reason": "manual_stop", "termination_mode": "graceful"}
RESUME_DROPS = ("stopped_at", "stopped_at_epoch", "stop_reason", "resumable")

USUAL = """\
# Sessions of this project. Ask ops before you delete one.
version: 1

tmux_sessions:
  # --- the shop -------------------------------------------------
  - name: shop-creator-claude
    status: running # since monday
    role: creator
    tmux_server: default
    start_command: "claude --model opus"
    claude_session_id_own: null
    pane:
      id: "%12"
      pid: 4711
      cwd: /srv/shop
    mcp_attachments:
      - files
      - browser # slow
    created_at: 2026-06-17T10:00:00Z
    labels: []

  # --- the bank -------------------------------------------------
  - name: bank-creator-agy
    status: stopped
    agy_conversation_id_own: "0123"
    stopped_at: '2026-06-19T18:00:00Z' # late
    stopped_at_epoch: 1781892000
    pane: {id: "%13", pid: 4712, cwd: /srv/bank} # closed

agent_identities:
  claude:
    project_cwd: /srv/shop
    session_id: c-1
"""


def rows_of(text: str) -> list[str]:
    """The text up to the first row, each row, and what follows the list."""
    head, shop, rest = text.partition("  # --- the shop")
    row, bank, rest = rest.partition("  # --- the bank")
    last, tail, end = rest.partition("agent_identities")
    return [head, shop + row, bank + last, tail + end]


def test_M9_only_lines_of_the_changed_row_are_others(holding: Open) -> None:
    registry = holding(USUAL)
    registry.update(SHOP, {**STOP, "pane.pid": 5, "last_visible_status": "$ make\nok", "yes": "on"})
    before, after = rows_of(USUAL), rows_of(registry.text)
    assert [was == now for was, now in zip(before, after, strict=True)] == [True, False, True, True]
    went, came = difference(before[1], after[1])
    assert went == ["    status: running # since monday\n", "      pid: 4711\n"]
    assert came == [
        "    status: stopped # since monday\n",
        "      pid: 5\n",
        "    stop_reason: manual_stop\n",
        "    termination_mode: graceful\n",
        "    last_visible_status: |-\n",
        "      $ make\n",
        "      ok\n",
        "    'yes': 'on'\n",
        f"    stopped_at: '{NOW}'\n",
        f"    stopped_at_epoch: {EPOCH}\n",
    ]
    middle = rows_of(registry.text)
    registry.update(BANK, {"status": "running", "pane.pid": 6, "pane.cmd": "agy"}, RESUME_DROPS)
    after = rows_of(registry.text)
    assert [was == now for was, now in zip(middle, after, strict=True)] == [True, True, False, True]
    assert "  # late\n" in registry.text
    assert '{id: "%13", pid: 6, cwd: /srv/bank, cmd: agy} # closed\n' in registry.text


def test_M9_a_comment_between_braces_is_in_the_last_version_only(holding: Open) -> None:
    text = "tmux_sessions:\n- name: a\n  pane: {pid: 1,  # was 2\n    cwd: /w}\n"
    registry = holding(text)
    registry.update("a", {"pane.pid": 3})
    assert registry.text == "tmux_sessions:\n- name: a\n  pane: {pid: 3, cwd: /w}\n"
    assert registry.file.with_name(registry.file.name + ".bak").read_text() == text


def test_M9_aliases_anchors_and_merges_stay(holding: Open) -> None:
    registry = holding(
        "usual: &usual {tmux_server: iso}\n"
        "tmux_sessions:\n"
        "- {<<: *usual, name: a, cwd: &here /w}\n"
        "- <<: *usual\n  name: b\n  cwd: *here\n"
    )
    registry.update("a", {"status": "stopped", "stopped_at": "T", "stopped_at_epoch": 1})
    registry.update("b", {"role": "creator"})
    assert registry.text == (
        "usual: &usual {tmux_server: iso}\n"
        "tmux_sessions:\n"
        "- {<<: *usual, name: a, cwd: &here /w, status: stopped, stopped_at: T, "
        "stopped_at_epoch: 1}\n"
        "- <<: *usual\n  name: b\n  cwd: *here\n  role: creator\n"
    )
    registry.update("b", {"cwd": "/v"})
    assert "  cwd: /v\n" in registry.text
    with pytest.raises(RegistryFailed, match="cannot be changed"):
        registry.update("a", {"cwd": "/v"}, ["tmux_server"])
