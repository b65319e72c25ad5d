"""Whatever stands in the settings and however it is written, our hooks come in and go again."""

import copy
import json
import re
import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from examples import some_of
from knell.core.hooks.edit import (
    Backup,
    digest,
    found,
    installed,
    is_complete,
    parsed,
    rest,
    restored,
)
from knell.core.hooks.entries import Hooks, entries
from knell.core.hooks.settings_text import BadSettings
from known_kinds import CLAUDE, CODEX, GEMINI

SLOWLY = some_of(60)

TEXTS = st.one_of(
    st.sampled_from(['a"b', "\\", "// no comment", "/* nor */", "{", "]", ",", "\ud83d", "é", ""]),
    st.text(max_size=12),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
HANDLERS = st.fixed_dictionaries({"type": st.just("command"), "command": TEXTS})
GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(HANDLERS, max_size=2)}, optional={"matcher": TEXTS}
)
EVENTS = st.sampled_from(
    ["SessionStart", "Stop", "PreToolUse", "BeforeTool", "SessionEnd", "Other"]
)
HOOKS = st.dictionaries(EVENTS, st.lists(GROUPS | VALUES, max_size=3), max_size=4)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    document = draw(st.dictionaries(TEXTS.filter(lambda key: key != "hooks"), VALUES, max_size=4))
    if draw(st.booleans()):
        document["hooks"] = draw(HOOKS)
    keys = draw(st.permutations(list(document)))
    return {key: document[key] for key in keys}


@st.composite
def layouts(draw: st.DrawFn, value: Any, *, comments: bool) -> str:
    """`value` as nobody would write it: any blanks, line ends and comments between the tokens."""
    blanks = ["", " ", "\n", "\t", "\r\n", "\n    "]
    if comments:
        blanks += ["/* a */", "// b, }\n", "/* \n * c */", '// "d\r\n']
    gap = st.lists(st.sampled_from(blanks), max_size=2).map("".join)

    def told(value: Any) -> str:
        if isinstance(value, dict):
            parts = [f"{told(k)}{draw(gap)}:{draw(gap)}{told(v)}" for k, v in value.items()]
            return "{" + draw(gap) + f"{draw(gap)},{draw(gap)}".join(parts) + draw(gap) + "}"
        if isinstance(value, list):
            parts = [told(part) for part in value]
            return "[" + draw(gap) + f"{draw(gap)},{draw(gap)}".join(parts) + draw(gap) + "]"
        return json.dumps(value, ensure_ascii=isinstance(value, str) and not value.isprintable())

    return draw(gap) + told(value) + draw(gap)


@st.composite
def files(draw: st.DrawFn, program: Hooks) -> tuple[dict[str, Any], bytes]:
    document = draw(documents())
    text = draw(layouts(document, comments=program.comments))
    return document, draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()


def with_ours(program: Hooks, document: dict[str, Any]) -> dict[str, Any]:
    """What must be in the file then, made without the code that makes it."""
    wanted = copy.deepcopy(document)
    for event, handler in entries(program).items():
        wanted.setdefault("hooks", {}).setdefault(event, []).append({"hooks": [handler]})
    return wanted


def plain(content: bytes, comments: list[str] | None = None) -> Any:
    """Read by Python's own parser, comments cut out by another way than knell's."""
    text, kept, at = content.decode("utf-8-sig"), "", 0
    while at < len(text):
        if text[at] == '"':
            end = json.decoder.scanstring(text, at + 1)[1]  # type: ignore[attr-defined]
            kept += text[at:end]
        elif text[at : at + 2] in {"//", "/*"}:
            close = "\n" if text[at + 1] == "/" else "*/"
            end = text.index(close, at + 2) + len(close)
            if comments is not None:
                comments.append(text[at:end].rstrip())
        else:
            end = at + 1
            kept += text[at]
        at = end
    return json.loads(kept)


@SLOWLY
@given(st.data())
def test_what_we_add_is_all_that_is_added_and_the_old_bytes_come_back(data: st.DataObject) -> None:
    program = data.draw(st.sampled_from([CLAUDE, CODEX]))
    document, before = data.draw(files(program))
    after = installed(program, "settings.json", before)
    assert plain(after) == with_ours(program, document)
    assert is_complete(program, parsed(program, "settings.json", after))
    backup = Backup("luna", "settings.json", before, digest(after))
    assert restored(program, "settings.json", after, backup) == before


@SLOWLY
@given(st.data())
def test_without_a_backup_ours_are_cut_out_and_nothing_else(data: st.DataObject) -> None:
    program = data.draw(st.sampled_from([CLAUDE, CODEX]))
    document, before = data.draw(files(program))
    after = restored(program, "settings.json", installed(program, "settings.json", before), None)
    assert after is not None
    assert not found(parsed(program, "settings.json", after))
    assert rest(plain(after)) == rest(document)  # an empty list of hooks may be gone


@SLOWLY
@given(files(GEMINI))
def test_comments_stay(pair: tuple[dict[str, Any], bytes]) -> None:
    document, before = pair
    comments: dict[str, list[str]] = {"before": [], "with": [], "after": []}
    plain(before, comments["before"])
    with_us = installed(GEMINI, "settings.json", before)
    assert plain(with_us, comments["with"]) == with_ours(GEMINI, document)
    after = restored(GEMINI, "settings.json", with_us, None)
    assert after is not None
    assert rest(plain(after, comments["after"])) == rest(document)
    assert comments["with"] == comments["before"]
    # A comment inside an empty list goes with the list, if the list held only ours in the end.
    empty = re.search(rb"[\[{]\s*(/\*.*?\*/|//[^\n]*|\s)*[\]}]", before, re.DOTALL)
    assert empty or comments["after"] == comments["before"]


@SLOWLY
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_hostile_bytes_are_refused_or_kept(content: bytes) -> None:
    """Either the file is one that its program could read, or BadSettings says why not."""
    for program in (CLAUDE, CODEX, GEMINI):
        for path in ("settings.json", "config.toml"):
            try:
                after = installed(program, path, content)
            except BadSettings:
                continue
            assert restored(program, path, after, None) is not None


# -- TOML ----------------------------------------------------------------------------------------

LINES = st.sampled_from(
    [
        "# a comment = 1", "", 'model = "o3"  # why', "[tui]", 'theme = "a"', "x = nan",
        "y = 1e400", "[mcp_servers.a]", "args = ['a', \"b\"]", "[[hooks.Stop]]", 'matcher = "x"',
        "  z = 07:30:00", '[hooks.state."/a/hooks.json:stop:0:0"]', 'trusted_hash = "sha256:1"',
        "[[hooks.Stop.hooks]]", "text = '''\nhooks = [1]\n'''", "[features]", "hooks = true",
        "hooks = [{ command = 'x' }]",
    ]
)  # fmt: skip


def reads(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


@SLOWLY
@given(
    st.lists(LINES, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n"]),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_toml_keeps_every_line_and_comes_back(
    lines: list[str], newline: str, end: str, bom: bytes
) -> None:
    text = ("\n".join(lines) + end).replace("\n", newline)
    before = bom + text.encode()
    try:
        after = installed(CODEX, "config.toml", before)
    except BadSettings:
        more = "\n".join(f"[[hooks.{event}]]" for event in entries(CODEX))
        assert not reads(f"{text}\n{more}")
        return
    assert after.startswith(before)
    assert is_complete(CODEX, parsed(CODEX, "config.toml", after))
    assert "\r\n" not in text or b"\n" not in after.replace(b"\r\n", b"")
    backup = Backup("codex", "config.toml", before, digest(after))
    assert restored(CODEX, "config.toml", after, backup) == before
    cut = restored(CODEX, "config.toml", after, None)
    assert cut is not None
    assert cut.decode("utf-8-sig").rstrip() == text.rstrip()
