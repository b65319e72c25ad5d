"""Converts records to rows of the tables in sql/ and back, and packs texts; touches no file."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from knell.core.agent import Agent
from knell.core.ports.store import Event
from knell.core.process import LAST_PID, ProcessId
from knell.core.run import Ending, Orphan, Outcome, Place, Run, State

if TYPE_CHECKING:
    from knell.core.receipt import Receipt

Row = Sequence[Any]
PROCESSES = ("keeper", "process", "owner")  # fields of Run

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
RUN = RUNS + " WHERE r.id = ?"
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


def process_texts(run: Run) -> dict[str, str]:
    """The processes on record of a run, each as its line."""
    return {key: process_text(getattr(run, key)) for key in PROCESSES}


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
    kept = {"id": run.id, "started_at": run.started_at, "place": place, "pid": run.pid}
    return {"agent": {key: value for key, value in told.items() if value}, "run": kept}


# -- the rest ----------------------------------------------------------------------------------


def orphan_from(row: Row) -> Orphan:
    _check(row, 0, 1, 3)
    run, agent, tag, command, why = row[4:9]
    return Orphan(run, agent, tag, ProcessId(*row[:4]), command, why)


def receipt_columns(receipt: "Receipt", words: str | None) -> dict[str, Any]:
    """`words`: what the run's own row tells a search."""
    text = json.dumps(receipt.to_json(), ensure_ascii=False, default=str)
    told = " ".join((words or "", str(receipt.proof or ""), receipt.death.sentence))
    data, worktree = packed(plain(text).encode()), receipt.cleaning.worktree
    return {"data": data, "words": told, "worktree": worktree}


def receipt_json(data: str | bytes) -> Any:
    """Of a receipt as it is stored; one of an earlier knell is plain text."""
    if isinstance(data, bytes):
        data = unpacked(data).decode()
    return json.loads(data)


def receipt_from(row: Row) -> "Receipt":
    from knell.core.receipt import receipt_from_json

    return receipt_from_json(receipt_json(row[0]))


def event_from(row: Row) -> Event:
    _check(row, 0)
    id, at, type, agent, run, data = row
    told = object_from(data)
    if type == "life.stopped":
        _hide_secrets(told)
    return Event(id, at, type, agent, run, told)


def _hide_secrets(told: dict[str, Any]) -> None:
    """In the arguments of its snapshot, because events are printed and go to the fleet. Those that
    hold one are told as one line: hidden one by one, a value would have no name."""
    from knell.core.redact import redacted  # few commands read events

    try:
        known = told["snapshot"]["agent"]
        line = " ".join(known["args"])
    except (KeyError, TypeError):  # it had none; or this is not what knell wrote
        return
    if (shown := redacted(line)) != line:
        known["args"] = [shown]


def object_from(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    if type(found) is not dict:
        raise ValueError("no object")
    return found


# -- packing: texts of one shape, compressed against words that all of them have -------------------

# What was packed stays readable for ever, so these words never change: others get another number.
LARGEST = 64 * 1024 * 1024  # bytes of what is unpacked

# The shape of a run's record, its receipt and its keeper's journal. Later words are found cheaper.
_WORDS = (
    b"keeper\t1\tborn\t/sys/fs/cgroup/unified/knell-\ncause\texit\ncause\tsignal\ncause\tasked\t"
    b"\nfound\t\t0\tS\tchild\t\t0\tS\tagent\t\nrung\tkill\t\nrung\tterm\t0\nreaped\t\texit\t0\n"
    b"reaped\t\tsignal\t9\nreaped\t\tsignal\t15\nexit\texit\t0\t\nexit\tsignal\t15\t\nusage\t"
    b"\t0.00\nended\techild\t17"
    b'{"agent": {"name": "", "kind": "claude", "kind": "codex", "kind": "command", "cwd": "/home/'
    b'", "args": ["--model", ""], "env": [], "place": "tmux", "place": "headless", "server": "", '
    b'"team": "", "tag": "", "role": "", "task": "", "keep": [], "conversation": "", "created_at":'
    b' "20-T:00:00.000+00:00", "restart": 0, "conversation_source": "told", "conversation_source":'
    b' "", "conversation_since": "", "conversation_root": "", "cut_off_after": 0}, "lost_env": [],'
    b' "run": {"id": "20", "agent": "", "host": "", "state": "ended", "place": {"name": "headless"'
    b', "pane": "", "server": "", "server_pid": 0, "session": "", "log": "/home/.local/state/knell'
    b'/runs/20/output.log"}, "started_at": "20", "parent": "", "keeper": "", "process": "", '
    b'"cgroup": "/sys/fs/cgroup/unified/knell-20", "owner": "", "ending": {"outcome": "completed",'
    b' "outcome": "failed", "outcome": "stopped", "outcome": "killed", "by": "watch", "by": '
    b'"operator", "reason": "user_request", "reason": "exit", "reason": "killed", "detail": "", '
    b'"exit_code": null, "exit_signal": 15, "tasks": "", "cleanup": ""}, "ended_at": "20", "rung":'
    b' "term", "task": "", "restarted_from": "", "attempt": 0, "heartbeat": "", "seal": ""}, '
    b'"token": "", "receipt": {"agent": "", "run": "20", "kind": "claude", "kind": "command", '
    b'"place": "headless", "by": "operator", "reason": "killed", "outcome": "killed", "result": '
    b'"ended", "pid": , "started_at": "20", "finished_at": "20", "duration_ms": 1, "proof": '
    b'"none_found", "proof": "proven", "rungs": [{"rung": "term", "at_ms": 5, "reached": true}, {'
    b'"rung": "kill", "at_ms": 0, "reached": false}], "processes": [{"pid": , "command": "sh -c ",'
    b' "via": "agent", "ended_by": "term"}, {"pid": , "command": "", "via": "child", "ended_by": '
    b'"kill"}], "survivors": [], "kept": [], "pane": {"place": "headless", "id": "", "closed": '
    b'true, "closed": null, "retry": ""}, "tasks": [], "worktree": "", "cleaning": {"session_dir":'
    b' "", "worktree": "", "state": "none", "why": "", "rescue": "", "quarantined": false, '
    b'"branch": "", "lock_removed": "", "failed": [], "warnings": [], "unseen": 0, "would": false,'
    b' "uncommitted": 0}, "conversation": {"id": "", "exists": true, "complete": true, "resume": '
    b'"claude --resume ", "exists": null, "complete": null, "resume": "", "source": "", "since": '
    b'"", "why": "a command keeps no conversation; resume starts it again", "purged": []}, '
    b'"screen": "", "detail": "", "code": null, "exit_code": 0, "exit_signal": null, "exit_code": '
    b'null, "exit_signal": 15, "max_rss_kb": , "cpu_seconds": 0.00, "warnings": [], "death": {'
    b'"how": "ended by itself", "how": "ended by knell", "sentence": "ended by knell: operator '
    b'asked (killed), SIGTERM, after  s", "exit_code": null, "signal": "SIGTERM", "sent_by": '
    b'"knell, for operator (killed)", "evidence": ["its keeper saw SIGTERM"], "suspects": [], '
    b'"left": [], "seconds": , "max_rss_kb": , "cpu_seconds": 0.00, "run_max_rss_kb": , '
    b'"run_cpu_seconds": 0.00}}}'
)
_NUMBERED = {1: _WORDS}  # by the first byte of what was packed
_NEWEST_WORDS = 1


def packed(text: bytes) -> bytes:
    import zlib

    press = zlib.compressobj(9, zdict=_NUMBERED[_NEWEST_WORDS])
    return bytes((_NEWEST_WORDS,)) + press.compress(text) + press.flush()


def unpacked(content: bytes) -> bytes:
    """ValueError for what `packed` did not make, or what was damaged since."""
    import zlib

    try:
        press = zlib.decompressobj(zdict=_NUMBERED[content[0]])
        text = press.decompress(content[1:], LARGEST)
    except (zlib.error, KeyError, IndexError) as error:
        raise ValueError(f"cannot be unpacked: {error}") from error
    if not press.eof:
        raise ValueError("cannot be unpacked: it is cut short")
    return text
