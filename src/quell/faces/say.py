"""What a verb says: data on stdout, talk on stderr, each line at once."""

import sys
from typing import Any


def out(text: str) -> None:
    print(text, flush=True)


def err(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def document(told: Any) -> None:
    """One JSON document for `--json`."""
    import json

    out(json.dumps(told, ensure_ascii=False, indent=2))
