"""How many examples Hypothesis makes up where one takes milliseconds."""

import os
from typing import Any

from hypothesis import settings


def some_of(all_of_them: int, **more: Any) -> settings:
    """All of them in `make chaos`; in `make test`, whose examples are the same each time, a third.

    What a third finds nothing in, the rest rarely does; new examples are what finds more."""
    number = all_of_them if os.environ.get("KNELL_CHAOS") else all_of_them // 3
    return settings(max_examples=number, **more)
