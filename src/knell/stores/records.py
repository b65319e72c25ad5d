"""Converts records to rows of the tables in sql/ and back; touches no file."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from knell.core.agent import Agent
from knell.core.ports.store import Event, RunRecord
from knell.core.process import LAST_PID, ProcessId
from knell.core.run import Ending, Orphan, Outcome, Place, Run, State

if TYPE_CHECKING:
    from knell.core.receipt import Receipt

Row = Sequence[Any]

AGENTS = f"SELECT {', '.join(Agent._fields)} FROM agents"
AGENT = AGENTS + " WHERE name = ?"

# The columns are in the order of the fields of Run.
_RUNS = """
    SELECT r.id, r.agent, r.host, i.state,
           r.place, r.pane, r.server, r.server_pid, r.session, r.log,
           r.started_at, r.parent, r.keeper, r.process, r.cgroup, i.owner,
           r.outcome, r.ended_by, r.reason, r.detail, r.exit_code, r.exit_signal, i.ending,
           r.ended_at, coalesce(nullif(i.rung, ''), r.rung),
           r.task, r.restarted_from, r.attempt, r.last_heartbeat, coalesce(i.token, '')
    FROM """
RUNS = _RUNS + "runs r LEFT JOIN instances i ON i.run = r.id"
# CROSS, because else SQLite may read every run of the history to see whether it is live.
LIVE_RUNS = _RUNS + "instances i CROSS JOIN runs r ON r.id = i.run"
# One step down an index for each agent, however many runs it had.
_NEWEST = "agents a JOIN runs r ON r.seq = (SELECT max(seq) FROM runs WHERE agent = a.name)"
NEWEST_RUNS = f"{_RUNS}{_NEWEST} LEFT JOIN instances i ON i.run = r.id"
OUTCOMES = (
    f"SELECT r.outcome, count(*) FROM {_NEWEST} WHERE r.outcome IS NOT NULL GROUP BY r.outcome"
)
RECEIPT = "SELECT data FROM receipts WHERE run = ? ORDER BY id DESC LIMIT 1"


def plain(text: str) -> str:
    """As UTF-8 can hold it: a file name may contain an incomplete character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def first(row: Row) -> str:
    """The only column of a row of one text."""
    return row[0]


def process_text(process: ProcessId | None) -> str:
    """One line that `process_from_text` reads back; empty for None."""
    if process is None:
        return ""
    return f"{process.pid}:{process.start}:{process.boot}:{process.inode}"


def process_from_text(text: str | None) -> ProcessId | None:
    """The process written by `process_text`; None for empty, ValueError for anything else."""
    if not text:
        return None
    pid, start, boot, inode = text.split(":")
    found = ProcessId(int(pid), int(start), boot, int(inode))
    if not 0 <= found.pid <= LAST_PID:
        raise ValueError(text)
    return found


# -- agents ------------------------------------------------------------------------------------


def agent_columns(agent: Agent) -> dict[str, Any]:
    # ASCII keeps an incomplete character as \udcff, so that a resume gets the very same argument.
    lists = {key: json.dumps(getattr(agent, key)) for key in ("args", "env", "keep")}
    return agent._asdict() | lists


def agent_from(row: Row) -> Agent:
    _check(row, 14, 18)
    env = _pairs(row[4])
    return Agent._make([*row[:3], _texts(row[3]), env, *row[5:11], _texts(row[11]), *row[12:]])


def _texts(text: str) -> tuple[str, ...]:
    if text == "[]":  # most are empty, and `list` reads every agent
        return ()
    found: list[Any] = json.loads(text)
    if type(found) is not list or any(type(one) is not str for one in found):
        raise ValueError("no list of texts")
    return tuple(found)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    if text == "[]":
        return ()
    found = [(name, value) for name, value in json.loads(text)]
    if any(type(part) is not str for pair in found for part in pair):
        raise ValueError("no list of pairs")
    return tuple(found)


def _check(row: Row, *numbers: int) -> None:
    """ValueError for a value of a type that SQLite accepts in a column but knell never writes."""
    if bytes in map(type, row):
        raise ValueError("bytes instead of a text")
    for at in numbers:
        if type(row[at]) is not int and row[at] is not None:
            raise ValueError(f"{row[at]!r:.40} instead of a number")


# -- runs --------------------------------------------------------------------------------------


def whereabouts(run: Run) -> dict[str, Any]:
    """The columns that are known only when the run's process exists."""
    place = run.place._asdict()
    return {
        "place": place.pop("name"),
        **place,
        "keeper": process_text(run.keeper),
        "process": process_text(run.process),
        "cgroup": run.cgroup,
    }


def run_from(row: Row) -> Run:
    _check(row, 7, 20, 21, 27)
    outcome, ended = row[16], row[16] is not None
    state = State.ENDED if ended else State(row[3])
    ending = Ending(Outcome(outcome), *row[17:22]) if ended else ending_from(row[22])
    keeper, process, owner = (process_from_text(row[at]) for at in (12, 13, 15))
    begun = (*row[:3], state, Place(*row[4:10]), *row[10:12], keeper, process, row[14])
    return Run._make((*begun, owner, ending, *row[23:]))


def ending_from(text: str | None) -> Ending | None:
    if not text:
        return None
    told = json.loads(text)
    parts: dict[str, Any] = {key: told[key] for key in Ending._fields if key in told}
    parts["outcome"] = Outcome(parts["outcome"])
    return Ending(**parts)


def snapshot(agent: Agent, run: Run) -> dict[str, Any]:
    """What a later resume needs, as it was when the run ended, without what is empty or 0. The rest
    of the run stands in its row, which does not change any more.

    It has only the names of the environment: events are printed, and values may be secrets."""
    told = agent._asdict() | {"env": [name for name, _ in agent.env]}
    place = {key: value for key, value in run.place._asdict().items() if value and key != "log"}
    pid = run.process.pid if run.process else None
    kept = {"id": run.id, "started_at": run.started_at, "place": place, "pid": pid}
    return {"agent": {key: value for key, value in told.items() if value}, "run": kept}


# -- the rest ----------------------------------------------------------------------------------


def orphan_from(row: Row) -> Orphan:
    _check(row, 0, 1, 3)
    run, agent, tag, command, why = row[4:9]
    return Orphan(run, agent, tag, ProcessId(*row[:4]), command, why)


def receipt_data(receipt: "Receipt") -> bytes:
    from knell.stores.packing import packed

    text = json.dumps(receipt.to_json(), ensure_ascii=False, default=str)
    return packed(plain(text).encode())


def receipt_json(data: str | bytes) -> Any:
    """Of a receipt as it is stored; one of an earlier knell is plain text."""
    if isinstance(data, bytes):
        from knell.stores.packing import unpacked

        data = unpacked(data).decode()
    return json.loads(data)


def receipt_from(row: Row) -> "Receipt":
    from knell.core.receipt import receipt_from_json

    return receipt_from_json(receipt_json(row[0]))


def event_from(row: Row) -> Event:
    _check(row, 0)
    id, at, type, agent, run, data = row
    return Event(id, at, type, agent, run, json.loads(data))


# -- what a run's directory keeps of it ----------------------------------------------------------

_PROCESSES = ("keeper", "process", "owner")
_OURS = "KNELL_"  # variables that say how an agent runs; the values of others may be secrets


def record_json(record: RunRecord) -> str:
    """In ASCII, which keeps an incomplete character as \\udcff."""
    agent, run, ending = record.agent, record.run, record.run.ending
    processes = {key: process_text(getattr(run, key)) for key in _PROCESSES}
    shape = {"place": run.place._asdict(), "ending": ending._asdict() if ending else None}
    told = {
        "agent": agent._asdict()
        | {"env": [pair for pair in agent.env if pair[0].startswith(_OURS)]},
        "lost_env": [name for name, _ in agent.env if not name.startswith(_OURS)],
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
        processes = {key: process_from_text(told["run"][key]) for key in _PROCESSES}
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
