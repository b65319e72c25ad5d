"""Heartbeat hooks: what each program wants in its settings, and the edit itself, text to text.

Where the facts come from is in docs/hooks.md: the programs' own packages, and a trial of each.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from quell.core import tomlhooks
from quell.core.jsontext import BadSettings, JsonText, Path

BOM = "\ufeff"
NAME = "quell-heartbeat"
# Every command of ours ends like this: a comment inside the sh script, so that whatever shell
# the program uses, it sees one quoted word.
MARK = "# quell'"


class Program(NamedTuple):
    """One agent program, as far as its hooks are concerned."""

    name: str
    home_variable: str  # moves the settings directory
    home: str  # below that variable's directory
    default_home: str  # below the person's home directory
    files: tuple[str, ...]  # where hooks may stand; new ones go to the first
    beats: tuple[str, ...]  # events that show life
    switches: str  # the file that can switch hooks off
    comments: bool = False  # whether its JSON may have comments
    milliseconds: bool = False  # of the timeout; otherwise seconds
    answers: bool = False  # whether it wants JSON on stdout
    expands: bool = False  # whether it puts variables into its settings when it reads them
    named: bool = False  # whether a hook has a name

    def directory(self, env: Mapping[str, str]) -> str:
        moved = env.get(self.home_variable)
        return f"{moved}{self.home}" if moved else f"{env.get('HOME', '')}/{self.default_home}"


# Of Claude's events only those that are there since 1.0.85: an older one takes a settings file with
# an event that it does not know for invalid, and then ignores all of it.
CLAUDE = Program(
    "claude", "CLAUDE_CONFIG_DIR", "", ".claude", ("settings.json",),
    ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Notification", "Stop", "SubagentStop",
     "PreCompact"),
    switches="settings.json",
)  # fmt: skip
CODEX = Program(
    "codex", "CODEX_HOME", "", ".codex", ("hooks.json", "config.toml"),
    ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop", "PreCompact"),
    switches="config.toml",
)  # fmt: skip
GEMINI = Program(
    "gemini", "GEMINI_CLI_HOME", "/.gemini", ".gemini", ("settings.json",),
    ("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "Notification", "PreCompress"),
    switches="settings.json", comments=True, milliseconds=True, answers=True, expands=True,
    named=True,
)  # fmt: skip
PROGRAMS = {program.name: program for program in (CLAUDE, CODEX, GEMINI)}

START, END = "SessionStart", "SessionEnd"  # the same in all three
BEAT_SECONDS = 5
END_SECONDS = 3  # Codex allows no more
LINE_BYTES = 8192  # of the program's own words about a session


# -- what goes in --------------------------------------------------------------------------------


def entries(program: Program) -> dict[str, dict[str, Any]]:
    """Event → our one handler for it."""
    beat = _command(program, "")
    return {
        START: _handler(program, _command(program, "session-start"), BEAT_SECONDS),
        **{event: _handler(program, beat, BEAT_SECONDS) for event in program.beats},
        END: _handler(program, _command(program, "session-end"), END_SECONDS),
    }


def _handler(program: Program, command: str, seconds: int) -> dict[str, Any]:
    name = {"name": NAME} if program.named else {}
    timeout = seconds * 1000 if program.milliseconds else seconds
    return {**name, "type": "command", "command": command, "timeout": timeout}


def _command(program: Program, record: str) -> str:
    """A silent script that always succeeds. Its standard input is read to the end: Claude and
    Codex report a hook as failed that leaves before it was told everything."""
    # A program that expands would paste the path into the script, with whatever quotes it has.
    beat = '"$(printenv QUELL_HEARTBEAT)"' if program.expands else '"$QUELL_HEARTBEAT"'
    steps = f"set -- {beat}; [ -n \"$1\" ] && touch \"$1\""
    if record:
        told = f'"$(head -c {LINE_BYTES} | tr -d "\\r\\n")"'
        line = 'printf "%s %s\\n" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$2"'
        steps = f'umask 077; set -- {beat} {told}; [ -n "$1" ] && touch "$1" && '
        steps += f'{line} >>"$(dirname "$1")/{record}"'
    answer = ' echo "{}";' if program.answers else ""
    return f"sh -c '{{ {steps}; cat; }} >/dev/null 2>&1;{answer} exit 0 {MARK}"


# -- what is there -------------------------------------------------------------------------------


class Found(NamedTuple):
    """One handler of ours in somebody's settings."""

    event: str
    group: int
    index: int
    handler: Mapping[str, Any]


def parsed(program: Program, path: str, content: bytes) -> dict[str, Any]:
    """The settings as a value; an empty file has none. Raises BadSettings, with the place."""
    return _parsed(_text(content)[1], program, path)


def found(settings: Mapping[str, Any]) -> list[Found]:
    return list(_found(_events(settings)))


def is_complete(program: Program, settings: Mapping[str, Any]) -> bool:
    """Every entry is there once, as this version would write it."""
    there = [(one.event, _plain(one.handler)) for one in found(settings)]
    return sorted(there, key=lambda pair: pair[0]) == sorted(entries(program).items())


def has_events(settings: Mapping[str, Any]) -> bool:
    """Whether anybody has hooks in here; Codex keeps its own record of trust beside them."""
    return any(isinstance(groups, list) for groups in _events(settings).values())


def _events(settings: Mapping[str, Any]) -> dict[str, Any]:
    events = settings.get("hooks", {})
    if not isinstance(events, dict):
        raise BadSettings("'hooks' is not an object, so nothing can be added to it")
    return cast("dict[str, Any]", events)


def _found(events: Mapping[str, Any]) -> Iterator[Found]:
    for event, groups in events.items():
        for number, group in enumerate(_listed(groups)):
            for index, handler in enumerate(_handlers(group)):
                if _is_ours(handler):
                    yield Found(event, number, index, handler)


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _handlers(group: Any) -> list[Any]:
    return _listed(cast("dict[str, Any]", group).get("hooks")) if isinstance(group, dict) else []


def _is_ours(handler: Any) -> bool:
    if not isinstance(handler, dict):
        return False
    command = cast("dict[str, Any]", handler).get("command")
    return isinstance(command, str) and command.endswith(MARK)


def _plain(handler: Mapping[str, Any]) -> dict[str, Any]:
    """As a handler of ours is written: the text of a number back to the number."""
    timeout = handler.get("timeout")
    if isinstance(timeout, tuple) and timeout[1].isdigit():
        return {**handler, "timeout": int(timeout[1])}
    return dict(handler)


# -- the edit ------------------------------------------------------------------------------------


def added(program: Program, path: str, content: bytes) -> bytes:
    """The settings with all our entries, of which `content` has none."""
    bom, text = _text(content)
    events = _events(_parsed(text, program, path))
    if _is_toml(path):
        return _bytes(bom, tomlhooks.added(text, entries(program)))
    source = JsonText(text if text.strip() else "{}\n", program.comments)
    if "hooks" not in source.parsed():
        groups = {event: [_group(handler)] for event, handler in entries(program).items()}
        return _bytes(bom, source.put((), "hooks", groups).text)
    for event, handler in entries(program).items():
        if event not in events:
            source = source.put(("hooks",), event, [_group(handler)])
        elif isinstance(events[event], list):
            # At the end: Codex remembers by position which hooks a person has trusted.
            source = source.put(("hooks", event), None, _group(handler))
        else:
            raise BadSettings(f"'hooks.{event}' is not a list, so nothing can be added to it")
    return _bytes(bom, source.text)


def removed(program: Program, path: str, content: bytes) -> bytes:
    """The settings without any entry of ours; what we had made empty goes too."""
    bom, text = _text(content)
    settings = _parsed(text, program, path)
    if not found(settings):
        return content
    if _is_toml(path):
        return _bytes(bom, tomlhooks.removed(text, MARK))
    source = JsonText(text, program.comments)
    for where in reversed(_outermost(_events(settings))):
        source = source.take(("hooks", *where))
    return _bytes(bom, source.text)


def check(program: Program, path: str, before: bytes, after: bytes) -> None:
    """Raises unless both say the same, apart from our entries."""
    if rest(parsed(program, path, before)) != rest(parsed(program, path, after)):
        raise BadSettings("the edit would have changed more than our own entries; nothing done")


def rest(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is not ours. An empty list of hooks says no more than none."""
    kept: dict[str, Any] = {}
    for event, groups in _events(settings).items():
        if isinstance(groups, list):
            groups = [_spared(group) for group in _listed(groups) if not _is_all_ours(group)]
        if groups != []:
            kept[event] = groups
    others = {key: value for key, value in settings.items() if key != "hooks"}
    return {**others, "hooks": kept} if kept else others


def _spared(group: Any) -> Any:
    if not any(_is_ours(handler) for handler in _handlers(group)):
        return group
    return {**group, "hooks": [one for one in _handlers(group) if not _is_ours(one)]}


def _is_all_ours(group: Any) -> bool:
    handlers = _handlers(group)
    return bool(handlers) and all(_is_ours(handler) for handler in handlers)


def _outermost(events: Mapping[str, Any]) -> list[Path]:
    """Where to cut, below 'hooks': a whole group, event or all of it, if nothing else is in it."""
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


def _group(handler: dict[str, Any]) -> dict[str, Any]:
    return {"hooks": [handler]}


# -- bytes and text ------------------------------------------------------------------------------


def _is_toml(path: str) -> bool:
    return path.endswith(".toml")


def _parsed(text: str, program: Program, path: str) -> dict[str, Any]:
    if _is_toml(path):
        return tomlhooks.parsed(text)
    if not text.strip():
        return {}
    settings = JsonText(text, program.comments).parsed()
    if not isinstance(settings, dict):
        raise BadSettings("not a JSON object")
    return cast("dict[str, Any]", settings)


def _text(content: bytes) -> tuple[str, str]:
    """A byte order mark, if there is one, and the rest; line ends as they are."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadSettings(f"not UTF-8 text, at byte {error.start}") from error
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)


def _bytes(bom: str, text: str) -> bytes:
    return (bom + text).encode()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
