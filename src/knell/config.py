"""The settings, from a file and the environment; where the state is; which host this is."""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from knell.core.errors import BadConfig

if TYPE_CHECKING:
    from knell.core.settings import Settings

MEND = "correct or remove the file"
LARGEST = 1_000_000  # bytes


def config_path(env: Mapping[str, str]) -> str:
    if env.get("KNELL_CONFIG"):
        return env["KNELL_CONFIG"]
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", "/"), ".config")
    return os.path.join(base, "knell", "config.toml")


def state_home(env: Mapping[str, str]) -> str:
    if env.get("KNELL_HOME"):
        return os.path.abspath(env["KNELL_HOME"])
    base = env.get("XDG_STATE_HOME") or os.path.join(env.get("HOME", "/"), ".local", "state")
    return os.path.join(base, "knell")


def recognise_host(home: str, boot: str, machine: str) -> str:
    """The name by which the records below `home` know this machine.

    A machine is known by its boot, whatever it is called now; after a reboot by its machine id and
    its name together, because cloned machines have one id. The file has a line for each name and
    boot. A new machine gets its own name, or that with a number if another one has it."""
    name, path = os.uname().nodename, os.path.join(home, "hosts")
    try:
        with open(path, errors="replace") as file:
            lines = [line.rstrip("\n").split("\t") for line in file.readlines(LARGEST)]
    except OSError:
        lines = []
    known = [line for line in lines if len(line) == 4]  # noqa: PLR2004 - label, name, boot, machine
    now = [line[0] for line in known if line[2] == boot]
    again = [line[0] for line in known if (line[1], line[3]) == (name, machine)]
    label = (now or again or [_free_name(name, {line[0] for line in known})])[-1]
    if boot and [label, name, boot, machine] not in known:  # one that cannot be read is no boot
        from knell import files

        with suppress(OSError):  # without the state's directory there are no records either
            files.append_line(path, "\t".join((label, name, boot, machine)))
    return label


def _free_name(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def load(env: Mapping[str, str]) -> "Settings":
    """The settings; a missing file is an error only if KNELL_CONFIG names it."""
    from knell.core.settings import Settings

    path = config_path(env)
    try:
        os.stat(path)  # usually there is no file; then nothing more is imported
        from knell import files

        text = files.read(path, LARGEST, devices=True)
    except FileNotFoundError:
        if env.get("KNELL_CONFIG"):
            why = f"KNELL_CONFIG names {path}, which does not exist"
            raise BadConfig(why, "correct or unset KNELL_CONFIG") from None
        return Settings()
    except OSError as error:
        raise BadConfig(f"cannot read {path}: {error.strerror}", MEND) from error
    import tomllib

    try:
        return parsed(tomllib.loads(text.decode()), path)
    except RecursionError:
        raise BadConfig(f"{path} is not valid TOML: nested too deeply", MEND) from None
    except ValueError as error:  # it is no TOML, no text, or has a number of thousands of digits
        raise BadConfig(f"{path} is not valid TOML: {error}", MEND) from error


def parsed(data: Mapping[str, Any], path: str) -> "Settings":
    from knell.core.ladder import LONGEST_WAIT
    from knell.core.settings import Settings

    seconds = f"seconds between 0 and {LONGEST_WAIT:.0f}"
    wanted: dict[type, str] = {float: seconds, int: "a whole number", tuple: "a list of texts"}
    wanted[str] = "a text"
    known = known_settings()
    all_known = f"known settings: {', '.join(sorted(known))}"
    fields: dict[str, Any] = {}
    for section, table in data.items():
        if not isinstance(table, dict):
            raise BadConfig(f"{path}: '{section}' is not a section", all_known)
        if section == "kinds":  # each is checked when it is needed: one that is bad spares the rest
            fields["kinds"] = tuple(cast("dict[str, object]", table).items())
            continue
        for key, value in cast("dict[str, object]", table).items():
            name = known.get(f"{section}.{key}")
            if name is None:
                hint = _nearest(f"{section}.{key}", known) or all_known
                raise BadConfig(f"{path}: unknown setting {section}.{key}", hint)
            default: object = Settings._field_defaults[name]
            kind = type(default)
            fields[name] = _as_type(kind, value, LONGEST_WAIT)
            if fields[name] is None:
                raise BadConfig(f"{path}: {section}.{key} must be {wanted[kind]}", MEND)
    return Settings(**fields)


def _nearest(name: str, known: Mapping[str, str]) -> str:
    """The hint for a setting that is misspelt; empty if none is like it."""
    import difflib

    close = difflib.get_close_matches(name, known, 2, 0.8)
    return f"did you mean {' or '.join(close)}?" if close else ""


def _as_type(kind: type, value: Any, longest: float) -> object:
    """The value of a setting; None if it is of another type."""
    if kind is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if number and 0 <= value <= longest else None
    if kind is int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return value if whole and value >= 0 else None
    if kind is tuple:
        texts = isinstance(value, list) and all(isinstance(part, str) for part in value)  # pyright: ignore[reportUnknownVariableType]
        return tuple(cast("list[str]", value)) if texts else None
    return value if isinstance(value, str) else None


def known_settings() -> dict[str, str]:
    """section.key in the file → field of Settings."""
    from knell.core.settings import Settings

    fields = (field for field in Settings._fields if field != "kinds")
    return {field.replace("_", ".", 1): field for field in fields}


def has_registry_above(*paths: str) -> bool:
    """Whether a registry file is in one of these directories or above; a look that imports
    nothing."""
    for folder in paths:
        path, below = folder, ""
        while path != below:
            if os.path.exists(os.path.join(path, ".hermes", "agent-sessions.yaml")):
                return True
            path, below = os.path.dirname(path), path
    return False
