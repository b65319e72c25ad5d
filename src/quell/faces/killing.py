"""What `quell kill` does and answers."""

import sys
from typing import Any

from quell.api import Quell
from quell.core.errors import NoTarget
from quell.faces import exits, say


def killed(targets: tuple[str, ...], *, json_wanted: bool, strict_pane: bool, **given: Any) -> int:
    from quell.life.kill import KillWish

    slain = Quell().kill(KillWish(targets=spelled_out(targets, "kill"), **given))
    receipts = [receipt for one in slain for receipt in one.receipts]
    code = exits.of_receipts(receipts, strict_pane=strict_pane)
    if json_wanted:
        say.document({"ok": code == 0, "receipts": [r.to_json() for r in receipts]})
    else:
        from quell.faces import told

        told.slain(slain, verb="Killed")
    return code


def spelled_out(targets: tuple[str, ...], verb: str) -> tuple[str, ...]:
    """The targets, with `-` replaced by the lines of standard input; none at all is an error."""
    words: list[str] = []
    for target in targets:
        if target == "-":
            words += [line.strip() for line in sys.stdin]
        else:
            words.append(target)
    words = [word for word in dict.fromkeys(words) if word]
    if not words:
        raise NoTarget(verb)
    return tuple(words)
