"""The chat completions API, which opencode speaks with a provider of one's own."""

import json
import re
from typing import Any

from e2e.wires import talk
from e2e.wires.talk import Answer, Body, Event, Reading, Reply, Returned, ToolCall, Wire


def texts_of(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part.get("text", "") for part in content or ()]


def read(body: Body) -> talk.Talk:
    reading = Reading()
    for message in body.get("messages", ()):
        match message["role"]:
            case "user":
                reading.person_spoke(texts_of(message["content"]))
            case "assistant":
                calls = message.get("tool_calls") or ()
                reading.model_spoke(next((call["function"]["name"] for call in calls), ""))
            case "tool":
                text = "".join(texts_of(message["content"]))
                reading.results.append(Returned(message["tool_call_id"], text))
            case _:
                pass
    return reading.talk(tool["function"]["name"] for tool in body.get("tools") or ())


def reply(answer: Answer, number: int, model: str) -> Reply:
    head: Body = {"id": f"chat_{number}", "created": 1, "model": model}
    chunk: Body = {**head, "object": "chat.completion.chunk"}
    reason = "tool_calls" if answer.call else "stop"
    message: Body = {"role": "assistant", "content": answer.text}
    if answer.call:
        message["tool_calls"] = [call_of(answer.call, number)]
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    whole: Body = {
        **head,
        "object": "chat.completion",
        "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }

    def delta(given: Body, finish: str | None = None) -> Event:
        return {**chunk, "choices": [{"index": 0, "delta": given, "finish_reason": finish}]}

    end: list[Event] = []
    if answer.call:
        end.append(delta({"tool_calls": [{**call_of(answer.call, number), "index": 0}]}))
    end.append({**delta({}, reason), "usage": usage})
    begin = (delta({"role": "assistant", "content": ""}),)
    return Reply(begin, lambda piece: delta({"content": piece}), tuple(end), whole)


def call_of(call: ToolCall, number: int) -> Body:
    function = {"name": call.tool, "arguments": json.dumps(call.given)}
    return {"id": talk.call_id(number), "type": "function", "function": function}


def shell(command: str, _tools: tuple[str, ...]) -> ToolCall:
    return ToolCall("bash", {"command": command, "description": "what was asked for"})


LIMIT = {"error": {"type": "rate_limit_error", "message": "too many requests"}}
WIRE = Wire(re.compile(r"/chat/completions$"), read, reply, shell, LIMIT, "[DONE]")
