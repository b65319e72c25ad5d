"""Records to rows and back. Knows the columns of sql/ and touches no file."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quell.core.agent import Agent
from quell.core.lifecycle import Outcome, State
from quell.core.process import ProcessId, process_from_text, process_text
from quell.core.run import Ending, Orphan, Place, Run
from quell.core.store import Happened

if TYPE_CHECKING:
    from quell.core.receipt import Receipt

Row = Sequence[Any]

PUT_AGENT = """
    INSERT INTO agents (name, kind, cwd, args, env, place, server, team, tag, role, task, keep,
                        conversation, created_at, restart)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET
        kind = excluded.kind, cwd = excluded.cwd, args = excluded.args, env = excluded.env,
        place = excluded.place, server = excluded.server, team = excluded.team,
        tag = excluded.tag, role = excluded.role, task = excluded.task, keep = excluded.keep,
        conversation = excluded.conversation, restart = excluded.restart"""

AGENTS = """
    SELECT name, kind, cwd, args, env, place, server, team, tag, role, task, keep, conversation,
           created_at, restart
    FROM agents"""

ADD_RUN = """
    INSERT INTO runs (place, pane, server, server_pid, session, log, keeper, process, cgroup,
                      id, agent, host, started_at, parent, task, restarted_from,
                      last_heartbeat, attempt)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

MOVE_RUN = """
    UPDATE runs SET place = ?, pane = ?, server = ?, server_pid = ?, session = ?, log = ?,
                    keeper = ?, process = ?, cgroup = ?
    WHERE id = ?"""

END_RUN = """
    UPDATE runs SET place = ?, pane = ?, server = ?, server_pid = ?, session = ?, log = ?,
                    keeper = ?, process = ?, cgroup = ?, rung = ?, outcome = ?, ended_by = ?,
                    reason = ?, detail = ?, exit_code = ?, exit_signal = ?, ended_at = ?
    WHERE id = ?"""

_RUN = """
    SELECT r.id, r.agent, r.host, r.started_at, r.parent, r.keeper, r.process, r.cgroup,
           r.place, r.pane, r.server, r.server_pid, r.session, r.log,
           i.state, i.owner, i.ending, i.rung, r.rung, r.ended_at,
           r.outcome, r.ended_by, r.reason, r.detail, r.exit_code, r.exit_signal,
           r.task, r.restarted_from, r.attempt, r.last_heartbeat"""

RUN = _RUN + " FROM runs r LEFT JOIN instances i ON i.run = r.id WHERE r.id = ?"
RUNS_OF = (
    _RUN + " FROM runs r LEFT JOIN instances i ON i.run = r.id WHERE r.agent = ? ORDER BY seq DESC"
)
LAST_RUN = RUNS_OF + " LIMIT 1"
LIVE_AGENTS = (
    AGENTS + " WHERE name IN (SELECT agent FROM instances) ORDER BY rowid"  # noqa: S608 - constants
)
# CROSS, or SQLite may take every run there ever was and look whether it lives.
LIVE_RUNS = (
    _RUN + " FROM instances i CROSS JOIN runs r ON r.id = i.run ORDER BY r.started_at, r.seq"
)
# One step down an index for each agent, however many lives they had.
LAST_RUNS = (
    _RUN  # noqa: S608 - constants only
    + """ FROM agents a
    JOIN runs r ON r.seq = (SELECT max(seq) FROM runs WHERE agent = a.name)
    LEFT JOIN instances i ON i.run = r.id"""
)
OUTCOMES = """
    SELECT r.outcome, count(*) FROM agents a
    JOIN runs r ON r.seq = (SELECT max(seq) FROM runs WHERE agent = a.name)
    WHERE r.outcome IS NOT NULL GROUP BY r.outcome"""
LAST_RECEIPT = """
    SELECT p.data FROM runs r JOIN receipts p ON p.run = r.id
    WHERE r.agent = ? ORDER BY r.seq DESC, p.id DESC LIMIT 1"""

TRACK = """
    INSERT OR REPLACE INTO orphans (pid, start, boot, inode, run, agent, tag, command, why,
                                    tracked_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

_EVENTS = "SELECT id, at, type, agent, run, data FROM events"
_OF_AGENT = " WHERE agent = :agent AND id > :after ORDER BY id"
_OF_ANYONE = " WHERE id > :after ORDER BY id"


def plain(text: str) -> str:
    """`text` as UTF-8 can hold it: file names may carry half a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def json_text(data: Mapping[str, Any]) -> str:
    """For the trail: readable, and what JSON does not know is told as text."""
    return plain(json.dumps(data, ensure_ascii=False, default=str))


# -- agents ------------------------------------------------------------------------------------


def agent_row(agent: Agent) -> Row:
    # ASCII keeps half a character as \udcff, so that a resume gets the very same argument.
    parts = agent._replace(args=(), env=(), keep=())
    texts = {key: plain(value) for key, value in parts._asdict().items() if isinstance(value, str)}
    lists = {key: json.dumps(getattr(agent, key)) for key in ("args", "env", "keep")}
    return [(texts | lists | {"restart": agent.restart})[key] for key in Agent._fields]


def agent_from(row: Row) -> Agent:
    _check(row, 14)
    env = _pairs(row[4])
    return Agent._make([*row[:3], _texts(row[3]), env, *row[5:11], _texts(row[11]), *row[12:]])


def _texts(text: str) -> tuple[str, ...]:
    if text == "[]":  # most are empty, and `list` reads all
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
    """ValueError for what SQLite lets into a column and quell never puts there."""
    if bytes in map(type, row):
        raise ValueError("bytes instead of a text")
    for at in numbers:
        if type(row[at]) is not int and row[at] is not None:
            raise ValueError(f"{row[at]!r:.40} instead of a number")


# -- runs --------------------------------------------------------------------------------------


def whereabouts(run: Run) -> Row:
    """The first nine columns of ADD_RUN, MOVE_RUN and END_RUN."""
    name, pane, server, server_pid, session, log = run.place
    return [
        *(plain(name), plain(pane), plain(server), server_pid, plain(session), plain(log)),
        *(process_text(run.keeper), process_text(run.process), plain(run.cgroup)),
    ]


def birth_row(run: Run, started_at: str) -> Row:
    texts = (run.host, started_at, run.parent, run.task, run.restarted_from, run.heartbeat)
    return [*whereabouts(run), run.id, run.agent, *(plain(text) for text in texts), run.attempt]


def end_row(run: Run, ending: Ending) -> Row:
    outcome, by, reason, detail, exit_code, exit_signal = ending[:6]
    return [
        *whereabouts(run),
        *(plain(run.rung), str(outcome), plain(by), plain(reason), plain(detail)),
        *(exit_code, exit_signal, run.ended_at, run.id),
    ]


def run_from(row: Row) -> Run:
    _check(row, 11, 24, 25, 28)
    id, agent, host, started_at, parent, keeper, process, cgroup = row[:8]
    state, owner, asked, rung, last_rung, ended_at, outcome = row[14:21]
    ended = outcome is not None
    return Run(
        id=id,
        agent=agent,
        host=host,
        state=State.ENDED if ended else State(state),
        place=Place(*row[8:14]),
        started_at=started_at,
        parent=parent,
        keeper=process_from_text(keeper),
        process=process_from_text(process),
        cgroup=cgroup,
        owner=process_from_text(owner),
        ending=Ending(Outcome(outcome), *row[21:26]) if ended else ending_from(asked),
        ended_at=ended_at,
        rung=rung or last_rung,
        task=row[26],
        restarted_from=row[27],
        attempt=row[28],
        heartbeat=row[29],
    )


def ending_text(ending: Ending) -> str:
    return json_text(ending._asdict())


def ending_from(text: str | None) -> Ending | None:
    if not text:
        return None
    told = json.loads(text)
    parts: dict[str, Any] = {key: told[key] for key in Ending._fields if key in told}
    parts["outcome"] = Outcome(parts["outcome"])
    return Ending(**parts)


def snapshot(agent: Agent, run: Run) -> dict[str, Any]:
    """What a later resume needs, as it was when the run ended.

    Of the environment only the names: events are printed, and the values may be secrets."""
    return {
        "agent": {**agent._asdict(), "env": [name for name, _ in agent.env]},
        "run": {
            "id": run.id,
            "host": run.host,
            "parent": run.parent,
            "place": run.place._asdict(),
            "started_at": run.started_at,
            "ended_at": run.ended_at,
            "pid": run.process.pid if run.process else None,
            "process": process_text(run.process),
            "keeper": process_text(run.keeper),
            "cgroup": run.cgroup,
        },
    }


# -- the rest ----------------------------------------------------------------------------------


def orphan_row(orphan: Orphan, at: str) -> Row:
    texts = (orphan.run, orphan.agent, orphan.tag, orphan.command, orphan.why, at)
    return [*orphan.process, *(plain(text) for text in texts)]


def orphan_from(row: Row) -> Orphan:
    _check(row, 0, 1, 3)
    run, agent, tag, command, why = row[4:9]
    return Orphan(run, agent, tag, ProcessId(*row[:4]), command, why)


def events_query(after: int, agent: str) -> str:
    """From the newest backwards where `after` is 0."""
    return _EVENTS + (_OF_AGENT if agent else _OF_ANYONE) + (" ASC" if after else " DESC")


def receipt_from(row: Row) -> "Receipt":
    from quell.core.receipt import receipt_from_json

    return receipt_from_json(json.loads(row[0]))


def happened_from(row: Row) -> Happened:
    _check(row, 0)
    id, at, type, agent, run, data = row
    return Happened(id, at, type, agent, run, json.loads(data))
