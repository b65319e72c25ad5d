"""Our hooks in somebody's settings: found, put in and taken out, bytes to bytes."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from quell.core import tomlhooks
from quell.core.hooks import MARK, NAME, Program, entries
from quell.core.jsontext import BadSettings, JsonText, Path

BOM = "\ufeff"


class Found(NamedTuple):
    """One handler of ours."""

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


def parsed(program: Program, path: str, content: bytes) -> dict[str, Any]:
    """The settings as a value; an empty file has none. Raises BadSettings, with the place."""
    return _parsed(program, path, _text(content)[1])


def found(settings: Mapping[str, Any]) -> list[Found]:
    return list(_found(_events(settings)))


def has_events(settings: Mapping[str, Any]) -> bool:
    """Whether hooks of anybody stand here; Codex keeps its record of trust beside them."""
    return any(isinstance(groups, list) for groups in _events(settings).values())


def is_complete(program: Program, settings: Mapping[str, Any]) -> bool:
    """Every entry is there once, as this version would write it."""
    there = sorted((one.event, _numbered(one.handler)) for one in found(settings))
    wanted = sorted((event, _numbered(handler)) for event, handler in entries(program).items())
    return there == wanted


def _events(settings: Mapping[str, Any]) -> dict[str, Any]:
    events = settings.get("hooks", {})
    if not isinstance(events, dict):
        raise BadSettings("'hooks' is not an object, so nothing can be added to it")
    return cast("dict[str, Any]", events)


def _found(events: Mapping[str, Any]) -> Iterator[Found]:
    for event, groups in events.items():
        for number, group in enumerate(_listed(groups)):
            mine = [place for place in enumerate(_handlers(group)) if _is_ours(place[1])]
            yield from (Found(event, number, place, handler) for place, handler in mine)


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _handlers(group: Any) -> list[Any]:
    return _listed(cast("dict[str, Any]", group).get("hooks")) if isinstance(group, dict) else []


def _is_ours(handler: Any) -> bool:
    if not isinstance(handler, dict):
        return False
    command = cast("dict[str, Any]", handler).get("command")
    return isinstance(command, str) and command.endswith(MARK)


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


def installed(program: Program, path: str, base: bytes | None) -> bytes:
    """`base`, which has no entry of ours, with all of them; nothing else is changed."""
    before = base or b""
    after = _added(program, path, before)
    check(program, path, before, after)
    return after


def restored(
    program: Program, path: str, content: bytes | None, backup: Backup | None
) -> bytes | None:
    """The file as it would be without us; None if it would not be."""
    if content is None:
        return None
    if backup and digest(content) == backup.installed:
        return backup.original
    after = _removed(program, path, content)
    check(program, path, content, after)
    bare = "".join(_text(after)[1].split()) in {"", "{}"}
    return None if bare and backup and backup.original is None else after


def check(program: Program, path: str, before: bytes, after: bytes) -> None:
    """Raises unless both say the same, apart from our entries."""
    if rest(parsed(program, path, before)) != rest(parsed(program, path, after)):
        raise BadSettings("the edit would change more than our own entries, so it was not made")


def rest(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is not ours. An empty list of hooks says no more than none."""
    kept: dict[str, Any] = {}
    for event, groups in _events(settings).items():
        spared = groups
        if isinstance(groups, list):
            spared = [_spared(group) for group in _listed(groups) if not _is_all_ours(group)]
        if spared != []:
            kept[event] = spared
    others = {key: value for key, value in settings.items() if key != "hooks"}
    return {**others, "hooks": kept} if kept else others


def _spared(group: Any) -> Any:
    if not any(_is_ours(handler) for handler in _handlers(group)):
        return group
    return {**group, "hooks": [one for one in _handlers(group) if not _is_ours(one)]}


def _added(program: Program, path: str, content: bytes) -> bytes:
    bom, text = _text(content)
    events = _events(_parsed(program, path, text))
    if path.endswith(".toml"):
        return (bom + tomlhooks.added(text, entries(program))).encode()
    source = JsonText(text if text.strip() else "{}\n", program.comments)
    if "hooks" not in source.parsed():
        groups = {event: [_group(handler)] for event, handler in entries(program).items()}
        return (bom + source.put((), "hooks", groups).text).encode()
    for event, handler in entries(program).items():
        if event not in events:
            source = source.put(("hooks",), event, [_group(handler)])
        elif isinstance(events[event], list):
            # Last: Codex remembers by position which hooks a person has trusted.
            source = source.put(("hooks", event), None, _group(handler))
        else:
            raise BadSettings(f"'hooks.{event}' is not a list, so nothing can be added to it")
    return (bom + source.text).encode()


def _group(handler: dict[str, Any]) -> dict[str, Any]:
    return {"hooks": [handler]}


def _removed(program: Program, path: str, content: bytes) -> bytes:
    """Without any entry of ours; what holds nothing else goes with it."""
    bom, text = _text(content)
    settings = _parsed(program, path, text)
    if not found(settings):
        return content
    if path.endswith(".toml"):
        return (bom + _removed_from_toml(text)).encode()
    source = JsonText(text, program.comments)
    for where in reversed(_cuts(_events(settings))):
        source = source.take(("hooks", *where))
    return (bom + source.text).encode()


def _removed_from_toml(text: str) -> str:
    after = tomlhooks.removed(text, MARK)
    if found(tomlhooks.parsed(after)):
        raise BadSettings(
            "our entries were rewritten since, so they cannot be told by their lines",
            f"take out by hand the hooks whose command ends with {MARK}",
        )
    return after


def _cuts(events: Mapping[str, Any]) -> list[Path]:
    """Where to cut below 'hooks': a handler, or a group, an event or all if nothing else is in."""
    cuts: list[Path] = []
    for event, groups in events.items():
        whole = [number for number, group in enumerate(_listed(groups)) if _is_all_ours(group)]
        if whole and len(whole) == len(groups):
            cuts.append((event,))
            continue
        for number, group in enumerate(_listed(groups)):
            if number in whole:
                cuts.append((event, number))
            else:
                mine = [i for i, handler in enumerate(_handlers(group)) if _is_ours(handler)]
                cuts += [(event, number, "hooks", index) for index in mine]
    return [()] if sum(len(cut) == 1 for cut in cuts) == len(events) else cuts


def _parsed(program: Program, path: str, text: str) -> dict[str, Any]:
    if path.endswith(".toml"):
        return tomlhooks.parsed(text)
    if not text.strip():
        return {}
    settings = JsonText(text, program.comments).parsed()
    if not isinstance(settings, dict):
        raise BadSettings("not a JSON object")
    return cast("dict[str, Any]", settings)


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


def notes(program: Program, path: str, content: bytes, switches: Mapping[str, Any]) -> list[str]:
    """Why hooks that are there would not run; `switches` is the file that can stop them."""
    ours = found(parsed(program, path, content))
    if not ours:
        return []
    told: list[str] = []
    if content.startswith(BOM.encode()) and path.endswith(".json") and not program.reads_bom:
        told.append(f"{program.name} cannot read a file that starts with a byte order mark")
    if switches.get("disableAllHooks") is True:
        told.append("disableAllHooks is set there: none of them runs")
    config = _table(switches, "hooksConfig")
    if config.get("enabled") is False or NAME in _listed(config.get("disabled")):
        told.append("hooksConfig switches them off")
    if program.name == "codex":
        told += _codex_notes(path, ours, switches)
    return told


def _codex_notes(path: str, ours: list[Found], config: Mapping[str, Any]) -> list[str]:
    told: list[str] = []
    if _table(config, "features").get("hooks") is False:
        told.append("features.hooks is off in config.toml: none of them runs")
    states = _table(_table(config, "hooks"), "state")
    records = [_table(states, _codex_key(path, one)) for one in ours]
    if not all(record.get("trusted_hash") for record in records):
        told.append("Codex runs them only once you have trusted them: it asks when it starts next")
    if any(record.get("enabled") is False for record in records):
        told.append("some are switched off in Codex (/hooks)")
    return told


def _codex_key(path: str, one: Found) -> str:
    """As Codex names a hook in its record of trust: …/hooks.json:pre_tool_use:0:0."""
    event = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in one.event)
    return f"{path}:{event.lstrip('_')}:{one.group}:{one.place}"


def _table(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = settings.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
