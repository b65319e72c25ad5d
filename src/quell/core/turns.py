"""Whose turn it is, as the end of a conversation tells.

One function for each way in which programs write their conversations, read from the programs
themselves (docs/stalls.md). What a record does not clearly say stays unknown.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from quell.core.signs import Turn

Record = dict[str, Any]

_OPEN = (Turn.OPEN, Turn.TOOL)


def turn_of(dialect: str, tail: bytes, since: str = "") -> Turn:
    """From the last lines of the file, of which the first may be torn and the last half written.

    A turn that was open when an earlier run was cut short does not go on by itself: only what was
    written after `since` (as the records write it: 2026-11-15T22:49:36) can open one.
    """
    read = _DIALECTS.get(dialect)
    if read is None:
        return Turn.UNKNOWN
    records = list(_backwards(tail))
    turn = read(records)
    if turn in _OPEN and since:
        turn = read([one for one in records if str(one.get("timestamp", "")) >= since])
        return turn if turn in _OPEN else Turn.UNKNOWN
    return turn


def _backwards(tail: bytes) -> Iterator[Record]:
    """The records, the last first."""
    for line in reversed(tail.split(b"\n")):
        if not line.strip():
            continue
        try:
            record: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record  # pyright: ignore[reportUnknownVariableType]


def _inner(record: Record, key: str) -> Record:
    inner: Any = record.get(key)
    return inner if isinstance(inner, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _dicts(value: Any) -> list[Record]:
    if not isinstance(value, list):
        return []
    return [one for one in value if isinstance(one, dict)]  # pyright: ignore[reportUnknownVariableType]


# -- claude ------------------------------------------------------------------------------------

_TURN_OVER = ("end_turn", "stop_sequence", "refusal")
_NO_PROMPT = ("<command-", "<local-command-", "<bash-", "<task-notification")
_INTERRUPTED = "[Request interrupted by user"


def claude(records: Sequence[Record]) -> Turn:
    """`user` and `assistant` records count, and `turn_duration`, which closes a turn.

    One message may be several records with one id: a text, and each call of a tool."""
    answered: set[str] = set()
    message: list[Record] = []
    for record in records:
        if record.get("isSidechain") or record.get("isMeta"):
            continue
        if record.get("type") == "assistant":
            if message and _message_id(record) != _message_id(message[0]):
                break
            message.append(record)
        elif record.get("type") == "user":
            results = _results(record)
            if message and not results:
                break
            if not results and not answered and (turn := _of_prompt(record)) is not None:
                return turn
            answered |= results
        elif record.get("subtype") == "turn_duration" and not message and not answered:
            return Turn.DONE
    if message:
        return _of_message(message, answered)
    return Turn.OPEN if answered else Turn.UNKNOWN


def _message_id(record: Record) -> object:
    return _inner(record, "message").get("id")


def _of_message(message: Sequence[Record], answered: set[str]) -> Turn:
    parts = [part for record in message for part in _parts(record)]
    calls = {str(part.get("id")) for part in parts if part.get("type") == "tool_use"}
    if calls:
        return Turn.OPEN if calls <= answered else Turn.TOOL
    stop = _inner(message[0], "message").get("stop_reason")
    if message[0].get("isApiErrorMessage") or stop in _TURN_OVER:
        return Turn.DONE
    if stop == "tool_use":
        return Turn.TOOL  # the call itself stands in a record that is not written yet
    return Turn.OPEN if stop is None else Turn.UNKNOWN


def _results(record: Record) -> set[str]:
    parts = (part for part in _parts(record) if part.get("type") == "tool_result")
    return {str(part.get("tool_use_id")) for part in parts}


def _of_prompt(record: Record) -> Turn | None:
    """None for what is no prompt: commands of the program itself and what they printed."""
    if record.get("isCompactSummary"):
        return Turn.UNKNOWN
    text = next((str(part.get("text")) for part in _parts(record) if part.get("text")), "")
    if text.startswith(_INTERRUPTED):
        return Turn.DONE
    return None if text.startswith(_NO_PROMPT) else Turn.OPEN


def _parts(record: Record) -> list[Record]:
    content = _inner(record, "message").get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else _dicts(content)


# -- codex -------------------------------------------------------------------------------------

_CODEX_OVER = ("task_complete", "turn_complete", "turn_aborted")
_CODEX_BEGUN = ("task_started", "turn_started")


def codex(records: Sequence[Record]) -> Turn:
    """Turns begin and end with events; a call is open until an output bears its id."""
    answered: set[str] = set()
    tool = False
    for record in records:
        payload = _inner(record, "payload")
        what = str(payload.get("type", ""))
        if record.get("type") == "event_msg":
            if what in _CODEX_OVER:
                return Turn.DONE
            if what in _CODEX_BEGUN:
                return Turn.TOOL if tool else Turn.OPEN
        elif what.endswith("_call_output"):
            answered.add(str(payload.get("call_id")))
        elif what.endswith("_call") and payload.get("call_id"):
            tool = tool or str(payload["call_id"]) not in answered
    return Turn.UNKNOWN


# -- gemini ------------------------------------------------------------------------------------

_NO_TURN = ("<session_context>", "I ran the following shell command")
_CANCELLED = "[Operation Cancelled]"


def gemini(records: Sequence[Record]) -> Turn:
    """A call is written down only once its tool has answered; until then the record is empty.

    An answer that is a text may have a call that is not written yet: the screen must tell."""
    for record in records:
        what, content = record.get("type"), record.get("content")
        if "$set" in record:
            continue  # when it was last written, or all messages once more: after a cancel, too
        if what == "info" and content == "Request cancelled.":
            return Turn.DONE
        if what == "gemini":
            if record.get("toolCalls"):
                return Turn.OPEN
            return Turn.UNKNOWN if content else Turn.TOOL
        return _of_gemini_user(_dicts(content)) if what == "user" else Turn.UNKNOWN
    return Turn.UNKNOWN


def _of_gemini_user(parts: Sequence[Record]) -> Turn:
    if _CANCELLED in json.dumps(parts):
        return Turn.DONE
    text = str(parts[0].get("text", "")) if parts else ""
    return Turn.UNKNOWN if text.startswith(_NO_TURN) else Turn.OPEN


# -- opencode ----------------------------------------------------------------------------------


def opencode(records: Sequence[Record]) -> Turn:
    """Messages as its database has them, each with the number of its tools that are at work.

    A prompt may wait in line behind an answer that has been cut short: that is no open turn."""
    for number, record in enumerate(records):
        message = _inner(record, "message")
        if message.get("role") != "assistant":
            continue
        if not _inner(message, "time").get("completed"):
            return Turn.TOOL if record.get("running") else Turn.OPEN
        over = message.get("error") or message.get("finish") == "stop"
        return Turn.DONE if over and number == 0 else Turn.UNKNOWN
    return Turn.UNKNOWN


_DIALECTS: dict[str, Callable[[Sequence[Record]], Turn]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
}
