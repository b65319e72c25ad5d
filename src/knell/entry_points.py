"""Finds kinds and places that other installed packages offer by entry points.

A lookup takes some 20 ms, so every other source is asked first.
"""

import sys
from contextlib import redirect_stdout
from threading import RLock
from typing import TYPE_CHECKING

from knell.core.errors import BadConfig

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

_one_at_a_time = RLock()  # stdout is the whole process's


def offered(group: str) -> dict[str, list["EntryPoint"]]:
    """Name → the entry points that offer it; more than one means that packages disagree."""
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=group):
        same = found.setdefault(point.name, [])
        if point not in same:  # one package can be on the path twice
            same.append(point)
    return found


def load(group: str, points: list["EntryPoint"]) -> object:
    """What the entry point names, or what the function that it names returns; BadConfig also if two
    packages offer it."""
    point = points[0]
    where = origin(group, points)
    if len(points) > 1:
        raise BadConfig(f"{where}: several packages offer this name", "uninstall all but one")
    hint = f"repair or remove {_package(point)}"
    return made(f"{where}: {point.value} cannot be loaded", hint, _found, point)


def made(what: str, hint: str, make: "Callable[..., object]", *given: object) -> object:
    """What the foreign code gives; BadConfig for whatever goes wrong in it, an exit too. What it
    prints goes to stderr: stdout may be read by a program."""
    try:
        with _one_at_a_time, redirect_stdout(sys.stderr):
            return make(*given)
    except (Exception, SystemExit) as error:
        raise BadConfig(f"{what}: {type(error).__name__}: {error}", hint) from error


def _found(point: "EntryPoint") -> object:
    found = point.load()
    return found() if callable(found) and not isinstance(found, type) else found


def origin(group: str, points: list["EntryPoint"]) -> str:
    """The entry point and its packages, for messages."""
    packages = ", ".join(sorted({_package(point) for point in points}))
    return f"entry point {points[0].name} of {group} ({packages})"


def _package(point: "EntryPoint") -> str:
    return point.dist.name if point.dist else "an unnamed package"
