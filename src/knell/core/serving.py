"""How an agent program is a server that several agents share."""

from typing import TYPE_CHECKING, NamedTuple

from knell.core.errors import BadRequest

if TYPE_CHECKING:
    from knell.core.kind import Kind


class Serving(NamedTuple):
    """How a program is an HTTP server that several agents share. It listens on the loopback only.

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
    user_env: str  # variables that give server and agent the user and the password
    secret_env: str


def serving_of(kind: "Kind") -> Serving:
    """How this kind is a server; refused for a program that is none."""
    if kind.serving is None:
        raise BadRequest(f"{kind.name} has no server that agents can share", "leave out --shared")
    return kind.serving
