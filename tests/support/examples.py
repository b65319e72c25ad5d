"""How many examples Hypothesis makes up where one takes milliseconds."""

import os
from typing import Any

from hypothesis import settings


def some_of(all_of_them: int, **more: Any) -> settings:
    """In `make test`, whose examples are the same each time, a third: where that finds nothing, the
    rest rarely does. New examples find more: `make chaos` makes up all of them anew."""
    number = all_of_them if os.environ.get("KNELL_CHAOS") else all_of_them // 3
    return settings(max_examples=number, **more)
