"""Whatever stands in the rows, and whatever is written into them."""

import io
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from mirror_samples import Registry
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from examples import some_of
from knell.core.errors import RegistryFailed
from knell.registry_file.document import RowChange, added, parse, updated

SLOWLY = some_of(60)

WORDS = st.sampled_from([
    "", "yes", "null", "~", "1e3", "0o7", "- a", "a: b", "a #b", "%x", "@", "[", "2026-01-01",
    "a\nb", " a\n b\n", "\n", "a\n\n", "é\u2028", "\x85", "\ufeff", "'", '"', "\\", "a\r\nb", "<<",
    "=", "!x", "|", "\ud83d", "\t", "1:30", ".inf",
])  # fmt: skip
TEXT = st.one_of(WORDS, st.text(max_size=30), st.text("ab #:\n-'\"", max_size=30))
VALUE = st.one_of(st.none(), st.booleans(), st.integers(), TEXT)
KEY = st.one_of(
    st.sampled_from(["x", "y", "note", "stop_reason", "1", "null"]),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=8),
).filter(lambda key: "." not in key and key not in {"<<", "name", "status", "pane", "role"})
FIELDS = st.dictionaries(KEY, VALUE, max_size=4)


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = draw(
        st.lists(st.from_regex("[a-z]{1,8}", fullmatch=True), min_size=1, max_size=4, unique=True)
    )
    return [
        {
            "name": name,
            **draw(FIELDS),
            "status": draw(st.sampled_from(["running", "stopped", "archived"])),
            "pane": draw(FIELDS),
            "mcp_attachments": draw(st.lists(VALUE, max_size=3)),
        }
        for name in names
    ]


def dumped(data: Any, *, flow: bool, offset: int) -> str:
    """As another program would write it: ruamel, in one of its layouts."""
    yaml = YAML()
    yaml.default_flow_style = flow
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    out = io.StringIO()
    yaml.dump(data, out)
    return out.getvalue()


def loaded(text: str, version: str = "1.2") -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.version = version  # type: ignore[assignment]
    return yaml.load(text)


def says(text: str, data: Any) -> bool:
    """Whether that is really there: ruamel writes some texts that it cannot read itself."""
    try:
        return loaded(text) == data
    except (YAMLError, ValueError):
        return False


@SLOWLY
@given(rows(), FIELDS, FIELDS, st.booleans(), st.sampled_from([0, 2, 4]), st.data())
def test_M9_an_update_changes_what_was_asked_and_nothing_else(
    sessions: list[dict[str, Any]],
    changes: dict[str, Any],
    pane: dict[str, Any],
    flow: bool,  # noqa: FBT001
    offset: int,
    data: st.DataObject,
) -> None:
    whole = {"version": 1, "tmux_sessions": sessions, "z": ["end"]}
    text = dumped(whole, flow=flow, offset=offset)
    assume(says(text, whole))
    row = data.draw(st.sampled_from(sessions))
    droppable = [key for key in row if key not in {"name", "status", "pane", "mcp_attachments"}]
    drop = data.draw(st.lists(st.sampled_from(droppable), unique=True)) if droppable else []
    drop = [key for key in drop if key not in changes]
    wish = RowChange(row["name"], {**changes, **{f"pane.{key}": pane[key] for key in pane}}, drop)
    new = updated(parse(text), wish)
    row |= changes
    row["pane"] |= pane
    for key in drop:
        del row[key]
    assert loaded(new.text) == whole
    assert updated(new, wish) is new


@SLOWLY
@given(st.lists(st.tuples(st.from_regex("[a-z]{1,8}", fullmatch=True), FIELDS), max_size=4,
                unique_by=lambda one: one[0]), st.sampled_from(["1.1", "1.2"]))  # fmt: skip
def test_M9_what_is_added_is_read_alike_by_old_and_new_readers(
    sessions: list[tuple[str, dict[str, Any]]], version: str
) -> None:
    whole = parse("# registry\n")
    for name, fields in sessions:
        whole = added(whole, {"name": name, **fields})
    found = (loaded(whole.text, version) or {}).get("tmux_sessions", [])
    assert found == [{"name": name, **fields} for name, fields in sessions]


@SLOWLY
@given(
    st.one_of(
        st.text(st.sampled_from("ab:-?#&*!|>'\"%@`{}[],\n\t ~<0"), max_size=60),
        st.text(max_size=60),
    )
)
def test_M56_any_text_is_read_or_refused(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        registry = Registry(Path(folder) / "r.yaml")
        prefix = "tmux_sessions:\n- name: a\n  x: "
        before = (prefix + text).encode("utf-8", "replace")
        registry.file.write_bytes(before)
        try:
            registry.rows()
        except RegistryFailed:
            assert registry.file.read_bytes() == before
            return
        try:
            was = loaded(registry.text)
        except (YAMLError, ValueError, TypeError):
            return  # keys that no dictionary can hold, and the like
        try:
            registry.update("a", {"status": "stopped", "stopped_at": "T", "stopped_at_epoch": 1})
        except RegistryFailed:
            assert registry.file.read_bytes() == before
            return
        was["tmux_sessions"][0] |= {"status": "stopped", "stopped_at": "T", "stopped_at_epoch": 1}
        assert loaded(registry.text) == was


@SLOWLY
@given(st.binary(max_size=60))
def test_M56_any_bytes_are_read_or_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        registry = Registry(Path(folder) / "r.yaml")
        registry.file.write_bytes(content)
        try:
            registry.add("a", {"status": "running"})
        except RegistryFailed:
            assert registry.file.read_bytes() == content
        else:
            assert registry.row("a")
            backup = registry.file.with_name(registry.file.name + ".bak")
            assert backup.read_bytes() == content
