"""The command line: one file a verb, each imported only when it is called."""

import io
import sys

from quell.core.errors import QuellError
from quell.faces import exits, plain, say

# verb → (module, what it does). The text is here so that --help imports no verb.
VERBS = {
    "run": ("run", "Run an agent in this terminal, under a keeper."),
    "spawn": ("spawn", "Start an agent in a new pane, or headless."),
    "adopt": ("adopt", "Take charge of an agent that something else started."),
    "list": ("list", "Who is there."),
    "status": ("status", "How everybody is, and which processes were orphaned."),
    "show": ("show", "Everything about one agent."),
    "tree": ("tree", "The live processes of an agent."),
    "stop": ("stop", "End agents politely; the conversation is kept."),
    "delete": ("delete", "The older name of stop --mode hard."),
    "stalled": ("stalled", "Who has stalled and why; end them with --kill."),
    "explain": ("explain", "The evidence behind the verdict on an agent."),
    "beat": ("beat", "One sign of life, for an agent without hooks."),
    "kill": ("kill", "End agents surely, with all their processes."),
    "ask": ("ask", "Ask an agent to leave."),
    "approve": ("approve", "Agree to leave, inside an agent that was asked to."),
    "reject": ("reject", "Refuse to leave, inside an agent that was asked to."),
    "reap": ("reap", "List what outlived its agent; end it with --yes."),
    "resume": ("resume", "Continue an ended agent's conversation in a new run."),
    "restart": ("restart", "A fresh run of an agent."),
    "team": ("team", "Teams: who leads, and who belongs to them."),
    "task": ("task", "The work of teams: add, claim, complete."),
    "send": ("send", "Send a message to agents, or to everybody in a team."),
    "inbox": ("inbox", "The unread messages of an agent."),
    "watch": ("watch", "Watch over everybody: stalls, restarts, interrupted endings, drift."),
    "invoke": ("invoke", "The orchestrator's JSON commands."),
    "mcp": ("mcp", "Serve agents that manage agents, over MCP."),
    "events": ("events", "The audit trail."),
    "receipt": ("receipt", "The proof of an ending."),
    "doctor": ("doctor", "What this machine has, and what lies around on it."),
    "hooks": ("hooks", "Heartbeat hooks for Claude Code, Codex and Gemini."),
    "demo": ("demo", "Show the promise on agents with bad habits."),
    "completion": ("completion", "Print the completion script for bash, zsh or fish."),
}
ALIASES = {"ls": "list", "r": "resume", "ps": "list"}


def main() -> None:
    """Runs the command line; every ending has one of the documented exit codes."""
    json_wanted = "--json" in sys.argv
    if isinstance(sys.__stdout__, io.TextIOWrapper):  # a name may hold half a character
        sys.__stdout__.reconfigure(errors="backslashreplace")
    try:
        code = _run(json_wanted=json_wanted)
    except QuellError as error:
        code = exits.of_error(error)
        tell(error, code, json_wanted=json_wanted)
    except KeyboardInterrupt:
        say.err("interrupted")
        code = exits.Exit.INTERRUPTED
    except BrokenPipeError:  # the reader has left
        say.nothing_more()
        code = exits.Exit.DONE
    sys.exit(int(code))


def _run(*, json_wanted: bool) -> int:
    code = plain.answered(sys.argv[1:])
    if code is not None:
        return code
    from quell.faces import group

    try:
        return group.run()
    except group.Misuse as error:
        if len(sys.argv) == 1:  # without any argument, the help
            error.show()
        else:
            tell(error.told, exits.Exit.USAGE, json_wanted=json_wanted)
        return exits.Exit.USAGE


def tell(error: QuellError, code: int, *, json_wanted: bool) -> None:
    """In one line and one hint, whatever the error."""
    if json_wanted:
        import json

        told = {"ok": False, "error": type(error).__name__, "message": str(error)}
        say.out(json.dumps({**told, "hint": error.hint, "exit": int(code)}))
    from quell.faces.render import printable

    say.err(f"error: {printable(str(error))}")
    if error.hint:
        say.err(f"hint: {printable(error.hint)}")
