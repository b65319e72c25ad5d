"""What is read from a registry, and what is refused aloud."""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mirror_samples import Registry

from knell.core.errors import RegistryFailed
from knell.core.ports.registry import Row
from knell.kinds import KnownKinds
from knell.registry_file.agent_sessions import AgentSessions

Open = Callable[[str | bytes], Registry]


def refusal(registry: Registry) -> RegistryFailed:
    """How the file is refused; whatever happens, it stays as it is."""
    before = registry.file.read_bytes()
    with pytest.raises(RegistryFailed) as raised:
        registry.rows()
    with pytest.raises(RegistryFailed):
        registry.update("a", {"status": "stopped"})
    assert registry.file.read_bytes() == before
    assert not registry.file.with_name(registry.file.name + ".bak").exists()
    return raised.value


def test_a_kind_of_the_settings_takes_no_rows_of_another(file: Path) -> None:
    """It says that it is called claude, too: a row that says claude means claude all the same."""
    tables = {"wren": {"program": "wren", "other_names": ["claude", "jenny"]}}
    file.write_text("tmux_sessions: [{name: a, agent: claude}, {name: b, agent: jenny}]\n")
    sessions = AgentSessions(str(file), str, int, KnownKinds(lambda: tables))
    assert [row.agent for row in sessions.rows()] == ["claude", "wren"]


# -- rows --------------------------------------------------------------------------------------


def test_M3_the_sessions_are_the_list_tmux_sessions(registry: Registry) -> None:
    shop, bank, gate = registry.rows()
    assert shop == Row(
        name="shop-creator-claude",
        status="running",
        agent="claude",
        tmux_server="iso-1",
        start_command='claude --model   "opus"  ',
        pane_id="%1",
        pane_pid=12,
        cwd="/srv/shop",
    )
    assert bank == Row(
        name="bank-creator-agy",
        status="stopped",
        agent="agy",
        pane_pid=4711,
        cwd="/srv/bank",
        conversation="c0ffee",
        role="creator",
        stopped_at="2026-06-19T18:00:00Z",
    )
    assert gate == Row("gate", "unknown", agent="claude", start_command="/opt/bin/claude -r")
    assert registry.row("gate") == gate
    assert registry.row("nobody") is None


@pytest.mark.parametrize("text", ["", "\n", "# nobody yet\n", "---\n", "version: 2\n",
                                  "tmux_sessions:\n", "tmux_sessions: []\n", "{}\n"])  # fmt: skip
def test_M3_a_file_that_lists_nobody_has_no_rows(holding: Open, text: str) -> None:
    assert holding(text).rows() == []


def test_M3_no_file_has_no_rows_and_is_not_made(file: Path) -> None:
    assert Registry(file).rows() == []
    assert list(file.parent.iterdir()) == []


def test_M20_a_missing_or_null_status_reads_as_unknown(holding: Open) -> None:
    rows = holding("tmux_sessions:\n- name: a\n- {name: b, status: null}\n").rows()
    assert [row.status for row in rows] == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("fields", "agent"),
    [
        ("agent: agy, claude_session_id_own: x", "agy"),
        ("agent: antigravity", "agy"),
        ("claude_session_id_own: null", "claude"),
        ("agy_conversation_id_own: null", "agy"),
        ("claude_session_id_own: null, agy_conversation_id_own: x", "agy"),
        ("start_command: '/usr/bin/agy --conversation x'", "agy"),
        ("start_command: vim", ""),
        ("role: x", ""),
    ],
)
def test_M2_which_agent_a_row_is_of(holding: Open, fields: str, agent: str) -> None:
    assert holding(f"tmux_sessions: [{{name: a, {fields}}}]").rows()[0].agent == agent


def test_M15_the_name_tells_the_agent_when_the_fields_do_not(holding: Open) -> None:
    text = (
        "tmux_sessions:\n"
        "- {name: x-creator-agy, claude_session_id_own: ~, agy_conversation_id_own: ~}\n"
        "- name: y-creator-claude\n"
    )
    assert [row.agent for row in holding(text).rows()] == ["agy", "claude"]


@pytest.mark.parametrize("pid", ["-1", "0", "'-7'", "1.5", "true", "[1]", "9" * 5000, "4294967296"])
def test_a_pid_that_no_process_has_is_none(holding: Open, pid: str) -> None:
    assert holding(f"tmux_sessions: [{{name: a, pane: {{pid: {pid}}}}}]").rows()[0].pane_pid == 0


def test_a_row_may_borrow_from_an_anchor(holding: Open) -> None:
    text = (
        "usual: &usual {tmux_server: iso, pane: {cwd: /w}}\n"
        "tmux_sessions:\n- {<<: *usual, name: a}\n- {<<: [*usual], name: b, tmux_server: own}\n"
    )
    a, b = holding(text).rows()
    assert (a.tmux_server, a.cwd, b.tmux_server, b.cwd) == ("iso", "/w", "own", "/w")


# -- refused -----------------------------------------------------------------------------------

ROW = "tmux_sessions:\n- name: a\n  "
WRONG = {
    "tab": (ROW + "status:\n\trunning\n", 4, 1),
    "open quote": (ROW + "status: 'running\n", 4, 1),
    "bad indent": (ROW + "status: running\n   pane: x\n", 4, 8),
    "NUL": (ROW + "status: run\0ning\n", 3, 14),
    "escape": (ROW + "status: \x1b[0m\n", 3, 11),
    "not UTF-8": (ROW.encode() + b"status: \xff\n", 3, 11),
    "UTF-16": (ROW.encode("utf-16"), 1, 1),
    "top is a list": ("- name: a\n", 1, 1),
    "top is text": ("hello\n", 1, 1),
    "no list": ("x: 1\ntmux_sessions: {name: a}\n", 2, 16),
    "row is text": ("tmux_sessions:\n- a\n", 2, 3),
    "row is null": ("tmux_sessions:\n- \n", 2, 2),
    "no name": ("tmux_sessions:\n- status: running\n", 2, 3),
    "name is a number": ("tmux_sessions:\n- name: 12\n", 2, 9),
    "name is empty": ("tmux_sessions:\n- name: ''\n", 2, 9),
    "status": (ROW + "status: sleeping\n", 3, 11),
    "status is a list": (ROW + "status: [running]\n", 3, 11),
    "pane is text": (ROW + "pane: '%1'\n", 3, 9),
    "key twice": (ROW + "name: b\n", 3, 3),
    "second document": (ROW + "status: running\n---\na: 1\n", 4, 1),
    "python tag": (ROW + "x: !!python/object/apply:os.system ['touch owned']\n", 3, 6),
    "own tag": (ROW + "x: !secret y\n", 3, 6),
    "alias of nothing": (ROW + "x: *y\n", 3, 6),
    "alias of itself": (ROW + "x: &y [*y]\n", 3, 6),
    "a list as key": (ROW + "[1, 2]: x\n", 3, 3),
    "escape too large": (ROW + 'x: "\\UFFFFFFFF"\n', 1, 1),
}


@pytest.mark.parametrize("case", WRONG)
def test_M56_what_is_wrong_is_said_with_line_and_column(holding: Open, case: str) -> None:
    text, line, column = WRONG[case]
    registry = holding(text)
    error = refusal(registry)
    assert f"{registry.path}, line {line}, column {column}: " in str(error)
    assert "left it as it is" in error.hint
    assert not Path("owned").exists()


def test_M56_a_name_that_is_there_twice_is_refused_with_both_lines(holding: Open) -> None:
    error = refusal(holding("tmux_sessions:\n- name: a\n- name: b\n- name: a\n"))
    assert "line 2" in str(error)
    assert "line 4" in str(error)


@pytest.mark.parametrize("status", ["running", "stopped", "terminated", "archived"])
def test_M32_every_status_of_the_state_machine_is_valid(holding: Open, status: str) -> None:
    registry = holding(ROW + f"status: {status}\n")
    assert registry.rows()[0].status == status
    registry.update("a", {"status": "stopped"})
    assert registry.session("a")["status"] == "stopped"


def test_an_alias_bomb_is_read_and_written_in_no_time(holding: Open) -> None:
    names = "abcdefghijklmnop"
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join(['*' + old] * 10)}]\n" for old, new in itertools.pairwise(names)
    )
    merges = "m0: &m0 {k: 1}\n" + "".join(
        f"m{i + 1}: &m{i + 1} {{<<: [{', '.join([f'*m{i}'] * 10)}]}}\n" for i in range(15)
    )
    registry = holding(
        bomb + merges + "agent_identities: *p\ntmux_sessions: [{<<: *m15, name: a}]\n"
    )
    assert registry.rows()[0].status == "unknown"
    assert registry.cached_conversation("claude", "/") == ""
    registry.update("a", {"status": "stopped"})
    assert registry.rows()[0].status == "stopped"


def test_nesting_without_end_is_refused(holding: Open) -> None:
    """On one line fewer: there the parser keeps every bracket in sight as a possible key, which is
    slow. Closed or not, it is refused."""
    for brackets in ("[\n" * 5_000, "[" * 1_000, "[" * 150 + "]" * 150):
        assert "nested deeper" in str(refusal(holding("a: " + brackets)))


def test_a_directory_a_fifo_and_a_giant_are_refused(file: Path, tmp_path: Path) -> None:
    fifo, giant = tmp_path / "fifo", tmp_path / "giant"
    os.mkfifo(fifo)
    with giant.open("wb") as out:
        out.truncate(10_000_001)
    for path, why in ((file.parent, "a directory"), (fifo, "not a regular file"), (giant, "10 MB")):
        with pytest.raises(RegistryFailed, match=why):
            Registry(path).rows()


def test_a_path_through_a_file_or_a_circle_of_links_is_refused(file: Path) -> None:
    file.write_text("")
    (file.parent / "circle").symlink_to("circle")
    for path in (file / "below.yaml", file.parent / "circle"):
        with pytest.raises(RegistryFailed, match="cannot be used"):
            Registry(path).rows()


# -- noticing, and starting fast ---------------------------------------------------------------


def test_C22_a_hand_edit_is_read(registry: Registry) -> None:
    assert registry.row("gate")
    registry.file.write_text(registry.text.replace("'gate'", "'door'"))
    assert registry.row("gate") is None
    assert registry.row("door")


def test_ruamel_is_loaded_only_to_read_a_registry(registry: Registry) -> None:
    code = (
        "import sys; from knell.registry_file.agent_sessions import AgentSessions, find;"
        "from knell.kinds import KnownKinds;"
        "one = AgentSessions(sys.argv[1], str, int, KnownKinds(dict)); find('/', '');"
        "early = 'ruamel.yaml' in sys.modules; one.rows();"
        "print(early, 'ruamel.yaml' in sys.modules)"
    )
    argv = [sys.executable, "-c", code, registry.path]
    assert subprocess.check_output(argv, text=True) == "False True\n"
