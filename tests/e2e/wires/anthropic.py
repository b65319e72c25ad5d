"""The messages API, which Claude Code speaks."""

import json
import re
from typing import Any

from e2e.wires import talk
from e2e.wires.talk import Answer, Body, Event, Reading, Reply, Returned, ToolCall, Wire

Content = str | list[dict[str, Any]]


def texts_of(content: Content) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if part["type"] == "text"]


def read(body: Body) -> talk.Talk:
    reading = Reading()
    for message in body.get("messages", ()):
        parts = [] if isinstance(message["content"], str) else message["content"]
        if message["role"] == "assistant":
            used = (part["name"] for part in parts if part["type"] == "tool_use")
            reading.model_spoke(next(used, ""))
        elif message["role"] == "user":
            results = [returned(part) for part in parts if part["type"] == "tool_result"]
            reading.person_spoke(texts_of(message["content"]), results)
    return reading.talk(tool.get("name", "") for tool in body.get("tools") or ())


def returned(part: dict[str, Any]) -> Returned:
    text = "".join(texts_of(part.get("content", "")))
    return Returned(part["tool_use_id"], text, bool(part.get("is_error")))


def reply(answer: Answer, number: int, model: str) -> Reply:
    text = {"type": "text", "text": answer.text}
    blocks: list[dict[str, Any]] = [text]
    if answer.call:
        tool, given = answer.call
        blocks.append(
            {"type": "tool_use", "id": talk.call_id(number), "name": tool, "input": given}
        )
    message: Body = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if answer.call else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }
    empty = {"type": "text", "text": ""}
    begin = (
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
    )
    return Reply(begin, said, tuple(ending(message)), message)


def said(piece: str) -> Event:
    delta = {"type": "text_delta", "text": piece}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def ending(message: Body) -> list[Event]:
    events: list[Event] = [{"type": "content_block_stop", "index": 0}]
    for index, block in enumerate(message["content"][1:], 1):
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        empty = {**block, "input": {}}
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 10}})
    events.append({"type": "message_stop"})
    return events


def shell(command: str, _tools: tuple[str, ...]) -> ToolCall:
    return ToolCall("Bash", {"command": command, "description": "what was asked for"})


LIMIT = {"type": "error", "error": {"type": "rate_limit_error", "message": "too many requests"}}
WIRE = Wire(re.compile(r"/v1/messages$"), read, reply, shell, LIMIT)
