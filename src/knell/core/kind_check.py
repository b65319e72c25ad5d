"""Checks the record of a kind before it is used, and makes one from a table of the settings.

A fault is reported with the kind's name and the field; a kind with a fault is not loaded at all.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, cast

from knell.core.errors import BadConfig
from knell.core.kind import Kind

NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Set by more than one program. Stripped, they would break other agents; as `child_env`, they would
# make every process that lost its parent pass for what an agent left behind.
EVERYBODYS = frozenset({
    "HOME", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "SHELL", "USER", "LOGNAME", "TERM", "LANG",
    "TMPDIR", "DISPLAY", "EDITOR", "PAGER", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK",
})  # fmt: skip
WORD = re.compile(r"\{(\w+)\}")
HINT = "docs/kinds.md lists the fields"

# Fields whose value is a function or a record of its own: only Python can give them.
FUNCTIONS = ("cwd_key", "turn", "tell", "side", "said")
RECORDS = {
    "database": "Database",
    "serving": "Serving",
    "hooks": "Hooks",
    "mcp": "McpClient",
    "flags": "Flags",
    "headless": "HeadlessMode",
    "typed_log": "TypedLog",
}
PYTHON_ONLY = ("helpers", *FUNCTIONS, *RECORDS)
SETTABLE = tuple(field for field in Kind._fields if field not in {"name", *PYTHON_ONLY})

PAIRS = ("root_env",)
REGEXES = (
    *("id_pattern", "prompt_empty", "prompt_shown", "exit_shown", "busy", "rests", "asks"),
    *("limited", "retries", "blinks", "printed"),
)
VARIABLES = ("strip_env", "child_env", "session_env")
PATHS = ("conversation", "extras", "beside", "lock")
ID_NEEDED = ("choose_id", "resume", "fork", "forget")
PLACEHOLDERS = {
    **dict.fromkeys(ID_NEEDED, ("id",)),
    **dict.fromkeys(PATHS, ("id", "id8", "cwd_key")),
    "root": ("home",),
    "live_file": ("pid",),
    "prompt": ("prompt",),
}

Refuse = Callable[[str, str], NoReturn]


def kind_from_table(name: str, table: Mapping[str, object], where: str) -> Kind:
    """Makes the record: lists become tuples, tables become pairs. `check` checks their values."""
    for field in table:
        if field not in SETTABLE:
            why = "can only be given in Python" if field in PYTHON_ONLY else "is unknown"
            raise BadConfig(f"{where}: field {field} {why}", f"known: {', '.join(SETTABLE)}")
    fields: dict[str, Any] = {field: _as_given(field, value) for field, value in table.items()}
    return Kind(name, **fields)


def _as_given(field: str, value: object) -> object:
    if isinstance(value, list):
        return tuple(cast("list[object]", value))
    if field in PAIRS and isinstance(value, dict):
        return tuple(cast("dict[str, object]", value).items())
    return value


def check(kind: Kind, where: str) -> None:
    """Raises BadConfig that names the first field with a fault."""

    def refuse(field: str, why: str) -> NoReturn:
        raise BadConfig(f"{where}: field {field}: {why}", HINT)

    for field, value in kind._asdict().items():
        _check_type(field, value, refuse)
    if not NAME.fullmatch(kind.name):
        refuse("name", f"{kind.name!r} must be small letters, digits, - and _, a letter first")
    _check_texts(kind, refuse)
    _check_sense(kind, refuse)


def _check_type(field: str, value: object, refuse: Refuse) -> None:
    if field in RECORDS:
        good, wanted = value is None or _is_record(value, RECORDS[field]), f"a {RECORDS[field]}"
    elif field in FUNCTIONS:
        good, wanted = value is None or callable(value), "a function"
    elif field in ("busy_in_answers", "holds", "may_vanish"):
        good, wanted = isinstance(value, bool), "true or false"
    elif isinstance(Kind._field_defaults.get(field), tuple):
        test, wanted = PARTS.get(field, (_is_filled, "a list of texts, none of them empty"))
        good = isinstance(value, tuple) and all(map(test, cast("tuple[object]", value)))
    else:
        good, wanted = isinstance(value, str), "a text"
    if not good:
        refuse(field, f"it must be {wanted}")
    for one in _records(cast("object", value)):
        _check_parts(field, one, refuse)
    if any("\0" in text for text in _texts(cast("object", value))):
        refuse(field, "it contains a null byte")


def _is_record(value: object, name: str) -> bool:
    made = type(value)
    return made.__name__ == name and made.__module__.startswith("knell.core.")


def _records(value: object) -> "Iterator[Any]":
    """The records in a field: itself, or each helper."""
    some = cast("tuple[object, ...]", value) if type(value) is tuple else (value,)
    yield from (one for one in some if hasattr(one, "_fields"))


def _check_parts(field: str, one: Any, refuse: Refuse) -> None:
    """Each part of a record is of the type that the record says; of a function no more is known."""
    for part, type_ in type(one).__annotations__.items():
        value = getattr(one, part)
        if type_ is str:
            good, wanted = isinstance(value, str), "a text"
        elif type_ is bool:
            good, wanted = isinstance(value, bool), "true or false"
        elif type_ == tuple[str, ...]:
            wanted = "a tuple of texts"
            good = isinstance(value, tuple) and all(
                isinstance(text, str) for text in cast("tuple[object, ...]", value)
            )
        else:
            left_out = value is None and part in one._field_defaults
            good, wanted = left_out or callable(value), "a function"
        if not good:
            refuse(f"{field}.{part}", f"it must be {wanted}")


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and [type(one) for one in cast("Any", value)] == [str, str]


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and bool(value)


PARTS: dict[str, tuple[Callable[[object], bool], str]] = {
    "helpers": (lambda value: _is_record(value, "Helper"), "several Helper"),
    **dict.fromkeys(PAIRS, (_is_pair, "a table of texts")),
}


def _texts(value: object) -> Iterator[str]:
    """Every text in a field."""
    if isinstance(value, str):
        yield value
    elif type(value) is tuple:
        for one in cast("tuple[object]", value):
            yield from _texts(one)


def _check_texts(kind: Kind, refuse: Refuse) -> None:
    for field in REGEXES:
        for regex in _texts(getattr(kind, field)):
            try:
                re.compile(regex)
            except (re.error, OverflowError, RecursionError) as error:
                refuse(field, f"{regex!r} is no regular expression: {error}")
    for regex in kind.printed:
        if re.compile(regex).groups != 1:
            refuse("printed", f"{regex!r} must have one group, the id")
    for field, allowed in PLACEHOLDERS.items():
        words = (word for text in _texts(getattr(kind, field)) for word in WORD.findall(text))
        unknown = next((word for word in words if word not in allowed), "")
        if unknown:
            known = ", ".join(f"{{{word}}}" for word in allowed)
            refuse(field, f"unknown placeholder {{{unknown}}}; it may use {known}")


def _check_sense(kind: Kind, refuse: Refuse) -> None:
    """What would start the wrong program, or would let a purge delete the files of others."""
    _check_program(kind, refuse)
    for field in ID_NEEDED:
        argv = getattr(kind, field)
        if argv and not any("{id}" in word for word in argv):
            refuse(field, "it must contain {id}, else it means any conversation")
    if len(kind.skills) not in {0, 3}:
        refuse("skills", "it has three texts: a variable, the path below it, the path below home")
    _check_root(kind, refuse)
    if kind.conversation and not kind.root:
        refuse("root", "it is missing: conversations are looked for below it")
    for field in PATHS:
        for glob in filter(None, _texts(getattr(kind, field))):
            _check_path(kind, field, glob, refuse)


def _check_program(kind: Kind, refuse: Refuse) -> None:
    """What is executed and typed, and what is told by its variables and files."""
    if not kind.program:
        refuse("program", "it is missing")
    if "/" in kind.program and not kind.program.startswith("/"):
        refuse("program", f"{kind.program!r} must be a name on PATH or a whole path")
    if not kind.exit_keys.isprintable():  # a line break in it would be Enter, before any look
        refuse("exit_keys", f"{kind.exit_keys!r} holds a control character; knell presses Enter")
    if not any("{prompt}" in word for word in kind.prompt):
        refuse("prompt", "it must contain {prompt}")
    if kind.live_file and "{pid}" not in kind.live_file:
        refuse("live_file", "it must contain {pid}, else it means any process")
    for field in VARIABLES:
        for name in filter(None, _texts(getattr(kind, field))):
            if not VARIABLE.fullmatch(name):
                refuse(field, f"{name!r} is no name of a variable")
            if name in EVERYBODYS or name.startswith(("KNELL_", "LC_")):
                refuse(field, f"{name} is not set by this program alone")


def _check_root(kind: Kind, refuse: Refuse) -> None:
    """A path that is not whole would mean another directory in each place that knell is called."""
    if kind.root and not f"{kind.root}/".startswith(("/", "{home}/")):
        refuse("root", f"{kind.root!r} must begin with {{home}} or /")
    if ".." in kind.root.split("/"):
        refuse("root", f"{kind.root!r} leads out of it again")
    for name, suffix in kind.root_env:
        if not VARIABLE.fullmatch(name):
            refuse("root_env", f"{name!r} is no name of a variable")
        if ".." in suffix.split("/"):
            refuse("root_env", f"{suffix!r} leads out of what {name} says")


def _check_path(kind: Kind, field: str, glob: str, refuse: Refuse) -> None:
    if glob.startswith("/") or ".." in glob.split("/"):
        refuse(field, f"{glob!r} leads out of the root")
    if kind.database is None and "{id}" not in glob and "{id8}" not in glob:
        refuse(field, f"{glob!r} must contain {{id}} or {{id8}}, else it means all files")
    if "{cwd_key}" in glob and kind.cwd_key is None:
        refuse(field, "{cwd_key} needs the function cwd_key, which only Python can give")
