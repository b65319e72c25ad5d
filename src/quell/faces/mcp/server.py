"""The tools and receipts on the wire: what the SDK asks for, answered from the palette."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from quell import __version__
from quell.api import Quell
from quell.core.errors import QuellError
from quell.faces.mcp import receipts
from quell.faces.mcp.asker import UNKNOWN, Asker, Means, acting, note_refusal
from quell.faces.mcp.fields import schema
from quell.faces.mcp.palette import TOOLS, carried_out
from quell.faces.mcp.progress import followed
from quell.faces.mcp.tool import Answer, Tool
from quell.faces.mcp.work import T, Work

Context = ServerRequestContext[Any, Any]
INSTRUCTIONS = (
    "quell runs, watches and ends agents. You may end what you started, and as a leader the members"
    " of your team: kill-agent asks them first, force=true does not. Poll your inbox; a"
    " shutdown_request there is answered with answer-shutdown."
)


class Face:
    """One server. `identify` says who made a request; it may look into the store."""

    def __init__(
        self, means: Means, work: Work, identify: Callable[[Context], Callable[[], Asker]]
    ) -> None:
        self.means = means
        self.work = work
        self._identify = identify

    def server(self) -> Server[Any]:
        return Server(
            "quell",
            version=__version__,
            title="quell",
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
        asker = await self.work.done(lambda _: self._identify(ctx)())
        deed = partial(carried_out, self.means, asker, tool, given)
        agent = given.get("agentId")
        if not tool.climbs or not wants_progress(ctx) or not isinstance(agent, str):
            return result(await self.work.done(deed, waits=tool.waits))
        async with followed(self.means, asker, agent, ctx.session.report_progress):
            answer = await self.work.done(deed)
        return result(answer)

    # -- resources ----------------------------------------------------------------------------

    async def _list_resources(self, ctx: Context, _: Any) -> types.ListResourcesResult:
        found = await self._read(ctx, receipts.listed)
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    name=uri.removeprefix(receipts.PREFIX),
                    uri=uri,
                    description=told,
                    mime_type="application/json",
                )
                for uri, told in found
            ]
        )

    async def _list_templates(self, _: Context, __: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="receipt",
            uri_template=receipts.TEMPLATE,
            description="The proof of the newest ending of an agent, or of the run with this id",
            mime_type="application/json",
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._read(ctx, lambda quell: receipts.read(quell, uri))
        content = types.TextResourceContents(uri=uri, text=text, mime_type="application/json")
        return types.ReadResourceResult(contents=[content])

    async def _read(self, ctx: Context, look: Callable[[Quell], T]) -> T:
        """What `look` finds, for somebody who is known."""

        def looked(_: object) -> T:
            asker = self._identify(ctx)()
            with acting(self.means, asker) as quell:
                if not asker.known:
                    note_refusal(quell, asker.who, f"a receipt: {UNKNOWN}")
                    raise MCPError(types.INVALID_REQUEST, UNKNOWN)
                return look(quell)

        try:
            return await self.work.done(looked)
        except QuellError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error


def described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.told,
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


def wants_progress(ctx: Context) -> bool:
    return ctx.meta is not None and "progress_token" in ctx.meta
