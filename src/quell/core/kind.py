"""What quell knows of one agent program: facts and argv templates, no I/O.

In templates, `{id}` is the conversation's id. Paths may also use `{id8}` (its first eight
characters) and `{cwd_key}`; `root` may use `{home}`, `live_file` uses `{pid}`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from quell.core.serving import Serving  # only shared servers need it

UUID_LENGTH, UUID_DASHES = 36, 4


class Helper(NamedTuple):
    """A process of the vendor's that serves several sessions, so that no one agent owns it."""

    pattern: str  # glob over the whole command line
    serves: tuple[str, ...]  # base names of the programs that use it
    off: str  # the vendor's own command that ends it, for the hint


class Database(NamedTuple):
    """Questions to an SQLite file, read only, where a conversation is rows and not a file."""

    has: str  # one row if conversation :id is there
    newest: str  # the ids of directory :cwd, the latest first
    touched: str = ""  # when conversation :id last changed, in milliseconds
    tail: str = ""  # its last records as JSON, the latest first, for `dialect`


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
    # tmux key names that refuse an open question and empty a half-typed prompt. A pause after each:
    # what follows an Escape at once is read as Alt, the question stays and Enter answers yes.
    clear_keys: tuple[str, ...] = ()
    exit_shown: str = ""  # regex that the screen must match before Enter sends the exit keys
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
    confirm: tuple[tuple[str, str], ...] = ()  # (what the screen asks after exit keys, the answer)
    lost: tuple[str, ...] = ()  # what the screen says when a conversation cannot be resumed
    picks: tuple[str, ...] = ()  # flags by which a person chooses the conversation
    subcommands: tuple[str, ...] = ()  # first words that are not a prompt and start no session
    alone: tuple[str, ...] = ()  # argv that keeps the work out of the vendor's own daemon
    cwd_key: Callable[[str], str] | None = None  # a real path as the program writes it in {cwd_key}
    database: Database | None = None  # set: `conversation` is the database, which holds everybody's
    forget: tuple[str, ...] = ()  # the vendor's argv that deletes {id}, where files are not enough
    live_file: str = ""  # JSON below {root} that process {pid} keeps; its `sessionId` is {id}
    last_file: str = ""  # JSON below {root}: directory → the conversation that was there last
    serving: "Serving | None" = None  # set: one process can serve several agents

    dialect: str = ""  # how its conversation is written, for `turn_of`; empty: nobody knows
    beside: str = ""  # glob below {root} of files that grow in its stead: its subagents'
    busy: str = ""  # regex of what the screen's end shows while a tool runs
    busy_in_answers: bool = False  # whether it always shows while the model answers, too
    asks: tuple[str, ...] = ()  # regexes of what the screen's end shows while a person must answer
    limited: tuple[str, ...] = ()  # regexes of the notice that a quota is spent

    def start_argv(self, conversation: str, args: tuple[str, ...]) -> tuple[str, ...]:
        """The argv of a fresh start; fixes the conversation id where the program allows it."""
        if not self.program:
            return args
        if self.is_subcommand(args):
            return (self.program, *args)
        picks = any(arg.split("=")[0] in self.picks for arg in args)
        chosen = filled(self.choose_id, conversation) if conversation and not picks else ()
        return (self.program, *chosen, *self.alone, *args)

    def is_subcommand(self, args: tuple[str, ...]) -> bool:
        """`claude mcp list` is no session: nothing of ours belongs into its argv."""
        return bool(args) and args[0] in self.subcommands

    def picked(self, args: tuple[str, ...]) -> tuple[bool, str]:
        """Whether the arguments choose a conversation themselves, and which, if they say."""
        for arg, following in zip(args, (*args[1:], ""), strict=False):
            flag, _, value = arg.partition("=")
            if flag in self.picks:
                named = value or following
                return True, named if (len(named), named.count("-")) == (
                    UUID_LENGTH,
                    UUID_DASHES,
                ) else ""
        return False, ""

    def lasting(self, args: tuple[str, ...]) -> tuple[str, ...]:
        """The arguments that a resume repeats: not the first prompt, not another conversation."""
        if not self.program:
            return args
        kept: list[str] = []
        skipping = False
        for arg in args:
            if arg.split("=")[0] in self.picks:
                skipping = "=" not in arg
                continue
            if skipping and not arg.startswith("-"):
                skipping = False
                continue
            skipping = False
            kept.append(arg)
        alone = len(kept) == 1 or (len(kept) > 1 and not kept[-2].startswith("-"))
        if kept and alone and not kept[-1].startswith("-"):
            kept.pop()
        return tuple(kept)

    def resume_argv(self, conversation: str, args: tuple[str, ...]) -> tuple[str, ...]:
        """The argv that continues `conversation`; a kind without conversations starts again."""
        if not self.resume or not conversation:
            return self.start_argv("", args)
        continuing = filled(self.resume, conversation)
        return (self.program, *continuing, *self.alone, *self.lasting(args))


def filled(template: tuple[str, ...], conversation: str) -> tuple[str, ...]:
    return tuple(part.replace("{id}", conversation) for part in template)


def conversation_root(kind: Kind, env: Mapping[str, str]) -> str:
    """The directory that holds every conversation of `kind` for a person with this environment."""
    ours = [variable for variable, _ in kind.root_env]
    nested = any(env.get(name) for name in kind.strip_env if name not in ours)
    for variable, suffix in kind.root_env:
        # Agents set some of these for their children too, and mean something else by them.
        if env.get(variable) and not (nested and variable in kind.strip_env):
            return env[variable].rstrip("/") + suffix
    return kind.root.replace("{home}", env.get("HOME", ""))


def below_root(
    kind: Kind, templates: tuple[str, ...], conversation: str, cwd: str
) -> tuple[str, ...]:
    """Globs below the root, the best first; none for an id that could reach another's files."""
    if not conversation.isascii() or not conversation.replace("-", "").replace("_", "").isalnum():
        return ()
    key = kind.cwd_key(cwd) if kind.cwd_key else ""
    return tuple(
        template.replace("{id}", conversation)
        .replace("{id8}", conversation[:8])
        .replace("{cwd_key}", key)
        for template in templates
    )
