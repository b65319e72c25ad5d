"""The arguments of an agent program: which are options, which the prompt, and which last.

A resume repeats what lasts (the model, the sandbox), never the first prompt nor another
conversation. An option that a kind does not name takes one value, so that the value of a newer
version's option is kept.
"""

import re
from typing import TYPE_CHECKING, NamedTuple

from knell.core.errors import BadRequest

if TYPE_CHECKING:
    from knell.core.kind import Kind

OPTION = re.compile(r"--?[A-Za-z][\w.-]*(?:=[\s\S]*)?")
SHORT = 2  # characters of `-s`


class Flags(NamedTuple):
    """How the options of a program read, each in all its spellings."""

    switches: tuple[str, ...] = ()  # take no value
    lists: tuple[str, ...] = ()  # take all words up to the next option
    repeated: tuple[str, ...] = ()  # a new one adds to the old instead of replacing it
    prompts: tuple[str, ...] = ()  # the value is the prompt
    once: tuple[str, ...] = ()  # belong to one start: an image, a fork, a new worktree


class HeadlessMode(NamedTuple):
    """How the program works through one prompt without a terminal, and exits."""

    # argv after the program that continues {id} with {prompt}; the word {args} stands for the
    # arguments that last, and {words} for the words of the prompt one by one.
    resume: tuple[str, ...]
    flags: tuple[str, ...] = ()  # any of these asks for it
    words: tuple[str, ...] = ()  # or one of these as the first word
    only: tuple[str, ...] = ()  # options that the program knows in this mode alone
    piped: bool = False  # with a prompt and no terminal it works so without being asked to


class Option(NamedTuple):
    name: str  # without its value: of `--model=x` it is `--model`, of `-sread-only` it is `-s`
    argv: tuple[str, ...]  # as it was given, with its values
    values: tuple[str, ...]


class Sorted(NamedTuple):
    """Arguments as the program itself would read them."""

    options: tuple[Option, ...]
    words: tuple[str, ...]  # all others: a subcommand, a prompt


def sort_arguments(flags: Flags, args: tuple[str, ...]) -> Sorted:
    options: list[Option] = []
    words: list[str] = []
    room = 0.0  # values that the last option may still take
    for number, arg in enumerate(args):
        if arg == "--":
            words += args[number + 1 :]
            break
        if OPTION.fullmatch(arg):
            options += (read := read_option(flags, arg))
            room = room_for_values(flags, read[-1])
        elif room:
            name, argv, values = options[-1]
            options[-1] = Option(name, (*argv, arg), (*values, arg))
            room -= 1
        else:
            words.append(arg)
    return Sorted(tuple(options), tuple(words))


def read_option(flags: Flags, arg: str) -> list[Option]:
    """One option; or several switches in one word, as `-pc`."""
    name, equals, value = arg.partition("=")
    if equals or arg.startswith("--") or len(arg) == SHORT:
        return [Option(name, (arg,), (value,) if equals else ())]
    letters = [f"-{letter}" for letter in arg[1:]]
    if set(letters) <= set(flags.switches):
        return [Option(one, (one,), ()) for one in letters]
    return [Option(arg[:SHORT], (arg,), (arg[SHORT:],))]


def room_for_values(flags: Flags, option: Option) -> float:
    if option.name in flags.lists:
        return float("inf")
    return 0 if option.values or option.name in flags.switches else 1


# -- of a kind ------------------------------------------------------------------------------------


def flags_of(kind: "Kind") -> Flags:
    return kind.flags or Flags()


def asks_for_headless(kind: "Kind", args: tuple[str, ...]) -> bool:
    """Whether they mean one prompt without a terminal: `claude -p`, `codex exec`."""
    if kind.headless is None:
        return False
    options, words = sort_arguments(flags_of(kind), args)
    named = {option.name for option in options} & {*kind.headless.flags}
    return bool(named or {*words[:1]} & {*kind.headless.words})


def talks_in_terminal(kind: "Kind", args: tuple[str, ...]) -> bool:
    """Whether the program, started so, is meant to be talked to; False where that is not known."""
    known = kind.headless is not None and not kind.is_subcommand(args)
    return known and not asks_for_headless(kind, args)


def needs_terminal(kind: "Kind", args: tuple[str, ...]) -> bool:
    """Whether the program, started so, would end or hang for want of a terminal."""
    prints = bool(kind.headless and kind.headless.piped and prompt_of(kind, args))
    return talks_in_terminal(kind, args) and not prints


def prompt_of(kind: "Kind", args: tuple[str, ...]) -> str:
    """The prompt among the arguments; empty if there is none."""
    flags = flags_of(kind)
    options, words = sort_arguments(flags, args)
    if kind.headless and {*words[:1]} & {*kind.headless.words}:
        words = words[1:]
    given = [value for one in options if one.name in flags.prompts for value in one.values]
    return " ".join((*given, *words))


def resumed_in_terminal(
    kind: "Kind", args: tuple[str, ...], added: tuple[str, ...]
) -> tuple[str, ...]:
    """What follows the words that continue a conversation."""
    prompt = prompt_of(kind, added)
    sent = tuple(part.replace("{prompt}", prompt) for part in kind.prompt) if prompt else ()
    only = kind.headless.only if kind.headless else ()
    return (*kind.alone, *lasting_options(kind, args, added, only), *sent)


def continued_headless(
    kind: "Kind", template: tuple[str, ...], args: tuple[str, ...], added: tuple[str, ...]
) -> tuple[str, ...]:
    """The template with the arguments that last and the prompt; refused without a prompt."""
    prompt = prompt_of(kind, added)
    if not prompt:
        raise BadRequest(f"{kind.name} without a terminal needs a prompt", "give it after --")
    filled: list[str] = []
    for part in template:
        if part == "{args}":
            filled += lasting_options(kind, args, added)
        elif part == "{words}":
            filled += prompt.split(" ")
        else:
            filled.append(part.replace("{prompt}", prompt))
    return tuple(filled)


def lasting_options(
    kind: "Kind", args: tuple[str, ...], added: tuple[str, ...], dropped: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The options that a later start repeats, and those that are added to them. One that is given
    anew replaces the old one."""
    flags = flags_of(kind)
    asking = kind.headless.flags if kind.headless else ()
    knells = {*flags.prompts, *kind.picks, *kind.alone, *asking}  # that knell gives itself
    more = [one for one in sort_arguments(flags, added).options if one.name not in knells]
    anew = {one.name for one in more} - {*flags.repeated, *flags.lists}
    gone = knells | {*flags.once, *dropped} | anew
    kept = [one for one in sort_arguments(flags, args).options if one.name not in gone]
    return tuple(word for option in (*kept, *more) for word in option.argv)
