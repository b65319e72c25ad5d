"""Our hooks in another program's settings: found, put in and taken out, from bytes to bytes."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from knell.core.hooks import settings_text
from knell.core.hooks.entries import MARK, NAME, Hooks, entries
from knell.core.hooks.settings_text import BadSettings, JsonText, Path

BOM = "\ufeff"


class Found(NamedTuple):
    """One handler that knell wrote."""

    event: str
    group: int
    place: int  # in its group
    handler: Mapping[str, Any]


class Backup(NamedTuple):
    """What a settings file was before us, and how to tell whether it is still as we left it."""

    program: str
    path: str
    original: bytes | None  # None: there was no file
    installed: str  # digest of what we wrote
    made_directory: bool = False


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# -- what is there -------------------------------------------------------------------------------


def parsed(hooks: Hooks, path: str, content: bytes) -> dict[str, Any]:
    """The settings as a value; an empty file has none. Raises BadSettings, with the place."""
    text = _text(content)[1]
    if path.endswith(".toml"):
        return settings_text.parsed_toml(text)
    if not text.strip():
        return {}
    settings = JsonText(text, hooks.comments).parsed()
    if not isinstance(settings, dict):
        raise BadSettings("not a JSON object")
    return cast("dict[str, Any]", settings)


def found(settings: Mapping[str, Any]) -> list[Found]:
    """Our handlers, in the order of the file."""
    return [
        Found(event, number, place, handler)
        for event, groups in _events(settings).items()
        for number, group in enumerate(_listed(groups))
        for place, handler in enumerate(_handlers(group))
        if _is_ours(handler)
    ]


def has_events(settings: Mapping[str, Any]) -> bool:
    """Whether any hooks stand here; Codex keeps its record of trust beside them."""
    return any(isinstance(groups, list) for groups in _events(settings).values())


def is_complete(hooks: Hooks, settings: Mapping[str, Any]) -> bool:
    """Every entry is there once, as this version would write it."""
    there = sorted((one.event, _numbered(one.handler)) for one in found(settings))
    wanted = sorted((event, _numbered(handler)) for event, handler in entries(hooks).items())
    return there == wanted


def _events(settings: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(settings.get("hooks", {}), dict):
        raise BadSettings("'hooks' is not an object, so nothing can be added to it")
    return _object(settings.get("hooks"))


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _handlers(group: Any) -> list[Any]:
    return _listed(_object(group).get("hooks"))


def _is_ours(handler: Any) -> bool:
    return str(_object(handler).get("command")).endswith(MARK)


def _is_all_ours(group: Any) -> bool:
    handlers = _handlers(group)
    return bool(handlers) and all(_is_ours(handler) for handler in handlers)


def _numbered(handler: Mapping[str, Any]) -> list[tuple[str, str]]:
    """In a form that compares: JSON's numbers are kept as they were written."""
    return sorted(
        (key, str(value[1]) if isinstance(value, tuple) else str(value))  # pyright: ignore[reportUnknownArgumentType]
        for key, value in handler.items()
    )


# -- the edit ------------------------------------------------------------------------------------


def installed(hooks: Hooks, path: str, base: bytes | None) -> bytes:
    """`base`, which has none of our entries, with all of them; nothing else is changed."""
    before = base or b""
    after = _added(hooks, path, before)
    check(hooks, path, before, after)
    return after


def restored(hooks: Hooks, path: str, content: bytes | None, backup: Backup | None) -> bytes | None:
    """The file as it would be without our entries; None if there would be no file."""
    if content is None:
        return None
    if backup and digest(content) == backup.installed:
        return backup.original
    after = _removed(hooks, path, content)
    check(hooks, path, content, after)
    bare = "".join(_text(after)[1].split()) in {"", "{}"}
    return None if bare and backup and backup.original is None else after


def check(hooks: Hooks, path: str, before: bytes, after: bytes) -> None:
    """Raises unless both say the same, apart from our entries."""
    if rest(parsed(hooks, path, before)) != rest(parsed(hooks, path, after)):
        raise BadSettings("the edit would change more than our own entries, so it was not made")


def rest(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is not ours. An empty list of hooks says no more than none."""
    kept: dict[str, Any] = dict(_events(settings))
    for event, groups in _events(settings).items():
        if isinstance(groups, list):
            kept[event] = [_spared(group) for group in _listed(groups) if not _is_all_ours(group)]
    kept = {event: groups for event, groups in kept.items() if groups != []}
    others = {key: value for key, value in settings.items() if key != "hooks"}
    return {**others, "hooks": kept} if kept else others


def _spared(group: Any) -> Any:
    if not any(_is_ours(handler) for handler in _handlers(group)):
        return group
    return {**group, "hooks": [one for one in _handlers(group) if not _is_ours(one)]}


def _added(hooks: Hooks, path: str, content: bytes) -> bytes:
    bom, text = _text(content)
    settings = parsed(hooks, path, content)
    events = _events(settings)
    if path.endswith(".toml"):
        return (bom + settings_text.added_to_toml(text, entries(hooks))).encode()
    source = JsonText(text if text.strip() else "{}\n", hooks.comments)
    groups = {event: {"hooks": [handler]} for event, handler in entries(hooks).items()}
    if "hooks" not in settings:
        value = {event: [group] for event, group in groups.items()}
        return (bom + source.put((), "hooks", value).text).encode()
    for event, group in groups.items():
        if event not in events:
            source = source.put(("hooks",), event, [group])
        elif isinstance(events[event], list):
            # Last: Codex remembers by position which hooks a person has trusted.
            source = source.put(("hooks", event), None, group)
        else:
            raise BadSettings(f"'hooks.{event}' is not a list, so nothing can be added to it")
    return (bom + source.text).encode()


def _removed(hooks: Hooks, path: str, content: bytes) -> bytes:
    """Without our entries; a list or table that held nothing else is removed too."""
    bom, text = _text(content)
    settings = parsed(hooks, path, content)
    if not found(settings):
        return content
    if path.endswith(".toml"):
        after = settings_text.removed_from_toml(text, MARK)
        if found(settings_text.parsed_toml(after)):
            raise BadSettings(
                "our entries were rewritten since, so they cannot be recognised by their lines",
                f"take out by hand the hooks whose command ends with {MARK}",
            )
        return (bom + after).encode()
    source = JsonText(text, hooks.comments)
    for where in reversed(_cuts(_events(settings))):
        source = source.take(("hooks", *where))
    return (bom + source.text).encode()


def _cuts(events: Mapping[str, Any]) -> list[Path]:
    """Where to cut below 'hooks': a handler, or a group, an event or all if nothing else is in."""
    cuts: list[Path] = []
    for event, groups in events.items():
        if _listed(groups) and all(_is_all_ours(group) for group in groups):
            cuts.append((event,))
            continue
        for number, group in enumerate(_listed(groups)):
            if _is_all_ours(group):
                cuts.append((event, number))
            else:
                mine = [i for i, handler in enumerate(_handlers(group)) if _is_ours(handler)]
                cuts += [(event, number, "hooks", index) for index in mine]
    return [()] if sum(len(cut) == 1 for cut in cuts) == len(events) else cuts


def _text(content: bytes) -> tuple[str, str]:
    """The byte order mark, if there is one, and the rest; line ends as they are."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadSettings(f"not UTF-8 text, at byte {error.start}") from error
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)


# -- what a person should know -------------------------------------------------------------------


def diff(path: str, before: bytes, after: bytes) -> str:
    import difflib

    old, new = (content.decode(errors="replace").splitlines() for content in (before, after))
    return "\n".join(difflib.unified_diff(old, new, path, path, lineterm=""))


def notes(hooks: Hooks, path: str, content: bytes, switches: Mapping[str, Any]) -> list[str]:
    """Why hooks that are there would not run; `switches` is the file that can stop them."""
    ours = found(parsed(hooks, path, content))
    if not ours:
        return []
    reasons: list[str] = []
    if content.startswith(BOM.encode()) and path.endswith(".json") and not hooks.reads_bom:
        reasons.append("the program cannot read a file that starts with a byte order mark")
    if switches.get("disableAllHooks") is True:
        reasons.append("disableAllHooks is set there: none of them runs")
    config = _object(switches.get("hooksConfig"))
    if config.get("enabled") is False or NAME in _listed(config.get("disabled")):
        reasons.append("hooksConfig switches them off")
    if hooks.asks_for_trust:
        reasons += _notes_on_trust(path, ours, switches)
    return reasons


def _notes_on_trust(path: str, ours: list[Found], config: Mapping[str, Any]) -> list[str]:
    reasons: list[str] = []
    if _object(config.get("features")).get("hooks") is False:
        reasons.append("features.hooks is off in config.toml: none of them runs")
    states = _object(_object(config.get("hooks")).get("state"))
    records = [_object(states.get(_trust_key(path, one))) for one in ours]
    if not all(record.get("trusted_hash") for record in records):
        reasons.append("it runs them only once you have trusted them: it asks when it starts next")
    if any(record.get("enabled") is False for record in records):
        reasons.append("some are switched off in the program (/hooks)")
    return reasons


def _trust_key(path: str, one: Found) -> str:
    """As Codex names a hook in its record of trust: …/hooks.json:pre_tool_use:0:0."""
    event = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in one.event)
    return f"{path}:{event.lstrip('_')}:{one.group}:{one.place}"
