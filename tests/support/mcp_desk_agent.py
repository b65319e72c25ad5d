"""What an agent at a desk does: calls MCP tools as it is told by files.

    python mcp_desk_agent.py FOLDER stdio|URL

`N.call` holds what to do, `N.answer` what came of it. Its identity is what knell gave it. It speaks
the protocol itself, because importing the official client takes longer than most tests do;
mcp_sdk_agent.py does the same by way of that client.
"""

import http
import http.client
import itertools
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

VERSION = "2025-06-18"
METHODS = {
    "tools": "tools/list",
    "resources": "resources/list",
    "templates": "resources/templates/list",
    "read": "resources/read",
}
Message = dict[str, Any]
Exchange = Callable[[Message], Iterator[Message]]  # what comes back, until the answer has come


def by_stdio() -> Exchange:
    argv = [
        sys.executable, "-m", "knell", "mcp", *json.loads(os.environ.get("DESK_OPTIONS", "[]")),
    ]  # fmt: skip
    server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin
    assert server.stdout
    return by_pipes(server.stdin, server.stdout)


def by_pipes(to: IO[bytes], back: IO[bytes]) -> Exchange:
    def exchange(message: Message) -> Iterator[Message]:
        to.write(json.dumps(message).encode() + b"\n")
        to.flush()
        if "id" in message:
            yield from map(json.loads, back)

    return exchange


def by_http(url: str) -> Exchange:
    where = urlsplit(url)
    headers = {
        "Authorization": f"Bearer {os.environ['KNELL_TOKEN']}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": VERSION,
    }

    def exchange(message: Message) -> Iterator[Message]:
        line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=300)
        line.request("POST", where.path, json.dumps(message), headers)
        answer = line.getresponse()
        assert answer.status in (200, 202), (answer.status, answer.read())
        if "Mcp-Session-Id" in answer.headers:
            headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        if answer.status == http.HTTPStatus.ACCEPTED:
            pass  # a notification has no answer
        elif answer.headers.get_content_type() == "application/json":
            yield json.loads(answer.read())
        else:
            told = (text for text in answer if text.startswith(b"data: {"))
            yield from (json.loads(text.removeprefix(b"data: ")) for text in told)
        line.close()

    return exchange


class Client:
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._ids = itertools.count()
        about = {"name": "desk", "version": "1"}
        self.request(
            "initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": about}
        )
        list(exchange({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def request(self, method: str, params: Message) -> tuple[Message, list[str]]:
        """The answer, and the messages of progress before it."""
        asked = next(self._ids)
        steps: list[str] = []
        message = {"jsonrpc": "2.0", "id": asked, "method": method, "params": params}
        for told in self._exchange(message):
            if told.get("method") == "notifications/progress":
                steps.append(told["params"].get("message") or "")
            elif told.get("id") == asked:
                return told, steps
        raise EOFError(f"the server did not answer {message}")

    def carry_out(self, wanted: Message) -> Message:
        do = wanted["do"]
        if do in METHODS:
            told, _ = self.request(METHODS[do], wanted["given"])
        else:
            more = {"_meta": {"progressToken": "steps"}} if wanted["progress"] else {}
            told, steps = self.request(
                "tools/call", {"name": do, "arguments": wanted["given"], **more}
            )
            if "result" in told:
                result = told["result"]
                text = [part["text"] for part in result["content"] if part["type"] == "text"]
                structured = result.get("structuredContent")
                error = result.get("isError", False)
                return {"error": error, "told": structured, "text": text, "steps": steps}
        return {"raised": told["error"]["message"]} if "error" in told else told["result"]


def main(folder: Path, where: str) -> None:
    client = Client(by_stdio() if where == "stdio" else by_http(where))
    (folder / "ready").touch()
    for number in itertools.count():
        call = folder / f"{number}.call"
        while not call.exists():
            select.select([], [], [], 0.01)
        answer = client.carry_out(json.loads(call.read_text()))
        new = folder / f"{number}.new"
        new.write_text(json.dumps(answer))
        new.rename(folder / f"{number}.answer")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
