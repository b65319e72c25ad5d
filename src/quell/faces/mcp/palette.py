"""Every tool, and how a call of one is carried out. Knows nothing of the wire."""

import threading
from collections.abc import Mapping
from typing import Any

from quell.core.errors import QuellError
from quell.faces.mcp import ending, letters, looking, starting, tasks
from quell.faces.mcp.asker import PROVE, UNKNOWN, Asker, Means, acting, note_refusal
from quell.faces.mcp.fields import checked
from quell.faces.mcp.tool import Answer, Call, Tool

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        *ending.TOOLS,
        *starting.TOOLS,
        *looking.TOOLS,
        *letters.TOOLS,
        *tasks.TOOLS,
    )
}


def carried_out(
    means: Means, asker: Asker, tool: Tool, given: Mapping[str, Any], gone: threading.Event
) -> Answer:
    """The answer. Whatever quell refuses is an answer too; only a bug raises."""
    try:
        wanted = checked(tool.fields, given)
        with acting(means, asker) as quell:
            if not asker.known and not tool.strangers:
                note_refusal(quell, asker.who, f"{tool.name}: {UNKNOWN}")
                return failed(tool, given, UNKNOWN, PROVE)
            return tool.act(Call(quell, asker, wanted, gone))
    except QuellError as error:
        return failed(tool, given, str(error), error.hint)


def failed(tool: Tool, given: Mapping[str, Any], error: str, hint: str) -> Answer:
    if tool.failed is not None:
        return tool.failed(given, error)
    answer: Answer = {"success": False, "error": error}
    return {**answer, "hint": hint} if hint else answer
