"""Verbs of one agent or task that its own host carries out, where it is named as NAME@HOST."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from knell.core.fleet.target import is_far
from knell.faces.cli import options

F = TypeVar("F", bound=Callable[..., Any])


def on_its_host(
    verb: str, word: str = "name", only: Sequence[str] | None = None, **always: Any
) -> Callable[[F], F]:
    """A verb of one `word`, which the host of `word@host` carries out, with its option --wait.

    `only`: the options that the order carries, all that are said if not given."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def called(*args: Any, wait: float | None = None, **given: Any) -> Any:
            if not is_far(given[word]):
                return function(*args, **given)
            from knell.faces.cli.far import ask_one, is_said

            names = given if only is None else only
            said = {name: given[name] for name in names if name != word and is_said(given[name])}
            return ask_one(verb, given[word], always | said, wait)

        return options.wait(called)  # pyright: ignore[reportReturnType]

    return decorate
