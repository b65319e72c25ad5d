"""Targets on other hosts: sends the order, waits for the origin's answer, and prints it.

Never says "killed" without the origin's receipt: an order that has no answer yet is pending."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.core.fleet.target import FarTarget, checked_host, far_target, is_far
from knell.core.receipt import Endings, TargetResult
from knell.faces import exits
from knell.faces.cli import output
from knell.faces.cli.confirm import MANY
from knell.faces.exits import Exit
from knell.faces.far import answers as far_answers
from knell.faces.text import endings as text
from knell.faces.text.tables import counted
from knell.faces.text.terminal import printable

if TYPE_CHECKING:
    from knell.api.far import FarAnswer

NAMED = 12  # agents that a question names one by one; more are counted
HERE_ONLY = ("session", "force_no_yaml", "strict_pane", "registry")  # options that no order has


FarEnds = list[tuple[FarTarget, far_answers.FarEnding]]  # what each target on other hosts came to


def _waiting(wait: float | None) -> dict[str, float]:
    return {} if wait is None else {"wait": wait}


# -- kill and stop -----------------------------------------------------------------------------


def end_agents(
    knell: Knell, verb: str, words: Sequence[str], given: dict[str, Any], wait: float | None
) -> int:
    """Ends what the words mean, on this host and on others; gives the exit code."""
    options = order_options(given)
    # A word that means nothing is an error before anything is done.
    far = [far_target(word) for word in words if is_far(word)]
    here = [word for word in words if not is_far(word)]
    asked = output.json_wanted() or given["yes"] or given["dry_run"]
    if not asked and _ask_declined(knell, far, verb):
        return Exit.FAILED
    own = {key: value for key, value in given.items() if key not in HERE_ONLY}
    local: Endings | None = getattr(knell, verb)(*here, **own) if here else None
    ends: FarEnds = []
    for target in far:
        answers = knell.fleet.order(verb, target, options, **_waiting(wait))
        ends.append((target, far_answers.gathered(answers)))
    done = "Killed" if verb == "kill" else "Stopped"
    return print_far(ends, local, done)


def order_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were said, as the order carries them."""
    if given.get("session") or given.get("force_no_yaml"):
        why = "--session means a session of this host"
        raise BadRequest(why, "leave it out, or leave out @HOST")
    said = {k: v for k, v in given.items() if k not in (*HERE_ONLY, "children") and is_said(v)}
    return said | ({} if given["children"] else {"children": False})


def _ask_declined(knell: Knell, far: Sequence[FarTarget], verb: str) -> bool:
    """Asks the person at the terminal about wide targets; True if the answer is no."""
    wide = [target for target in far if target.group]
    if not wide or not output.can_ask():
        return False
    meant = [
        f"{one['name']}@{one['host']}" for target in wide for one in knell.fleet.agents(target)
    ]
    if len(meant) <= MANY and not any(target.what == "all" for target in wide):
        return False
    more = f" and {len(meant) - NAMED} more" if len(meant) > NAMED else ""
    shown = ", ".join(meant[:NAMED]) + more
    if output.ask_person(
        f"{verb.capitalize()} these {len(meant)} agents: {shown}? (--yes to skip)"
    ):
        return False
    output.print_error("nothing was ended")
    return True


def print_far(ends: FarEnds, local: Endings | None, verb: str) -> int:
    """Prints all of it, and gives the exit code: the worst, and pending where nothing is worse."""
    found = [end for _, end in ends]
    code = exits.of_receipts(receipt for one in found for _, receipt in one.receipts)
    code = max(code, exits.of_receipts(local) if local else Exit.DONE)
    for one in found:
        code = max([code, *(Exit(said["exit"]) for _, said in one.failed)])
    pending = [order for one in found for order in one.pending]
    code = Exit.PENDING if pending and code == Exit.DONE else code
    if output.json_wanted():
        _print_documents(found, local, pending, code)
        return code
    if local:
        output.print_lines(text.target_lines(local.targets, verb))
    for target, end in ends:
        _print_ending(target, end, verb)
    return code


def _print_documents(
    found: Sequence[far_answers.FarEnding],
    local: Endings | None,
    pending: "Sequence[FarAnswer]",
    code: Exit,
) -> None:
    receipts = [{**r.to_json(), "host": host} for one in found for host, r in one.receipts]
    receipts += [receipt.to_json() for receipt in local or ()]
    document: dict[str, Any] = {"ok": code == Exit.DONE, "receipts": receipts}
    if failed := [{**said, "host": host} for one in found for host, said in one.failed]:
        document["failed"] = failed
    if pending:
        document["pending"] = [far_answers.pending_json(one) for one in pending]
    output.print_json(document)


def _print_ending(target: FarTarget, end: far_answers.FarEnding, verb: str) -> None:
    output.print_lines(far_answers.ending_lines(end))
    if target.group:
        receipts = tuple(receipt for _, receipt in end.receipts)
        whole = text.summary(TargetResult(str(target), str(target), receipts), verb)
        more = f", {counted(len(end.pending), 'host')} pending" if end.pending else ""
        output.print_line(whole + more)


# -- verbs that mean one agent -------------------------------------------------------------------


def ask_one(
    verb: str, target: str | FarTarget, options: Mapping[str, Any], wait: float | None
) -> int:
    """Has one host do it, and prints what it says."""
    [one, *_] = Knell().fleet.order(verb, target, options, **_waiting(wait))
    if one.order is None:
        if output.json_wanted():
            output.print_json({"ok": False, "pending": [far_answers.pending_json(one)]})
        output.print_lines(far_answers.pending_lines(one.asked))
        return Exit.PENDING
    if said := far_answers.failure_of(one.order):
        if output.json_wanted():
            output.print_json({"ok": False, **said, "host": one.asked.host})
        output.print_lines(far_answers.failure_lines(one.asked.host, said))
        return Exit(said["exit"])
    answer = one.order.answer
    for warning in answer.get("warnings", ()):  # a text, from hosts of before
        told = warning if isinstance(warning, str) else warning["text"]
        output.print_error(f"warning: {told}")
    document = {**answer["document"], "host": one.asked.host}
    lines = map(printable, str(answer["text"]).split("\n"))  # as another host wrote it
    output.print_result(document, "\n".join(lines))
    return Exit(answer["exit"])


def spawn_far(host: str, wish: Mapping[str, Any], count: int, wait: float | None) -> int:
    """Has another host start agents; there, a directory is one of that host."""
    said = {key: value for key, value in wish.items() if is_said(value) and value != {}}
    codes: list[int] = []
    for number in range(1, count + 1):
        end = f"-{number}" if count > 1 else ""
        own = {key: f"{said[key]}{end}" for key in ("name", "worktree") if key in said}
        target = FarTarget(str(own.get("name", "")), checked_host(host))
        codes.append(ask_one("spawn", target, {**said, **own}, wait))
    return max(codes)


def is_said(value: object) -> bool:
    """Whether a person gave the option: 0 was given."""
    return value is not False and value not in (None, "", ())
