"""The same as mcp_desk_agent.py by way of the official client: what holds there holds here.

    python mcp_sdk_agent.py FOLDER stdio|URL

`N.call` holds what to do, `N.answer` what came of it. Its identity is what knell gave it.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def server(where: str) -> Any:
    if where != "stdio":
        headers = {"Authorization": f"Bearer {os.environ['KNELL_TOKEN']}"}
        return streamable_http_client(
            where, http_client=httpx2.AsyncClient(headers=headers, timeout=300)
        )
    args = ["-m", "knell", "mcp", *json.loads(os.environ.get("DESK_OPTIONS", "[]"))]
    return StdioServerParameters(command=sys.executable, args=args, env=dict(os.environ))


async def carried_out(client: Client, wanted: dict[str, Any]) -> dict[str, Any]:
    steps: list[str] = []

    async def step(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    try:
        match wanted["do"]:
            case "tools":
                return (await client.list_tools()).model_dump(mode="json", by_alias=True)
            case "resources":
                return (await client.list_resources()).model_dump(mode="json", by_alias=True)
            case "templates":
                found = await client.list_resource_templates()
                return found.model_dump(mode="json", by_alias=True)
            case "read":
                found = await client.read_resource(wanted["uri"])
                return found.model_dump(mode="json", by_alias=True)
            case tool:
                follow = step if wanted["progress"] else None
                told = await client.call_tool(tool, wanted["given"], progress_callback=follow)
                text = [part.text for part in told.content if part.type == "text"]
                answer = {"error": told.is_error, "told": told.structured_content, "text": text}
                return {**answer, "steps": steps}
    except MCPError as error:
        return {"raised": error.message}


async def main(folder: Path, where: str) -> None:
    async with Client(server(where)) as client:
        (folder / "ready").touch()
        number = 0
        while True:
            call = folder / f"{number}.call"
            if not call.exists():
                await asyncio.sleep(0.01)
                continue
            answer = await carried_out(client, json.loads(call.read_text()))
            new = folder / f"{number}.new"
            new.write_text(json.dumps(answer))
            new.rename(folder / f"{number}.answer")
            number += 1


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
