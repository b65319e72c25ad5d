"""What the file of a command says about it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from quell.faces.commands.answers import Answer
from quell.faces.commands.parameters import Parameter

if TYPE_CHECKING:
    from quell.api import Quell


class Spec(NamedTuple):
    parameters: tuple[Parameter, ...]
    carry_out: Callable[["Quell", dict[str, Any]], Answer]
    fault: str  # the code of an error that has none of its own
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    tools: tuple[str, ...]
    errors: dict[str, str]
    silent: Callable[[dict[str, Any]], bool] = lambda _: False  # too frequent for the trail
