"""The generateContent API, which Gemini CLI speaks."""

import json
import re
from typing import Any

from e2e.wires import talk
from e2e.wires.talk import Answer, Body, Event, Reading, Reply, Returned, ToolCall, Wire


def read(body: Body) -> talk.Talk:
    reading = Reading()
    for message in body.get("contents", ()):
        parts: list[dict[str, Any]] = message.get("parts", [])
        if message.get("role") == "model":
            calls = [part["functionCall"] for part in parts if "functionCall" in part]
            reading.model_spoke(next((call["name"] for call in calls), ""))
        else:
            texts = [part["text"] for part in parts if "text" in part]
            results = [part["functionResponse"] for part in parts if "functionResponse" in part]
            reading.person_spoke(texts, map(returned, results))
    groups = body.get("tools") or ()
    return reading.talk(one["name"] for g in groups for one in g.get("functionDeclarations", ()))


def returned(part: dict[str, Any]) -> Returned:
    response = part.get("response", {})
    return Returned(str(part.get("id", "")), json.dumps(response), "error" in response)


def reply(answer: Answer, number: int, model: str) -> Reply:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}

    def chunk(parts: list[Body], **more: str) -> Event:
        content = {"role": "model", "parts": parts}
        candidate: Body = {"index": 0, "content": content, **more}
        return {"candidates": [candidate], "modelVersion": model, "usageMetadata": usage}

    calls: list[Body] = []
    if answer.call:
        tool, given = answer.call
        calls.append({"functionCall": {"id": talk.call_id(number), "name": tool, "args": given}})
    end = (chunk(calls or [{"text": ""}], finishReason="STOP"),)
    whole = chunk([{"text": answer.text}, *calls], finishReason="STOP")
    return Reply((), lambda piece: chunk([{"text": piece}]), end, whole)


def shell(command: str, _tools: tuple[str, ...]) -> ToolCall:
    return ToolCall("run_shell_command", {"command": command, "description": "what was asked"})


LIMIT = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "too many requests"}}
WIRE = Wire(re.compile(r":(?:streamG|g)enerateContent$"), read, reply, shell, LIMIT)
