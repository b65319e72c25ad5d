"""Reads what a keeper wrote down, and tells a keeper to end its run."""

import math
import os
import stat
from datetime import UTC, datetime

from quell.core.climbing import Journal, Sight
from quell.core.process import LAST_PID, ProcessId
from quell.core.receipt import Climbed, Ended, Survivor
from quell.processes.identity import boot_id

SIGNAL_WORDS = {1: "hangup", 2: "interrupt", 9: "kill", 15: "term"}
LARGEST = 64 * 1024 * 1024  # bytes; ten thousand processes take a tenth of it
MOST = 2**63 - 1  # what the store can hold


def read_journal(rundir: str) -> Journal:
    """Everything in RUNDIR/journal; a missing, torn or foreign line is passed over."""
    try:
        text = content(os.path.join(rundir, "journal"))
    except OSError:
        return Journal()
    lines = text.split(b"\n")[:-1]  # an unfinished last line is not yet said
    book = _Book()
    for line in lines:
        word, *fields = os.fsdecode(line).split("\t")
        reader = getattr(book, f"on_{word}", None)
        if reader is not None:
            try:
                reader(*fields)
            except (ValueError, TypeError, OverflowError):
                continue
    return book.journal()


def content(path: str) -> bytes:
    """What the file holds. OSError for what is no file, which may keep a reader waiting for ever,
    and for one that is larger than any that quell writes."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise OSError(f"{path} is nothing that quell wrote")
        return file.read(LARGEST)


def _process(pid: str, start: str, boot: str, inode: str) -> ProcessId:
    return ProcessId(_pid(pid), _whole(start), boot, _whole(inode))


def _pid(text: str) -> int:
    return _whole(text, LAST_PID)


def _whole(text: str, most: int = MOST) -> int:
    """A number as a keeper writes one; what is too large for the store was not written by one."""
    number = int(text)
    if not 0 <= number <= most:
        raise ValueError(text)
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


class _Book:
    def __init__(self) -> None:
        self.facts: dict[str, object] = {}
        self.rungs: list[Climbed] = []
        self.found: dict[int, Ended] = {}
        self.survivors: dict[int, Survivor] = {}
        self.kept: dict[int, Survivor] = {}
        self.kept_ids: list[ProcessId] = []
        self.sights: list[Sight] = []

    def on_keeper(self, pid: str, start: str, boot: str, inode: str) -> None:
        self.facts["keeper"] = _process(pid, start, boot, inode)

    def on_born(self, pid: str, start: str, boot: str, inode: str, cgroup: str) -> None:
        self.facts["process"] = _process(pid, start, boot, inode)
        self.facts["cgroup"] = cgroup

    def on_failed(self, why: str) -> None:
        self.facts["failure"] = why

    def on_cause(self, cause: str, began: str = "0") -> None:
        at = _seconds(began)
        self.facts["cause"], self.facts["began"] = cause, at

    def on_exit(self, word: str, number: str, rss: str, cpu: str) -> None:
        ended, used, seconds = _whole(number), _whole(rss), _seconds(cpu)
        self.facts["exit_signal" if word == "signal" else "exit_code"] = ended
        self.facts["max_rss_kb"], self.facts["cpu_seconds"] = used, seconds

    def on_rung(self, rung: str, at_ms: str) -> None:
        self.rungs.append(Climbed(rung, _whole(at_ms), reached=True))

    def on_found(
        self, pid: str, start: str, inode: str, state: str, via: str, command: str
    ) -> None:
        self.found[_pid(pid)] = Ended(_pid(pid), command, via, "")

    def on_reaped(self, pid: str, word: str, number: str) -> None:
        how, dead = how_ended(word, _whole(number)), _pid(pid)
        if self.kept.pop(dead, None):  # spared, and gone by itself: not among the ended
            return
        known = self.found.get(dead, Ended(dead, "?", "tree", ""))
        self.found[dead] = known._replace(ended_by=how)
        self.survivors.pop(dead, None)

    def on_kept(self, pid: str, start: str, inode: str, state: str, why: str, command: str) -> None:
        process = _process(pid, start, boot_id(), inode)
        self.kept[process.pid] = Survivor(process.pid, command, state, why)
        if why.startswith(("kept", "shared")):
            self.kept_ids.append(process)

    def on_stuck(
        self, pid: str, start: str, inode: str, state: str, why: str, command: str
    ) -> None:
        self.survivors[_pid(pid)] = Survivor(_pid(pid), command, state, why)

    def on_left(self, *pids: str) -> None:
        self.facts["left"] = tuple(_pid(pid) for pid in pids)

    def on_saw(self, word: str, told: str) -> None:
        self.sights.append(Sight(word, told))

    def on_usage(self, rss: str, cpu: str) -> None:
        used, seconds = _whole(rss), _seconds(cpu)
        self.facts["run_rss_kb"], self.facts["run_cpu_seconds"] = used, seconds

    def on_ended(self, proof: str, at: str) -> None:
        self.facts["at"] = iso(float(at))
        self.facts["ended"] = True
        self.facts["proven"] = proof == "echild"
        self.survivors.clear()

    def journal(self) -> Journal:
        strongest = self.rungs[-1].rung if self.rungs else ""
        processes = tuple(
            ended if ended.ended_by else ended._replace(ended_by=strongest or "unknown")
            for ended in self.found.values()
            if ended.pid not in self.survivors
        )
        return Journal(
            rungs=tuple(self.rungs),
            processes=processes,
            survivors=tuple(self.survivors.values()),
            kept=tuple(self.kept.values()),
            kept_ids=tuple(self.kept_ids),
            sights=tuple(self.sights),
            **self.facts,  # pyright: ignore[reportArgumentType] - keys are written just above
        )


def how_ended(word: str, number: int) -> str:
    if word == "signal":
        return SIGNAL_WORDS.get(number, f"signal {number}")
    return f"exit {number}"


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def ask_end(rundir: str, grace: float) -> None:
    """Leaves the grace where the keeper looks for it; also cancels one that has not started."""
    path = os.path.join(rundir, "end")
    # Whatever else stands there: it is neither followed elsewhere nor waited for.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(path + ".new", flags, 0o600)
    try:
        os.write(fd, str(grace).encode())
    finally:
        os.close(fd)
    os.replace(path + ".new", path)
