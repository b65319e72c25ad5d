"""What quell knows of one agent program: facts and argv templates, no I/O.

In templates, `{id}` is the conversation's id. Paths may also use `{home}`, `{root}`, `{cwd_key}`.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Helper(NamedTuple):
    """A process of the vendor's that serves several sessions, so that no one agent owns it."""

    pattern: str  # glob over the whole command line
    serves: tuple[str, ...]  # base names of the programs that use it
    off: str  # the vendor's own command that ends it, for the hint


class Kind(NamedTuple):
    name: str
    program: str = ""  # what to execute; empty for `command`, which brings its own argv
    programs: tuple[str, ...] = ()  # base names by which a running one is recognised
    choose_id: tuple[
        str, ...
    ] = ()  # argv that fixes the conversation's id at start; empty: it cannot be chosen
    resume: tuple[
        str, ...
    ] = ()  # argv after the program that continues conversation {id}; empty: cannot
    exit_keys: tuple[
        str, ...
    ] = ()  # what a person types to leave, without Enter; empty: no polite way
    detach_keys: tuple[str, ...] = ()  # tmux key names that end the agent but keep its shell
    clear_keys: tuple[str, ...] = ()  # tmux key names that empty a half-typed prompt
    strip_env: tuple[
        str, ...
    ] = ()  # variables of an enclosing agent that must not leak into this one
    root_env: tuple[tuple[str, str], ...] = ()  # (variable, suffix): the first one set moves {root}
    root: str = ""  # where conversations live when no variable moves it
    conversation: tuple[
        str, ...
    ] = ()  # globs below {root}; the first that matches is the conversation
    extras: tuple[str, ...] = ()  # globs below {root} of what belongs to it besides
    helpers: tuple[Helper, ...] = ()
    lost: tuple[str, ...] = ()  # what the screen says when a conversation cannot be resumed

    def start_argv(self, conversation: str, args: tuple[str, ...]) -> tuple[str, ...]:
        """The argv of a fresh start; fixes the conversation id where the program allows it."""
        if not self.program:
            return args
        chosen = filled(self.choose_id, conversation) if conversation else ()
        return (self.program, *chosen, *args)

    def resume_argv(self, conversation: str, args: tuple[str, ...]) -> tuple[str, ...]:
        """The argv that continues `conversation`; a kind without conversations starts again."""
        if not self.resume or not conversation:
            return self.start_argv("", args)
        return (self.program, *filled(self.resume, conversation), *args)


def filled(template: tuple[str, ...], conversation: str) -> tuple[str, ...]:
    return tuple(part.replace("{id}", conversation) for part in template)


def conversation_root(kind: Kind, env: Mapping[str, str]) -> str:
    """The directory that holds every conversation of `kind` for a person with this environment."""
    for variable, suffix in kind.root_env:
        if env.get(variable):
            return env[variable].rstrip("/") + suffix
    return kind.root.replace("{home}", env.get("HOME", ""))
