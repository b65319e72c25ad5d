"""Endings as text for people: only what knell has verified."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from knell.core.receipt import FAILURES, Proof, Receipt, Result
from knell.core.run import Outcome

if TYPE_CHECKING:
    from knell.api.results import EndingProgress, TargetResult

PROOFS = {
    Proof.PROVEN: "proven gone",
    Proof.NONE_FOUND: "none found any more",
    Proof.SURVIVORS: "not all gone",
}
RUNGS = {"exit_keys": "asked", "term": "TERM", "kill": "KILL"}
NOTHING_MEANT = (Result.NOT_FOUND, Result.REFUSED)


class Line(NamedTuple):
    text: str  # as it came from outside: output.print_lines makes it printable
    error: bool = False  # a line for stderr


def target_lines(targets: "Iterable[TargetResult]", verb: str) -> list[Line]:
    """One line for each run, with what follows from it, and a summary for each group."""
    lines: list[Line] = []
    for target in targets:
        lines += receipts_lines(target.receipts)
        if target.label:
            lines.append(Line(summary(target, verb)))
    return lines


def receipts_lines(receipts: Iterable[Receipt]) -> Iterator[Line]:
    return chain.from_iterable(map(receipt_lines, receipts))


def receipt_lines(receipt: Receipt) -> Iterator[Line]:
    yield Line(sentence(receipt), receipt.result in FAILURES)
    if receipt.result is Result.WOULD_END:
        from knell.faces.text.terminal import fitted  # only a dry run and a question need it

        for process in receipt.processes:
            yield Line(fitted(f"  {process.pid} [{process.via}] {process.command}"))
        yield from (Line(f"  then {text}") for text in aftermath(receipt))
        return
    if receipt.result is Result.ENDED and receipt.place != "orphan":
        yield from (Line(f"  {text}") for text in way_back(receipt))
    yield from (Line(f"  {text}") for text in aftermath(receipt))
    yield from (Line(text, error=True) for text in unpleasant(receipt))


def progress_words(one: "EndingProgress", limits: Mapping[str, float]) -> str:
    """How far an ending is: `TERM 1.4/2 s  3 of 5 gone`.

    `limits`: how long each rung may take, as far as that is known here."""
    rung = RUNGS.get(one.rung, one.rung) or "begins"
    limit = f"/{limits[one.rung]:g}" if one.rung in limits else ""
    gone = f"  {one.gone} of {one.total} gone" if one.total else ""
    return f"{rung} {one.seconds:.1f}{limit} s{gone}"


def way_back(receipt: Receipt) -> Iterator[str]:
    """How it is resumed; nothing where a resume would be refused."""
    known = receipt.conversation
    if known.exists is False or known.purged:
        return
    if known.source:
        from knell.core.conversation import GUESSES, UNSURE  # a plain command has none

        if known.source in (UNSURE, *GUESSES):
            yield f"To resume: knell r {receipt.agent} shows which conversation may be its own"
            return
    yield f"To resume: knell r {receipt.agent}"


def unpleasant(receipt: Receipt) -> Iterator[str]:
    """What a person must know, and may have to do something about."""
    yield from (f"cleanup failed: {failure}" for failure in receipt.cleaning.failed)
    for survivor in receipt.survivors:
        state = f"{survivor.state}, {survivor.why}"
        yield f"  {survivor.pid} is still there ({state}): {survivor.command}"
    for kept in receipt.kept:
        yield f"  left alone: {kept.pid} ({kept.why}): {kept.command}"
    if receipt.pane.closed is False:
        retry = "Retry this command with approval/escalation:"
        yield f"Process terminated, but pane remains. {retry}"
        yield f"  {receipt.pane.retry}"
    prefix = "hint" if receipt.result in NOTHING_MEANT else "warning"
    yield from (f"{prefix}: {warning.text}" for warning in receipt.warnings)
    yield from (f"warning: {warning.text}" for warning in receipt.cleaning.warnings)


def aftermath(receipt: Receipt) -> list[str]:
    """What became of its tasks and its worktree."""
    lines = [f"task {task['id']}: {task['was']} → {task['now']}" for task in receipt.tasks]
    cleaning = receipt.cleaning
    if cleaning.session_dir:
        lines.append(f"session directory: {cleaning.session_dir}")
    if cleaning.lock_removed:
        lines.append(f"stale lock removed: {cleaning.lock_removed}")
    if cleaning.worktree and cleaning.state != "none":
        lines.append(f"worktree {cleaning.worktree}: {cleaning.state}, {cleaning.why}")
    if cleaning.rescue:
        only = f"what only it held (git show {cleaning.rescue} tells what)"
        what = "its uncommitted work" if cleaning.uncommitted else only
        lines.append(f"{what}: {cleaning.way_back(receipt.agent)}")
    return lines


def sentence(receipt: Receipt) -> str:
    """What came of one run, in one line."""
    name, pid = receipt.agent, receipt.pid
    ended = f"{ended_words(receipt)}{pane_words(receipt)}: {proof_words(receipt)}"
    group = f"Process group {pid}" if pid else "Process group"
    sentences = {
        Result.ENDED: ended,
        Result.ALREADY_ENDED: already_words(receipt, group),
        Result.LET_GO: f"Let go of '{name}'; process group {pid} runs on as an orphan",
        Result.WOULD_END: would_words(receipt),
        Result.PERMISSION_DENIED: f"Permission denied to kill process group {pid} for '{name}'",
        Result.NO_PID: f"No tracked PID for '{name}' — use 'knell stop {name}' instead",
        Result.SURVIVORS: f"'{name}' could not be ended: {len(receipt.survivors)} still there",
    }
    return sentences.get(receipt.result, f"error: {receipt.detail}")


def would_words(receipt: Receipt) -> str:
    verb = "let go of" if receipt.outcome == Outcome.ARCHIVED else "end"
    alive = processes_words(receipt)
    return f"Would {verb} '{receipt.agent}' ({receipt.place}), {alive} alive:"


def already_words(receipt: Receipt, group: str) -> str:
    if receipt.pid is None and receipt.detail:  # a row of the registry file, without a run
        return receipt.detail
    return f"{group} not found for '{receipt.agent}' (already terminated)"


def ended_words(receipt: Receipt) -> str:
    if receipt.pid is None:
        return f"Deregistered '{receipt.agent}', which had no tracked PID"
    if receipt.place != "orphan":
        return f"Ended process group {receipt.pid} for '{receipt.agent}'"
    if receipt.detail == "archived":
        return f"Ended process group {receipt.pid} for stopped instance '{receipt.agent}'"
    return f"Ended orphan process group {receipt.pid} ({receipt.agent})"


def pane_words(receipt: Receipt) -> str:
    if receipt.pane.closed is None:
        return ""
    if receipt.pane.closed:
        return f" (closed {receipt.pane.place} pane {receipt.pane.id})"
    return f" (pane close failed for {receipt.pane.place})"


def proof_words(receipt: Receipt) -> str:
    return f"{processes_words(receipt)}, {proof_word(receipt)}, {receipt.duration_ms} ms"


def processes_words(receipt: Receipt) -> str:
    many = len(receipt.processes)
    return f"{many} process{'' if many == 1 else 'es'}"


def proof_word(receipt: Receipt) -> str:
    return PROOFS[receipt.proof] if receipt.proof else "not looked at"


def summary(target: "TargetResult", verb: str) -> str:
    ended = [r for r in target.receipts if r.result in (Result.ENDED, Result.LET_GO)]
    would = [r for r in target.receipts if r.result is Result.WOULD_END]
    failed = [r for r in target.receipts if r.result in FAILURES]
    panes = [r for r in ended if r.pane.closed is False]
    if would:
        return f"Would end {len(would)} ({target.label})"
    if target.label == "all" and not target.receipts and not target.orphaned:
        return "No processes with tracked PIDs found"
    parts = [f"{verb} {len(ended)}"]
    if target.orphaned:
        names = ", ".join(target.orphaned)
        parts.append(f"left alone what outlived {names}: knell reap --yes ends that")
    if failed:
        parts.append(f"{len(failed)} failed")
    if panes:
        parts.append(f"{len(panes)} with incomplete pane cleanup")
    label = "" if target.label == "all" else f" ({target.label})"
    return ", ".join(parts) + label
