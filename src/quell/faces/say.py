"""What a verb says: data on stdout, talk on stderr, each line at once."""

import os
import sys
from typing import Any


def out(text: str) -> None:
    print(text, flush=True)


def err(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def nothing_more() -> None:
    """The reader has left: whatever is still to be flushed goes nowhere, and nobody complains."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def document(told: Any) -> None:
    """One JSON document for `--json`."""
    import json

    out(json.dumps(told, ensure_ascii=False, indent=2))
