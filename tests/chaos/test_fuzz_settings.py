"""Fuzzing settings: the TOML file, the environment, and the settings files of other programs."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaos.fuzzing import Shell, fuzzed, hostile_words, shell_in
from chaos.report import Tally
from house import House, alive
from knell import config
from knell.core.errors import BadConfig
from knell.core.ladder import LONGEST_WAIT
from knell.core.settings import Settings

pytestmark = pytest.mark.stress

VALUES = ["1", "-1", "nan", "inf", "-inf", "1e999", "9" * 5000, "0x10", "true", '"x"', '""', "[]",
          '["a"]', "[1]", "{}", "2020-01-01", "'''", '"\\ud800"', "[" * 2000, "{a=" * 500
]  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Almost a settings file."""
    key = st.one_of(st.sampled_from(sorted(config.known_settings())), hostile_words())
    value = st.one_of(st.sampled_from(VALUES), hostile_words())
    lines: list[str] = []
    for name, one in draw(st.lists(st.tuples(key, value), max_size=4)):
        section, _, last = name.partition(".")
        lines += [f"[{section}]", f"{last} = {one}"]
    text = "\n".join(lines).encode("utf-8", draw(st.sampled_from(["replace", "surrogatepass"])))
    return draw(st.sampled_from([text, text[: len(text) // 2], text + b"\xff"]))


@fuzzed(200)
@given(text=st.one_of(files(), st.binary(max_size=50)))
@example(text=b"a = " + b"[" * 5000)
@example(text=b"[kill]\ngrace = " + b"9" * 5000)
@example(text=b"a" + b".a" * 5000 + b" = 1")
def test_a_settings_file_is_good_or_refused(text: bytes) -> None:
    """A settings file is obeyed as a whole or refused with BadConfig, never half believed"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.toml")
        path.write_bytes(text)
        try:
            found = config.load({"KNELL_CONFIG": str(path)})
        except BadConfig:
            return
    for name, default in Settings._field_defaults.items():
        value = getattr(found, name)
        assert type(value) is type(default), (name, value)
        assert not isinstance(value, float) or 0 <= value <= LONGEST_WAIT


@pytest.fixture
def shell(house: House) -> Iterator[Shell]:
    with shell_in(house) as one:
        yield one


def test_what_is_no_file_is_refused(house: House, shell: Shell) -> None:
    """A settings file that is a fifo, a device or a directory hangs nobody"""
    fifo, folder, loop = (house.root / name for name in ("fifo", "folder", "loop"))
    os.mkfifo(fifo)
    folder.mkdir()
    loop.symlink_to(loop)
    for path in (fifo, folder, loop, Path("/dev/zero")):
        said = shell.run("spawn", "--", "true", env={"KNELL_CONFIG": str(path)}).check()
        assert said.code == 2, said
    empty = shell.run("spawn", "--", "true", env={"KNELL_CONFIG": "/dev/null"}).check()
    assert empty.code == 0, empty


# -- the environment -------------------------------------------------------------------------------

VARIABLES = ["KNELL_HOST", "KNELL_RUN", "KNELL_TOKEN", "KNELL_HEARTBEAT", "KNELL_CONFIG", "HOME",
             "TMUX", "TMUX_PANE", "TMUX_TMPDIR", "KITTY_WINDOW_ID", "KITTY_LISTEN_ON",
             "WEZTERM_PANE",
             "XDG_STATE_HOME", "XDG_CONFIG_HOME", "SHELL", "TERM", "LANG", "LC_ALL", "COLUMNS",
             "NO_COLOR", "PATH", "USER", "CLAUDE_CONFIG_DIR", "CODEX_HOME"
]  # fmt: skip
VERBS = [("list",), ("status",), ("doctor",), ("kill", "nobody"), ("stop",), ("beat",), ("inbox",),
         ("watch", "--once"), ("stalled",), ("hooks", "status"), ("approve",),
         ("send", "x", "--", "y"),
         ("resume", "nobody"), ("spawn", "--", "true"), ("adopt", "%1"), ("reap", "--yes")
]  # fmt: skip


def can_be_set(word: str) -> bool:
    try:
        return "\0" not in word and len(os.fsencode(word)) < 100_000
    except UnicodeEncodeError:
        return False


@fuzzed(50)
@given(
    env=st.dictionaries(
        st.sampled_from(VARIABLES), hostile_words().filter(can_be_set), min_size=1, max_size=3
    ),
    verb=st.sampled_from(VERBS),
)
@example(env={"KNELL_HEARTBEAT": "/"}, verb=("beat",))
@example(env={"KNELL_RUN": "../.."}, verb=("stop",))
@example(env={"TMUX": ",,", "TMUX_PANE": "%0"}, verb=("spawn", "--", "true"))
def test_no_environment_crashes_a_command(
    house: House, shell: Shell, tally: Tally, env: dict[str, str], verb: tuple[str, ...]
) -> None:
    """Whatever the environment says, a command ends with a documented code and harms nobody"""
    if not house.knell.list():
        house.spawn(name="luna")
    [luna] = [view for view in house.knell.list() if view.name == "luna"]
    shell.run(*verb, env=env).check()
    assert luna.pid
    assert alive(luna.pid)
    tally.broke("hostile environment")


# -- the settings of other programs ----------------------------------------------------------------

HOOKS = ['{"hooks": 5}', '{"hooks": {"Stop": [null]}}', '{"hooks": {"Stop": {}}}', "[]", "null",
         "{",
         '{"hooks": {"Stop": [{"hooks": [{"command": 5}]}]}}', '{"a": 1, "a": 2}', "[" * 50_000,
         '{"a": NaN}', '{"a": ' + "9" * 5000 + "}", "\ufeff{}", '{"hooks": {}} trailing', "",
         "// x\n{}", "/*", '{"hooks": {"\\ud800": []}}', "[hooks]\nStop = 5\n",
         "[[hooks]]\n", "hooks = [[[[", "a = 1\na = 2\n"
]  # fmt: skip


@fuzzed(30)
@given(
    program=st.sampled_from(["claude", "codex", "gemini"]),
    text=st.one_of(st.sampled_from(HOOKS), st.text('{}[]":,hoksStp 1\n', max_size=30)),
    name=st.sampled_from(["settings.json", "hooks.json", "config.toml"]),
)
def test_foreign_settings_come_back_as_they_were(
    house: House, shell: Shell, tally: Tally, program: str, text: str, name: str
) -> None:
    """Hooks go into a foreign settings file and out again byte for byte, or it is left alone"""
    path = house.root / name
    path.write_text(text)
    before = path.read_bytes()
    asked = ("--settings", str(path))
    installed = shell.run("hooks", "install", program, *asked).check()
    shell.run("hooks", "status", program, *asked).check()
    if installed.code:
        assert path.read_bytes() == before
    shell.run("hooks", "uninstall", program, *asked).check()
    assert path.read_bytes() == before
    tally.broke("hostile settings file of another program")
