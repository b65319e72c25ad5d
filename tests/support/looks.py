"""Looks that are dear (a command, a process, all of the store) are not repeated every 5 ms."""

from collections.abc import Callable
from typing import TypeVar

from house import pause

T = TypeVar("T")


def seldom(fact: Callable[[], T], seconds: float = 0.1) -> Callable[[], T]:
    """For `eventually`: the same fact, with a rest behind each look in vain."""

    def look() -> T:
        value = fact()
        if not value:
            pause(seconds)
        return value

    return look
