"""One process of an agent program that serves several agents of a project, over HTTP."""

import re
from collections.abc import Iterator
from typing import NamedTuple

FIRST_PORT, PORTS = 28_000, 1000
TAG = "server"  # of the agent that is a server
SESSION = re.compile(r"[A-Za-z0-9_-]{1,200}")


class Serving(NamedTuple):
    """How a program is such a server. It listens on the loopback only.

    Templates: `{port}`, `{url}`, `{cwd}` (quoted in paths), and `{id}`, the conversation's.
    """

    serve: tuple[str, ...]  # argv after the program
    attach: tuple[str, ...]  # argv after the program, for an agent that uses the server
    session: tuple[str, ...]  # argv for `attach` that chooses conversation {id}
    picks: tuple[str, ...]  # flags by which a person chooses the conversation instead
    health: str  # GET answers 200 once it is ready
    open: str  # POST begins a conversation in {cwd}; the reply's `id` is its id
    abort: str  # POST ends whatever conversation {id} is at, and keeps the conversation
    user: str  # of HTTP basic authentication
    user_env: str  # variables by which server and agent are told the user and the password
    secret_env: str


class Call(NamedTuple):
    """One HTTP request to a program on this machine."""

    port: int
    path: str
    method: str = "GET"
    body: str = ""  # JSON
    login: tuple[str, str] = ("", "")  # user and password; an empty user: none is sent


class Reply(NamedTuple):
    status: int
    body: bytes


def _digest(project: str) -> bytes:
    import hashlib

    name = project.encode(errors="surrogateescape")
    return hashlib.md5(name, usedforsecurity=False).digest()  # the contract's; nothing is secret


def server_name(kind: str, project: str) -> str:
    return f"server-{kind}-{_digest(project).hex()[:8]}"


def ports(project: str) -> Iterator[int]:
    """All of them, beginning with the project's own: two projects may have the same."""
    own = int.from_bytes(_digest(project)[:2], "big")
    return (FIRST_PORT + (own + step) % PORTS for step in range(PORTS))
