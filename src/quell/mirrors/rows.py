"""What a registry must look like, and its sessions as rows."""

import os
from typing import NamedTuple

from quell.core.ports import Row
from quell.mirrors.nodes import (
    INT,
    NULL,
    TEXT,
    Malformed,
    Map,
    Node,
    Scalar,
    Seq,
    get,
    meant,
    own,
    text_of,
)

SESSIONS = "tmux_sessions"
STATUSES = ("running", "stopped", "terminated", "archived")
UNKNOWN = "unknown"
CONVERSATION_KEYS = {"claude": "claude_session_id_own", "agy": "agy_conversation_id_own"}

_CACHE_KEYS = {"claude": "session_id", "agy": "conversation_id"}
_OTHER_NAMES = {"antigravity": "agy", "claude-code": "claude"}
LARGEST_PID = 2**31 - 1


class Session(NamedTuple):
    """One checked entry of the list."""

    name: str
    node: Map


def sessions_of(root: Node | None) -> list[Session]:
    """The entries in their order; Malformed if anything in them is not as it must be."""
    found = sessions_list(root)
    if found is None:
        return []
    lines: dict[str, int] = {}
    sessions: list[Session] = []
    for item in found.items:
        session = _checked(item)
        line = item.at.line
        if session.name in lines:
            both = f"on line {lines[session.name]} and on line {line}"
            raise Malformed(f"the session '{session.name}' is there twice: {both}", line)
        lines[session.name] = line
        sessions.append(session)
    return sessions


def sessions_list(root: Node | None) -> Seq | None:
    table = table_of(root)
    if table is None or (found := get(table, SESSIONS)) is None or _is_null(found):
        return None
    if isinstance(found, Seq):
        return found
    raise Malformed(f"{SESSIONS} must be a list", found.at.line, found.at.column + 1)


def table_of(root: Node | None) -> Map | None:
    """The document's mapping, None if it is empty."""
    if root is None or _is_null(node := meant(root)):
        return None
    if isinstance(node, Map):
        return node
    raise Malformed(f"it must be a mapping with a list {SESSIONS}", node.at.line)


def _checked(item: Node) -> Session:
    node, line, column = meant(item), item.at.line, item.at.column + 1
    if not isinstance(node, Map):
        raise Malformed("a session must be a mapping with a name", line, column)
    name = get(node, "name")
    if not isinstance(name, Scalar) or name.kind != TEXT or not name.text:
        where = name.at if name else item.at
        raise Malformed("a session's name must be text", where.line, where.column + 1)
    status = get(node, "status")
    if status and not _is_null(status) and text_of(status) not in STATUSES:
        known = f"{', '.join(STATUSES[:-1])} or {STATUSES[-1]}"
        why = f"the status of '{name.text}' must be {known}, not '{text_of(status)}'"
        raise Malformed(why, status.at.line, status.at.column + 1)
    pane = get(node, "pane")
    if pane and not isinstance(pane, Map) and not _is_null(pane):
        why = f"the pane of '{name.text}' must be a mapping"
        raise Malformed(why, pane.at.line, pane.at.column + 1)
    return Session(name.text, node)


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind == NULL


# -- rows --------------------------------------------------------------------------------------


def row_of(session: Session) -> Row:
    """As far as quell reads it; what is missing or null is empty."""

    def text(key: str) -> str:
        return text_of(get(session.node, key))

    found = get(session.node, "pane")
    pane = found if isinstance(found, Map) else Map(())
    agent = _agent(session)
    return Row(
        name=session.name,
        status=text("status") or UNKNOWN,
        agent=agent,
        tmux_server=text("tmux_server"),
        start_command=text("start_command"),
        pane_id=text_of(get(pane, "id")),
        pane_pid=_pid(get(pane, "pid")),
        cwd=text_of(get(pane, "cwd")) or text("cwd"),
        conversation=text(CONVERSATION_KEYS.get(agent, "")),
        delegate_job=text("delegate_job_id"),
        role=text("role"),
        terminated_at=text("terminated_at"),
        stopped_at=text("stopped_at"),
    )


def _agent(session: Session) -> str:
    """The first thing in the row that tells: its field, its conversation, its name, its command."""
    if said := text_of(get(session.node, "agent")):
        return _OTHER_NAMES.get(said, said)
    known = {agent: get(session.node, key) for agent, key in CONVERSATION_KEYS.items()}
    for having in (
        [agent for agent, found in known.items() if text_of(found)],
        [agent for agent, found in known.items() if found],
    ):
        if len(having) == 1:
            return having[0]
    for agent in CONVERSATION_KEYS:
        if session.name.endswith(f"-creator-{agent}"):
            return agent
    words = text_of(get(session.node, "start_command")).split()
    program = os.path.basename(words[0]) if words else ""
    program = _OTHER_NAMES.get(program, program)
    return program if program in CONVERSATION_KEYS else ""


def _pid(node: Node | None) -> int:
    """A number that can be a process's; zero for every other, above all for negative ones."""
    if not isinstance(node, Scalar) or node.kind not in {INT, TEXT}:
        return 0
    digits = node.text.isascii() and node.text.isdigit() and len(node.text) <= len(str(LARGEST_PID))
    return int(node.text) if digits and int(node.text) <= LARGEST_PID else 0


# -- the cache of conversations ----------------------------------------------------------------


def cached_conversation(root: Node | None, agent: str, cwd: str) -> str:
    """The id that `agent_identities` has for that agent in exactly that directory."""
    table = table_of(root)
    found = get(table, "agent_identities") if table else None
    key = _CACHE_KEYS.get(agent, "")
    todo, seen = [found] if found else [], set[int]()
    while todo:
        node = todo.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Seq):
            todo += [meant(item) for item in node.items]
        elif isinstance(node, Map) and own(node, "project_cwd"):
            whose = text_of(get(node, "agent"))
            here = os.path.normpath(text_of(get(node, "project_cwd"))) == os.path.normpath(cwd)
            if here and whose in {"", agent} and (known := text_of(get(node, key))):
                return known
        elif isinstance(node, Map) and (below := get(node, agent)):
            todo.append(below)
    return ""
