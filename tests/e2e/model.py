"""A stand-in for the model, on loopback: answers by rule, so that a test knows what must be shown.

What a prompt may say, and what the model makes of it:

say WORD       `answer N: WORD`, and, if the request carried earlier ones, `after WORD, WORD`. N is
               counted from the request alone: a resumed agent that lost its past gets `answer 1`
run COMMAND    asks for the Bash tool with that command
hold WORD      begins to answer and never ends, until the asker hangs up
call WORD      asks for the tool, with the input, that a test has written down under that word
"""

import contextlib
import http.server
import itertools
import json
import re
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

PROMPT = re.compile(r"^(say|run|hold|call) (.+)$", re.MULTILINE)
HELD = "held: "
WAIT = (
    "WaitForMcpServers"  # Claude's own, for some seconds; offered as long as a server is starting
)
LONGEST_HOLD = 120.0  # seconds, should a test forget to hang up


class Asked(NamedTuple):
    method: str
    path: str
    prompts: tuple[tuple[str, str], ...] = ()  # those of the whole conversation, in order
    tools: tuple[str, ...] = ()  # that the model may ask for


class ToolCall(NamedTuple):
    tool: str
    given: dict[str, Any]


class ToolResult(NamedTuple):
    tool: str
    text: str
    failed: bool
    seconds: float  # from the model's asking for it


class Answer(NamedTuple):
    text: str
    call: ToolCall | None = None
    held: bool = False


def prompts_of(body: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """What the person typed, without what the program wrote around it."""
    texts = [
        text
        for message in body.get("messages", ())
        if message["role"] == "user"
        for text in texts_of(message["content"])
        if not text.lstrip().startswith("<")
    ]
    return tuple((m[1], m[2].strip()) for text in texts for m in PROMPT.finditer(text))


def texts_of(content: str | list[dict[str, Any]]) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if part["type"] == "text"]


def answer_to(body: dict[str, Any], calls: Mapping[str, ToolCall]) -> Answer:
    prompts = prompts_of(body)
    if not prompts or not body.get("tools"):  # titles, warm-ups
        return Answer("quiet")
    wanted, results = exchanged(body)
    if results and wanted != WAIT:
        return Answer("the tool has answered")
    verb, rest = prompts[-1]
    if verb == "run":
        given = {"command": rest, "description": "what was asked for"}
        return Answer("I would like to run it.", ToolCall("Bash", given))
    if verb == "call":
        missing = WAIT in names_of(body) and calls[rest].tool not in names_of(body)
        return Answer("Let me see.", ToolCall(WAIT, {}) if missing else calls[rest])
    if verb == "hold":
        return Answer(HELD + rest, held=True)
    before = ", ".join(word for said, word in prompts[:-1] if said == "say")
    return Answer(f"answer {len(prompts)}: {rest}" + (f" after {before}" if before else ""))


def names_of(body: dict[str, Any]) -> tuple[str, ...]:
    """The tools that the model may ask for."""
    return tuple(str(tool.get("name", "")) for tool in body.get("tools") or ())


def exchanged(body: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """The tool that the model asked for last, and the results that have come since."""
    wanted, results = "", list[dict[str, Any]]()
    for message in body["messages"]:
        parts = [] if isinstance(message["content"], str) else message["content"]
        if message["role"] == "assistant":
            wanted = next((part["name"] for part in parts if part["type"] == "tool_use"), "")
            results.clear()
        results += [part for part in parts if part["type"] == "tool_result"]
    return wanted, results


# -- the wire ------------------------------------------------------------------------------------


def blocks_of(answer: Answer, number: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}]
    if answer.call:
        tool, given = answer.call
        blocks.append({"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given})
    return blocks


def message_of(answer: Answer, number: int, model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks_of(answer, number),
        "stop_reason": "tool_use" if answer.call else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }


def events_of(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same message as a stream."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


class Desk(http.server.BaseHTTPRequestHandler):
    server: "Server"  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.split("?")[0]
        self.server.asked.append(Asked("POST", path, prompts_of(body), names_of(body)))
        if path.endswith("/count_tokens"):
            self.tell({"input_tokens": 10})
        elif path != "/v1/messages":
            self.tell({})
        else:
            self.converse(body)

    def do_GET(self) -> None:
        self.server.asked.append(Asked("GET", self.path.split("?")[0]))
        self.tell({"data": [], "has_more": False})

    def do_HEAD(self) -> None:
        self.tell({})

    def do_CONNECT(self) -> None:
        """We are its proxy too: whatever it wants outside is written down and refused."""
        self.server.asked.append(Asked("CONNECT", self.path))
        self.send_error(403)

    def converse(self, body: dict[str, Any]) -> None:
        self.server.take_in(exchanged(body)[1])
        answer = answer_to(body, self.server.calls)
        message = message_of(answer, next(self.server.numbers), str(body.get("model", "")))
        self.server.note_calls(message)
        if not body.get("stream"):
            self.tell(message)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events_of(message):
            if answer.held and event["type"] == "message_delta":
                self.wait_for_hangup()
                return
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

    def wait_for_hangup(self) -> None:
        readable, _, _ = select.select([self.connection, self.server.closing], [], [], LONGEST_HOLD)
        if self.connection in readable:
            self.server.hung_up.set()

    def tell(self, document: dict[str, Any]) -> None:
        text = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.asked: list[Asked] = []
        self.numbers = itertools.count(1)
        self.calls: dict[str, ToolCall] = {}  # by the word of the prompt
        self.results: list[ToolResult] = []
        self._began: dict[str, tuple[str, float]] = {}  # the tool that was asked for, and when
        self.hung_up = threading.Event()
        self.closing, self.close_it = socket.socketpair()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def note_calls(self, message: dict[str, Any]) -> None:
        for block in message["content"]:
            if block["type"] == "tool_use":
                self._began[block["id"]] = block["name"], time.monotonic()

    def take_in(self, results: list[dict[str, Any]]) -> None:
        """A request that is sent again says the same twice: the first time counts."""
        for part in results:
            if part["tool_use_id"] not in self._began:
                continue
            tool, began = self._began.pop(part["tool_use_id"])
            text, failed = "".join(texts_of(part["content"])), bool(part.get("is_error"))
            self.results.append(ToolResult(tool, text, failed, time.monotonic() - began))

    def handle_error(self, request: object, client_address: object) -> None:
        """Agents are killed in the middle of a request here: a broken pipe is no news."""


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.close_it.send(b".")
        server.shutdown()
        server.server_close()
        thread.join()
        server.closing.close()
        server.close_it.close()
