"""The proof of an ending: what was found, what was sent when, what ended how, what survived."""

from enum import StrEnum
from types import UnionType
from typing import Any, NamedTuple, cast

from quell.core.cleaning import Cleaning
from quell.core.death import Death, death_from_json


class Proof(StrEnum):
    PROVEN = "proven"  # a parent without children (ECHILD), or an empty cgroup
    NONE_FOUND = "none_found"  # scans found nothing; a scan cannot prove absence
    SURVIVORS = "survivors"


class Result(StrEnum):
    ENDED = "ended"
    ALREADY_ENDED = "already_ended"
    LET_GO = "let_go"
    NOT_FOUND = "not_found"
    NO_PID = "no_pid"
    PERMISSION_DENIED = "permission_denied"
    SURVIVORS = "survivors"
    REFUSED = "refused"
    WOULD_END = "would_end"  # --dry-run


class Climbed(NamedTuple):
    rung: str
    at_ms: int
    reached: bool


class Ended(NamedTuple):
    pid: int
    command: str
    via: str
    ended_by: str  # term, kill, exit 0, hangup, …


class Survivor(NamedTuple):
    pid: int
    command: str
    state: str
    why: str


class Pane(NamedTuple):
    place: str
    id: str = ""
    closed: bool | None = None  # None: there was nothing to close
    retry: str = ""  # the exact command to close it by hand


class Conversation(NamedTuple):
    id: str = ""
    exists: bool | None = None  # None: could not look
    complete: bool | None = None  # its last record was written to the end; None: could not look
    resume: str = ""
    found_by: str = ""  # live, hook, spawn, row, scan, cache
    why: str = ""  # when there is no resume line
    purged: tuple[str, ...] = ()  # the files that were deleted on request


class Receipt(NamedTuple):
    agent: str
    run: str
    kind: str
    place: str
    by: str
    reason: str
    outcome: str
    result: Result
    pid: int | None
    started_at: str
    finished_at: str
    duration_ms: int
    proof: Proof | None
    rungs: tuple[Climbed, ...] = ()
    processes: tuple[Ended, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    kept: tuple[Survivor, ...] = ()  # let go by name, tracked as orphans
    pane: Pane = Pane("headless")
    tasks: tuple[dict[str, str], ...] = ()
    worktree: str = ""  # where it worked, if its cleaning was asked for
    cleaning: Cleaning = Cleaning()
    conversation: Conversation = Conversation()
    screen: str = ""  # the last lines the pane showed, redacted
    detail: str = ""
    exit_code: int | None = None
    exit_signal: int | None = None
    max_rss_kb: int | None = None
    cpu_seconds: float | None = None
    warnings: tuple[str, ...] = ()
    death: Death = Death()

    def to_json(self) -> dict[str, Any]:
        """The stable shape that `--json` prints and the store keeps."""
        return {key: _plain(value) for key, value in self._asdict().items()}


def receipt_from_json(data: dict[str, Any]) -> Receipt:
    """Reads what `to_json` wrote; a key from a newer quell is dropped.

    ValueError, TypeError or KeyError for anything else."""
    if not isinstance(data, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - read from a file
        raise ValueError("a receipt is an object")  # noqa: TRY004 - what it says is wrong
    parts: dict[str, Any] = {key: data[key] for key in Receipt._fields if key in data}
    parts["result"] = Result(parts["result"])
    parts["proof"] = Proof(parts["proof"]) if parts.get("proof") else None
    for key, shape in (
        ("rungs", Climbed),
        ("processes", Ended),
        ("survivors", Survivor),
        ("kept", Survivor),
    ):
        parts[key] = tuple(shape(**row) for row in parts.get(key, ()))
    parts["pane"] = Pane(**parts["pane"])
    told: dict[str, Any] = parts["conversation"]
    known: dict[str, Any] = {key: told[key] for key in Conversation._fields if key in told}
    known["purged"] = tuple(known.get("purged", ()))
    parts["conversation"] = Conversation(**known)
    swept: dict[str, Any] = parts.get("cleaning") or {}
    known = {key: swept[key] for key in Cleaning._fields if key in swept}
    known |= {key: tuple(known.get(key, ())) for key in ("failed", "warnings")}
    parts["cleaning"] = Cleaning(**known)
    parts["death"] = death_from_json(parts.get("death"))
    for key in ("tasks", "warnings"):
        parts[key] = tuple(parts.get(key, ()))
    receipt = Receipt(**parts)
    _check(receipt)
    return receipt


def _check(record: Any) -> None:
    """ValueError unless every field, down to the last, holds what its record says it does."""
    for name, kind in type(record).__annotations__.items():
        value: Any = getattr(record, name)
        if isinstance(kind, type | UnionType) and not _is(value, kind):
            raise ValueError(f"{name} is no {kind}")
        parts = cast("tuple[Any, ...]", value) if type(value) is tuple else ()
        if not all(isinstance(part, str | dict) or _fields(part) for part in parts):
            raise ValueError(f"something in {name} does not belong there")
        nested: list[Any] = [value, *parts]
        for part in nested:
            if _fields(part):
                _check(part)


def _fields(value: Any) -> tuple[str, ...]:
    return getattr(value, "_fields", ())


def _is(value: object, kind: type | UnionType) -> bool:
    """A whole number will do for seconds."""
    return isinstance(value, kind) or (isinstance(value, int) and isinstance(1.0, kind))


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {key: _plain(part) for key, part in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return str(value) if isinstance(value, StrEnum) else value
