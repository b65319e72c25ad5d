"""What is kept of ended runs: many in one file, because a directory costs each of them 4 kB.

A line has the run's id and its packed record and journal. The file of a month has the runs that
began in it; of two lines of one run the later counts. A directory is cleared only when its line is
written, so a crash in between leaves both, and a lost store is restored from either.
"""

import json
import os
import stat
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import NamedTuple

from knell import files
from knell.core.agent import Agent
from knell.core.ports.store import RunRecord
from knell.core.run import Run
from knell.stores import records

RECORD = "record.json"  # the name of what a run's directory keeps of it
LARGEST = 16 * 1024 * 1024  # bytes of a record or a journal
_PREFIX = ".ended-"  # hidden, so that no knell takes it for a run's directory
_LOCK = ".ended.lock"
# What only a living run needs, or what the line has too. A log with something in it, the program's
# words on its conversation, a kept environment and the watch's samples stay where they are.
_OURS = (
    *(RECORD, "journal", "end", "ready", "launch", "heartbeat", "receipt.json"),
    *("tell", "settings.json", "tui.json", "tell.js", "tell-server.js"),
)
_LOG = "output.log"


class _File(NamedTuple):
    """One month's file as it was read: where the line of each run begins and ends."""

    state: tuple[int, int, int]
    lines: dict[str, tuple[int, int]]


class RunArchive:
    """Everything below `runs`: directories, and what was put away."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._read: dict[str, _File] = {}

    # -- looking -------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        """All runs that are known here, the oldest first."""
        names = self._names()
        months = [name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX)]
        kept = {run for month in months for run in self._lines(month)}
        return sorted(kept.union(name for name in names if name[0] != "."))

    def leftovers(self) -> list[str]:
        """The runs whose directories have a record, the oldest first."""
        names = sorted(name for name in self._names() if name[0] != ".")
        return [run for run in names if os.path.exists(os.path.join(self._folder, run, RECORD))]

    def record(self, run: str) -> RunRecord | None:
        """As its directory has it; else as it was put away."""
        found = record_from_json(self._read_file(run, RECORD), run)
        return found or record_from_json(self._kept(run)[0], run)

    def journal(self, run: str) -> bytes | None:
        return self._read_file(run, "journal") or self._kept(run)[1] or None

    def weight(self, runs: Sequence[str]) -> int:
        """Bytes of their lines."""
        places = (self._lines(_month(run)).get(run, (0, 0)) for run in runs)
        return sum(end - begin for begin, end in places)

    # -- putting away --------------------------------------------------------------------------

    def put_away(self, runs: Sequence[str]) -> None:
        """Writes one line for each that has a record of its end, then clears its directory. What
        cannot be written stays where it is: the next housekeeping tries again."""
        with suppress(OSError):
            done = self._add({run: text for run in runs if (text := self._whole(run))})
            for run in done:
                self._clear(run)

    def write(self, known: RunRecord) -> None:
        """The newest record of a run, where it belongs. OSError if it cannot be written."""
        run, record = known.run, record_json(known).encode()
        folder = os.path.join(self._folder, run.id)
        if not os.path.isdir(folder) and not run.live:
            self._add({run.id: record + b"\n" + (self._kept(run.id)[1] or b"")})
            return
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        files.overwrite(os.path.join(folder, RECORD), record)

    def put_back(self, run: str) -> bool:
        """Makes the run's directory again; whether it was put away. For a store that was put back
        from an older copy and takes the run for a live one."""
        record, journal = self._kept(run)
        if record is None:
            return False
        with suppress(OSError):
            folder = os.path.join(self._folder, run)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if journal:
                files.overwrite(os.path.join(folder, "journal"), journal)
            files.overwrite(os.path.join(folder, RECORD), record)
            return True
        return False

    def forget(self, runs: Sequence[str]) -> str:
        """Takes their lines out; why not, if that fails."""
        unwanted = frozenset(runs)
        try:
            for month in {_month(run) for run in runs}:
                self._rewrite(month, unwanted)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def _whole(self, run: str) -> bytes:
        """The content of the run's line; empty if its directory has no record of its end."""
        record = self._read_file(run, RECORD)
        try:
            told = json.loads(record or b"")["run"]
            ended = told["id"] == run and told["state"] == "ended"
        except (ValueError, TypeError, KeyError, RecursionError):
            return b""
        if record is None or not ended or b"\n" in record:
            return b""
        return record + b"\n" + (self.journal(run) or b"")

    def _clear(self, run: str) -> None:
        folder = os.path.join(self._folder, run)
        for name in _OURS:
            with suppress(OSError):
                os.unlink(os.path.join(folder, name))
        with suppress(OSError):
            log = os.lstat(os.path.join(folder, _LOG))
            if stat.S_ISREG(log.st_mode) and not log.st_size:
                os.unlink(os.path.join(folder, _LOG))
        with suppress(OSError):  # something of the user's is in it
            os.rmdir(folder)

    # -- the files -----------------------------------------------------------------------------

    def _add(self, texts: dict[str, bytes]) -> list[str]:
        months: dict[str, bytes] = {}
        for run, text in texts.items():
            line = run.encode() + b" " + b2a_base64(records.packed(text))
            months[_month(run)] = months.get(_month(run), b"") + line
        if months:
            with self._locked():
                for month, lines in months.items():
                    files.append(self._path(month), lines)
        return list(texts)

    def _rewrite(self, month: str, without: frozenset[str]) -> None:
        """The newest line of each run but of those, in one step."""
        if not without & self._lines(month).keys():
            return
        with self._locked():
            text, path = self._content(month), self._path(month)
            lines = dict(_places(text))
            kept = [text[slice(*at)] for run, at in lines.items() if run not in without]
            if kept:
                files.overwrite(path, b"".join(kept))
            else:
                os.unlink(path)

    def _locked(self) -> AbstractContextManager[None]:
        return files.locked(os.path.join(self._folder, _LOCK))

    def _names(self) -> list[str]:
        try:
            return os.listdir(self._folder)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _path(self, month: str) -> str:
        return os.path.join(self._folder, _PREFIX + month)

    def _content(self, month: str) -> bytes:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self._path(month), flags), "rb") as file:
            return file.read()

    def _lines(self, month: str) -> dict[str, tuple[int, int]]:
        """By run; read again only when the file has changed."""
        try:
            now = os.stat(self._path(month), follow_symlinks=False)
            state = (now.st_ino, now.st_size, now.st_mtime_ns)
            known = self._read.get(month)
            if known is None or known.state != state:
                known = self._read[month] = _File(state, dict(_places(self._content(month))))
        except OSError:
            return {}
        return known.lines

    def _kept(self, run: str) -> tuple[bytes | None, bytes | None]:
        """Record and journal, as they were put away."""
        place = self._lines(_month(run)).get(run)
        if place is None:
            return None, None
        try:
            with open(self._path(_month(run)), "rb") as file:
                line = os.pread(file.fileno(), place[1] - place[0], place[0])
            whose, _, content = line.partition(b" ")
            record, _, journal = records.unpacked(a2b_base64(content)).partition(b"\n")
        except (OSError, ValueError):
            return None, None
        # Else the file was written anew since it was looked at, without that run.
        return (record, journal) if whose == run.encode() else (None, None)

    def _read_file(self, run: str, name: str) -> bytes | None:
        try:
            return files.read(os.path.join(self._folder, run, name), LARGEST, follow=False)
        except OSError:
            return None


def _month(run: str) -> str:
    """Ids begin with the time of their start."""
    return run[:6] if run[:6].isdigit() else "other"


def _places(text: bytes) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each whole line's run, and where it lies; what a crash cut short is passed over."""
    begin = 0
    while (end := text.find(b"\n", begin) + 1) > 0:
        run, space, _ = text[begin : begin + 200].partition(b" ")
        if space and run.isascii():
            yield run.decode(), (begin, end)
        begin = end


# -- what is kept of a run ------------------------------------------------------------------------

_KNELLS = "KNELL_"  # variables that say how an agent runs; the values of others may be secrets


def record_json(record: RunRecord) -> str:
    """In ASCII, which keeps an incomplete character as \\udcff."""
    agent, run, ending = record.agent, record.run, record.run.ending
    processes = records.process_texts(run)
    shape = {"place": run.place._asdict(), "ending": ending._asdict() if ending else None}
    told = {
        "agent": agent._asdict()
        | {"env": [pair for pair in agent.env if pair[0].startswith(_KNELLS)]},
        "lost_env": [name for name, _ in agent.env if not name.startswith(_KNELLS)],
        "run": run._asdict() | processes | shape,
        "token": record.token,
        "receipt": record.receipt.to_json() if record.receipt else None,
    }
    return json.dumps(told, default=str)


def record_from_json(text: bytes | None, id: str) -> RunRecord | None:
    """None without one, and for one that is torn or not of this run."""
    from knell.core import receipt
    from knell.core.agent import checked_name
    from knell.core.errors import BadRequest

    try:
        told = json.loads(text or b"")
        processes = {key: records.process_from_text(told["run"][key]) for key in records.PROCESSES}
        run: Run = receipt.record_from_json(Run, told["run"] | processes)
        agent: Agent = receipt.record_from_json(Agent, told["agent"])
        left = receipt.receipt_from_json(told["receipt"]) if told["receipt"] else None
        lost = receipt.record_from_json(tuple[str, ...], told["lost_env"])
        checked_name(agent.name)
        record = RunRecord(agent, run, left, str(told["token"]), lost)
    except (ValueError, TypeError, KeyError, AttributeError, BadRequest, RecursionError):
        return None
    ends_well = run.live or run.ending is not None
    return record if ends_well and (run.id, run.agent) == (id, agent.name) else None
