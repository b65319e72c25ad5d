"""A receipt as one self-contained page, for a ticket or an audit."""

from collections.abc import Sequence
from html import escape

from quell.core.death import Death
from quell.core.receipt import Receipt
from quell.faces.receipt_text import exit_words, left_words, run_words
from quell.faces.render import clock
from quell.faces.told import PROOFS

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem } table { border-collapse: collapse; width: 100% }
td, th { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #8883 }
td { font-family: ui-monospace, monospace; overflow-wrap: anywhere; vertical-align: top }
.good { color: #18794e } .bad { color: #b42318 }
pre { background: #8881; padding: 1rem; overflow: auto }
@media (prefers-color-scheme: dark) {
  body { background: #111; color: #ddd } .good { color: #5bb98b } .bad { color: #f97066 }
}
"""


def page(receipt: Receipt) -> str:
    """Every value is escaped: names, commands and screens come from outside."""
    proof = PROOFS[receipt.proof] if receipt.proof else "not looked at"
    good = "bad" if receipt.survivors else "good"
    facts = (
        ("Agent", receipt.agent),
        ("Run", f"{receipt.run} ({receipt.kind}, {receipt.place})"),
        ("Lived", f"{clock(receipt.started_at)} to {clock(receipt.finished_at)}"),
        ("Ended by", f"{receipt.by}: {receipt.reason} {receipt.detail}".rstrip()),
        *_died(receipt.death),
        ("Exit", exit_words(receipt)),
        ("Took", f"{receipt.duration_ms} ms"),
        ("Conversation", receipt.conversation.resume or receipt.conversation.why or "none"),
    )
    title = escape(f"{receipt.agent}: {receipt.outcome or receipt.result.value}")
    return "\n".join(
        (
            '<!doctype html><html lang="en"><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{title}</title><style>{STYLE}</style>",
            f'<h1>{title} — <span class="{good}">{escape(proof)}</span></h1>',
            _rows(("", ""), facts),
            "<h2>Rungs</h2>",
            _rows(
                ("Rung", "At"),
                [(r.rung, f"{r.at_ms} ms" if r.reached else "not needed") for r in receipt.rungs],
            ),
            "<h2>Processes</h2>",
            _rows(
                ("PID", "Known by", "Ended by", "Command"),
                [(str(p.pid), p.via, p.ended_by, p.command) for p in receipt.processes],
            ),
            _left(receipt),
            f"<h2>Last screen</h2><pre>{escape(receipt.screen)}</pre>" if receipt.screen else "",
            "</html>",
        )
    )


def _died(death: Death) -> list[tuple[str, str]]:
    if not death.how:
        return []
    rows = [("Died", death.sentence)]
    rows += [("Evidence", told) for told in death.evidence]
    rows += [("Suspect", told) for told in death.suspects]
    rows += [("Left behind", left_words(death))] if death.left else []
    whole = run_words(death)
    return rows + ([("Whole run", whole)] if whole else [])


def _left(receipt: Receipt) -> str:
    left = [("SURVIVED", s) for s in receipt.survivors] + [("left alone", s) for s in receipt.kept]
    if not left:
        return ""
    rows = [(word, str(s.pid), s.state, s.why, s.command) for word, s in left]
    return "<h2>Still there</h2>" + _rows(("", "PID", "State", "Why", "Command"), rows)


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f"<th>{escape(word)}</th>" for word in head) if any(head) else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{titles}</tr>{body}</table>"
