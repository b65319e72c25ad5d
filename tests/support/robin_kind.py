"""Robin, a program that only the tests have: everything that knell must know of it."""

import json
from collections.abc import Sequence

from knell.core.hooks.entries import Hooks
from knell.core.kind import Kind
from knell.core.mcp_client import McpClient, McpServer
from knell.core.stall.signs import Turn
from knell.core.stall.turns import Record


def turn(records: Sequence[Record]) -> Turn:
    """A line of a person opens a turn; what robin writes closes it."""
    if not records:
        return Turn.UNKNOWN
    return Turn.DONE if records[0].get("done") else Turn.OPEN


def snippet(server: McpServer) -> dict[str, object]:
    return {"servers": {"knell": server.address or list(server.command)}}


def option(server: McpServer) -> tuple[str, ...]:
    return ("--mcp", json.dumps(snippet(server), indent=2))


KIND = Kind(
    "robin",
    program="robin",
    packages=("robin-cli",),
    child_env=("ROBIN_SESSION",),
    session_env="ROBIN_SESSION",
    choose_id=("--talk", "{id}"),
    resume=("--again", "{id}"),
    picks=("--talk", "--again"),
    subcommands=("config",),
    strip_env=("ROBIN_CHILD",),
    exit_keys="/bye",
    clear_keys=("Escape", "C-u"),
    exit_shown=r"robin> /bye *$",
    root_env=(("ROBIN_HOME", ""),),
    root="{home}/.robin",
    conversation=("talks/{id}.jsonl",),
    extras=("notes/{id}",),
    lost=("robin: there is no such talk",),
    registry_id="robin_talk_id_own",
    registry_cache="talk_id",
    turn=turn,
    asks=(r"(?m)^\[1\] yes  \[2\] no$(?![\s\S]*robin>)",),
    hooks=Hooks(
        variable="ROBIN_HOME",
        home=".robin",
        files=("settings.json",),
        beats=("Chirp",),
        switches="settings.json",
    ),
    mcp=McpClient("~/.robin/mcp.json", snippet, args=option),
)
