"""A receipt as text for a terminal, and as one self-contained page for a ticket or an audit."""

from collections.abc import Callable, Sequence
from html import escape

from knell.core.receipt import Death, Receipt
from knell.faces.text.columns import table
from knell.faces.text.endings import aftermath, proof_word
from knell.faces.text.tables import short
from knell.faces.text.terminal import clock, in_full, printable, sheet

Facts = list[tuple[str, str]]  # (what it is, what it says)
PROCESSES = ("PID", "KNOWN BY", "ENDED BY", "COMMAND")
INDENT = "    "
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem } table { border-collapse: collapse; width: 100% }
td, th { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #8883 }
td { font-family: ui-monospace, monospace; overflow-wrap: anywhere; vertical-align: top }
.good { color: #18794e } .bad { color: #b42318 }
.line { width: 60% } .bar { height: .7rem; min-width: 4px; background: #5b8def; border-radius: 2px }
pre { background: #8881; padding: 1rem; overflow: auto }
@media (prefers-color-scheme: dark) {
  body { background: #111; color: #ddd } .good { color: #5bb98b } .bad { color: #f97066 }
}
"""


# -- what both say -----------------------------------------------------------------------------


def title(receipt: Receipt) -> str:
    return f"{receipt.agent}: {receipt.outcome or receipt.result.value}"


def facts(receipt: Receipt, write: Callable[[str], str] = clock) -> Facts:
    """`write`: how a time is written; a page is read in other places and on other days."""
    detail = f" ({receipt.detail})" if receipt.detail else ""
    rows = [
        ("run", f"{receipt.run} ({receipt.kind}, {receipt.place})"),
        ("lived", f"{write(receipt.started_at)} to {write(receipt.finished_at)}"),
        *death_facts(receipt.death),
        ("ended by", f"{receipt.by}: {receipt.reason}{detail}"),
        ("exit", exit_words(receipt)),
    ]
    if receipt.cpu_seconds is not None:
        megabytes = (receipt.max_rss_kb or 0) / 1024
        rows.append(("used", f"{receipt.cpu_seconds:g} s CPU, {megabytes:.0f} MB at most"))
    death = receipt.death
    if death.run_cpu_seconds is not None and death.run_cpu_seconds != death.cpu_seconds:
        megabytes = (death.run_max_rss_kb or 0) / 1024
        whole = f"{death.run_cpu_seconds:g} s CPU, {megabytes:.0f} MB in its largest process"
        rows.append(("whole run", whole))
    if receipt.pane.id:
        closed = {True: "closed", False: "NOT closed", None: "left alone"}[receipt.pane.closed]
        rows.append(("pane", f"{receipt.pane.place} {receipt.pane.id}, {closed}"))
    resume = receipt.conversation.resume or receipt.conversation.why
    rows += [("conversation", resume)] if resume else []
    rows += [("afterwards", text) for text in aftermath(receipt)]
    return rows + [("warning", warning.text) for warning in receipt.warnings]


def exit_words(receipt: Receipt) -> str:
    if receipt.exit_signal is not None:
        return f"signal {receipt.exit_signal}"
    return "not seen" if receipt.exit_code is None else f"code {receipt.exit_code}"


def death_facts(death: Death) -> Facts:
    """What it died of, and what that rests on; nothing from a receipt that does not say."""
    if not death.how:
        return []
    rows = [("died", death.sentence)]
    rows += [("evidence", text) for text in death.evidence]
    rows += [("suspect", text) for text in death.suspects]
    if death.left:
        ways = [left.ended_by for left in death.left]
        counts = ", ".join(f"{way} {ways.count(way)}" for way in dict.fromkeys(ways))
        rows.append(("left behind", f"{len(ways)}, swept by: {counts}"))
    return rows


# -- for a terminal ----------------------------------------------------------------------------


def text(receipt: Receipt, *, screen: bool = False) -> str:
    reached = [f"{rung.rung} at {rung.at_ms} ms" for rung in receipt.rungs if rung.reached]
    rows = [*facts(receipt), ("rungs", ", ".join(reached) or "none")]
    lines = [f"{title(receipt)}, {proof_word(receipt)}"]
    lines += [f"  {word:<13} {what}" for word, what in rows]
    shown = receipt.screen.split("\n") if screen and receipt.screen else []
    last = ["  last screen", *(f"  | {line}" for line in shown)] if shown else []
    return "\n".join([*map(printable, lines), *process_lines(receipt), *map(printable, last)])


def process_lines(receipt: Receipt) -> list[str]:
    """They can be printed as they are: the head of the table has its own colour."""
    rows = [(str(p.pid), p.via, p.ended_by, short(p.command)) for p in receipt.processes]
    lines = [f"  processes     {len(rows)}"]
    if rows:
        on = sheet()
        on = on._replace(width=on.width - len(INDENT)) if on.width else on
        lines += [INDENT + line for line in table(PROCESSES, rows, on=on).split("\n")]
    for kept in receipt.kept:
        told = f"  left alone    {kept.pid} ({kept.why}): {short(kept.command)}"
        lines.append(printable(told))
    for left in receipt.survivors:
        state = f"state {left.state}, {left.why}"
        lines.append(printable(f"  SURVIVED      {left.pid} ({state}): {short(left.command)}"))
    return lines


# -- for a browser -----------------------------------------------------------------------------


def page(receipt: Receipt) -> str:
    """Every value is escaped: names, commands and screens come from outside."""
    head, good = safe(title(receipt)), "bad" if receipt.survivors else "good"
    told = [(word.capitalize(), what) for word, what in facts(receipt, in_full)]
    processes = [(str(p.pid), p.via, p.ended_by, p.command) for p in receipt.processes]
    left = [("SURVIVED", s) for s in receipt.survivors] + [("left alone", s) for s in receipt.kept]
    still = [(word, str(s.pid), s.state, s.why, s.command) for word, s in left]
    parts = [
        f'<h1>{head} — <span class="{good}">{escape(proof_word(receipt))}</span></h1>',
        _rows((), [*told, ("Took", f"{receipt.duration_ms} ms")]),
        "<h2>Rungs</h2>" + _timeline(receipt),
        "<h2>Processes</h2>" + _rows(PROCESSES, processes),
    ]
    if still:
        parts.append("<h2>Still there</h2>" + _rows(("", "PID", "State", "Why", "Command"), still))
    if receipt.screen:
        screen = "\n".join(map(safe, receipt.screen.split("\n")))
        parts.append(f"<h2>Last screen</h2><pre>{screen}</pre>")
    return html_page(head, parts)


def html_page(title: str, parts: Sequence[str]) -> str:
    """One file without scripts. The caller has escaped what came from outside."""
    head = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{title}</title><style>{STYLE}</style>",
    ]
    return "\n".join([*head, *parts, "</html>"])


def _timeline(receipt: Receipt) -> str:
    """When each rung was taken, on a line as long as the whole ending."""
    whole = max([receipt.duration_ms, 1, *(rung.at_ms for rung in receipt.rungs)])
    rows: list[str] = []
    for rung in receipt.rungs:
        told = f"{rung.at_ms} ms" if rung.reached else "not needed"
        left = 100 * rung.at_ms / whole if rung.reached else 0
        bar = f'<div class="bar" style="margin-left:{left:.1f}%"></div>' if rung.reached else ""
        cells = f'<td>{safe(rung.rung)}</td><td>{told}</td><td class="line">{bar}</td>'
        rows.append(f"<tr>{cells}</tr>")
    end = f"<tr><td>over</td><td>{receipt.duration_ms} ms</td><td></td></tr>"
    return f"<table><tr><th>Rung</th><th>At</th><th></th></tr>{''.join(rows)}{end}</table>"


def safe(line: str) -> str:
    """No mark-up, and nothing that would move the cursor of a terminal that prints the page."""
    return escape(printable(line))


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f"<th>{escape(word)}</th>" for word in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{safe(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{titles}</tr>{body}</table>"
