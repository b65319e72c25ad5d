"""A receipt for reading in a terminal."""

from quell.core.death import Death
from quell.core.receipt import Receipt
from quell.faces.render import clock, printable, short, table
from quell.faces.told import PROOFS


def text(receipt: Receipt, *, screen: bool = False) -> str:
    proof = PROOFS[receipt.proof] if receipt.proof else "not looked at"
    lines = [
        f"{receipt.agent}: {receipt.outcome or receipt.result.value}, {proof}",
        f"  run           {receipt.run} ({receipt.kind}, {receipt.place})",
        f"  lived         {clock(receipt.started_at)} to {clock(receipt.finished_at)}",
        *death_lines(receipt.death),
        f"  ended by      {receipt.by}: {receipt.reason}"
        + (f" ({receipt.detail})" if receipt.detail else ""),
        f"  exit          {exit_words(receipt)}",
    ]
    if receipt.cpu_seconds is not None:
        megabytes = (receipt.max_rss_kb or 0) / 1024
        lines.append(f"  used          {receipt.cpu_seconds:g} s CPU, {megabytes:.0f} MB at most")
        whole = run_words(receipt.death)
        lines += [f"  whole run     {whole}"] if whole else []
    climbed = [f"{rung.rung} at {rung.at_ms} ms" for rung in receipt.rungs if rung.reached]
    lines.append(f"  rungs         {', '.join(climbed) or 'none climbed'}")
    if receipt.pane.id:
        closed = {True: "closed", False: "NOT closed", None: "left alone"}[receipt.pane.closed]
        lines.append(f"  pane          {receipt.pane.place} {receipt.pane.id}, {closed}")
    resume = receipt.conversation.resume or receipt.conversation.why
    if resume:
        lines.append(f"  conversation  {resume}")
    lines += process_lines(receipt)
    lines += [f"  warning       {warning}" for warning in receipt.warnings if warning]
    if screen and receipt.screen:
        lines += ["  last screen", *(f"  | {line}" for line in receipt.screen.split("\n"))]
    return "\n".join(map(printable, lines))


def exit_words(receipt: Receipt) -> str:
    if receipt.exit_signal is not None:
        return f"signal {receipt.exit_signal}"
    return "not seen" if receipt.exit_code is None else f"code {receipt.exit_code}"


def death_lines(death: Death) -> list[str]:
    """What it died of, and what that rests on; nothing from a receipt that does not say."""
    if not death.how:
        return []
    lines = [f"  died          {death.sentence}"]
    lines += [f"  evidence      {told}" for told in death.evidence]
    lines += [f"  suspect       {told}" for told in death.suspects]
    if death.left:
        lines.append(f"  left behind   {left_words(death)}")
    return lines


def left_words(death: Death) -> str:
    """How many the agent left, and how they went: `3, swept by: term 2, kill 1`."""
    ways = [left.ended_by for left in death.left]
    told = ", ".join(f"{way} {ways.count(way)}" for way in dict.fromkeys(ways))
    return f"{len(ways)}, swept by: {told}"


def run_words(death: Death) -> str:
    """The whole run's use, where it is known and not just the agent's again."""
    if death.run_cpu_seconds is None or death.run_cpu_seconds == death.cpu_seconds:
        return ""
    megabytes = (death.run_max_rss_kb or 0) / 1024
    return f"{death.run_cpu_seconds:g} s CPU, {megabytes:.0f} MB in its largest process"


def process_lines(receipt: Receipt) -> list[str]:
    rows = [(str(p.pid), p.via, p.ended_by, short(p.command)) for p in receipt.processes]
    lines = [f"  processes     {len(rows)}"]
    if rows:
        shown = table(("PID", "KNOWN BY", "ENDED BY", "COMMAND"), rows)
        lines += ["    " + line for line in shown.split("\n")]
    for kept in receipt.kept:
        lines.append(f"  left alone    {kept.pid} ({kept.why}): {short(kept.command)}")
    for left in receipt.survivors:
        told = f"{left.pid} (state {left.state}, {left.why}): {short(left.command)}"
        lines.append(f"  SURVIVED      {told}")
    return lines
