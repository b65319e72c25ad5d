"""A stand-in for the models, on loopback: answers by rule, so that a test knows what must be shown.

It speaks with claude, codex, gemini and opencode (`wires/`). What a prompt may say, and what the
model makes of it:

say WORD       `answer N: WORD`, and, if the request carried earlier ones, `after WORD, WORD`. N is
               counted from the request alone: a resumed agent that lost its past gets `answer 1`
run COMMAND    asks for the program's shell tool with that command
call WORD      asks for the tool, with the input, that a test has written down under that word
slow N         counts to N, a number every `Server.pace` seconds
hold WORD      begins to answer and never ends, until the asker hangs up or `Server.go_on()`
hang WORD      takes the request and answers nothing, until the same
cut WORD       begins to answer, and the connection is gone
drop WORD      takes the request, and the connection is gone
limit WORD     is refused with status 429
"""

import contextlib
import http.server
import itertools
import json
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from e2e.wires import anthropic, completions, google, responses
from e2e.wires.talk import Answer, Reply, Returned, Talk, ToolCall, Wire, framed

__all__ = ["Asked", "Server", "ToolCall", "ToolResult", "serving"]

WIRES = (anthropic.WIRE, responses.WIRE, completions.WIRE, google.WIRE)
HELD = "held: "
# Claude's own, for some seconds; offered as long as a server is starting
WAIT = "WaitForMcpServers"
LONGEST_HOLD = 120.0  # seconds, should a test forget to hang up


class Asked(NamedTuple):
    method: str
    path: str
    prompts: tuple[tuple[str, str], ...] = ()  # those of the whole conversation, in order
    tools: tuple[str, ...] = ()  # that the model may ask for
    body: dict[str, Any] = {}  # noqa: RUF012 - the request as it came


class ToolResult(NamedTuple):
    tool: str
    text: str
    failed: bool
    seconds: float  # from the model's asking for it


def answer_to(talk: Talk, wire: Wire, calls: Mapping[str, ToolCall]) -> Answer:
    if not talk.prompts or not talk.tools:  # titles, warm-ups
        return Answer("quiet")
    if talk.results and talk.wanted != WAIT:
        return Answer("the tool has answered")
    verb, rest = talk.prompts[-1]
    if verb == "run":
        return Answer("I would like to run it.", wire.shell(rest, talk.tools))
    if verb == "call":
        missing = WAIT in talk.tools and calls[rest].tool not in talk.tools
        return Answer("Let me see.", ToolCall(WAIT, {}) if missing else calls[rest])
    return Answer(text_of(talk, verb, rest), manner=verb)


def text_of(talk: Talk, verb: str, rest: str) -> str:
    if verb in ("hold", "cut"):
        return HELD + rest
    if verb == "slow":
        return " ".join(["slowly", *(str(number + 1) for number in range(int(rest)))])
    before = ", ".join(word for said, word in talk.prompts[:-1] if said == "say")
    return f"answer {len(talk.prompts)}: {rest}" + (f" after {before}" if before else "")


class Desk(http.server.BaseHTTPRequestHandler):
    server: "Server"  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.split("?")[0]
        wire = next((wire for wire in WIRES if wire.path.search(path)), None)
        talk = wire.read(body) if wire else Talk()
        self.server.asked.append(Asked("POST", path, talk.prompts, talk.tools, body))
        if wire:
            self.converse(wire, talk, body)
        elif path.endswith("/count_tokens"):
            self.tell({"input_tokens": 10})
        else:
            self.tell({"totalTokens": 10} if path.endswith(":countTokens") else {})

    def do_GET(self) -> None:
        self.server.asked.append(Asked("GET", self.path.split("?")[0]))
        self.tell({"data": [], "models": [], "has_more": False})

    def do_HEAD(self) -> None:
        self.tell({})

    def do_CONNECT(self) -> None:
        """We are its proxy too: whatever it wants outside is written down and refused."""
        self.server.asked.append(Asked("CONNECT", self.path))
        if self.path == self.server.address.removeprefix("http://"):
            self.send_response(200)  # to ourselves: what follows comes over this connection
            self.end_headers()
            self.close_connection = False
            return
        self.send_error(403)

    def converse(self, wire: Wire, talk: Talk, body: dict[str, Any]) -> None:
        self.server.take_in(talk.results)
        answer = answer_to(talk, wire, self.server.calls)
        number = next(self.server.numbers)
        reply = wire.reply(answer, number, str(body.get("model", "")))
        self.server.note_call(answer, number)
        if answer.manner == "limit":
            self.tell(wire.limit, 429)
        elif answer.manner == "drop" or (answer.manner == "hang" and not self.may_go_on()):
            self.hang_up()
        elif body.get("stream") or ":stream" in self.path:
            self.stream(answer, reply, wire.last)
        else:
            self.tell(reply.whole)

    def stream(self, answer: Answer, reply: Reply, last: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        pieces = answer.text.split(" ") if answer.manner == "slow" else [answer.text]
        said = [reply.text(piece + " " * (len(pieces) > 1)) for piece in pieces]
        for event in (*reply.begin, said[0]):
            self.wfile.write(framed(event))
        for event in said[1:]:
            if self.waits_in_vain(self.server.pace):
                return
            self.wfile.write(framed(event))
        if answer.manner == "cut":
            self.hang_up()
            return
        if answer.manner == "hold" and not self.may_go_on():
            return
        for event in reply.end:
            self.wfile.write(framed(event))
        if last:
            self.wfile.write(f"data: {last}\n\n".encode())

    def may_go_on(self) -> bool:
        """Waits for the test's word; whether it came before the asker hung up."""
        gates = [self.connection, self.server.closing, self.server.gate]
        self.server.holding.set()
        readable, _, _ = select.select(gates, [], [], LONGEST_HOLD)
        if self.connection in readable:
            self.server.hung_up.set()
            return False
        return self.server.gate in readable

    def waits_in_vain(self, seconds: float) -> bool:
        """Whether the asker hung up, or the test ended, in that time."""
        gates = [self.connection, self.server.closing]
        readable, _, _ = select.select(gates, [], [], seconds)
        if self.connection in readable:
            self.server.hung_up.set()
        return bool(readable)

    def hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def tell(self, document: dict[str, Any], status: int = 200) -> None:
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        if status == 429:
            self.send_header("retry-after", str(self.server.retry_after))
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
        self.pace = 0.5  # seconds between two words of a slow answer
        self.retry_after = 5  # seconds, said with status 429
        self._began: dict[str, tuple[str, float]] = {}  # the tool that was asked for, and when
        self.holding = threading.Event()  # a request is kept waiting
        self.hung_up = threading.Event()  # and its asker did not wait
        self.closing, self.close_it = socket.socketpair()
        self.gate, self._open_gate = socket.socketpair()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def go_on(self) -> None:
        """From here on what is held is answered."""
        self._open_gate.send(b".")

    def note_call(self, answer: Answer, number: int) -> None:
        if answer.call:
            self._began[f"call_{number}"] = answer.call.tool, time.monotonic()

    def take_in(self, results: tuple[Returned, ...]) -> None:
        """A request that is sent again says the same twice: the first time counts."""
        for one in results:
            if one.call in self._began:
                tool, began = self._began.pop(one.call)
                self.results.append(
                    ToolResult(tool, one.text, one.failed, time.monotonic() - began)
                )

    def handle_error(self, request: object, client_address: object) -> None:
        """Agents are killed in the middle of a request here: a broken pipe is no news."""

    def server_close(self) -> None:
        super().server_close()
        for end in (self.closing, self.close_it, self.gate, self._open_gate):
            end.close()


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
