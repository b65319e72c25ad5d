"""Fuzzing the registry file: read or refused, in bounded time, and never changed by a refusal."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaos.fuzzing import fuzzed, hostile_words, shell_in
from chaos.report import Tally
from house import House, alive
from knell.core.errors import RegistryFailed
from knell.kinds import KnownKinds
from knell.registry_file.agent_sessions import AgentSessions
from scenes import SLEEPS, started

pytestmark = pytest.mark.stress

ROW = "tmux_sessions:\n- name: luna\n  status: running\n"


def laughs(levels: int = 20) -> str:
    """Ten lines that mean ten to the twentieth of words."""
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines) + f"\ntmux_sessions: *a{levels - 1}\n"


def merges(levels: int = 25) -> str:
    lines = ["m0: &m0 {x: 1}"]
    lines += [f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}" for n in range(1, levels)]
    return "\n".join(lines) + f"\ntmux_sessions:\n- <<: *m{levels - 1}\n  name: luna\n"


HOSTILE = {
    "billion laughs": laughs(),
    "merges of merges": merges(),
    "python object": "tmux_sessions: !!python/object/apply:os.system ['touch pwned']\n",
    "python name": "tmux_sessions:\n- !!python/name:os.system x\n",
    "own tag": "tmux_sessions: !x []\n",
    "tag directive": "%TAG ! tag:x,2000:\n---\ntmux_sessions: !y []\n",
    "a loop": "tmux_sessions: &a [*a]\n",
    "a loop of maps": "&a tmux_sessions: *a\n",
    "huge number": f"tmux_sessions:\n- name: luna\n  pane: {{pid: {'9' * 5000}}}\n",
    "huge exponent": "tmux_sessions:\n- name: luna\n  pane: {pid: 1e999999999}\n",
    "sexagesimal": "tmux_sessions:\n- name: luna\n  pane: {pid: 9:9:9:9:9}\n",
    "a number for a name": "tmux_sessions:\n- name: 5\n",
    "a list for a name": "tmux_sessions:\n- name: []\n",
    "a map for a status": "tmux_sessions:\n- name: luna\n  status: {}\n",
    "a text for a pane": "tmux_sessions:\n- name: luna\n  pane: x\n",
    "a list for a pid": "tmux_sessions:\n- name: luna\n  pane: {pid: [1]}\n",
    "a negative pid": "tmux_sessions:\n- name: luna\n  pane: {pid: -1}\n",
    "two lunas": "tmux_sessions:\n- name: luna\n- name: luna\n",
    "two keys": "tmux_sessions: []\ntmux_sessions: []\n",
    "two documents": "a: 1\n---\na: 2\n",
    "deep lists": "tmux_sessions: " + "[" * 5000,
    "deep lists, closed": "tmux_sessions: " + "[" * 5000 + "]" * 5000,
    "deep maps": "".join(f"{' ' * n}a:\n" for n in range(500)),
    "deep anchors": "tmux_sessions: " + "&a " * 500 + "x",
    "no text": b"tmux_sessions:\n- name: \xff\xfe\n",
    "UTF-16": ROW.encode("utf-16"),
    "nothing but zeros": bytes(1000),
    "a tab": "tmux_sessions:\n\t- name: luna\n",
    "half an escape": 'tmux_sessions:\n- name: "\\UFFFFFFFF"\n',
    "half a character": 'tmux_sessions:\n- name: "\\ud800"\n',
    "a key that is a list": "? [a]\n: b\ntmux_sessions: []\n",
    "many lines": "#\n" * 200_000 + ROW,
    "a long line": "x: " + "y" * 1_000_000 + "\n" + ROW,
    "too large": b"#" * 10_000_001,
}


def read_or_refused(content: bytes) -> None:
    """Read, then changed; or refused, and then not one byte is another."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "agent-sessions.yaml")
        path.write_bytes(content)
        registry = AgentSessions(
            str(path), now=lambda: "T", epoch=lambda: 1, kinds=KnownKinds(dict)
        )
        try:
            for row in registry.rows():
                assert isinstance(row.pane_pid, int)
                assert 0 <= row.pane_pid < 2**31
                registry.update(row.name, {"status": "stopped", "stop_reason": "x: #\n"})
                found = registry.row(row.name)
                assert found
                assert found.status == "stopped"
        except RegistryFailed:
            pass
        else:
            return
        leftover = {one.name for one in Path(folder).iterdir()} - {path.name}
        assert not {one for one in leftover if one.endswith(".tmp")}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_registry_is_read_or_refused(content: str | bytes, tally: Tally) -> None:
    """No YAML, however it is meant, hangs knell, runs anything or is half written"""
    read_or_refused(content if isinstance(content, bytes) else content.encode())
    tally.broke("hostile registry file")


KEYS = ["name", "status", "pane", "pid", "id", "cwd", "start_command", "tmux_server", "role",
        "claude_session_id_own", "agy_conversation_id_own", "delegate_job_id", "<<"
]  # fmt: skip
MARKS = ["", "&a ", "*a", "!!str ", "!!int ", "!!python/object:x.y ", "! ", "- ", "? ", "| ",
         "> ", "'", '"', "{", "}", "[", "]", "#", "%", "~", "null", "0x1F", "0o17", "1_000", ".nan"
]  # fmt: skip


@st.composite
def registries(draw: st.DrawFn) -> bytes:
    """Almost a registry: its keys, with marks and words where they do not belong."""
    value = st.one_of(st.sampled_from(MARKS), hostile_words().filter(lambda word: len(word) < 400))
    line = st.tuples(st.sampled_from(["- ", "  ", "    ", ""]), st.sampled_from(KEYS), value, value)
    rows = draw(st.lists(line.map(lambda one: f"{one[0]}{one[1]}: {one[2]}{one[3]}"), max_size=6))
    text = ROW + "\n".join(rows) + "\n"
    content = text.encode("utf-8", draw(st.sampled_from(["replace", "surrogatepass"])))
    at = draw(st.integers(0, len(content)))
    return draw(st.sampled_from([content, content[:at], content[:at] + b"\xff" + content[at:]]))


@fuzzed(150)
@given(content=registries())
@example(content=b"tmux_sessions:\n- name: luna\n  pane: {pid: 0x" + b"f" * 5000 + b"}\n")
def test_almost_a_registry_is_read_or_refused(content: bytes) -> None:
    """A registry file that is almost right is read, or refused and left alone"""
    read_or_refused(content)


def test_a_hostile_registry_saves_and_harms_nobody(
    house: House, chance: random.Random, often: int, tally: Tally
) -> None:
    """Whatever stands in the registry file, agents are listed, ended and recorded"""
    folder = house.root / ".hermes"
    folder.mkdir()
    path = folder / "agent-sessions.yaml"
    with shell_in(house) as shell:
        for key in chance.sample(sorted(HOSTILE), 3 * min(often, 10)):
            content = HOSTILE[key]
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            bystander = started(house, SLEEPS, name="nova")
            luna = started(house, SLEEPS, name="luna")
            for verb in (("list",), ("watch", "--once"), ("doctor",)):
                shell.run(*verb, "--json").check()
            assert shell.run("kill", "luna", "--json").check_json()["ok"], key
            assert not alive(luna.pid), key
            assert alive(bystander.pid), key
            assert shell.run("stop", "--mode", "hard", "nova").check().code in {0, 1}, key
            assert not alive(bystander.pid), key
            tally.broke("hostile registry file")
    assert not list(house.root.rglob("pwned"))
