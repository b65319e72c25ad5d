"""How knell's MCP server is named to an agent program: in its settings, or for one start alone."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from knell.core.environment import TOKEN
from knell.core.errors import BadRequest


class McpServer(NamedTuple):
    """knell's server, as a program's settings have to name it."""

    command: tuple[str, ...]  # argv that starts a server for one client
    address: str = ""  # of the server that serves all agents; empty: start one by `command`

    def started(self) -> dict[str, Any]:
        """The command in the form that most programs use."""
        return {"command": self.command[0], "args": list(self.command[1:])}

    def started_only(self, program: str) -> dict[str, Any]:
        """The command, for a program that has not been seen to take the token, which an address
        needs, from its environment."""
        if self.address:
            why = f"how {program} takes {TOKEN} for a server at an address was not tried"
            raise BadRequest(why, "leave out --url: each agent then starts a server of its own")
        return self.started()


class McpClient(NamedTuple):
    """What a kind knows about naming a server to its program."""

    file: str  # where the snippet belongs
    snippet: Callable[[McpServer], dict[str, Any] | str]  # a JSON document, or text of another form
    # What names the server for one start alone, without a change to any file; both None: it cannot.
    args: Callable[[McpServer], tuple[str, ...]] | None = None
    env: Callable[[McpServer], tuple[tuple[str, str], ...]] | None = None


def started_document(
    program: str, type: str = "", **more: Any
) -> Callable[[McpServer], dict[str, Any]]:
    """The usual settings, for a program that was only seen to start its servers itself."""

    def document(server: McpServer) -> dict[str, Any]:
        first = {"type": type} if type else {}
        return {"mcpServers": {"knell": {**first, **server.started_only(program), **more}}}

    return document


def reached_document(
    url: str, token: str, started: Mapping[str, str] = {}, **reached: str
) -> Callable[[McpServer], dict[str, Any]]:
    """The usual settings, for a program that takes the token from its environment as `token` says.
    `url`: its word for an address; `started` and `reached`: what else it wants to be told."""

    def document(server: McpServer) -> dict[str, Any]:
        entry: dict[str, Any] = {**started, **server.started()}
        if server.address:
            entry = {**reached, url: server.address, "headers": bearer(token)}
        return {"mcpServers": {"knell": entry}}

    return document


def json_option(
    option: str, document: Callable[[McpServer], dict[str, Any]]
) -> Callable[[McpServer], tuple[str, ...]]:
    """For a program that takes the document itself behind that option."""
    return lambda server: (option, json.dumps(document(server)))


def bearer(token: str) -> dict[str, str]:
    """The header with the token, which the program itself takes from its environment."""
    return {"Authorization": f"Bearer {token}"}
