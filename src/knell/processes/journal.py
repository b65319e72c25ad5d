"""Reads a keeper's journal, and asks a keeper to end its run."""

import math
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from knell import files
from knell.core.ports.keepers import Evidence, Journal
from knell.core.process import LAST_PID, ProcessId
from knell.core.receipt import Ended, RungRecord, Survivor
from knell.core.redact import redacted
from knell.core.run import fits
from knell.processes.os import system

if TYPE_CHECKING:
    from knell.core.ports.processes import Target

SIGNAL_WORDS = {1: "hangup", 2: "interrupt", 9: "kill", 15: "term"}
LARGEST = 64 * 1024 * 1024  # bytes; ten thousand processes take a tenth of it
VERSION = 1  # of a journal whose every line is understood here
MOST = 2**63 - 1  # what the store can hold

Spared = set[tuple[int, int, int]]  # pid, start and inode of those that may live on


def read_journal(rundir: str, seal: str = "", agent: ProcessId | None = None) -> Journal:
    """Everything in RUNDIR/journal; a missing, torn or foreign line is passed over.

    The agent can write there too. So a last line that does not fit `seal`, if one is given, is
    foreign; without a seal it is believed, but proves nothing; and none counts while `agent`, if
    given, lives: it has stolen the seal. Of two births the first counts, which is the keeper's.
    The sealed line also names the processes that knell may end later."""
    if not rundir:  # an orphan's run may have none
        return Journal()
    try:
        text = files.read(os.path.join(rundir, "journal"), LARGEST)
    except OSError:
        return Journal()
    lines = text.split(b"\n")[:-1]  # an unfinished last line does not count yet
    book = _Book()
    for line in lines:
        word, *fields = os.fsdecode(line).split("\t")
        reader = getattr(book, f"on_{word}", None)
        if reader is not None:
            try:
                reader(*fields)
            except (ValueError, TypeError, OverflowError, OSError):  # the last: no such time
                continue
    journal = book.journal(seal)
    forged = journal.ended and agent and _is_there(agent)
    return journal._replace(ended=False, proven=False) if forged else journal


def _is_there(process: ProcessId) -> bool:
    """By a single look, because every kill waits for it."""
    shown = _shown(process.pid)
    return bool(shown and shown.start == process.start and shown.state not in "ZX")


def _shown(pid: int) -> system.Process | None:
    try:
        return system.stat_of(pid)
    except OSError:
        return None


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


def _spared(text: str) -> Spared:
    words = [word.split(":") for word in text.split(",") if word]
    return {(_pid(pid), _whole(start), _whole(inode)) for pid, start, inode in words}


def _seconds(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


class _Book:
    """What the lines of a journal add up to: `on_WORD` reads a line that begins with WORD, and its
    parameters are the fields of that line."""

    def __init__(self) -> None:
        self.facts: dict[str, object] = {}
        self.ends: list[tuple[str, str, str, Spared | None]] = []
        self.rungs: list[RungRecord] = []
        self.found: dict[int, Ended] = {}
        self.survivors: dict[int, Survivor] = {}
        self.kept: dict[int, Survivor] = {}
        self.kept_ids: list[ProcessId] = []
        self.evidence: list[Evidence] = []

    def on_keeper(self, pid: str, start: str, boot: str, inode: str, version: str = "1") -> None:
        keeper = _process(pid, start, boot, inode)
        self.facts = {"keeper": keeper, "version": _whole(version)} | self.facts

    def on_born(self, pid: str, start: str, boot: str, inode: str, cgroup: str) -> None:
        process = _process(pid, start, boot, inode)
        self.facts = {"process": process, "cgroup": cgroup} | self.facts

    def on_failed(self, why: str) -> None:
        self.facts["failure"] = why

    def on_cause(self, cause: str, began: str = "0") -> None:
        self.facts |= {"cause": cause, "began": _seconds(began)}

    def on_exit(self, word: str, number: str, rss: str, cpu: str) -> None:
        how = "exit_signal" if word == "signal" else "exit_code"
        self.facts |= {how: _whole(number), "max_rss_kb": _whole(rss), "cpu_seconds": _seconds(cpu)}

    def on_rung(self, rung: str, at_ms: str) -> None:
        self.rungs.append(RungRecord(rung, _whole(at_ms), reached=True))

    def on_found(
        self, pid: str, start: str, inode: str, state: str, via: str, command: str
    ) -> None:
        self.found[_pid(pid)] = Ended(_pid(pid), redacted(command), via, "")

    def on_reaped(self, pid: str, word: str, number: str) -> None:
        how, dead = how_ended(word, _whole(number)), _pid(pid)
        if self.kept.pop(dead, None):  # spared, and gone by itself: not among the ended
            return
        known = self.found.get(dead, Ended(dead, "?", "tree", ""))
        self.found[dead] = known._replace(ended_by=how)
        self.survivors.pop(dead, None)

    def on_kept(self, pid: str, start: str, inode: str, state: str, why: str, command: str) -> None:
        keeper = self.facts.get("keeper")  # its children are in its own PID namespace
        boot = keeper.boot if isinstance(keeper, ProcessId) else ""
        process = _process(pid, start, boot, inode)
        self.kept[process.pid] = Survivor(process.pid, redacted(command), state, why)
        if why.startswith(("kept", "shared")):
            self.kept_ids.append(process)

    def on_stuck(
        self, pid: str, start: str, inode: str, state: str, why: str, command: str
    ) -> None:
        self.survivors[_pid(pid)] = Survivor(_pid(pid), redacted(command), state, why)

    def on_left(self, *pids: str) -> None:
        self.facts["left"] = tuple(_pid(pid) for pid in pids)

    def on_saw(self, word: str, text: str) -> None:
        self.evidence.append(Evidence(word, text))

    def on_usage(self, rss: str, cpu: str) -> None:
        self.facts |= {"run_rss_kb": _whole(rss), "run_cpu_seconds": _seconds(cpu)}

    def on_ended(self, proof: str, at: str, seal: str = "", spared: str | None = None) -> None:
        ended = datetime.fromtimestamp(float(at), UTC)
        named = None if spared is None else _spared(spared)
        self.ends.append((proof, ended.isoformat(timespec="milliseconds"), seal, named))

    def believe_spared(self, told: Spared | None) -> None:
        """Keeps only the spared that the sealed line names; all, if an older keeper wrote it."""
        if told is None:
            return
        self.kept_ids = [p for p in self.kept_ids if (p.pid, p.start, p.inode) in told]
        pids = {pid for pid, _, _ in told}
        self.kept = {pid: one for pid, one in self.kept.items() if pid in pids}

    def journal(self, seal: str) -> Journal:
        known: list[ProcessId] = []
        for proof, at, word, spared in self.ends:
            sealed = fits(word, seal)
            if sealed or not seal:
                self.facts.update(at=at, ended=True, proven=sealed and proof == "echild")
                self.survivors.clear()
            if sealed:
                self.believe_spared(spared)
                known = self.kept_ids
        if "failure" in self.facts:  # it was written down before its program was tried
            self.facts["process"] = None
        strongest = self.rungs[-1].rung if self.rungs else ""
        processes = tuple(
            ended if ended.ended_by else ended._replace(ended_by=strongest or "unknown")
            for ended in self.found.values()
            if ended.pid not in self.survivors
        )
        if self.facts.get("version", VERSION) != VERSION:  # its lines may mean something else
            self.facts["proven"] = False
        return Journal(
            rungs=tuple(self.rungs),
            processes=processes,
            survivors=tuple(self.survivors.values()),
            kept=tuple(self.kept.values()),
            kept_ids=tuple(known),
            evidence=tuple(self.evidence),
            **self.facts,  # pyright: ignore[reportArgumentType] - keys are written just above
        )


def how_ended(word: str, number: int) -> str:
    if word == "signal":
        return SIGNAL_WORDS.get(number, f"signal {number}")
    return f"exit {number}"


def with_agent(journal: Journal, agent: ProcessId | None, command: str) -> tuple[Ended, ...]:
    """The processes that ended; the agent too, if it had gone before its keeper looked."""
    told = {one.pid for one in (*journal.processes, *journal.survivors, *journal.kept)}
    by_signal = journal.exit_signal is not None
    number = journal.exit_signal if by_signal else journal.exit_code
    if agent is None or number is None or not command or agent.pid in told:
        return journal.processes
    how = how_ended("signal" if by_signal else "exit", number)
    return (Ended(agent.pid, command, "agent", how), *journal.processes)


def as_seen(journal: Journal, target: "Target") -> Journal:
    """The journal with only those survivors that are below the keeper and really cannot be ended.
    An agent can write into its journal: it could call itself stuck, and would then be safe from
    every kill if its keeper cannot act either."""
    if system.LAYER != "linux" or target.keeper is None:  # there a member may be anywhere
        return journal
    keeper = target.keeper.pid
    found = [s for s in journal.survivors if keeper in [p.ppid for p in system.line_of(s.pid)]]
    return journal._replace(survivors=tuple(one for one in found if _is_stuck(one.pid)))


def _is_stuck(pid: int) -> bool:
    """Whether it hangs in the kernel, where no signal ends it, or may not be signalled."""
    shown = _shown(pid)
    if shown and shown.state == "D":
        return True
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def ask_end(rundir: str, grace: float) -> None:
    """Leaves the grace where the keeper looks for it; also cancels one that has not started."""
    files.overwrite(os.path.join(rundir, "end"), str(grace).encode())
