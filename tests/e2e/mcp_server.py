"""An MCP server over stdio, standard library only: mcp_server.py PIDS [stubborn]

It adds its pid to the file PIDS. Stubborn means: it minds neither TERM nor INT nor HUP nor the end
of its input, and has a child in a session of its own, as a server that starts a browser has.
"""

import json
import os
import signal
import sys
import time
from typing import Any

LONGEST_LIFE = 300  # seconds, should a test fail to end it

TOOL = {
    "name": "weather",
    "description": "Tells the weather.",
    "inputSchema": {"type": "object", "properties": {}},
}


def result_of(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "knell-test", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "fair"}]}
        case _:
            return {}


def serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": result_of(request)}
            print(json.dumps(answer), flush=True)  # noqa: T201 - the protocol


def note(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")


def persist() -> None:
    while True:
        time.sleep(9)  # noqa: TID251 - there is no fact to wait for: it must be ended


def main(pids: str, *habits: str) -> None:
    signal.alarm(LONGEST_LIFE)
    stubborn = "stubborn" in habits
    if stubborn:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if not os.fork():
            os.setsid()
            signal.alarm(LONGEST_LIFE)
            for stream in (0, 1, 2):  # a browser would not hold the pipes either
                os.dup2(os.open(os.devnull, os.O_RDWR), stream)
            note(pids)
            persist()
    note(pids)
    serve()
    if stubborn:
        persist()


main(*sys.argv[1:])
