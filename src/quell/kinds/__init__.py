"""The kinds of agent (being written)."""

from collections.abc import Sequence

from quell.core.kind import Kind

NAMES = ("claude", "command")


def kind(name: str) -> Kind:
    return {
        "command": Kind("command"),
        "claude": Kind(
            "claude", "claude", choose_id=("--session-id", "{id}"), resume=("--resume", "{id}")
        ),
    }[name]


def recognise(argv: Sequence[str]) -> str:
    return "command"
