"""Verbs of one agent that its own host carries out, where it is named as NAME@HOST."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from knell.core.fleet.target import is_far

F = TypeVar("F", bound=Callable[..., Any])


def on_its_host(verb: str) -> Callable[[F], F]:
    """A verb of one NAME, which the host of `name@host` carries out. Takes its --wait away."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def called(*args: Any, wait: float | None = None, **given: Any) -> Any:
            if not is_far(given["name"]):
                return function(*args, **given)
            from knell.faces.cli.far import ask_one

            said = {k: v for k, v in given.items() if v not in (None, "", False, ())}
            name, json_wanted = said.pop("name"), given["json_wanted"]
            said.pop("json_wanted", None)
            return ask_one(verb, name, said, wait, json_wanted=json_wanted)

        return called  # pyright: ignore[reportReturnType]

    return decorate
