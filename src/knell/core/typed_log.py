"""Follows a program through its own log of what was typed: for one that tells nothing itself.

Gemini logs each line that a person types under the id that the process began with, and keeps
logging under it after `/clear`. The conversation that holds the line at that time is the one the
process is in. Where that does not single out one conversation, it is not known.

Each process writes the whole log anew, so that two which log at the same moment can lose a line.
What stands in a conversation and in no line of the log may be what the process did unseen.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

SOON = 30.0  # seconds in which a line that was typed stands in its conversation: hooks come between
BEGINS = 10.0  # seconds in which a command that begins a conversation has begun it
EARLY = 2.0  # seconds by which a time may lie before the event that it belongs to


class SaidLine(NamedTuple):
    """Something that a person said, in a conversation."""

    at: float
    text: str


class Chat(NamedTuple):
    """One conversation of the directory."""

    id: str
    began: float
    said: tuple[SaidLine, ...] = ()


class TypedLine(NamedTuple):
    """A line of the log: `process` is the id of the conversation that the process began with."""

    process: str
    at: float
    text: str


class TypedLog(NamedTuple):
    """Where the log is, how it and the conversations read, and which words leave a conversation."""

    file: str  # beside the folder of the conversations
    lines: Callable[[bytes], list[TypedLine] | None]  # None: it cannot be read
    chat: Callable[[bytes, bytes], Chat | None]  # from the first and the last part of its file
    begins: tuple[str, ...]  # commands that begin another conversation
    moves: tuple[str, ...]  # commands after which it may be in any other
    aside: str = ""  # glob behind the log's name: what it makes of one that it cannot read


class Followed(NamedTuple):
    id: str  # empty: it may have moved, and it cannot be told where to
    at: float = 0.0  # since when; 0 if it has not moved


def follow(
    log: TypedLog, first: str, typed: Sequence[TypedLine], chats: Sequence[Chat]
) -> Followed:
    """The conversation that a process which began in `first` is in after all that it logged."""
    now, heard = Followed(first), 0.0
    others = {line.process for line in typed} - {first}
    for line in typed:
        if line.process != first:
            continue
        heard = line.at
        command = _command(line)
        if command in log.begins:
            begun = [one.id for one in chats if _begun_by(line, one) and one.id not in others]
            now = Followed(begun[0] if len(begun) == 1 else "", line.at)
        elif command in log.moves:
            now = Followed("", line.at)
        elif not command:
            now = _heard(now, line, chats)
    lost = max(_unlogged(log, now.id, typed, chats), default=0.0) if others else 0.0
    return Followed("", lost) if lost > heard else now


def _command(line: TypedLine) -> str:
    return line.text.split(maxsplit=1)[0] if line.text.startswith("/") else ""


def _begun_by(line: TypedLine, chat: Chat) -> bool:
    return line.at - EARLY <= chat.began <= line.at + BEGINS


def _unlogged(
    log: TypedLog, current: str, typed: Sequence[TypedLine], chats: Sequence[Chat]
) -> Iterator[float]:
    """When something was said or begun in another conversation that no line of the log is about."""
    logging = {line.process for line in typed}
    begins = [line for line in typed if _command(line) in log.begins]
    for chat in chats:
        if chat.id == current:
            continue
        yield from (
            said.at for said in chat.said if not any(_is_same(line, said) for line in typed)
        )
        if chat.id not in logging and not any(_begun_by(line, chat) for line in begins):
            yield chat.began


def _heard(now: Followed, line: TypedLine, chats: Sequence[Chat]) -> Followed:
    """After a prompt: the conversation that has it. One that none has yet changes nothing."""
    holders = {chat.id for chat in chats if any(_is_same(line, said) for said in chat.said)}
    if not holders or now.id in holders:
        return now
    return Followed(holders.pop() if len(holders) == 1 else "", line.at)


def _is_same(line: TypedLine, said: SaidLine) -> bool:
    """A name such as @file is followed by the file in the conversation, and not in the log."""
    soon = line.at - EARLY <= said.at <= line.at + SOON
    return soon and said.text.strip().startswith(line.text.strip())
