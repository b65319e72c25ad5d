"""Fuzzing the MCP server over standard input: it answers, or ignores, and goes on serving."""

import json
import os
import select
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaos.fuzzing import fuzzed, hostile_words, json_values
from chaos.report import Tally
from house import House, alive
from knell.faces.mcp.tools.call import TOOLS

pytestmark = pytest.mark.stress

PATIENCE = 60.0
# Not these: they start programs, or end agents as they are told.
SPARED = {"spawn-agent"}
METHODS = ["tools/call", "tools/list", "resources/read", "resources/list", "initialize", "ping",
           "notifications/cancelled", "notifications/initialized", "completion/complete",
           "logging/setLevel", "no/such", "", "__init__", "tools/call\x00"]  # fmt: skip
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "fuzz", "version": "0"},
}


class Wire:
    """A server, and whatever is thrown at it; `beats` asks it whether it still serves."""

    def __init__(self, house: House) -> None:
        self.process = house.begin(
            *("mcp", "--operator"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.asked = 0
        self.rest = b""
        self.ask("initialize", HELLO)
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line.replace(b"\n", b" ") + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """The answer; those to what was thrown before may come first, each a line of JSON."""
        self.asked += 1
        id = f"mine-{self.asked}"
        whole = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.send(json.dumps(whole).encode())
        while True:
            answer = json.loads(self.line())
            if isinstance(answer, dict) and answer.get("id") == id:
                return answer

    def line(self) -> bytes:
        assert self.process.stdout
        fd = self.process.stdout.fileno()
        while b"\n" not in self.rest:
            if not select.select([fd], [], [], PATIENCE)[0]:
                raise AssertionError("the server does not answer")
            more = os.read(fd, 65_536)
            assert more, "the server has left"
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def serves(self) -> None:
        told = self.ask("tools/call", {"name": "list-agents", "arguments": {}})
        assert told["result"]["structuredContent"]["success"] is True, told

    def close(self) -> int:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code


@pytest.fixture
def luna(house: House) -> int:
    run = house.spawn(name="luna").run
    assert run.process
    return run.process.pid


@pytest.fixture
def wire(house: House, luna: int) -> Iterator[Wire]:
    """Of an operator, who might end luna; nothing below means her."""
    one = Wire(house)
    yield one
    assert one.close() == 0
    assert alive(luna)
    types = {event.type for event in house.knell.events(agent="luna")}
    assert types <= {"life.spawning", "life.started"}, types


@pytest.fixture
def tried(tally: Tally) -> Iterator[list[int]]:
    done: list[int] = []
    yield done
    tally.broke("hostile MCP message", sum(done))


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """JSON-RPC with something wrong in it; sometimes cut, sometimes no JSON at all."""
    whole = {
        "jsonrpc": draw(st.one_of(st.just("2.0"), json_values())),
        "id": draw(st.one_of(st.integers(0, 99), json_values())),
        "method": draw(st.one_of(st.sampled_from(METHODS), json_values())),
        "params": draw(json_values()),
    }
    for key in draw(st.lists(st.sampled_from(sorted(whole)), max_size=2)):
        whole.pop(key, None)
    line = json.dumps(whole).encode()
    at = draw(st.integers(0, len(line)))
    return draw(st.sampled_from([line, line, line[:at], line[:at] + b"\xff\x00" + line[at:]]))


@fuzzed(25)
@given(lines=st.lists(st.one_of(messages(), st.binary(max_size=60)), max_size=8))
@example(lines=[b"[" * 100_000, b"{", b"9" * 5000, b'{"a":' * 5000])
@example(lines=[b'"' + b"x" * 2_000_000 + b'"'])
@example(
    lines=[b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800"}}']
)
def test_no_message_ends_the_server(wire: Wire, tried: list[int], lines: list[bytes]) -> None:
    """Whatever is thrown at the MCP server, it goes on serving"""
    for line in lines:
        wire.send(line)
    wire.serves()
    tried.append(len(lines))


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Any]:
    tool = draw(st.sampled_from(sorted(set(TOOLS) - SPARED)))
    value = st.one_of(hostile_words(), json_values())
    known = [field.name for field in TOOLS[tool].fields if field.name != "waitSeconds"]
    keys = st.sampled_from([*known, "nobody's"])
    given_ = draw(st.dictionaries(keys, value, max_size=4))
    for field in known[:2]:
        given_.setdefault(field, draw(hostile_words()))
    return tool, draw(st.sampled_from([given_, given_, given_, [given_], None, "x"]))


def is_text(call: tuple[str, Any]) -> bool:
    """Half a character makes a line no JSON at all, which is ignored: see the test above."""
    try:
        json.dumps(call, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


@fuzzed(80)
@given(call=calls().filter(is_text))
def test_every_call_of_a_tool_is_answered(
    wire: Wire, tried: list[int], call: tuple[str, Any]
) -> None:
    """Every tool answers whatever it is given, and ends nobody by mistake"""
    tool, arguments = call
    answer = wire.ask("tools/call", {"name": tool, "arguments": arguments})
    if "error" in answer:
        assert answer["error"]["code"] in {-32600, -32601, -32602, -32700}, answer
    else:
        assert isinstance(answer["result"]["structuredContent"]["success"], bool), answer
    tried.append(1)
