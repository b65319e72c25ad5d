"""The server for one client, over standard input and output."""

import asyncio
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from typing import cast

import anyio
from mcp.server.stdio import stdio_server

from knell.core.errors import BadRequest
from knell.faces.mcp.callers import ServerOptions, find_caller
from knell.faces.mcp.server import ToolServer
from knell.faces.work import Work

LONGEST_LINE = 1024 * 1024  # bytes of one request
TOO_LONG = '"a request of more than 1 MB"\n'  # no JSON-RPC: refused like any other nonsense


def serve(options: ServerOptions) -> None:
    """Serves until the client closes its end, or TERM; calls that have begun are finished."""
    with Work() as work:
        asyncio.run(_serve(options, work))


async def _serve(options: ServerOptions, work: Work) -> None:
    server = ToolServer(options, work, lambda _: find_caller(options)).server()
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel if task else sys.exit)
    lines = cast("anyio.AsyncFile[str]", _lines(await _open_reader()))
    try:
        async with stdio_server(lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* (asyncio.CancelledError, BrokenPipeError):
        pass  # a signal asked it to stop, or the client left before the last answer


async def _open_reader() -> asyncio.StreamReader:
    """Reads from a private copy of standard input, so that no child process can read requests."""
    mode = os.fstat(0).st_mode  # a file and /dev/null cannot be waited for
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(0)):
        raise BadRequest(
            "standard input is no pipe", "an MCP client starts knell mcp; see knell mcp --config"
        )
    wire = os.fdopen(os.dup(0), "rb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), wire
    )
    return reader


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    """The requests, one a line; one that is too long is replaced, and the next is read."""
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            yield TOO_LONG
            continue
        if not line:
            return
        yield line.decode("utf-8", "replace")
