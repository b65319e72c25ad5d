"""Every tool, and how a call of one is carried out. Knows nothing of the wire."""

import threading
from collections.abc import Mapping
from typing import Any

from knell.core.codes import Code
from knell.core.errors import KnellError, Refused
from knell.core.inputs import checked
from knell.faces.mcp import callers
from knell.faces.mcp.callers import ServerOptions, ToolCaller
from knell.faces.mcp.tools import end, read, start, teams
from knell.faces.mcp.tools.tool import Answer, Tool, ToolCall

TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (*end.TOOLS, *start.TOOLS, *read.TOOLS, *teams.TOOLS)
}


def carry_out(
    options: ServerOptions,
    caller: ToolCaller,
    tool: Tool,
    given: Mapping[str, Any],
    gone: threading.Event,
) -> Answer:
    """Calls the tool. What knell refuses is an answer too; only a bug raises."""
    try:
        wanted = checked(tool.fields, given)
        with callers.knell_for(options, caller.caller) as knell:
            if not caller.known and not tool.for_strangers:
                knell.server.note_refusal(f"{tool.name}: {callers.UNKNOWN}", "mcp")
                raise Refused(callers.UNKNOWN, callers.PROVE, code=Code.CALLER_UNPROVEN)
            return {"success": True, **tool.act(ToolCall(knell, caller, wanted, gone))}
    except KnellError as error:
        return failed(tool, given, error)


def failed(tool: Tool, given: Mapping[str, Any], error: KnellError) -> Answer:
    if tool.failed is not None:
        return tool.failed(given, str(error))
    answer: Answer = {"success": False, "code": error.code, "error": str(error)}
    return {**answer, "hint": error.hint} if error.hint else answer
