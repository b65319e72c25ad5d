"""What agents that quell did not start have left behind: listed, never guessed to death.

A process is listed if it has lost its parent and its command line is one that coding agents
start. Nothing here is ever ended unless a person names its PID.
"""

import os
import re

from quell.core.process import Member
from quell.processes.identity import Stat, argv_of, command_of
from quell.processes.table import Table, member

# (what it is, what its command line looks like)
LOOKS = (
    ("MCP server", re.compile(r"(?i)(^|[/\s@._-])mcp([/\s@._-]|$)|modelcontextprotocol")),
    ("claude daemon", re.compile(r"claude\b.*\b(daemon run|--bg-pty-host|--fork-session)")),
    ("claude", re.compile(r"(^|/)claude(\s|$)|claude-code/cli\.js")),
    ("codex daemon", re.compile(r"codex\b.*\bapp-server\b")),
    ("codex", re.compile(r"(^|/)codex(\s|$)")),
    ("gemini", re.compile(r"(^|/)(gemini|agy)(\s|$)|gemini-cli")),
    ("opencode", re.compile(r"(^|/)opencode(\s|$)")),
)
SWARM = re.compile(r"claude-swarm|agent-team")


def leftovers(table: Table) -> list[Member]:
    """Processes of this user without a living parent of their own that look like an agent's."""
    stamped = {pid for pids in table.stamps.values() for pid in pids}
    keepers = _reapers(table)
    found: list[Member] = []
    for row in table.rows.values():
        if row.pid in stamped or row.pid == os.getpid() or not _ours(row.pid):
            continue
        what = _hidden_server(row, argv_of(row.pid)) or _orphaned(row, keepers)
        if what:
            found.append(member(row, what))
    return found


def _reapers(table: Table) -> set[int]:
    """Whoever collects orphans here: init, and a user's systemd, to which they go instead."""
    users = {row.pid for row in table.rows.values() if row.name == "systemd" and row.ppid == 1}
    return {1} | users


def _ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.getuid()
    except OSError:
        return False


def _orphaned(row: Stat, reapers: set[int]) -> str:
    if row.ppid not in reapers or row.tty:
        return ""
    line = command_of(row.pid, row.name)
    return next((what for what, look in LOOKS if look.search(line)), "")


def _hidden_server(row: Stat, argv: tuple[str, ...]) -> str:
    """A tmux server of an agent team: in nobody's list, its parent is init."""
    if row.name.startswith("tmux: server") and SWARM.search(" ".join(argv)):
        return "hidden tmux server of an agent team"
    return ""
