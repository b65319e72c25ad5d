"""Settings as text, JSON or TOML: one item is put in or taken out, every other byte stays."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from knell.core.codes import Code
from knell.core.errors import AskerError

Path = tuple[str | int, ...]  # keys and indices from the outermost value inwards

_SPACE = " \t\r\n"
_ENDS_LINE = re.compile(r"[ \t]*\r?\n")
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


class BadSettings(AskerError):
    """Not what its program could read, or nothing that knell could edit without loss."""

    code = Code.BAD_HOOK_FILE


class Item(NamedTuple):
    """Where an item of an object or array stands in the text."""

    key: str | None  # None in an array
    start: int
    value: int  # where the value starts: after the key
    end: int


class Container(NamedTuple):
    """Where an object or array stands in the text."""

    start: int
    items: list[Item]
    close: int


class JsonText(NamedTuple):
    text: str
    comments: bool = False  # whether // and /* */ may stand in it

    @property
    def plain(self) -> str:
        """The text with its comments blanked out: every offset is the same."""
        if not self.comments:
            return self.text
        return _STRING_OR_COMMENT.sub(
            lambda found: found[0] if found[0][0] == '"' else re.sub(r"\S", " ", found[0]),
            self.text,
        )

    def parsed(self) -> Any:
        """The value; numbers stay as they are written, so that none is lost by reading it."""
        try:
            return _DECODER.decode(self.plain)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno} column {error.colno}"
            raise BadSettings(f"not valid JSON: {error.msg}, {where}") from error
        except RecursionError as error:
            raise BadSettings("not usable: it is nested too deeply") from error

    def put(self, path: Path, key: str | None, value: Any) -> "JsonText":
        """With `value` as the last item of the object (under `key`) or array at `path`."""
        container = _container(self.plain, path)
        last = container.items[-1] if container.items else None
        inline = last is not None and "\n" not in self.text[container.start : container.close]
        head = "" if key is None else f"{_dumped(key)}: "
        kept = self.text[: container.close].rstrip(_SPACE)
        tail = self.text[len(kept) :]
        if inline:
            added = " " + head + _dumped(value)
        else:
            outer = self._indent(container.start)
            inner = self._indent(last.start) if last else outer + self._unit()
            lines = (head + _dumped(value, self._unit())).split("\n")
            added = "".join(_newline(self.text) + inner + line for line in lines)
            if "\n" not in tail[: container.close - len(kept)]:
                tail = _newline(self.text) + outer + tail.lstrip(_SPACE)
        if last:
            kept = kept[: last.end] + "," + kept[last.end :]
        return self._replace(text=kept + added + tail)

    def take(self, path: Path) -> "JsonText":
        """Without the item at `path`, the blanks before it and one comma."""
        plain, text, step = self.plain, self.text, path[-1]
        items = _container(plain, path[:-1]).items
        index = step if isinstance(step, int) else _last(items, step)
        start, end = items[index].start, items[index].end
        before, bare, after = text[:start], plain[:start], text[end:]
        if index > 0:
            comma = plain.index(",", items[index - 1].end)
            before, bare = (half[:comma] + half[comma + 1 :] for half in (before, bare))
        elif len(items) > 1:
            comma = plain.index(",", end) - end
            after = after[:comma] + after[comma + 1 :]
        kept = before.rstrip(_SPACE)
        if bare[len(kept) - 1] not in _SPACE:
            return self._replace(text=kept + (after.lstrip(_SPACE) if len(items) == 1 else after))
        # A comment stands before it, which may need its line end.
        return self._replace(text=(kept if _ENDS_LINE.match(after) else before) + after)

    def _indent(self, at: int) -> str:
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _unit(self) -> str:
        """One level of indentation, as the outermost object has it."""
        items = _container(self.plain, ()).items
        return (self._indent(items[0].start) if items else "") or "  "


def _container(plain: str, path: Path) -> Container:
    at = _skip(plain, 0)
    for step in path:
        items = _opened(plain, at).items
        at = items[step if isinstance(step, int) else _last(items, step)].value
    return _opened(plain, at)


def _last(items: list[Item], key: str) -> int:
    """Of a key that is there twice the last one counts, as for every reader."""
    return max(index for index, item in enumerate(items) if item.key == key)


def _opened(plain: str, start: int) -> Container:
    """The items of the object or array that starts here, in a text that is known to be valid."""
    items: list[Item] = []
    at = _skip(plain, start + 1)
    while plain[at] not in "]}":
        first, key = at, None
        if plain[start] == "{":
            key, at = _DECODER.raw_decode(plain, at)
            at = _skip(plain, _skip(plain, at) + 1)
        _, end = _DECODER.raw_decode(plain, at)
        items.append(Item(key, first, at, end))
        at = _skip(plain, end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)
    return Container(start, items, at)


def _skip(plain: str, at: int) -> int:
    while at < len(plain) and plain[at] in _SPACE:
        at += 1
    return at


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dumped(value: Any, indent: str | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def as_written(written: str) -> tuple[str, str]:
    return ("number", written)


def _no_constant(name: str) -> NoReturn:
    raise BadSettings(f"not valid JSON: {name} is no JSON value")


_DECODER = json.JSONDecoder(
    parse_int=as_written, parse_float=as_written, parse_constant=_no_constant
)  # fmt: skip


# -- TOML, which Python reads but does not write ------------------------------------------------

TITLE = "# Heartbeat for knell; `knell hooks uninstall` takes these lines out."
# No closing line: Codex writes its own tables after our last one, and the comments that stood
# behind that then stand behind its own.


def parsed_toml(text: str) -> dict[str, Any]:
    """The value; fractions stay as they are written, for nan does not equal itself."""
    try:
        return tomllib.loads(text, parse_float=as_written)
    except (ValueError, RecursionError) as error:
        raise BadSettings(f"not valid TOML: {error}") from error


def added_to_toml(text: str, entries: Mapping[str, Mapping[str, Any]]) -> str:
    newline = _newline(text)
    lines = [TITLE]
    for event, handler in entries.items():
        # JSON's strings and numbers are TOML's too.
        pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in handler.items())
        lines += [f"[[hooks.{event}]]", f"hooks = [{{ {pairs} }}]"]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    whole = text + gap + newline.join(lines) + newline
    try:
        parsed_toml(whole)
    except BadSettings as error:
        raise BadSettings(
            "its hooks are written in a way that takes no more lines",
            "use the other file: --settings with the path of a hooks.json beside it",
        ) from error
    return whole


def removed_from_toml(text: str, mark: str) -> str:
    """Without the lines that `added_to_toml` wrote. An entry that was reshaped since stays."""
    end = r"\r?(?:\n|\Z)"
    ours = rf"^\[\[hooks\.\w+\]\]\r?\nhooks = \[[^\n]*{re.escape(mark)}\"[^\n]*\]{end}"
    title = rf"(?:^\r?\n)?^{re.escape(TITLE)}{end}"
    rest = re.sub(ours, "", text, flags=re.MULTILINE)
    return re.sub(title, "", rest, flags=re.MULTILINE)
