"""A write changes the entries that it must; all others keep comments, order, quotes and words."""

from collections.abc import Callable
from pathlib import Path

import pytest
from mirror_samples import EPOCH, NOW, ODD, Registry, difference

from knell.core.errors import RegistryFailed

Open = Callable[[str | bytes], Registry]

SHOP, BANK = "shop-creator-claude", "bank-creator-agy"
STOP = {"status": "stopped", "stop_reason": "manual_stop", "termination_mode": "graceful"}
RESUME_DROPS = ("terminated_at", "terminated_at_epoch", "termination_mode", "archived_at",
                "stopped_at", "stopped_at_epoch", "stop_reason", "resumable")  # fmt: skip


# -- what stays --------------------------------------------------------------------------------


def test_M9_a_stop_touches_only_the_lines_of_its_fields(tidy: Registry) -> None:
    before = tidy.text
    tidy.update(SHOP, STOP)
    went, came = difference(before, tidy.text)
    assert went == ["  status: running          # by hand\n"]
    assert came == [
        "  status: stopped          # by hand\n",
        "  stop_reason: manual_stop\n",
        "  termination_mode: graceful\n",
        f"  stopped_at: '{NOW}'\n",
        f"  stopped_at_epoch: {EPOCH}\n",
    ]


def test_M9_all_other_fields_mean_what_they_meant(registry: Registry) -> None:
    before = registry.data()
    registry.update(SHOP, STOP)
    added = {**STOP, "stopped_at": NOW, "stopped_at_epoch": EPOCH}
    before["tmux_sessions"][0] |= added
    assert registry.data() == before
    assert list(registry.session(SHOP)) == list(before["tmux_sessions"][0])


def test_M6_pane_and_attachments_stay_for_the_audit(registry: Registry) -> None:
    before = registry.session(BANK)
    registry.update(BANK, {"status": "terminated"})
    for key in ("pane", "mcp_attachments"):
        assert registry.session(BANK)[key] == before[key]
    assert "    pid: 4711        # was\n" in registry.text


@pytest.mark.parametrize("status", ["stopped", "terminated", "archived"])
def test_M8_the_start_command_stays_as_it_was_typed(registry: Registry, status: str) -> None:
    registry.update(SHOP, {"status": status})
    line = "  start_command: 'claude --model   \"opus\"  '"
    assert f"{line}      # as it was typed\n" in registry.text


@pytest.mark.parametrize("null", [" null", " ~", "", " Null", " null  # never spoke"])
def test_M10_M45_the_null_placeholder_stays_exactly(holding: Open, null: str) -> None:
    line = f"  claude_session_id_own:{null}\n"
    registry = holding(f"tmux_sessions:\n- name: a\n{line}  status: running\n")
    registry.update("a", {**STOP, "claude_session_id_own": None})
    registry.update("a", {"status": "running"}, RESUME_DROPS)
    assert registry.text == f"tmux_sessions:\n- name: a\n{line}  status: running\n"


@pytest.mark.parametrize(
    "key", ["name", "role", "pane", "start_command", "mcp_attachments", "agy_conversation_id_own"]
)
def test_M6_M8_M10_nobody_drops_the_audit_trail(registry: Registry, key: str) -> None:
    with pytest.raises(RegistryFailed, match=f"the field {key} of"):
        registry.update(BANK, {"status": "running"}, [key])
    assert registry.text == ODD


def test_M9_a_day_of_stops_and_resumes_keeps_every_comment(registry: Registry) -> None:
    comments = [line[line.index("#") :].rstrip() for line in ODD.splitlines() if "#" in line]
    before = registry.data()
    for turn in range(25):
        name = (SHOP, BANK)[turn % 2]
        mode = {"status": "terminated"} if turn % 3 else STOP
        registry.update(name, {**mode, "resumable": True, "last_visible_status": f"{turn}\n$ _"})
        assert registry.row(name).status == mode["status"]  # type: ignore[union-attr]
        registry.update(name, {"status": "running", "pane.pid": 100 + turn}, RESUME_DROPS)
    left = [line[line.index("#") :].rstrip() for line in registry.text.splitlines() if "#" in line]
    assert sorted(left) == sorted(comments)
    for row, pid in zip(before["tmux_sessions"], (124, 123), strict=False):
        row |= {"status": "running", "last_visible_status": f"{pid - 100}\n$ _"}
        row["pane"]["pid"] = pid
        for key in RESUME_DROPS:
            row.pop(key, None)
    assert registry.data() == before
    assert registry.text.splitlines()[-3:] == ["# end of the list", "", 'tail: "é"']


def test_M9_what_is_so_already_is_not_written(registry: Registry) -> None:
    inode = registry.file.stat().st_ino
    registry.update(BANK, {"status": "stopped", "pane.pid": 4711, "mcp_attachments": []}, ["gone"])
    assert registry.file.stat().st_ino == inode
    assert not registry.file.with_name(registry.file.name + ".bak").exists()


# -- what is written ---------------------------------------------------------------------------


def test_M33_M34_an_ending_has_its_time_unless_it_is_given(registry: Registry) -> None:
    registry.update(SHOP, {"status": "terminated"})
    registry.update(BANK, {"status": "archived"})
    registry.update("gate", {"status": "stopped", "stopped_at": "T", "stopped_at_epoch": 7})
    shop, bank, gate = registry.data()["tmux_sessions"]
    assert (shop["terminated_at"], shop["terminated_at_epoch"]) == (NOW, EPOCH)
    assert bank["archived_at"] == NOW
    assert (gate["stopped_at"], gate["stopped_at_epoch"]) == ("T", 7)
    registry.update("gate", {"status": "stopped"})
    assert registry.session("gate")["stopped_at"] == "T"


def test_quotes_stay_in_the_style_that_was_there(holding: Open) -> None:
    registry = holding('tmux_sessions: [{name: a, x: \'o\', y: "o", z: o, id: "o"}]\n')
    registry.update("a", {"x": "it's", "y": 'so "so"', "z": "123", "id": "%7"})
    assert registry.text == (
        "tmux_sessions: [{name: a, x: 'it''s', y: \"so \\\"so\\\"\", z: '123', id: \"%7\"}]\n"
    )


def test_a_pane_that_is_missing_or_null_is_made(holding: Open) -> None:
    registry = holding("tmux_sessions:\n- name: a\n- name: b\n  pane:    # none\n")
    registry.update("a", {"pane.pid": 1, "pane.cwd": "/w"})
    registry.update("b", {"pane.pid": 2})
    assert registry.text == (
        "tmux_sessions:\n- name: a\n  pane:\n    pid: 1\n    cwd: /w\n"
        "- name: b\n  pane:    # none\n    pid: 2\n"
    )


def test_keys_are_dropped_wherever_they_stand(holding: Open) -> None:
    registry = holding(
        "tmux_sessions:\n- resumable: true\n  stopped_at: x\n  name: a\n  stop_reason: z\n"
        "- archived_at: x   # odd\n  name: b\n"
        "- {stopped_at: 1, resumable: true, name: c, stop_reason: z,   archived_at: q}\n"
        "- {name: d, stopped_at: x}\n"
    )
    for name in "abcd":
        registry.update(name, {}, RESUME_DROPS)
    assert registry.text == (
        "tmux_sessions:\n- name: a\n- name: b\n  # odd\n- {name: c}\n- {name: d}\n"
    )


def test_a_screen_is_spread_over_lines_where_that_is_safe(holding: Open) -> None:
    registry = holding("tmux_sessions:\n- name: a\n      # deep note\n- {name: b}\n")
    registry.update("a", {"x": "one\n two\n"})
    registry.update("b", {"x": "one\n two\n"})
    assert registry.text == (
        'tmux_sessions:\n- name: a\n  x: "one\\n two\\n"\n      # deep note\n'
        '- {name: b, x: "one\\n two\\n"}\n'
    )
    registry = holding("tmux_sessions:\n- name: a\n")
    registry.update("a", {"x": "one\n two\n", "z": "  # 1\n\n$"})
    assert registry.text == (
        "tmux_sessions:\n- name: a\n  x: |\n    one\n     two\n  z: |2-\n      # 1\n\n    $\n"
    )


@pytest.mark.parametrize("text", [
    "tmux_sessions:\r\n- name: a\r\n  status: running # x\r\n  stopped_at: x # y\r\n",
    "\ufefftmux_sessions:\n- name: a\n  stopped_at: x\n",
    "tmux_sessions:\n  - name: a\n    stopped_at: x\n    status: running",
    "tmux_sessions:\n    -   name: a\n        stopped_at: x",
    "---\ntmux_sessions:\n- name: a\n  stopped_at: x\n...\n",
    "%YAML 1.1\n---\ntmux_sessions:\n- name: a\n  stopped_at: x\n",
    '{"tmux_sessions": [{"name": "a", "stopped_at": "x"}], "more": 1}',
    "tmux_sessions:\n- name: a\n  stopped_at: |+\n    x\n\n\nmore: 1\n",
    "tmux_sessions:\n- name: a\n  stopped_at:\n  - x\n  -\nmore: 1\n",
    "tmux_sessions:\n- name: a\n  stopped_at: &x\n    y: 1\nmore: 1\n",
    "x: &x 1\ntmux_sessions:\n- name: a\n  stopped_at: *x\n",
])  # fmt: skip
def test_M9_any_layout_can_be_stopped_and_resumed(holding: Open, text: str) -> None:
    registry = holding(text)
    before = registry.data()
    registry.update("a", {"status": "stopped", "stopped_at": NOW, "claude_session_id_own": "77"})
    assert ("\r\n" in text) == ("\r\n" in registry.text)
    assert registry.text.count("\n") - registry.text.count("\r\n") in {0, registry.text.count("\n")}
    registry.update("a", {"status": "running"}, RESUME_DROPS)
    row = before["tmux_sessions"][0]
    del row["stopped_at"]
    row |= {"status": "running", "claude_session_id_own": "77"}
    assert registry.data() == before


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["killed", "", None, "Running", True])
def test_M32_M56_a_status_that_is_none_is_refused_aloud(registry: Registry, status: object) -> None:
    with pytest.raises(RegistryFailed, match="is no status"):
        registry.update(SHOP, {"status": status})
    with pytest.raises(RegistryFailed, match="is no status"):
        registry.add("new", {"status": status})
    assert registry.text == ODD


def test_M56_name_and_role_cannot_be_changed(registry: Registry) -> None:
    for change in ({"role": "boss"}, {"name": "other"}):
        with pytest.raises(RegistryFailed, match="cannot be changed"):
            registry.update(BANK, change)
    registry.update(SHOP, {"role": "creator"})
    registry.update(SHOP, {"role": "creator"})
    assert registry.row(SHOP).role == "creator"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "changes", "drop"),
    [
        ("tmux_sessions: [{name: a, pane: &p {pid: 1}}, {name: b, pane: *p}]", {"pane.pid": 2}, ()),
        ("p: &p {pid: 1}\ntmux_sessions: [{name: a, pane: *p}]", {"pane.pid": 2}, ()),
        ("b: &b {pane: {pid: 1}}\ntmux_sessions: [{<<: *b, name: a}]", {"pane.pid": 2}, ()),
        ("b: &b {resumable: 1}\ntmux_sessions: [{<<: *b, name: a}]", {}, ("resumable",)),
        ("b: &b [{name: a}]\ntmux_sessions: *b", {"x": 2}, ()),
        ("b: &b {name: a}\ntmux_sessions: [*b]", {"x": 2}, ()),
        ("tmux_sessions: [{name: a, x: 1}]", {"x.y": 2}, ()),
        ("tmux_sessions: [{name: a, pane: {pid: 1}}]", {"pane": 7}, ()),
    ],
)  # fmt: skip
def test_M56_a_change_that_would_reach_further_is_refused(
    holding: Open, text: str, changes: dict[str, object], drop: tuple[str, ...]
) -> None:
    registry = holding(text)
    with pytest.raises(RegistryFailed, match="cannot be changed") as raised:
        registry.update("a", changes, drop)
    assert "by hand" in raised.value.hint
    assert registry.text == text


def test_M9_an_alias_of_a_value_that_changes_keeps_the_old_value(holding: Open) -> None:
    registry = holding("tmux_sessions:\n- name: a\n  x: &x 1\n- {name: b, x: *x}\n")
    registry.update("a", {"x": 2})
    assert registry.text == "tmux_sessions:\n- name: a\n  x: 2\n- {name: b, x: 1}\n"


def test_M16_a_session_that_is_not_there_is_not_made_up(registry: Registry, file: Path) -> None:
    with pytest.raises(RegistryFailed, match="no session 'nobody'"):
        registry.update("nobody", STOP)
    assert registry.text == ODD
    file.unlink()
    with pytest.raises(RegistryFailed, match="no registry"):
        registry.update(SHOP, STOP)
    assert not file.exists()
