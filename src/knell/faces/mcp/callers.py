"""Who calls a tool: proven by ancestry or by a run's token, never by what the caller claims."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from knell.api import Knell
from knell.core.authority import Caller
from knell.core.environment import TOKEN, without_caller

OPERATOR = Caller("operator via mcp")
UNKNOWN = "it is not known who calls"
STRANGER = Caller("unknown via mcp", doubt=UNKNOWN)
PROVE = "start the server inside an agent that knell started; a person may use knell mcp --operator"


class ToolCaller(NamedTuple):
    caller: Caller
    operator: bool = False  # a person answers for this server

    @property
    def known(self) -> bool:
        return bool(self.caller.runs) or self.operator


class ServerOptions(NamedTuple):
    """How the server was started: in which environment, and whether a person answers for it."""

    env: Mapping[str, str] = os.environ
    operator: bool = False


def knell_of(options: ServerOptions) -> Knell:
    """Knell without a caller: what the environment claims about the caller is left out."""
    return Knell(env=without_caller(options.env))


def find_caller(options: ServerOptions) -> ToolCaller:
    """The agent that started this process; else the one whose token the environment holds."""
    with knell_of(options) as knell:
        caller = knell.caller()
        if caller.runs:
            return ToolCaller(caller)  # an agent stays one, whatever options it was given
        holder = knell.server.holder_of(options.env.get(TOKEN, ""))
    if holder:
        return ToolCaller(holder)
    if options.operator and not caller.doubt:
        return ToolCaller(caller._replace(by=OPERATOR.by), operator=True)
    return ToolCaller(STRANGER)


def knell_for(options: ServerOptions, caller: Caller) -> Knell:
    """Knell in the name of the caller, for one thread, which opens and closes the store."""
    return knell_of(options).acting_as(caller)
