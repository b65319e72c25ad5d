"""Hooks in a TOML file, as text: Python reads TOML but does not write it."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from quell.core.jsontext import BadSettings

TITLE = "# Heartbeat for quell; `quell hooks uninstall` takes these lines out."
# No closing line: Codex writes its own tables after the last of ours, and the comments that stood
# behind that then stand behind its own.


def parsed(text: str) -> dict[str, Any]:
    """The value; fractions stay as they are written, for nan does not equal itself."""
    try:
        return tomllib.loads(text, parse_float=_number)
    except (ValueError, RecursionError) as error:
        raise BadSettings(f"not valid TOML: {error}") from error


def added(text: str, entries: Mapping[str, Mapping[str, Any]]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [TITLE]
    for event, handler in entries.items():
        lines += [f"[[hooks.{event}]]", f"hooks = [{_inline(handler)}]"]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    whole = text + gap + newline.join(lines) + newline
    try:
        parsed(whole)
    except BadSettings as error:
        raise BadSettings(
            "its hooks are written in a way that takes no more lines",
            "use the other file: --settings with the path of a hooks.json beside it",
        ) from error
    return whole


def removed(text: str, mark: str) -> str:
    """Without the pairs of lines that `added` wrote. An entry that was reshaped since stays."""
    end = r"\r?(?:\n|\Z)"
    ours = rf"^\[\[hooks\.\w+\]\]\r?\nhooks = \[[^\n]*{re.escape(mark)}\"[^\n]*\]{end}"
    title = rf"(?:^\r?\n)?^{re.escape(TITLE)}{end}"
    rest = re.sub(ours, "", text, flags=re.MULTILINE)
    return re.sub(title, "", rest, flags=re.MULTILINE)


def _inline(handler: Mapping[str, Any]) -> str:
    """An inline table. JSON's strings and numbers are TOML's too."""
    pairs = (f"{key} = {json.dumps(value)}" for key, value in handler.items())
    return "{ " + ", ".join(pairs) + " }"


def _number(written: str) -> tuple[str, str]:
    return ("number", written)
