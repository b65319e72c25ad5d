"""Reads what a keeper wrote down, and tells a keeper to end its run."""

import os
from datetime import UTC, datetime

from quell.core.climbing import Journal, Sight
from quell.core.process import ProcessId
from quell.core.receipt import Climbed, Ended, Survivor
from quell.processes.identity import boot_id

SIGNAL_WORDS = {1: "hangup", 2: "interrupt", 9: "kill", 15: "term"}


def read_journal(rundir: str) -> Journal:
    """Everything in RUNDIR/journal; a missing, torn or foreign line is passed over."""
    try:
        with open(os.path.join(rundir, "journal"), "rb") as file:
            lines = file.read().split(b"\n")[:-1]  # an unfinished last line is not yet said
    except OSError:
        return Journal()
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
        self.facts["keeper"] = ProcessId(int(pid), int(start), boot, int(inode))

    def on_born(self, pid: str, start: str, boot: str, inode: str, cgroup: str) -> None:
        self.facts["process"] = ProcessId(int(pid), int(start), boot, int(inode))
        self.facts["cgroup"] = cgroup

    def on_failed(self, why: str) -> None:
        self.facts["failure"] = why

    def on_cause(self, cause: str, began: str = "0") -> None:
        self.facts["cause"] = cause
        self.facts["began"] = float(began)

    def on_exit(self, word: str, number: str, rss: str, cpu: str) -> None:
        ended, used, seconds = int(number), int(rss), float(cpu)
        self.facts["exit_signal" if word == "signal" else "exit_code"] = ended
        self.facts["max_rss_kb"], self.facts["cpu_seconds"] = used, seconds

    def on_rung(self, rung: str, at_ms: str) -> None:
        self.rungs.append(Climbed(rung, int(at_ms), reached=True))

    def on_found(
        self, pid: str, start: str, inode: str, state: str, via: str, command: str
    ) -> None:
        self.found[int(pid)] = Ended(int(pid), command, via, "")

    def on_reaped(self, pid: str, word: str, number: str) -> None:
        how = how_ended(word, int(number))
        if self.kept.pop(int(pid), None):  # spared, and gone by itself: not among the ended
            return
        known = self.found.get(int(pid), Ended(int(pid), "?", "tree", ""))
        self.found[int(pid)] = known._replace(ended_by=how)
        self.survivors.pop(int(pid), None)

    def on_kept(self, pid: str, start: str, inode: str, state: str, why: str, command: str) -> None:
        process = ProcessId(int(pid), int(start), boot_id(), int(inode))
        self.kept[process.pid] = Survivor(process.pid, command, state, why)
        if why.startswith(("kept", "shared")):
            self.kept_ids.append(process)

    def on_stuck(
        self, pid: str, start: str, inode: str, state: str, why: str, command: str
    ) -> None:
        self.survivors[int(pid)] = Survivor(int(pid), command, state, why)

    def on_left(self, *pids: str) -> None:
        self.facts["left"] = tuple(int(pid) for pid in pids)

    def on_saw(self, word: str, told: str) -> None:
        self.sights.append(Sight(word, told))

    def on_usage(self, rss: str, cpu: str) -> None:
        used, seconds = int(rss), float(cpu)
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
    fd = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(fd, str(grace).encode())
    finally:
        os.close(fd)
    os.replace(path + ".new", path)
