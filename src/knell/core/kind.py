"""What knell knows of one agent program: facts and templates, read by every verb; no I/O.

Templates may use these words and no other: `{id}`, the conversation's id, in argv and paths; in
paths also `{id8}` (its first eight characters) and `{cwd_key}`; `root` uses `{home}` and
`live_file` uses `{pid}`. `core/kind_check.py` refuses a record that does not hold to this page.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from knell.core.errors import BadRequest

if TYPE_CHECKING:  # the records of a kind's further abilities; `command` has none of them
    from knell.core.arguments import Flags, HeadlessMode
    from knell.core.hooks.entries import Hooks
    from knell.core.mcp_client import McpClient
    from knell.core.serving import Serving
    from knell.core.stall.signs import Turn
    from knell.core.telling import Telling, TellRequest
    from knell.core.typed_log import TypedLog

UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
# An agent can write its own id: none may be read as an option, a path, a glob or a format.
SAFE_ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}"
KEEPS_NONE = "a {} keeps no conversation; resume starts it again"  # why its receipt has none
SHOWN = 60  # characters of a bad id that an error repeats

# Programs that run a script; the kind is then decided by the script's path.
INTERPRETERS = ("node", "nodejs", "bun", "python")
TAKES_A_VALUE = ("-r", "--require", "--import", "--loader", "-W", "-X")
NO_SCRIPT = ("-e", "--eval", "-p", "--print", "-c", "-m", "-")


def words_of(text: str) -> tuple[str, ...]:
    """A long list of words as its lines in a file: options, subcommands, variables."""
    return tuple(text.split())


def npm(program: str, package: str) -> dict[str, Any]:
    """What `Kind` needs of a program that npm installs."""
    return {"program": program, "install": f"npm install -g {package}", "packages": (package,)}


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
    tail: str = ""  # its last records as JSON, the latest first, for `turn`


class Kind(NamedTuple):
    """One agent program. A field that is left out means that knell does not know or need it."""

    name: str
    program: str = ""  # what to execute; empty for `command`, which brings its own argv
    install: str = ""  # the command that installs it, for whoever does not have it
    seen: tuple[str, ...] = ()  # the versions that these facts were seen with, the latest last

    # -- how a running one is recognised, besides by the base name of `program` -----------------
    packages: tuple[str, ...] = ()  # npm packages: a script inside of one is the program
    paths: tuple[str, ...] = ()  # globs over the last parts of the executable's path
    # Variables that it alone sets for its children, so that one of them in the environment of a
    # process says who started it; and the one of them that holds the id of the session.
    child_env: tuple[str, ...] = ()
    session_env: str = ""

    # -- starting and leaving -------------------------------------------------------------------
    choose_id: tuple[str, ...] = ()  # argv that fixes the conversation's id at the start
    resume: tuple[str, ...] = ()  # argv after the program that continues conversation {id}
    fork: tuple[str, ...] = ()  # the same, but a new conversation goes on from {id}, which stays
    alone: tuple[str, ...] = ()  # argv that keeps the work out of the vendor's own daemon
    picks: tuple[str, ...] = ()  # flags by which a person chooses the conversation
    subcommands: tuple[str, ...] = ()  # first words that are not a prompt and start no session
    flags: "Flags | None" = None  # how its options read; None: each takes one value
    prompt: tuple[str, ...] = ("{prompt}",)  # argv behind all others that sends {prompt}
    headless: "HeadlessMode | None" = None  # set: without a terminal it needs a prompt, and exits
    # Variables that it sets for its children. Any agent may be started below any other, so that no
    # agent inherits any of them. Names that people set themselves (PAGER, NO_COLOR, GIT_EDITOR,
    # AGENT) are not listed: nothing shows who set them.
    strip_env: tuple[str, ...] = ()
    exit_keys: str = ""  # what a person types to leave, without Enter; empty: no polite way
    # tmux keys that refuse a question and empty a prompt; from the second on until `prompt_empty`.
    clear_keys: tuple[str, ...] = ()
    prompt_empty: str = ""  # regex of the screen, where a C-c on an empty prompt ends the program
    prompt_shown: str = ""  # regex that the screen must match before the exit keys are typed
    exit_shown: str = ""  # and before Enter: they stand alone. Without it they are never typed
    helpers: tuple[Helper, ...] = ()
    serving: "Serving | None" = None  # set: one process can serve several agents

    # -- its conversations ------------------------------------------------------------------------
    id_pattern: str = ""  # regex of its ids, besides that no id can be an option or a path
    root_env: tuple[tuple[str, str], ...] = ()  # (variable, suffix): the first one set moves {root}
    root: str = ""  # where conversations live when no variable moves it
    conversation: tuple[str, ...] = ()  # globs below {root}; the first match is the conversation
    extras: tuple[str, ...] = ()  # globs below {root} of what belongs to it besides
    # Keys of its records: a file without any record that has one is of a format knell does not know
    record_keys: tuple[str, ...] = ()
    cwd_key: Callable[[str], str] | None = None  # a real path as the program writes it in {cwd_key}
    project_file: str = ""  # one folder above the conversation's: it holds the path of its project
    database: Database | None = None  # set: `conversation` is the database of all conversations
    forget: tuple[str, ...] = ()  # the vendor's argv that deletes {id}, where files are not enough
    # How the program tells one run its conversation, without the user's settings being touched.
    tell: "Callable[[TellRequest], Telling] | None" = None
    holds: bool = False  # its process has the conversation's file open for writing
    lock: str = ""  # path below {root} of a file that it holds open, made as it enters {id}
    # Whether the first record of a file is that of a side thread, such as a subagent's.
    side: "Callable[[dict[str, Any]], bool] | None" = None
    said: "Callable[[dict[str, Any]], str] | None" = None  # what the person says in a record
    # How to follow one that tells nothing through its log of what was typed.
    typed_log: "TypedLog | None" = None
    may_vanish: bool = False  # the program may delete a conversation that a person needs yet
    printed: tuple[str, ...] = ()  # regexes with one group: the id, as it prints it itself
    live_file: str = ""  # JSON below {root} that process {pid} keeps; its `sessionId` is {id}
    last_file: str = ""  # JSON below {root}: directory → the conversation that was there last
    lost: tuple[str, ...] = ()  # what the screen says when a conversation cannot be resumed
    registry_id: str = ""  # the field of a row in the registry file that holds {id}
    registry_cache: str = ""  # the field of {id} in the registry file's cache of identities
    other_names: tuple[str, ...] = ()  # what else the registry file calls it

    # -- signs of life ----------------------------------------------------------------------------
    # Whose turn it is, from the records at the end of a conversation, the last first.
    turn: "Callable[[Sequence[dict[str, Any]]], Turn] | None" = None
    beside: str = ""  # glob below {root} of files that grow in its stead: its subagents'
    busy: str = ""  # regex of what the screen's end shows while a tool runs
    busy_in_answers: bool = False  # whether it always shows while the model answers, too
    asks: tuple[str, ...] = ()  # regexes of what the screen's end shows while a person must answer
    limited: tuple[str, ...] = ()  # regexes of the notice that a quota is spent
    retries: tuple[str, ...] = ()  # regexes of the notice that it tries its model again by itself
    blinks: tuple[str, ...] = ()  # regexes of what is taken off before two screens are compared
    # Regex of what the screen shows only while it waits for a prompt, `busy` aside. Left out, it is
    # `prompt_shown` for a program that always shows when it is busy.
    rests: str = ""

    # -- its settings -----------------------------------------------------------------------------
    hooks: "Hooks | None" = None
    mcp: "McpClient | None" = None
    # Where it looks for its user's skills: (variable, below what it says, else below the home).
    skills: tuple[str, ...] = ()

    def start_argv(self, conversation: str, args: tuple[str, ...]) -> tuple[str, ...]:
        """The argv of a fresh start; fixes the conversation id where the program allows it."""
        if not self.program:
            return args
        if self.is_subcommand(args):
            return (self.program, *args)
        picks = any(arg.split("=")[0] in self.picks for arg in args)
        chooses = bool(self.choose_id and conversation and not picks)
        chosen = self.with_id(self.choose_id, conversation) if chooses else ()
        alone = (word for word in self.alone if word not in args)  # codex takes it only once
        return (self.program, *chosen, *alone, *args)

    def is_subcommand(self, args: tuple[str, ...]) -> bool:
        """`claude mcp list` starts no session, so knell adds nothing to its argv."""
        return bool(args) and args[0] in self.subcommands

    def picked(self, args: tuple[str, ...]) -> tuple[bool, str]:
        """Whether the arguments choose a conversation themselves, and which, if they say. One that
        begins as a copy of another has an id that nobody knows yet."""
        if {*args} & {*self.fork} - {*self.resume, "{id}"}:
            return True, ""
        if args[:1] == self.resume[:1] and args[1:] and not args[0].startswith("-"):
            return True, args[1] if self.is_id(args[1]) else ""  # codex resume ID
        for arg, following in zip(args, (*args[1:], ""), strict=False):
            flag, _, value = arg.partition("=")
            if flag in self.picks:
                named = value or following
                return True, named if re.fullmatch(self.id_pattern or UUID, named) else ""
        return False, ""

    def forks(self, args: Sequence[str], conversation: str) -> bool:
        """Whether this command line begins a copy of that conversation, and is not in it itself. A
        word that is no option must stand right before the id: elsewhere it may be a prompt."""
        words = {*self.fork} - {*self.resume, "{id}"}
        for before, arg in zip(("", *args), args, strict=False):
            if arg.rpartition("=")[2] == conversation:
                return any(word in args if word[0] == "-" else word == before for word in words)
        return False

    def is_id(self, text: str) -> bool:
        """Whether the program can have given a conversation this id."""
        return bool(re.fullmatch(SAFE_ID, text) and re.fullmatch(self.id_pattern or ".*", text))

    def with_id(self, template: tuple[str, ...], conversation: str) -> tuple[str, ...]:
        """The argv with the conversation's id in its place; what is no id gets into no argv."""
        if not self.is_id(conversation):
            shown = ascii(conversation[:SHOWN])
            hint = "give the right one with --conversation ID"
            raise BadRequest(f"{shown} is no conversation id of {self.name}", hint)
        return tuple(part.replace("{id}", conversation) for part in template)

    def resume_argv(
        self, conversation: str, args: tuple[str, ...], added: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        """The argv that continues `conversation` in a terminal, perhaps with further arguments; a
        kind without conversations starts again."""
        if not self.resume or not conversation:
            return self.start_argv("", (*args, *added))
        from knell.core.arguments import resumed_in_terminal

        continuing = self.with_id(self.resume, conversation)
        return (self.program, *continuing, *resumed_in_terminal(self, args, added))

    def continue_argv(
        self, conversation: str, args: tuple[str, ...], added: tuple[str, ...]
    ) -> tuple[str, ...]:
        """The argv that continues it without a terminal; the prompt is among what is added."""
        from knell.core.arguments import continued_headless

        template = self.with_id(self.headless.resume if self.headless else (), conversation)
        return (self.program, *continued_headless(self, template, args, added))

    # -- recognising ------------------------------------------------------------------------------

    def runs_in(self, argv: Sequence[str]) -> bool:
        """Whether a process with this command line is this program."""
        return bool(self._executable(argv))

    def arguments(self, argv: Sequence[str]) -> tuple[str, ...]:
        """What a person gave the program: not its name, nor the interpreter that runs it."""
        return tuple(argv[argv.index(self._executable(argv)) + 1 :])

    def _executable(self, argv: Sequence[str]) -> str:
        """The word of the command line that is the program; empty if none is."""
        words = (*argv[:1], program_word(argv)) if self.program else ()
        return next((word for word in words if word and self._is_path_of(word)), "")

    def _is_path_of(self, path: str) -> bool:
        # npm installs the native claude and opencode as `bin/claude.exe` on every system, and that
        # name shows up wherever the program starts itself again.
        if _base(path).removesuffix(".exe") == _base(self.program):
            return True
        # A script such as `codex.js` counts only inside the package: people name theirs so too.
        inside = path.rpartition("node_modules/")[2]
        if any(inside.startswith(f"{package}/") for package in self.packages):
            return True
        return any(_ends_like(path, glob) for glob in self.paths)


def _ends_like(path: str, glob: str) -> bool:
    from fnmatch import fnmatchcase

    wanted = glob.split("/")
    last = path.split("/")[-len(wanted) :]
    return len(last) == len(wanted) and all(map(fnmatchcase, last, wanted))


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def program_word(argv: Sequence[str]) -> str:
    """The word that is the program: the first, or the script that an interpreter runs; empty for
    an interpreter that runs something else."""
    if not argv or _base(argv[0]).rstrip("0123456789.") not in INTERPRETERS:
        return argv[0] if argv else ""
    rest = iter(argv[1:])
    for word in rest:
        if word in NO_SCRIPT:
            return ""
        if word in TAKES_A_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return word
    return ""
