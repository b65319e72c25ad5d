"""Measures what the MCP server costs: one per agent over stdio, against one over HTTP for all.

    python bench/mcp_memory.py [AGENTS]

Memory is proportional (PSS): what processes share counts once, split among them.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

# pytest gets this folder from pyproject's pythonpath; a script has to name it itself.
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "support"))

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from house import House, open_house

CALLS = 5  # of list-agents, by each client, before memory is read
KNELL = (sys.executable, "-m", "knell")


def pss_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def servers(house: House) -> list[int]:
    """Those of this house."""
    mark = f"KNELL_HOME={house.state}".encode()
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            here = mark in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if here and b"-m\0knell\0mcp\0" in words:
            found.append(int(entry.name))
    return found


async def busy(client: Client) -> None:
    for _ in range(CALLS):
        told = await client.call_tool("list-agents", {})
        assert told.structured_content["success"], told


async def over_stdio(house: House, many: int) -> list[int]:
    """PSS of each of the servers, all at work."""
    async with AsyncExitStack() as stack:
        words = [*KNELL[1:], "mcp", "--operator"]
        server = StdioServerParameters(command=KNELL[0], args=words, env=house.env)
        clients = [await stack.enter_async_context(Client(server)) for _ in range(many)]
        await asyncio.gather(*(busy(client) for client in clients))
        return [pss_kb(pid) for pid in servers(house)]


def tokens(house: House, many: int) -> list[str]:
    """Of so many agents, as they find them in their environment."""
    runs = [house.spawn(name=f"agent-{number}").run for number in range(many)]
    texts = [Path(f"/proc/{run.process.pid}/environ").read_bytes() for run in runs if run.process]
    marked = [
        line for text in texts for line in text.split(b"\0") if line.startswith(b"KNELL_TOKEN=")
    ]
    return [line.partition(b"=")[2].decode() for line in marked]


async def at_work(address: str, secrets: list[str], pid: int) -> int:
    """PSS of the one server, with every agent connected and at work."""
    async with AsyncExitStack() as stack:
        clients: list[Client] = []
        for secret in secrets:
            headers = {"Authorization": f"Bearer {secret}"}
            web = await stack.enter_async_context(httpx2.AsyncClient(headers=headers))
            wire = streamable_http_client(address, http_client=web)
            clients.append(await stack.enter_async_context(Client(wire)))
        await asyncio.gather(*(busy(client) for client in clients))
        return pss_kb(pid)


def over_http(house: House, many: int) -> tuple[int, int]:
    """PSS of the one server: idle, and at work."""
    secrets = tokens(house, many)
    server = subprocess.Popen(
        [*KNELL, "mcp", "--http", "--port", "0"],
        env=house.env, cwd=house.root, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout
    address = server.stdout.readline().strip()
    idle = pss_kb(server.pid)
    try:
        return idle, asyncio.run(at_work(address, secrets, server.pid))
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


def figures(many: int) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory(prefix="knell-", ignore_cleanup_errors=True) as root,
        open_house(Path(root)) as house,
    ):
        each = asyncio.run(over_stdio(house, many))
        idle, worked = over_http(house, many)
    assert len(each) == many
    return {
        "agents": many,
        "stdio_each_mb": round(sum(each) / many / 1024, 1),
        "stdio_all_mb": round(sum(each) / 1024, 1),
        "http_idle_mb": round(idle / 1024, 1),
        "http_all_mb": round(worked / 1024, 1),
        "ratio": round(sum(each) / worked, 1),
    }


if __name__ == "__main__":
    print(json.dumps(figures(int(sys.argv[1]) if sys.argv[1:] else 20), indent=2))
