"""The responses API, which codex speaks."""

import json
import re
from typing import Any

from e2e.wires import talk
from e2e.wires.talk import Answer, Body, Event, Reading, Reply, Returned, ToolCall, Wire


def read(body: Body) -> talk.Talk:
    reading = Reading()
    for item in body.get("input", ()):
        match item.get("type", "message"), item.get("role"):
            case "message", "user":
                reading.person_spoke(part.get("text", "") for part in item["content"])
            case "message", "assistant":
                reading.model_spoke()
            case "function_call" | "custom_tool_call", _:
                reading.model_spoke(item["name"])
            case "function_call_output" | "custom_tool_call_output", _:
                reading.results.append(Returned(item["call_id"], text_of(item["output"])))
            case _:
                pass
    return reading.talk(tool.get("name", "") for tool in body.get("tools") or ())


def text_of(output: Any) -> str:
    return output if isinstance(output, str) else json.dumps(output)


def reply(answer: Answer, number: int, model: str) -> Reply:
    part = {"type": "output_text", "text": answer.text, "annotations": []}
    message: Body = {"type": "message", "role": "assistant", "id": f"msg_{number}"}
    items: list[Body] = [{**message, "status": "completed", "content": [part]}]
    if answer.call:
        tool, given = answer.call
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": talk.call_id(number)}
        items.append({**call, "name": tool, "arguments": json.dumps(given), "status": "completed"})
    usage = {
        "input_tokens": 10,
        "output_tokens": 10,
        "total_tokens": 20,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    response: Body = {"id": f"resp_{number}", "object": "response", "model": model}
    whole = {**response, "status": "completed", "output": items, "usage": usage}
    begun = {**response, "status": "in_progress", "output": []}
    begin: tuple[Event, ...] = (
        {"type": "response.created", "response": begun},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**message, "status": "in_progress", "content": []},
        },
    )

    def said(piece: str) -> Event:
        kind = "response.output_text.delta"
        return {
            "type": kind,
            "item_id": message["id"],
            "output_index": 0,
            "content_index": 0,
            "delta": piece,
        }

    end: list[Event] = [
        {"type": "response.output_item.done", "output_index": index, "item": item}
        for index, item in enumerate(items)
    ]
    end.append({"type": "response.completed", "response": whole})
    return Reply(begin, said, tuple(end), whole)


# A command in codex's sandbox is run unasked.
ASKING = {"sandbox_permissions": "require_escalated", "justification": "May it be run?"}


def shell(command: str, tools: tuple[str, ...]) -> ToolCall:
    if "exec_command" in tools:
        return ToolCall("exec_command", {"cmd": command, **ASKING})
    if "shell_command" in tools:
        return ToolCall("shell_command", {"command": command})
    return ToolCall("shell", {"command": ["sh", "-c", command]})


LIMIT = {"error": {"type": "rate_limit_exceeded", "message": "too many requests"}}
WIRE = Wire(re.compile(r"/responses$"), read, reply, shell, LIMIT)
