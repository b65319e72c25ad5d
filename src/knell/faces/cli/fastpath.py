"""`list` and `kill`, which people type all day: read and carried out without click.

To load click takes longer than these verbs do. Only options that are spelt out are understood
here. Help, abbreviations, rare options and mistakes are left to click, which reads the same words
by the options in verbs/; tests/fast checks that both give them the same meaning.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from knell.api import Knell
from knell.core.errors import BadRequest, NoTarget, StoreFailed
from knell.faces import exits
from knell.faces.cli import output

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from knell.core.receipt import Endings

Given = dict[str, Any]
DRY: Given = {"dry_run": True}
Spelt = Mapping[str, tuple[str, Any]]  # as it is written → (parameter, value or type)

_JSON: Spelt = {"--json": ("json_wanted", True)}
_LIST: Spelt = {
    "--all": ("with_ended", True),
    "-a": ("with_ended", True),
    "--names": ("names", True),
    "-q": ("names", True),
    "--utc": ("utc", True),
    **_JSON,
}
_KILL: Spelt = {
    "--grace": ("grace", float),
    "--force": ("force", True),
    "-f": ("force", True),
    "--reason": ("reason", str),
    "--strict-pane": ("strict_pane", True),
    "--dissolve": ("dissolve", True),
    "--no-children": ("children", False),
    "--yes": ("yes", True),
    "-y": ("yes", True),
    "--go": ("yes", True),
    "--dry-run": ("dry_run", True),
    "-n": ("dry_run", True),
    "--wait": ("wait", float),
    **_JSON,
}
# Options that click reads, where they are given.
_RARE: Mapping[str, Given] = {
    "kill": {"tasks": "", "cleanup": ""},
    "list": {"stalled": False, "ended": None, "sort": "", "form": "", "fleet": False},
}
# What an option is that is not given; others: False.
_UNSAID: Mapping[str, Any] = {"grace": None, "reason": "", "children": True, "wait": None}
NOBODY = "no agents; start one: knell spawn claude"
_OPTIONS: Mapping[str, Spelt] = {"list": _LIST, "ls": _LIST, "ps": _LIST, "kill": _KILL}


def run(words: Sequence[str]) -> int | None:
    """Carries out `knell WORDS` and gives the exit code; None, and nothing done, if click must
    read these words."""
    if "_KNELL_COMPLETE" in os.environ or (found := read(words)) is None:
        return None
    verb, targets, given = found
    return (kill_agents if verb == "kill" else list_agents)(targets, **given)


def read(words: Sequence[str]) -> tuple[str, tuple[str, ...], Given] | None:
    """Verb, targets and options; None for whatever is not quite plain."""
    spelt = _OPTIONS.get(words[0]) if words else None
    if spelt is None:
        return None
    verb = "kill" if spelt is _KILL else "list"
    given: Given = {name: _UNSAID.get(name, False) for name, _ in spelt.values()}
    given |= _RARE[verb]
    targets: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-") or word == "-":
            targets.append(word)
            continue
        option, equals, value = word.partition("=")
        name, meant = spelt.get(option, ("", None))
        if callable(meant):
            value = value if equals else next(rest, "-")
            if value.startswith("-"):  # a negative number, or an option in its place
                return None
            try:
                given[name] = meant(value)
            except ValueError:
                return None
        elif not name or equals:
            return None
        else:
            given[name] = meant
    return None if targets and verb == "list" else (verb, tuple(targets), given)


def list_agents(
    targets: tuple[str, ...], *, names: bool, json_wanted: bool, utc: bool, **given: Any
) -> int:
    """Carries out `knell list`."""
    output.choose_json(wanted=json_wanted)
    if utc:
        from knell.faces.text.terminal import show_utc

        show_utc()
    form = given.pop("form")
    if given.pop("fleet") or has_far(targets):
        from knell.faces.cli.far_look import list_fleet

        return list_fleet(targets, names=names, with_ended=given["with_ended"])
    if targets or given["stalled"] or given["ended"] is not None or given["sort"]:
        from knell.faces.cli.filters import filtered_agents

        views = filtered_agents(targets, **given)
    else:
        knell = Knell()
        views = knell.list(with_ended=given["with_ended"])
        close(knell)
    if json_wanted:
        output.print_json({"agents": [view.to_json() for view in views]})
    elif form:
        from knell.faces.cli.filters import formatted

        for view in views:
            output.print_line(formatted(view, form))
    elif names:
        for view in views:
            output.print_line(view.name)
    elif not views:
        filtered = targets or given["stalled"] or given["ended"]
        output.print_error("no such agent" if filtered else NOBODY)
    else:
        from knell.faces.text.agents import agents_table

        output.print_line(agents_table(views))
    return exits.Exit.DONE


def kill_agents(
    targets: tuple[str, ...], *, json_wanted: bool, strict_pane: bool, **given: Any
) -> int:
    """Carries out `knell kill`."""
    output.choose_json(wanted=json_wanted)
    if given["force"] and given["grace"] is not None:
        raise BadRequest("--force kills at once, so --grace has no effect", "give one of them")
    words = all_targets(targets, "kill")
    knell, wait = Knell(), given.pop("wait")
    if has_far(words):
        from knell.faces.cli.far import end_agents

        given["strict_pane"] = strict_pane
        return end_agents(knell, "kill", words, given, wait)
    asked = given["yes"] or given["dry_run"] or json_wanted
    if not asked and ask_declined(words, "kill", lambda: knell.kill(*words, **given | DRY), given):
        return exits.Exit.FAILED
    with show_endings(knell, given["grace"], "kill"):
        endings = knell.kill(*words, **given)
    code = exits.of_receipts(endings, strict_pane=strict_pane)
    print_endings(endings, "Killed", code)
    if not json_wanted and any(one.result in ("not_found", "already_ended") for one in endings):
        from knell.faces.cli.ended_before import print_not_ended

        print_not_ended(knell, endings)
    close(knell)
    return code


def close(knell: Knell) -> None:
    """Here, because the process may end without taking its objects apart; what they hold was
    written before, so that a failure means nothing."""
    with suppress(StoreFailed):
        knell.close()


def has_far(words: Sequence[str]) -> bool:
    """Whether one of them is on another host, as luna@build-7 is."""
    if not any("@" in word for word in words):
        return False
    from knell.core.fleet.target import is_far

    return any(is_far(word) for word in words)


def ask_declined(
    words: Sequence[str], verb: str, preview: "Callable[[], Endings]", given: Given
) -> bool:
    """Asks the person at the terminal, if the words are wide; True if the answer is no."""
    if not output.can_ask():
        return False
    from knell.faces.cli import confirm

    if not (confirm.is_wide(words) or given.get("cleanup")):
        return False
    if confirm.ask_if_confirmed(words, preview, verb):
        return False
    output.print_error("nothing was ended")
    return True


def show_endings(knell: Knell, grace: float | None, verb: str) -> "AbstractContextManager[None]":
    """Shows how far the endings are, if a person watches and they take long."""
    if not sys.stderr.isatty():
        from contextlib import nullcontext

        return nullcontext()
    from knell.faces.cli import progress

    settings = knell.settings
    usual = settings.kill_grace if verb == "kill" else settings.stop_grace
    return progress.show_endings({
        "exit_keys": settings.stop_exit_wait, "term": usual if grace is None else grace,
    })  # fmt: skip


def print_endings(endings: "Endings", verb: str, code: int) -> None:
    if output.json_wanted():
        receipts = [receipt.to_json() for receipt in endings]
        orphaned = [name for target in endings.targets for name in target.orphaned]
        left = {"orphaned": orphaned} if orphaned else {}
        output.print_json({"ok": code == 0, "receipts": receipts, **left})
    else:
        from knell.faces.text import endings as endings_text

        output.print_lines(endings_text.target_lines(endings.targets, verb))


def all_targets(targets: tuple[str, ...], verb: str) -> tuple[str, ...]:
    """The targets, with `-` replaced by the lines of standard input; none at all is an error."""
    words: list[str] = []
    for target in targets:
        words += [line.strip() for line in sys.stdin] if target == "-" else [target]
    words = [word for word in dict.fromkeys(words) if word]
    if not words:
        raise NoTarget(verb)
    return tuple(words)
