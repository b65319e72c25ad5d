"""A real `knell web` for tests: its process, its address, and requests as anybody may send them."""

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from house import House
from preloaded import Forked

PATIENCE = 120.0
Process = Forked | subprocess.Popen[Any]


class Told(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        return self.json["error"]["code"]


class Server:
    def __init__(self, process: Process, address: str) -> None:
        self.process = process
        self.address = address
        parts = urlsplit(address)
        self.token = parts.fragment
        self.host, self.port = str(parts.hostname), int(parts.port or 0)
        self.netloc = parts.netloc
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.cookie = ""
        self.bearer = ""

    # -- as a page or a script would ask ------------------------------------------------------

    def enter(self, token: str = "") -> Told:
        """Exchanges a link for a cookie, as the page does."""
        told = self.ask("POST", "/api/session", {"token": token or self.token})
        if told.status == 200:
            self.cookie = told.headers["set-cookie"].partition(";")[0]
        return told

    def get(self, path: str, **headers: str) -> Told:
        return self.ask("GET", path, None, **headers)

    def post(self, path: str, body: Any, **headers: str) -> Told:
        return self.ask("POST", path, body, **headers)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Told:
        """`headers`: others than the page would send; an empty one is left out.

        A refusal comes before the body is read. The server closes the connection then, and the
        kernel may throw the answer away with it: such a request is sent again."""
        for _ in range(20):
            with contextlib.suppress(ConnectionResetError):
                return self._ask_once(method, path, body, headers)
        return self._ask_once(method, path, body, headers)

    def _ask_once(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Told:
        sent = {"host": self.netloc}
        if method == "POST":
            sent |= {"origin": self.origin, "content-type": "application/json"}
        if self.cookie:
            sent["cookie"] = self.cookie
        if self.bearer:
            sent["authorization"] = f"Bearer {self.bearer}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        link = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value:
                    link.putheader(name, value)
            if method == "POST":
                link.putheader("content-length", str(len(content)))
            link.endheaders(content if method == "POST" else None)
            answer = link.getresponse()
            known = {name.lower(): value for name, value in answer.getheaders()}
            return Told(answer.status, known, answer.read().decode())
        finally:
            link.close()

    def link(self) -> str:
        """The token of another link."""
        return self.post("/api/link", {}).json["address"].partition("#")[2]

    # -- streams ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def stream(
        self, path: str = "/api/changes", **headers: str
    ) -> Iterator[Iterator[dict[str, str]]]:
        """The messages of a live stream, as they come."""
        link = socket.create_connection((self.host, self.port), PATIENCE)
        sent = {"host": self.netloc, "cookie": self.cookie} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        with link:
            link.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
            with link.makefile("rb") as lines:
                yield messages(lines)

    # -- its end ------------------------------------------------------------------------------

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def messages(lines: Any) -> Iterator[dict[str, str]]:
    """Fields of each message; the chunks that HTTP cuts the stream into are passed over."""
    found: dict[str, str] = {}
    while line := lines.readline():
        name, colon, value = line.decode().rstrip("\r\n").partition(": ")
        if colon and name in ("id", "event", "data", "retry"):
            found[name] = value
        elif line.startswith(b":"):
            yield {"comment": value}
        elif line == b"\n" and found:
            yield found
            found = {}


@contextlib.contextmanager
def served(house: House, *args: str, port: int = 0, alone: bool = False) -> Iterator[Server]:
    """`knell web`, once it has printed its address.

    `alone`: started as a person does, and not forked from what has imported it all."""
    words = ("web", "--port", str(port), *args)
    streams: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    process: Process
    if alone:
        argv = [sys.executable, "-m", "knell", *words]
        process = subprocess.Popen(argv, env=house.env, cwd=house.root, **streams)
    else:
        process = house.begin(*words, **streams)
    try:
        assert process.stdout
        assert process.stderr
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        yield Server(process, address)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.communicate()
