"""Times as the store writes them (ISO 8601), compared and written for other programs."""

from datetime import UTC, datetime, timedelta


def parsed_time(at: str) -> datetime | None:
    """A time as the store has it; None where it has none. Without a zone it is UTC, as SQLite
    writes it."""
    try:
        then = datetime.fromisoformat(at)
    except ValueError:
        return None
    return then if then.tzinfo else then.replace(tzinfo=UTC)


def seconds_since_1970(at: str) -> float | None:
    then = parsed_time(at)
    return then.timestamp() if then else None


def seconds_of(at: str) -> float:
    """Seconds after 1970; 0 where the store has no time."""
    return seconds_since_1970(at) or 0.0


def whole_seconds(at: str, later: float = 0) -> str | None:
    """ISO 8601 with Z and whole seconds, cut and not rounded."""
    then = parsed_time(at)
    if then is None:
        return None
    return f"{(then + timedelta(seconds=later)).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def seconds_between(earlier: str, later: str) -> int | None:
    one, other = parsed_time(earlier), parsed_time(later)
    return max(0, int((other - one).total_seconds())) if one and other else None
