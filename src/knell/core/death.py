"""How a run died, as far as knell could see: the verdict and the evidence for it.

A verdict needs strong evidence. What is only likely is a suspect, and what could not be looked at
is named, so that a missing suspect is not taken for a proof that there was none.
"""

from enum import StrEnum
from typing import NamedTuple

from knell.core.ports.keepers import Journal
from knell.core.receipt import Death, Left
from knell.core.run import Ending

MINUTE, HOUR, DAY = 60, 3600, 86_400
EXACT = 10  # seconds below which a tenth is told
BY_SIGNAL = 128  # a shell adds the signal's number to it
NOT_BY_US = "not by knell"
FAULTS = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP")

# What a signal or an exit code hints at, when nothing better is known.
HINTS = {
    "SIGHUP": "its terminal, or the session above it, may have been closed",
    "SIGINT": "Ctrl-C in its terminal sends that",
    "SIGQUIT": "Ctrl-\\ in its terminal sends that",
    "SIGPIPE": "the program that read its output may have gone",
    "SIGXCPU": "it may have reached its limit of CPU time",
    "SIGXFSZ": "it may have reached its limit of file size",
    "SIGALRM": "a timer of its own may have run out",
}
CODE_HINTS = {
    126: "a shell says that of a command that may not be executed",
    127: "a shell says that of a command that it cannot find",
}


class DeathKind(StrEnum):
    CLEAN_EXIT = "clean exit"
    CRASH = "crash"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out of memory"
    ENDED_BY_KNELL = "ended by knell"
    PANE_CLOSED = "pane closed"
    NEVER_STARTED = "never started"
    LOST = "lost"


EXPLAINED = (
    *(DeathKind.CLEAN_EXIT, DeathKind.ENDED_BY_KNELL),
    *(DeathKind.NEVER_STARTED, DeathKind.OUT_OF_MEMORY),
)
UNSEEN = Death(DeathKind.NEVER_STARTED.value, "never started: no process of it is on record")


class Facts(NamedTuple):
    """What is known about a death besides what its keeper wrote."""

    seconds: float | None = None
    climbed: bool = False  # knell was ending the run
    rungs: tuple[str, ...] = ()  # as far as they were reached
    helpers: tuple[str, ...] = ()  # vendor's supervisors that were alive


class _Verdict(NamedTuple):
    how: DeathKind
    what: str = ""  # behind the colon
    sent_by: str = ""
    suspects: tuple[str, ...] = ()


def certificate(ending: Ending, journal: Journal, scene: Facts) -> Death:
    """What is known about this end, without guesses."""
    verdict = _verdict(ending, journal, scene)
    after = f", after {duration(scene.seconds)}" if scene.seconds is not None else ""
    if verdict.how is DeathKind.NEVER_STARTED:
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


def _verdict(ending: Ending, journal: Journal, scene: Facts) -> _Verdict:
    """By the cause that the keeper noted; without one, by whether knell was ending the run."""
    if journal.failure or ending.reason == "not_started":
        return _Verdict(DeathKind.NEVER_STARTED, journal.failure or ending.detail)
    seen = {
        "hangup": _Verdict(DeathKind.PANE_CLOSED, exit_words(journal), "the terminal"),
        "signal": _Verdict(DeathKind.SIGNAL, f"SIGTERM to its keeper, {NOT_BY_US}", NOT_BY_US),
    }
    unexplained = journal.cause != "exit" and journal.cause not in seen
    # With exit keys it left by itself, but because we typed so.
    if journal.cause == "asked" or (scene.climbed and ("exit_keys" in scene.rungs or unexplained)):
        return _by_us(ending, journal, scene)
    if journal.cause == "exit" and journal.exit_signal is not None:
        return _by_signal(signal_name(journal.exit_signal), journal)
    if journal.cause == "exit" and journal.exit_code is not None:
        return _by_code(journal.exit_code)
    keeper = ", its keeper with it" if journal.keeper else ""
    lost = _Verdict(DeathKind.LOST, f"gone while knell was not looking{keeper}", "unknown")
    return seen.get(journal.cause, lost)


def _by_us(ending: Ending, journal: Journal, scene: Facts) -> _Verdict:
    why = f"{ending.reason}: {ending.detail}" if ending.detail else ending.reason
    suspects: tuple[str, ...] = ()
    name = signal_name(journal.exit_signal)
    if name == "SIGKILL" and "kill" not in scene.rungs:
        early = "SIGKILL came before knell had sent one"
        suspects = (f"{early}: another process sent it, or the kernel",)
    elif name in FAULTS:
        suspects = (f"it crashed while it was being ended ({name})",)
    return _Verdict(
        DeathKind.ENDED_BY_KNELL,
        f"{ending.by} asked ({why}), {exit_words(journal)}",
        f"knell, for {ending.by} ({why})",
        suspects,
    )


def _by_signal(name: str, journal: Journal) -> _Verdict:
    words = {seen.word: seen.finding for seen in reversed(journal.evidence)}
    proof = words.get("oom") or words.get("oom_run")
    if name == "SIGKILL" and proof:
        return _Verdict(DeathKind.OUT_OF_MEMORY, f"SIGKILL by the kernel ({proof})", "the kernel")
    if name in FAULTS:
        sender = "the kernel, for a fault" if "fault" in words else NOT_BY_US
        return _Verdict(DeathKind.CRASH, name, sender)
    return _Verdict(DeathKind.SIGNAL, f"{name}, {NOT_BY_US}", NOT_BY_US, _hint(name))


def _by_code(code: int) -> _Verdict:
    """A program that takes a signal and exits in order says so in its code; a shell does too."""
    if code == 0:
        return _Verdict(DeathKind.CLEAN_EXIT)
    name = signal_name(code - BY_SIGNAL) if code > BY_SIGNAL else ""
    if name.startswith("SIG"):
        how = DeathKind.CRASH if name in FAULTS else DeathKind.SIGNAL
        what = f"exit code {code}, as after {name}, {NOT_BY_US}"
        return _Verdict(how, what, NOT_BY_US, _hint(name))
    hints = (f"exit code {code}: {CODE_HINTS[code]}",) if code in CODE_HINTS else ()
    return _Verdict(DeathKind.CRASH, f"exit code {code}", "", hints)


def _hint(name: str) -> tuple[str, ...]:
    return (f"{name}: {HINTS[name]}",) if name in HINTS else ()


# -- the evidence for it --------------------------------------------------------------------------


def _evidence(verdict: _Verdict, journal: Journal) -> tuple[str, ...]:
    if verdict.how is DeathKind.NEVER_STARTED:
        return ()
    if journal.exit_code is None and journal.exit_signal is None:
        seen = "no process saw it exit"
    else:
        seen = f"its keeper saw {exit_words(journal)}"
    hangup = ("its keeper saw the terminal hang up",) if journal.cause == "hangup" else ()
    return (*hangup, seen, *(seen.finding for seen in journal.evidence))


def _bystanders(verdict: _Verdict, journal: Journal, scene: Facts) -> tuple[str, ...]:
    """What might have ended a run that was not asked to end; none of it is proven."""
    if verdict.how in EXPLAINED:
        return ()
    words = {seen.word for seen in journal.evidence}
    found: list[str] = []
    if "oom_run" in words:
        found.append("the kernel killed a process of this run for memory")
    elif "oom_host" in words:
        found.append("the kernel killed something on this machine for memory meanwhile")
    elif "blind" in words and "no_oom" not in words and "SIGKILL" in exit_words(journal):
        found.append("a kill for memory cannot be ruled out: not everything could be looked at")
    if verdict.sent_by == NOT_BY_US:
        found += [f"a supervisor of the vendor is alive: {helper}" for helper in scene.helpers]
    return tuple(found)


def _left(journal: Journal) -> tuple[Left, ...]:
    alive = {one.pid: Left(one.pid, one.command, "still there") for one in journal.survivors}
    ended = {one.pid: Left(one.pid, one.command, one.ended_by) for one in journal.processes}
    known, kept = {**alive, **ended}, {one.pid for one in journal.kept}
    unkept = (pid for pid in journal.left if pid in known or pid not in kept)
    return tuple(known.get(pid, Left(pid, "?", "unknown")) for pid in unkept)


# -- words -------------------------------------------------------------------------------------


def exit_words(journal: Journal) -> str:
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
    """Two units at most: the seconds of three hours interest no reader."""
    if seconds < MINUTE:
        return f"{seconds:.1f} s" if seconds < EXACT else f"{seconds:.0f} s"
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
