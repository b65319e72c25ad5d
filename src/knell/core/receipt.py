"""The proof of an ending: what was found, what was sent when, what ended how, what survived."""

from collections.abc import Iterable
from enum import StrEnum
from types import UnionType
from typing import Any, NamedTuple, cast, get_args, get_origin

from knell.core.codes import Code, Notice


class Proof(StrEnum):
    PROVEN = "proven"  # its keeper was left without children (ECHILD), and said so
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


class RungRecord(NamedTuple):
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
    # By whose word the id is known (core/conversation.py), or `unsure`: then `why` says why, and an
    # id that is there all the same was written into the registry file because that was asked for.
    source: str = ""
    since: str = ""
    why: str = ""  # when there is no resume line
    purged: tuple[str, ...] = ()  # the files that were deleted on request


class Cleaning(NamedTuple):
    """What cleaning up after one run did; with `would`, what it would do."""

    session_dir: str = ""  # removed, or "kept: why"; empty: there was none
    worktree: str = ""
    state: str = "none"  # none, removed, kept, gone
    why: str = ""
    rescue: str = ""  # the ref that now holds what existed nowhere else
    quarantined: bool = False  # it stays because of what it holds, and is marked so on record
    branch: str = ""  # never deleted here
    lock_removed: str = ""
    failed: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()
    unseen: int = 0  # processes, mostly of other users, that might be inside, unseen
    would: bool = False
    uncommitted: int = 0  # files with work that was in no commit

    def way_back(self, agent: str) -> str:
        """The command that brings the saved work back, to be given inside the repository.

        Into a directory of its own: `git stash apply` brings no commits back, and overwrites the
        files that git ignores, such as a person's own `.env`, without a word."""
        return f"git worktree add --detach ../{agent}-back {self.rescue}"

    def to_json(self) -> dict[str, Any]:
        return _plain(self)


class Left(NamedTuple):
    """A process that was still there when the agent itself had gone, and how it was swept."""

    pid: int
    command: str
    ended_by: str


class Death(NamedTuple):
    how: str = ""  # a DeathKind; empty while it lives, and in receipts older than this
    sentence: str = ""  # all of it in one line, for people
    exit_code: int | None = None
    signal: str = ""  # by its name: SIGSEGV
    sent_by: str = ""
    evidence: tuple[str, ...] = ()  # what was looked at, and what was found
    suspects: tuple[str, ...] = ()  # what may have caused it, without proof
    left: tuple[Left, ...] = ()
    seconds: float | None = None  # that the run took
    max_rss_kb: int | None = None  # of the agent or the largest of its own reaped children
    cpu_seconds: float | None = None
    run_max_rss_kb: int | None = None  # of the largest process of the whole run
    run_cpu_seconds: float | None = None


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
    rungs: tuple[RungRecord, ...] = ()
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
    code: Code | None = None  # why nothing was ended, where that needs a reason
    exit_code: int | None = None
    exit_signal: int | None = None
    max_rss_kb: int | None = None
    cpu_seconds: float | None = None
    warnings: tuple[Notice, ...] = ()
    death: Death = Death()

    def to_json(self) -> dict[str, Any]:
        """The stable shape that `--json` prints and the store keeps."""
        return _plain(self)


# -- what verbs give back ----------------------------------------------------------------------

FAILURES = (
    *(Result.NOT_FOUND, Result.NO_PID, Result.PERMISSION_DENIED, Result.REFUSED, Result.SURVIVORS),
)


class TargetResult(NamedTuple):
    """What one target of the command came to."""

    target: str
    label: str  # "all", "tag:dev": a group that gets a summary; empty for one agent
    receipts: tuple[Receipt, ...]
    orphaned: tuple[str, ...] = ()  # agents of which only processes are left, that were left alone


class Endings(tuple[Receipt, ...]):  # noqa: SLOT001 - it keeps the targets beside them
    """The receipts of every run that was meant, in the order of the targets; agents that an agent
    had started come before it."""

    targets: tuple[TargetResult, ...]
    purge: bool  # the conversations were to be deleted

    def __new__(cls, targets: Iterable[TargetResult], *, purge: bool = False) -> "Endings":
        known = tuple(targets)
        self = super().__new__(cls, (receipt for one in known for receipt in one.receipts))
        self.targets, self.purge = known, purge
        return self

    @property
    def ok(self) -> bool:
        """Whether everything that was meant is ended, or would be, or was so before."""
        return not any(receipt.result in FAILURES for receipt in self)

    @property
    def incomplete(self) -> bool:
        """Whether a registry row or a conversation stayed as it was, though the run has ended."""
        codes = {one.code for receipt in self for one in receipt.warnings}
        kept = self.purge and any(receipt.conversation.exists for receipt in self)
        return kept or not codes.isdisjoint((Code.ROW_NOT_WRITTEN, Code.CONVERSATION_NOT_DELETED))

    @property
    def needs_refresh(self) -> bool:
        """Whether the registry row had ended already: doing it again writes a new timestamp."""
        return any(receipt.code is Code.ROW_ALREADY_ENDED for receipt in self)


# -- to JSON and back --------------------------------------------------------------------------


def receipt_from_json(data: Any) -> Receipt:
    """Reads what `to_json` wrote; ValueError, TypeError or KeyError for anything else."""
    if isinstance(data, dict) and not {"pane", "conversation"} <= data.keys():
        raise KeyError("pane and conversation")
    return record_from_json(Receipt, data)


def record_from_json(kind: Any, value: Any) -> Any:
    """The value as `kind`, which is a record or the annotation of a field in one. A key from a
    newer knell is dropped, and one that an older knell did not write has its default."""
    parts = get_args(kind)
    if get_origin(kind) is UnionType:  # X | None
        return None if value is None else record_from_json(parts[0], value)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(record_from_json(parts[0], part) for part in cast("list[Any]", value))
    if hasattr(kind, "_fields") and isinstance(value, dict):
        known = [(name, of) for name, of in kind.__annotations__.items() if name in value]
        return kind(**{name: record_from_json(of, value[name]) for name, of in known})
    if kind is Code and isinstance(value, str):
        return Code.named(value)
    if isinstance(kind, type) and issubclass(kind, StrEnum) and isinstance(value, str):
        return kind(value)
    whole = kind is float and isinstance(value, int)  # a whole number of seconds
    if whole or isinstance(value, get_origin(kind) or kind):
        return value
    raise ValueError(f"{value!r:.80} is no {kind}")


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {key: _plain(part) for key, part in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return str(value) if isinstance(value, str) else value  # of an enum, or of a code
