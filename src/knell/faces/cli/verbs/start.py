"""The verbs that start agents: run, spawn, create, adopt, resume."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.core.errors import BadRequest, NoSuchAgent, UnsureConversation
from knell.faces.cli import complete, options, output, progress, started
from knell.faces.cli.on_host import on_its_host
from knell.faces.exits import Exit
from knell.faces.text.agents import whereabouts

if TYPE_CHECKING:
    from knell.api.results import Resumed

HELD = "a cgroup holds whatever it starts from now on"
NOT_HELD = "no cgroup can be made for it here, so a daemon that it starts may escape"
RESUMED = {
    "resumed": "resumed: the program names its earlier conversation",
    "started": "started, not seen to have loaded its conversation",
    "fresh": "NOT resumed: the program came up with another conversation",
    "restarted": "started again",
}
ENDED = "knell list --ended shows what can be resumed"
WORDS_LAST = {"allow_interspersed_args": False}  # everything after KIND goes to the program


class StartCommand(click.Command):
    """Keeps a `--` before the words, which click drops: what follows it is a command, so that no
    other package need be asked whether it offers a kind of that name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "stop-after" in args[:-1]:  # --when-cut-off stop-after 600
            at = args.index("stop-after")
            if args[at - 1] == "--when-cut-off":
                args[at : at + 2] = [f"stop-after={args[at + 1]}"]
        given = list(args)
        rest = super().parse_args(ctx, args)
        words: tuple[str, ...] = ctx.params.get("words") or ()
        if words and given[: -len(words)][-1:] == ["--"]:
            ctx.params["words"] = ("--", *words)
        return rest


@click.command("run", cls=StartCommand, context_settings=WORDS_LAST)
@options.spawn_options
@options.words
def run_verb(words: tuple[str, ...], **given: Any) -> None:
    """Run an agent in this terminal: run [options] KIND ARGS… or run [options] -- COMMAND ARGS…

    Everything after KIND goes to the agent's program.

    When the agent exits, everything that it started is ended, and knell exits with its exit code.

    \b
    knell run claude
    knell run --name luna --tag night claude --model opus
    alias claude='knell run claude'
    """
    knell = Knell()
    knell.run(**options.spawn_arguments(knell.kinds, words, given))


@click.command("spawn", cls=StartCommand, context_settings=WORDS_LAST)
@options.place("tmux, kitty, wezterm or headless; default: where you are, else headless.")
@options.tmux_server
@options.text("--kitty-socket", help="The socket that kitty listens on.")
@options.tmux_session
@click.option("--count", default=1, metavar="N", show_default=True, help="How many to start.")
@options.text("--host", help="The host of the fleet that starts it; default: this one.")
@options.wait
@options.spawn_options
@options.as_json
@options.words
def spawn(words: tuple[str, ...], *, count: int, **given: Any) -> int | None:
    """Start an agent in a new pane: spawn [options] KIND ARGS… or spawn [options] -- COMMAND ARGS…

    Everything after KIND goes to the agent's program. KIND is agy, aider, amp, auggie, claude,
    cline, cn, codex, copilot, crush, droid, gemini, kilo, kimi, opencode, openhands, qwen, vibe,
    or one of your own.

    \b
    knell spawn --name luna claude "Fix the failing test"
    knell spawn --tag night --worktree fix-login --restart claude
    knell spawn --count 3 --in headless -- sleep 600
    """
    knell, host, wait = Knell(), given.pop("host"), given.pop("wait")
    options.check_order(knell.kinds, words, {name for p in spawn.params for name in p.opts})
    socket = given.pop("kitty_socket")
    given["server"] = given["server"] or socket
    given["place"] = given["place"] or ("tmux" if given["server"] or given["session"] else "")
    if not 1 <= count <= 1000:  # noqa: PLR2004 - a typing error, not a fleet
        raise BadRequest(f"--count {count} is not between 1 and 1000", "for example --count 3")
    name, worktree = given.pop("name"), given.pop("worktree")
    wish = options.spawn_arguments(knell.kinds, words, given)
    if host:
        from knell.faces.cli.far import spawn_far

        wish |= {"name": name, "worktree": worktree}
        return spawn_far(host, wish, count, wait)
    agents: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        end = f"-{number}" if count > 1 else ""
        own = {"name": name and name + end, "worktree": worktree and worktree + end}
        own["stay"] = knell.settings.spawn_stay / count
        with progress.waiting(f"{own['name'] or wish['kind']}  starting"):
            spawned = knell.spawn(**wish, **own)
        document, text = started.spawned_result(spawned)
        agents.append(document)
        if not output.json_wanted():
            output.print_line(text)
    if output.json_wanted():
        output.print_json({"agents": agents})
    return None


@options.verb("create", context_settings=WORDS_LAST)
@options.text("--agent", metavar="KIND", help="claude, agy or another kind.")
@options.text("--session", help="Its session; default: WORKSPACE-creator-KIND.")
@options.text("--workspace", metavar="DIR", help="Where it works; default: here.")
@options.tmux_server
@options.text("--role", help="Its role, as the row says it.")
@options.registry
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def create(*, registry: str, **given: Any) -> None:
    """Start an agent in a tmux session of its own, with a row in the registry file.

    ARGS go to its program. With the --session of a row that has ended, the agent is started
    again by the command in that row. Refused while the row's agent still runs.

    \b
    knell create --agent claude --workspace ~/project
    """
    agent, run, warnings = Knell(registry=registry).create(**given)
    started.print_warnings(warnings)
    pid, session = started.pid_of(run), run.place.session
    text = f"{agent.name}: {agent.kind} runs as PID {pid} in session {session}"
    output.print_result(started.started_json(agent, run) | {"session": session}, text)


@options.verb("adopt")
@click.argument("target")
@options.new_name
@options.text("--kind", help="Which kind of agent it is; default: recognised by its command.")
@options.tmux_server
@options.tag
@options.team
@options.text(
    "--conversation", metavar="ID", help="The id of its conversation, so that it can be resumed."
)
def adopt(**given: Any) -> None:
    """Take charge of TARGET: a PID, a tmux %pane, or a tmux session with one pane.

    An adopted agent has no keeper, so knell can find that it has ended but cannot prove it. If the
    machine allows it, a cgroup holds whatever the agent starts from now on.

    \b
    knell adopt %3
    knell adopt 41207 --name luna --kind claude
    """
    agent, run, warnings = Knell().adopt(**given)
    started.print_warnings(warnings)
    name, place = agent.name, run.place.name
    text = f"{name}: took charge of PID {started.pid_of(run)} ({agent.kind}, {place})"
    text += f"\n{name}: {HELD if run.cgroup else NOT_HELD}"
    output.print_result(started.started_json(agent, run) | {"cgroup": bool(run.cgroup)}, text)


@options.verb("resume")
@options.agent_argument(offered=complete.ended)
@options.flag("--last", help="Everything that the last kill or stop ended.")
@options.place("tmux, kitty, wezterm, headless, or terminal: this one.", terminal=True)
@options.tmux_server
@options.tmux_session
@options.text("--cwd", metavar="DIR", help="The directory to start in; default: where it was.")
@options.text(
    "--conversation", metavar="ID", help="The conversation's id; default: the one on record."
)
@options.registry
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@on_its_host("resume")
def resume(*, last: bool, registry: str, **given: Any) -> Exit:
    """Continue the conversation of an ended agent in a new run, in the place where it ran.

    NAME is an agent, the id of its conversation, or a group: tag:X, team:X, a glob, all. The id of
    a conversation that no agent has had starts a new agent, which continues it.

    An agent that was `run` in a terminal comes back in this terminal; from a script, in a tmux
    pane. ARGS are given to its program: resume NAME -- "next prompt". An agent that works without
    a terminal (claude -p, codex exec) needs that prompt. Without a conversation, its command is
    started again.

    \b
    knell resume luna
    knell resume tag:night
    knell resume --last
    """
    knell = Knell(registry=registry)
    name = given["name"]
    if bool(name) == last:
        raise BadRequest("name one agent or group, or write --last", ENDED)
    if last or started.is_group(name):
        names = knell.last_ended() if last else knell.ended_agents(name)
        return started.start_each(
            names, lambda one: resume_one(knell, {**given, "name": one}, here=False, asks=False)[:2]
        )
    given["name"] = knell.agent_of_conversation(name) or name
    try:
        asks = not output.json_wanted()
        document, text, fresh = resume_one(
            knell, given, here=asks and output.has_terminal(), asks=asks
        )
    except NoSuchAgent as error:
        return open_strange(knell, given, error)
    output.print_result(document, text)
    return Exit.FAILED if fresh else Exit.DONE


def open_strange(knell: Knell, given: dict[str, Any], missing: NoSuchAgent) -> Exit:
    """A new agent, if what names no agent is the id of a conversation; else the error itself."""
    id, wanted = given["name"], ("place", "server", "session", "cwd", "args")
    try:
        with progress.waiting(f"{id}  looking for its program"):
            spawned = knell.open_conversation(id, **{word: given[word] for word in wanted})
    except NoSuchAgent:
        raise missing from None
    document, text = started.spawned_result(spawned)
    output.print_result(document, f"{text}, and continues conversation {id}")
    return Exit.DONE


def resume_one(
    knell: Knell, given: dict[str, Any], *, here: bool, asks: bool
) -> tuple[dict[str, Any], str, bool]:
    """What came of it, as a document and as a line; and whether it came up without its past.
    `asks`: a person may be asked which conversation it is."""

    def go_on() -> "Resumed":
        with ExitStack() as talk:
            talk.enter_context(progress.waiting(f"{given['name']}  waiting for its program"))
            return knell.resume(**given, here=talk.close if here else None)

    try:
        (agent, run, _), verdict, warnings = go_on()
    except UnsureConversation as error:
        given["conversation"] = chosen_conversation(error, asks=asks)
        (agent, run, _), verdict, warnings = go_on()
    started.print_warnings(warnings)
    document = started.started_json(agent, run)
    document |= {"conversation": agent.conversation, "verdict": verdict.value}
    document["warnings"] = [one._asdict() for one in warnings]
    found = whereabouts(run.place.name)
    text = f"{agent.name}: PID {started.pid_of(run)}{found}, {RESUMED[verdict.value]}"
    return document, text, verdict.value == "fresh"


def chosen_conversation(error: UnsureConversation, *, asks: bool) -> str:
    """The one that the person at the terminal chooses; the error itself where nobody can be asked,
    or nobody chooses."""
    if not asks or not error.choices or not output.can_ask():
        raise error
    output.print_error(f"{error}. Which one is it?")
    for number, choice in enumerate(error.choices, 1):
        output.print_error(f"  {number}  {choice}")
    numbers = click.IntRange(0, len(error.choices))
    number = click.prompt("number, or 0 for none", type=numbers, default=0, err=True)
    if not number:
        raise error
    return error.choices[number - 1].id
