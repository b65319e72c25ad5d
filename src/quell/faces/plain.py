"""The verbs that are typed all day, read without click: to load it takes longer than they do.

Only what is spelt out is understood here. Help, an abbreviation, a rare option, a mistake: then
click reads the same words, by the options in faces/cli; tests/fast holds both to one meaning.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Given = dict[str, Any]
Spelt = Mapping[str, tuple[str, Any]]  # as it is written → (parameter, value or type)

_JSON: Spelt = {"--json": ("json_wanted", True)}
_LIST: Spelt = {
    "--all": ("everybody", True),
    "-a": ("everybody", True),
    "--names": ("names", True),
    "-q": ("names", True),
    **_JSON,
}
_KILL: Spelt = {
    "--grace": ("grace", float),
    "--force": ("force", True),
    "-f": ("force", True),
    "--reason": ("detail", str),
    "--strict-pane": ("strict_pane", True),
    "--dissolve": ("dissolve", True),
    "--no-children": ("children", False),
    "--yes": ("yes", True),
    "-y": ("yes", True),
    "--go": ("yes", True),
    "--dry-run": ("dry_run", True),
    "-n": ("dry_run", True),
    **_JSON,
}
_UNSAID: Mapping[str, Any] = {"grace": None, "detail": "", "children": True}  # others: False
_OPTIONS: Mapping[str, Spelt] = {"list": _LIST, "ls": _LIST, "ps": _LIST, "kill": _KILL}


def answered(words: Sequence[str]) -> int | None:
    """The exit code of `quell WORDS`; None, and nothing done, if that is for click to read."""
    if "_QUELL_COMPLETE" in os.environ or (found := read(words)) is None:
        return None
    verb, targets, given = found
    return _verb(verb)(targets, **given)


def read(words: Sequence[str]) -> tuple[str, tuple[str, ...], Given] | None:
    """Verb, targets and options; None for whatever is not quite plain."""
    spelt = _OPTIONS.get(words[0]) if words else None
    if spelt is None:
        return None
    verb = "kill" if spelt is _KILL else "list"
    given: Given = {name: _UNSAID.get(name, False) for name, _ in spelt.values()}
    if verb == "kill":
        given |= {"tasks": "", "cleanup": ""}
    targets: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-") or word == "-":
            targets.append(word)
            continue
        option, equals, value = word.partition("=")
        name, meant = spelt.get(option, ("", None))
        if callable(meant):
            value = value if equals else next(rest, "-")
            if value.startswith("-"):  # a negative number, or an option in its place
                return None
            try:
                given[name] = meant(value)
            except ValueError:
                return None
        elif not name or equals:
            return None
        else:
            given[name] = meant
    return None if targets and verb == "list" else (verb, tuple(targets), given)


def _verb(name: str) -> Callable[..., int]:
    if name == "list":
        from quell.faces.listing import listed

        return listed
    from quell.faces.killing import killed

    return killed
