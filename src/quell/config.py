"""TOML and environment → one frozen Settings. A bad file is an error, never a default."""

import errno
import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from quell.core.errors import BadConfig

if TYPE_CHECKING:
    from quell.core.settings import Settings

MEND = "mend or remove the file"
LARGEST = 1_000_000  # bytes

# section.key in the file → field of Settings
KEYS = {
    "kill.grace": "kill_grace",
    "stop.exit_wait": "stop_exit_wait",
    "stop.grace": "stop_grace",
    "children.grace": "children_grace",
    "children.keep": "children_keep",
    "spawn.place": "place",
    "spawn.timeout": "spawn_timeout",
    "tmux.server": "tmux_server",
    "stop.default_mode": "stop_mode",
    "stop.watch_after": "watch_after",
    "registry.file": "registry",
    "watch.interval": "watch_interval",
    "watch.stalled": "stall_policy",
    "watch.policies": "stall_policies",
    "watch.cleanup": "stall_cleanup",
    "team.shutdown_wait": "shutdown_wait",
    "stall.after": "stall_after",
    "stall.tool_after": "stall_tool_after",
}


def config_path(env: Mapping[str, str]) -> str:
    if env.get("QUELL_CONFIG"):
        return env["QUELL_CONFIG"]
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", "/"), ".config")
    return os.path.join(base, "quell", "config.toml")


def state_home(env: Mapping[str, str]) -> str:
    if env.get("QUELL_HOME"):
        return os.path.abspath(env["QUELL_HOME"])
    base = env.get("XDG_STATE_HOME") or os.path.join(env.get("HOME", "/"), ".local", "state")
    return os.path.join(base, "quell")


def load(env: Mapping[str, str]) -> "Settings":
    """The settings; a file that was named but is not there is an error, an unnamed one is not."""
    from quell.core.settings import Settings

    path = config_path(env)
    try:
        text = _content(path)
    except FileNotFoundError:
        if env.get("QUELL_CONFIG"):
            raise BadConfig(
                f"QUELL_CONFIG names {path}, which is not there", "correct or unset QUELL_CONFIG"
            ) from None
        return Settings()
    except OSError as error:
        raise BadConfig(f"cannot read {path}: {error.strerror}", MEND) from error
    import tomllib

    try:
        return parsed(tomllib.loads(text.decode()), path)
    except RecursionError:
        raise BadConfig(f"{path} is not valid TOML: nested too deeply", MEND) from None
    except ValueError as error:  # no TOML, no text, or a number of thousands of digits
        raise BadConfig(f"{path} is not valid TOML: {error}", MEND) from error


def _content(path: str) -> bytes:
    """OSError also for a fifo, which nobody may ever write to, and for a device without end."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise OSError(errno.EFBIG, "it is too large for a settings file")
    return text


def parsed(data: Mapping[str, Any], path: str) -> "Settings":
    from quell.core.settings import Settings

    fields: dict[str, Any] = {}
    for section, table in data.items():
        if not isinstance(table, dict):
            raise BadConfig(f"{path}: '{section}' is not a section", _known())
        for key, value in table.items():  # pyright: ignore[reportUnknownVariableType]
            name = KEYS.get(f"{section}.{key}")
            if name is None:
                raise BadConfig(f"{path}: unknown setting {section}.{key}", _known())
            fields[name] = _checked(path, f"{section}.{key}", name, value)
    return Settings(**fields)


def _checked(path: str, key: str, name: str, value: Any) -> Any:
    from quell.core.ladder import LONGEST_WAIT
    from quell.core.settings import Settings

    default = Settings._field_defaults[name]
    if isinstance(default, float):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and 0 <= value <= LONGEST_WAIT:
            return float(value)
        raise BadConfig(f"{path}: {key} must be seconds between 0 and {LONGEST_WAIT:.0f}", MEND)
    if isinstance(default, tuple):
        if isinstance(value, list) and all(isinstance(part, str) for part in value):  # pyright: ignore[reportUnknownVariableType]
            return tuple(cast("list[str]", value))
        raise BadConfig(f"{path}: {key} must be a list of texts", MEND)
    if isinstance(value, str):
        return value
    raise BadConfig(f"{path}: {key} must be a text", MEND)


def _known() -> str:
    return f"known settings: {', '.join(sorted(KEYS))}"
