"""The MCP server: answers the SDK's requests with the tools and with receipts."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from knell import __version__
from knell.api import Knell
from knell.core.errors import BadRequest, KnellError
from knell.core.inputs import schema
from knell.faces.mcp.callers import UNKNOWN, ServerOptions, ToolCaller, knell_for
from knell.faces.mcp.progress import report_steps
from knell.faces.mcp.tools.call import TOOLS, carry_out
from knell.faces.mcp.tools.tool import Answer, Tool
from knell.faces.work import T, Work

Context = ServerRequestContext[Any, Any]
RECEIPT = "knell://receipt/"  # followed by an agent's name or a run's id
MOST_RECEIPTS = 50  # of the newest endings that are listed
JSON = "application/json"
INSTRUCTIONS = (
    "knell runs, watches and ends agents. You may end what you started, and as a leader the members"
    " of your team: kill-agent asks them first, force=true does not. Poll your inbox; a"
    " shutdown_request there is answered with answer-shutdown."
)


class ToolServer:
    """One server. `identify` finds who made a request, for which it may read the store."""

    def __init__(
        self,
        options: ServerOptions,
        work: Work,
        identify: Callable[[Context], ToolCaller],
    ) -> None:
        self.options = options
        self.work = work
        self._identify = identify

    def server(self) -> Server[Any]:
        return Server(
            "knell",
            version=__version__,
            title="knell",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    # -- tools --------------------------------------------------------------------------------

    async def _list_tools(self, _: Context, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[described(tool) for tool in TOOLS.values()])

    async def _call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:80]!r}")
        given = params.arguments or {}
        caller = await self.work.run(lambda _: self._identify(ctx))
        call = partial(carry_out, self.options, caller, tool, given)
        agent = given.get("agentId")
        is_told = tool.has_progress and "progress_token" in (ctx.meta or {})
        if not is_told or not isinstance(agent, str):
            return result(await self.work.run(call, waits=tool.waits))
        async with report_steps(self.options, caller, agent, ctx.session.report_progress):
            answer = await self.work.run(call)
        return result(answer)

    # -- resources ----------------------------------------------------------------------------

    async def _list_resources(self, ctx: Context, _: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=await self._read(ctx, newest_receipts))

    async def _list_templates(self, _: Context, __: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="receipt",
            uri_template=RECEIPT + "{name}",
            description="The proof of the newest ending of an agent, or of the run with this id",
            mime_type=JSON,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._read(ctx, lambda knell: read_receipt(knell, uri))
        content = types.TextResourceContents(uri=uri, text=text, mime_type=JSON)
        return types.ReadResourceResult(contents=[content])

    async def _read(self, ctx: Context, look: Callable[[Knell], T]) -> T:
        """What `look` finds, for a caller that is known."""

        def looked(_: object) -> T:
            caller = self._identify(ctx)
            with knell_for(self.options, caller.caller) as knell:
                if not caller.known:
                    knell.server.note_refusal(f"a receipt: {UNKNOWN}", "mcp")
                    raise MCPError(types.INVALID_REQUEST, UNKNOWN)
                return look(knell)

        try:
            return await self.work.run(looked)
        except KnellError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error


def newest_receipts(knell: Knell) -> list[types.Resource]:
    ended = [view for view in knell.list(with_ended=True) if view.outcome]
    ended.sort(key=lambda view: view.ended_at, reverse=True)
    resources: list[types.Resource] = []
    for view in ended[:MOST_RECEIPTS]:
        name, text = quote(view.name, safe=""), f"{view.name}: {view.outcome} at {view.ended_at}"
        uri = RECEIPT + name
        resources.append(types.Resource(name=name, uri=uri, description=text, mime_type=JSON))
    return resources


def read_receipt(knell: Knell, uri: str) -> str:
    """The receipt as JSON, without the last screen, which may show secrets."""
    name = unquote(uri.removeprefix(RECEIPT))
    if not uri.startswith(RECEIPT) or not name:
        raise BadRequest(f"{uri[:80]} is no receipt", f"for example {RECEIPT}luna")
    document = knell.receipt(name).to_json()
    document.pop("screen", None)
    return json.dumps(document, ensure_ascii=False, indent=2)


def described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.text,
        input_schema=schema(tool.fields),
        output_schema=tool.output(),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.repeatable or tool.reads,
            open_world_hint=False,
        ),
    )


def result(answer: Answer) -> types.CallToolResult:
    """As data, and as text for programs that know no structured output."""
    text = types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))
    return types.CallToolResult(
        content=[text], structured_content=answer, is_error=not answer["success"]
    )
