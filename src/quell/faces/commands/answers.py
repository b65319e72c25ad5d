"""What commands answer: errors of one shape, times and numbers as the orchestrator writes them."""

from datetime import UTC, datetime, timedelta
from typing import Any

Answer = dict[str, Any]


class Failed(Exception):
    """Ends a command with an error answer. `facts` are further keys of it."""

    def __init__(self, code: str, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.code = code
        self.facts = facts


def failure(code: str, message: str, **facts: Any) -> Answer:
    return {"success": False, "error": code, "message": message, **facts}


def moment(at: str) -> datetime | None:
    """A time as the store has it; None where it has none."""
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return None


def told_time(at: str, later: float = 0) -> str | None:
    """ISO 8601 with Z and whole seconds, cut and not rounded."""
    then = moment(at)
    if then is None:
        return None
    return f"{(then + timedelta(seconds=later)).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def seconds_between(earlier: str, later: str) -> int | None:
    one, other = moment(earlier), moment(later)
    return max(0, int((other - one).total_seconds())) if one and other else None


def whole(number: float) -> int | float:
    """10 and not 10.0, but 2.5."""
    return int(number) if number == int(number) else number
