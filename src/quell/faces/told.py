"""What an ending says on the screen: what was verified, never what is hoped."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from quell.core.lifecycle import Outcome
from quell.core.receipt import Proof, Receipt, Result
from quell.faces import say
from quell.faces.render import printable

if TYPE_CHECKING:
    from quell.life.kill import Slain
    from quell.life.orphans import OrphanEnd

PROOFS = {
    Proof.PROVEN: "proven gone",
    Proof.NONE_FOUND: "none found any more",
    Proof.SURVIVORS: "not all gone",
}
NOBODY = (Result.NOT_FOUND, Result.REFUSED)
FAILURES = (*NOBODY, Result.PERMISSION_DENIED, Result.SURVIVORS, Result.NO_PID)


def slain(targets: "Iterable[Slain]", *, verb: str) -> None:
    """One line a run, a summary a group; failures go to stderr."""
    for target in targets:
        for receipt in target.receipts:
            one(receipt)
        if target.label:
            say.out(summary(target, verb))


def one(receipt: Receipt) -> None:
    line, failed = line_of(receipt)
    (say.err if failed else say.out)(printable(line))
    if receipt.result is Result.WOULD_END:
        for process in receipt.processes:
            say.out(f"  {process.pid} [{process.via}] {process.command}")
        for line in aftermath(receipt):
            say.out(f"  then {printable(line)}")
        return
    if receipt.result is Result.ENDED and receipt.place != "orphan":
        say.out(f"  To resume: quell r {receipt.agent}")
    for line in aftermath(receipt):
        say.out(f"  {printable(line)}")
    for line in unpleasant(receipt):
        say.err(printable(line))


def unpleasant(receipt: Receipt) -> Iterator[str]:
    """What a person must know, and may have to do something about."""
    yield from (f"cleanup failed: {failure}" for failure in receipt.cleaning.failed)
    for survivor in receipt.survivors:
        told = f"  {survivor.pid} is still there ({survivor.state}, {survivor.why})"
        yield f"{told}: {survivor.command}"
    for kept in receipt.kept:
        yield f"  left alone: {kept.pid} ({kept.why}): {kept.command}"
    if receipt.pane.closed is False:
        retry = "Retry this command with approval/escalation:"
        yield f"Process terminated, but pane remains. {retry}"
        yield f"  {receipt.pane.retry}"
    prefix = "hint" if receipt.result in NOBODY else "warning"
    yield from (f"{prefix}: {warning}" for warning in receipt.warnings if warning)
    yield from (f"warning: {warning}" for warning in receipt.cleaning.warnings)


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
        lines.append(f"its uncommitted work: git stash apply {cleaning.rescue}")
    return lines


def line_of(receipt: Receipt) -> tuple[str, bool]:
    """The sentence, and whether it is one for stderr."""
    name, pid = receipt.agent, receipt.pid
    ended = f"{ended_words(receipt)}{pane_words(receipt)}: {proof_words(receipt)}"
    group = f"Process group {pid}" if pid else "Process group"
    sentences = {
        Result.ENDED: ended,
        Result.ALREADY_ENDED: already_words(receipt, group),
        Result.LET_GO: f"Let go of '{name}'; process group {pid} runs on as an orphan",
        Result.WOULD_END: would_words(receipt),
        Result.PERMISSION_DENIED: f"Permission denied to kill process group {pid} for '{name}'",
        Result.NO_PID: f"No tracked PID for '{name}' — use 'quell stop {name}' instead",
        Result.SURVIVORS: f"'{name}' could not be ended: {len(receipt.survivors)} still there",
    }
    return sentences.get(receipt.result, f"error: {receipt.detail}"), receipt.result in FAILURES


def would_words(receipt: Receipt) -> str:
    verb = "let go of" if receipt.outcome == Outcome.ARCHIVED else "end"
    return f"Would {verb} '{receipt.agent}' ({receipt.place}), {len(receipt.processes)} alive:"


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
    many = len(receipt.processes)
    noun = "process" if many == 1 else "processes"
    proof = PROOFS[receipt.proof] if receipt.proof else "not looked at"
    return f"{many} {noun}, {proof}, {receipt.duration_ms} ms"


def summary(target: "Slain", verb: str) -> str:
    ended = [r for r in target.receipts if r.result in (Result.ENDED, Result.LET_GO)]
    would = [r for r in target.receipts if r.result is Result.WOULD_END]
    failed = [r for r in target.receipts if r.result in FAILURES]
    panes = [r for r in ended if r.pane.closed is False]
    if would:
        return f"Would end {len(would)} ({target.label})"
    if target.label == "all" and not target.receipts:
        return "No processes with tracked PIDs found"
    parts = [f"{verb} {len(ended)}"]
    if failed:
        parts.append(f"{len(failed)} failed")
    if panes:
        parts.append(f"{len(panes)} with incomplete pane cleanup")
    label = "" if target.label == "all" else f" ({target.label})"
    return ", ".join(parts) + label


def reaped(ends: "Sequence[OrphanEnd]") -> None:
    for end in ends:
        one(end.receipt)
