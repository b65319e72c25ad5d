"""How a run died, as far as anybody could see: the verdict, what it rests on, what it left.

A verdict needs strong evidence. What is only likely is a suspect, and what could not be looked at
is said, so that nobody takes silence for innocence.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from quell.core.climbing import Journal
    from quell.core.run import Ending

MINUTE, HOUR, DAY = 60, 3600, 86_400
BY_SIGNAL = 128  # a shell adds the signal's number to it
NOT_BY_US = "not by quell"
FAULTS = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP")

# What a signal or an exit code hints at, when nothing better is known.
HINTS = {
    "SIGHUP": "its terminal, or the session above it, may have been closed",
    "SIGINT": "Ctrl-C in its terminal sends that",
    "SIGQUIT": "Ctrl-\\ in its terminal sends that",
    "SIGPIPE": "whoever read its output may have gone",
    "SIGXCPU": "it may have reached its limit of CPU time",
    "SIGXFSZ": "it may have reached its limit of file size",
    "SIGALRM": "a timer of its own may have run out",
}
CODE_HINTS = {
    126: "a shell says that of a command that may not be executed",
    127: "a shell says that of a command that it cannot find",
}


class How(StrEnum):
    CLEAN_EXIT = "clean exit"
    CRASH = "crash"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out of memory"
    ENDED_BY_US = "ended by us"
    PANE_CLOSED = "pane closed"
    NEVER_STARTED = "never started"
    LOST = "lost"


class Left(NamedTuple):
    """A process that was still there when the agent itself had gone, and how it was swept."""

    pid: int
    command: str
    ended_by: str


class Death(NamedTuple):
    how: str = ""  # a How; empty while it lives, and in receipts older than this
    sentence: str = ""  # all of it in one line, for people
    exit_code: int | None = None
    signal: str = ""  # by its name: SIGSEGV
    sent_by: str = ""
    evidence: tuple[str, ...] = ()  # what was looked at, and what it said
    suspects: tuple[str, ...] = ()  # what may have caused it, without proof
    left: tuple[Left, ...] = ()
    seconds: float | None = None  # that the run took
    max_rss_kb: int | None = None  # of the agent or the largest of its own reaped children
    cpu_seconds: float | None = None
    run_max_rss_kb: int | None = None  # of the largest process of the whole run
    run_cpu_seconds: float | None = None


UNSEEN = Death(How.NEVER_STARTED.value, "never started: no process of it is on record")


class Scene(NamedTuple):
    """What is known about a death besides what its keeper wrote."""

    seconds: float | None = None
    climbed: bool = False  # quell was at it
    rungs: tuple[str, ...] = ()  # as far as they were reached
    helpers: tuple[str, ...] = ()  # vendor's supervisors that were alive


class _Verdict(NamedTuple):
    how: How
    what: str = ""  # behind the colon
    sent_by: str = ""
    suspects: tuple[str, ...] = ()


def certificate(ending: "Ending", journal: "Journal", scene: Scene) -> Death:
    """What can be said about this end and no more."""
    verdict = _verdict(ending, journal, scene)
    after = f", after {duration(scene.seconds)}" if scene.seconds is not None else ""
    if verdict.how is How.NEVER_STARTED:
        after = ""
    what = f": {verdict.what}" if verdict.what else ""
    return Death(
        how=verdict.how.value,
        sentence=f"{verdict.how.value}{what}{after}",
        exit_code=journal.exit_code,
        signal=signal_name(journal.exit_signal),
        sent_by=verdict.sent_by,
        evidence=_evidence(verdict, journal),
        suspects=(*verdict.suspects, *_bystanders(verdict, journal, scene)),
        left=_left(journal),
        seconds=scene.seconds,
        max_rss_kb=journal.max_rss_kb,
        cpu_seconds=journal.cpu_seconds,
        run_max_rss_kb=journal.run_rss_kb,
        run_cpu_seconds=journal.run_cpu_seconds,
    )


# -- the verdict -------------------------------------------------------------------------------


def _verdict(ending: "Ending", journal: "Journal", scene: Scene) -> _Verdict:
    """By what the keeper noted as the cause, for it was there; else by who was at it."""
    if journal.failure or ending.reason == "not_started":
        return _Verdict(How.NEVER_STARTED, journal.failure or ending.detail)
    if scene.climbed and "exit_keys" in scene.rungs:  # it left by itself, but because we typed so
        return _by_us(ending, journal, scene)
    judge = CAUSES.get(journal.cause, _by_us if scene.climbed else _lost)
    return judge(ending, journal, scene)


def _by_us(ending: "Ending", journal: "Journal", scene: Scene) -> _Verdict:
    why = f"{ending.reason}: {ending.detail}" if ending.detail else ending.reason
    suspects: tuple[str, ...] = ()
    name = signal_name(journal.exit_signal)
    if name == "SIGKILL" and "kill" not in scene.rungs:
        suspects = ("SIGKILL came before quell had sent one: from somebody else, or the kernel",)
    elif name in FAULTS:
        suspects = (f"it crashed while it was being ended ({name})",)
    return _Verdict(
        How.ENDED_BY_US,
        f"{ending.by} asked ({why}), {exit_words(journal)}",
        f"quell, for {ending.by} ({why})",
        suspects,
    )


def _by_hangup(_: "Ending", journal: "Journal", __: Scene) -> _Verdict:
    return _Verdict(How.PANE_CLOSED, exit_words(journal), "the terminal")


def _by_stranger(*_: object) -> _Verdict:
    return _Verdict(How.SIGNAL, f"SIGTERM to its keeper, {NOT_BY_US}", NOT_BY_US)


def _lost(_: "Ending", journal: "Journal", __: Scene) -> _Verdict:
    keeper = ", its keeper with it" if journal.keeper else ""
    return _Verdict(How.LOST, f"gone while nobody looked{keeper}", "unknown")


def _by_itself(ending: "Ending", journal: "Journal", scene: Scene) -> _Verdict:
    if journal.exit_signal is not None:
        return _by_signal(signal_name(journal.exit_signal), journal)
    if journal.exit_code is not None:
        return _by_code(journal.exit_code)
    return _lost(ending, journal, scene)


def _by_signal(name: str, journal: "Journal") -> _Verdict:
    words = {sight.word: sight.told for sight in reversed(journal.sights)}
    proof = words.get("oom") or words.get("oom_run")
    if name == "SIGKILL" and proof:
        return _Verdict(How.OUT_OF_MEMORY, f"SIGKILL by the kernel ({proof})", "the kernel")
    if name in FAULTS:
        return _Verdict(
            How.CRASH, name, "the kernel, for a fault" if "fault" in words else NOT_BY_US
        )
    return _Verdict(How.SIGNAL, f"{name}, {NOT_BY_US}", NOT_BY_US, _hint(name))


def _by_code(code: int) -> _Verdict:
    """A program that takes a signal and exits in order says so in its code; a shell does too."""
    if code == 0:
        return _Verdict(How.CLEAN_EXIT)
    name = signal_name(code - BY_SIGNAL) if code > BY_SIGNAL else ""
    if name.startswith("SIG"):
        how = How.CRASH if name in FAULTS else How.SIGNAL
        what = f"exit code {code}, as after {name}, {NOT_BY_US}"
        return _Verdict(how, what, NOT_BY_US, _hint(name))
    hints = (f"exit code {code}: {CODE_HINTS[code]}",) if code in CODE_HINTS else ()
    return _Verdict(How.CRASH, f"exit code {code}", "", hints)


def _hint(name: str) -> tuple[str, ...]:
    return (f"{name}: {HINTS[name]}",) if name in HINTS else ()


CAUSES = {"asked": _by_us, "hangup": _by_hangup, "signal": _by_stranger, "exit": _by_itself}


# -- what it rests on --------------------------------------------------------------------------


def _evidence(verdict: _Verdict, journal: "Journal") -> tuple[str, ...]:
    if verdict.how is How.NEVER_STARTED:
        return ()
    if journal.exit_code is None and journal.exit_signal is None:
        seen = "nobody saw it exit"
    else:
        seen = f"its keeper saw {exit_words(journal)}"
    hangup = ("its keeper saw the terminal hang up",) if journal.cause == "hangup" else ()
    return (*hangup, seen, *(sight.told for sight in journal.sights))


def _bystanders(verdict: _Verdict, journal: "Journal", scene: Scene) -> tuple[str, ...]:
    """What was about when something unasked ended it, and is not proven to have done it."""
    if verdict.how in (How.CLEAN_EXIT, How.ENDED_BY_US, How.NEVER_STARTED, How.OUT_OF_MEMORY):
        return ()
    words = {sight.word for sight in journal.sights}
    told: list[str] = []
    if "oom_run" in words:
        told.append("the kernel killed a process of this run for memory")
    elif "oom_host" in words:
        told.append("the kernel killed something on this machine for memory meanwhile")
    elif "blind" in words and "no_oom" not in words and "SIGKILL" in exit_words(journal):
        told.append("a kill for memory cannot be ruled out: not everything could be looked at")
    if verdict.sent_by == NOT_BY_US:
        told += [f"a supervisor of the vendor is alive: {helper}" for helper in scene.helpers]
    return tuple(told)


def _left(journal: "Journal") -> tuple[Left, ...]:
    ended = {one.pid: one for one in journal.processes}
    alive = {one.pid: one for one in journal.survivors}
    kept = {one.pid for one in journal.kept}
    told: list[Left] = []
    for pid in journal.left:
        if pid in ended:
            told.append(Left(pid, ended[pid].command, ended[pid].ended_by))
        elif pid in alive:
            told.append(Left(pid, alive[pid].command, "still there"))
        elif pid not in kept:
            told.append(Left(pid, "?", "unknown"))
    return tuple(told)


# -- words -------------------------------------------------------------------------------------


def exit_words(journal: "Journal") -> str:
    if journal.exit_signal is not None:
        return signal_name(journal.exit_signal)
    return "exit not seen" if journal.exit_code is None else f"exit code {journal.exit_code}"


def signal_name(number: int | None) -> str:
    """SIGSEGV for 11; empty for None."""
    if number is None:
        return ""
    from signal import Signals

    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def duration(seconds: float) -> str:
    """Two units at most: nobody asks for the seconds of three hours."""
    if seconds < MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004
    for unit, word, part, small in ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {word} {int(seconds % unit // part)} {small}"
    return f"{int(seconds // MINUTE)} min {int(seconds % MINUTE)} s"


def lived(started_at: str, finished_at: str) -> float | None:
    """Seconds between two times; None if one is not known."""
    from datetime import datetime

    try:
        began, over = datetime.fromisoformat(started_at), datetime.fromisoformat(finished_at)
        return max(0.0, round((over - began).total_seconds(), 3))
    except (ValueError, TypeError):
        return None


def death_from_json(data: dict[str, Any] | None) -> Death:
    """Reads what a receipt keeps; a receipt older than this has none."""
    known: dict[str, Any] = {key: (data or {})[key] for key in Death._fields if key in (data or {})}
    for key in ("evidence", "suspects"):
        known[key] = tuple(known.get(key, ()))
    known["left"] = tuple(Left(**row) for row in known.get("left", ()))
    return Death(**known)
