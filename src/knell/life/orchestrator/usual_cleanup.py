"""The cleanup that kill-stalled-agent does unasked: left out where the caller may not clean up."""

from collections.abc import Callable
from typing import TypeVar

from knell.core.codes import Code
from knell.core.errors import Refused
from knell.life.end.kill import KillWish
from knell.life.watch.stalled import StalledWish

Asked = TypeVar("Asked", KillWish, StalledWish)
Done = TypeVar("Done")


def or_without_cleanup(act: Callable[[Asked], Done], wish: Asked) -> Done:
    """One that was asked for is refused instead. Both are refused before anything is done."""
    try:
        return act(wish)
    except Refused as error:
        if wish.cleanup != "own" or error.code not in (Code.NOT_ALLOWED, Code.ONLY_THE_LEADER):
            raise
    return act(wish._replace(cleanup=""))
