"""What every wire reads out of a request and writes into an answer, in words of our own."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

# `opencode run` sends a prompt of several words in quotes.
PROMPT = re.compile(r'^("?)(say|run|hold|call|hang|drop|cut|limit|slow) (.+?)\1$', re.MULTILINE)
Body = dict[str, Any]
Event = dict[str, Any]


class ToolCall(NamedTuple):
    tool: str
    given: dict[str, Any]


class Returned(NamedTuple):
    """What a tool answered, as the request tells it."""

    call: str  # the call's id
    text: str
    failed: bool = False


class Talk(NamedTuple):
    """The conversation as one request carries it."""

    prompts: tuple[tuple[str, str], ...] = ()  # word and rest of all that the person typed
    tools: tuple[str, ...] = ()  # that the model may ask for
    wanted: str = ""  # the tool that the model asked for last
    results: tuple[Returned, ...] = ()  # that have come since anybody spoke


class Reading:
    """Takes a request's messages in, in their order, and becomes a Talk."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.wanted = ""
        self.results: list[Returned] = []

    def model_spoke(self, wanted: str | None = None) -> None:
        """`wanted`: the tool that it asked for; None: what it wanted before still stands."""
        self.wanted = self.wanted if wanted is None else wanted
        self.results.clear()

    def person_spoke(self, texts: Iterable[str], results: Iterable[Returned] = ()) -> None:
        """What a program sends in a person's name: prompts, and what tools answered."""
        texts = list(texts)
        self.said += texts
        self.results += results
        if prompts_in(texts):
            self.results.clear()

    def talk(self, tools: Iterable[Any]) -> Talk:
        names = tuple(str(name) for name in tools)
        return Talk(prompts_in(self.said), names, self.wanted, tuple(self.results))


class Answer(NamedTuple):
    text: str
    call: ToolCall | None = None
    manner: str = "say"  # the prompt's word: how the answer goes over the wire


class Reply(NamedTuple):
    """One answer, as events of a stream: the beginning, then the text piecewise, then the end."""

    begin: tuple[Event, ...]
    text: Callable[[str], Event]
    end: tuple[Event, ...]
    whole: Body  # the same for those who asked for no stream


class Wire(NamedTuple):
    """The protocol that one vendor's program speaks with its model."""

    path: re.Pattern[str]  # of the requests that carry a conversation
    read: Callable[[Body], Talk]
    reply: Callable[[Answer, int, str], Reply]  # answer, its number, the model that was asked
    shell: Callable[[str, tuple[str, ...]], ToolCall]  # the call that runs a command
    limit: Body  # of an answer with status 429
    last: str = ""  # the line that ends a stream


def prompts_in(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What the person typed, without what the program wrote around it."""
    own = [text for text in texts if not text.lstrip().startswith("<")]
    return tuple((m[2], m[3].strip()) for text in own for m in PROMPT.finditer(text))


def call_id(number: int) -> str:
    return f"call_{number}"


def framed(event: Event) -> bytes:
    """One event of a stream."""
    kind = f"event: {event['type']}\n" if "type" in event else ""
    return f"{kind}data: {json.dumps(event)}\n\n".encode()
