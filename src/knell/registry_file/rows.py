"""What a registry must look like, and its sessions as rows."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from knell.core.kind import Kind
from knell.core.ports.kinds import Kinds
from knell.core.ports.registry import Row
from knell.core.process import LAST_PID
from knell.registry_file import tree
from knell.registry_file.tree import Malformed, Node, get, is_map, is_null, malformed, text_of

SESSIONS = "tmux_sessions"
STATUSES = ("running", "stopped", "terminated", "archived")
UNKNOWN = "unknown"


class Session(NamedTuple):
    """One checked entry of the list."""

    name: str
    node: Node


def sessions_of(root: Node) -> list[Session]:
    """The entries in their order; Malformed if anything in them is not as it must be."""
    found = sessions_list(root)
    if found is None:
        return []
    lines: dict[str, int] = {}
    sessions: list[Session] = []
    for item in found.value:
        session = _checked(item)
        line = item.start_mark.line + 1
        if session.name in lines:
            both = f"on line {lines[session.name]} and on line {line}"
            raise Malformed(f"the session '{session.name}' is there twice: {both}", line)
        lines[session.name] = line
        sessions.append(session)
    return sessions


def sessions_list(root: Node) -> Node:
    table = table_of(root)
    if table is None or (found := get(table, SESSIONS)) is None or is_null(found):
        return None
    if tree.is_list(found):
        return found
    raise malformed(f"{SESSIONS} must be a list", found)


def table_of(root: Node) -> Node:
    """The document's mapping, None if it is empty."""
    if root is None or is_null(root):
        return None
    if is_map(root):
        return root
    raise malformed(f"it must be a mapping with a list {SESSIONS}", root)


def _checked(item: Node) -> Session:
    if not is_map(item):
        raise malformed("a session must be a mapping with a name", item)
    name = get(item, "name")
    if name is None or tree.kind_of(name) != tree.TEXT or not name.value:
        raise malformed("a session's name must be text", name or item)
    status = get(item, "status")
    if status and not is_null(status) and text_of(status) not in STATUSES:
        known = f"{', '.join(STATUSES[:-1])} or {STATUSES[-1]}"
        why = f"the status of '{name.value}' must be {known}, not '{text_of(status)}'"
        raise malformed(why, status)
    pane = get(item, "pane")
    if pane and not is_map(pane) and not is_null(pane):
        why = f"the pane of '{name.value}' must be a mapping"
        raise malformed(why, pane)
    return Session(name.value, item)


# -- rows --------------------------------------------------------------------------------------


def row_of(session: Session, kinds: Kinds) -> Row:
    """As far as knell reads it; what is missing or null is empty."""

    def text(key: str) -> str:
        return text_of(get(session.node, key))

    pane = get(session.node, "pane")

    def in_pane(key: str) -> Node:
        return get(pane, key) if is_map(pane) else None

    agent = _agent(session, kinds.near())
    key = kinds.kind_or_command(agent).registry_id if agent else ""
    return Row(
        name=session.name,
        status=text("status") or UNKNOWN,
        agent=agent,
        tmux_server=text("tmux_server"),
        start_command=text("start_command"),
        pane_id=text_of(in_pane("id")),
        pane_pid=_pid(in_pane("pid")),
        cwd=text_of(in_pane("cwd")) or text("cwd"),
        conversation=text(key),
        delegate_job=text("delegate_job_id"),
        role=text("role"),
        terminated_at=text("terminated_at"),
        stopped_at=text("stopped_at"),
    )


def _agent(session: Session, kinds: Sequence[Kind]) -> str:
    """The first of these that names one: its field, its conversation, its name, its command."""
    if said := text_of(get(session.node, "agent")):
        return _kind_name(said, kinds)
    known = {kind.name: get(session.node, kind.registry_id) for kind in kinds if kind.registry_id}
    for having in (
        [agent for agent, found in known.items() if text_of(found)],
        [agent for agent, found in known.items() if found],
    ):
        if len(having) == 1:
            return having[0]
    for agent in known:
        if session.name.endswith(f"-creator-{agent}"):
            return agent
    words = text_of(get(session.node, "start_command")).split()
    program = os.path.basename(words[0]) if words else ""
    program = _kind_name(program, kinds)
    return program if program in known else ""


def _kind_name(said: str, kinds: Sequence[Kind]) -> str:
    """The kind that bears this name, else the one that says it is called so too."""
    if any(kind.name == said for kind in kinds):
        return said
    return next((kind.name for kind in kinds if said in kind.other_names), said)


def _pid(node: Node) -> int:
    """A number that can be a process's; zero for every other, above all for negative ones."""
    if node is None or tree.kind_of(node) not in {tree.INT, tree.TEXT}:
        return 0
    text = node.value
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(LAST_PID))
    return int(text) if digits and int(text) <= LAST_PID else 0


# -- the cache of conversations ----------------------------------------------------------------


def cached_conversation(root: Node, agent: str, key: str, cwd: str) -> str:
    """The id that `agent_identities` has for that agent in exactly that directory."""
    table = table_of(root)
    found = get(table, "agent_identities") if table else None
    todo, seen = [found] if found else [], set[int]()
    while todo:
        node = todo.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        if tree.is_list(node):
            todo += node.value
        elif is_map(node) and tree.own(node, "project_cwd"):
            whose = text_of(get(node, "agent"))
            here = os.path.normpath(text_of(get(node, "project_cwd"))) == os.path.normpath(cwd)
            if here and whose in {"", agent} and (known := text_of(get(node, key))):
                return known
        elif is_map(node) and (below := get(node, agent)):
            todo.append(below)
    return ""
