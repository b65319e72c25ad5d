"""The verbs that start agents: run, spawn, create, adopt."""

import os
from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.faces.cli import options, output, progress, started

if TYPE_CHECKING:
    from knell.core.ports.kinds import Kinds

HELD = "a cgroup holds whatever it starts from now on"
NOT_HELD = "no cgroup can be made for it here, so a daemon that it starts may escape"
KINDS_ARE = "knell spawn --help names the kinds; knell spawn -- COMMAND ARGS… starts any program"
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
    knell.run(**spawn_arguments(knell.kinds, words, given))


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
    check_order(knell.kinds, words, {name for p in spawn.params for name in p.opts})
    socket = given.pop("kitty_socket")
    given["server"] = given["server"] or socket
    given["place"] = given["place"] or ("tmux" if given["server"] or given["session"] else "")
    if not 1 <= count <= 1000:  # noqa: PLR2004 - a typing error, not a fleet
        raise BadRequest(f"--count {count} is not between 1 and 1000", "for example --count 3")
    name, worktree = given.pop("name"), given.pop("worktree")
    wish = spawn_arguments(knell.kinds, words, given, host=host)
    if host:
        from knell.faces.cli.far import spawn_far

        wish |= {"name": name, "worktree": worktree}
        return spawn_far(host, wish, count, wait)
    agents: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        end = f"-{number}" if count > 1 else ""
        own = {"name": name and name + end, "worktree": worktree and worktree + end}
        own["stay"] = knell.settings.spawn_stay / count
        with progress.show_wait(f"{own['name'] or wish['kind']}  starting"):
            spawned = knell.spawn(**wish, **own)
        document, text = started.report_spawned(spawned)
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
    pid, session = run.pid, run.place.session
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
    text = f"{name}: took charge of PID {run.pid} ({agent.kind}, {place})"
    text += f"\n{name}: {HELD if run.cgroup else NOT_HELD}"
    output.print_result(started.started_json(agent, run) | {"cgroup": bool(run.cgroup)}, text)


# -- the words that start an agent --------------------------------------------------------------


def spawn_arguments(
    kinds: "Kinds", words: tuple[str, ...], options: dict[str, Any], *, host: str = ""
) -> dict[str, Any]:
    """KIND ARGS…, or -- COMMAND ARGS…, with the options, as the API's `spawn` takes them.

    `host`: the other host that starts it, which may have other programs."""
    from knell.core.ladder import checked_wait

    if not words:
        raise BadRequest(
            "no agent to start",
            f"name a kind ({', '.join(kinds.names())}) or write -- COMMAND ARGS…",
        )
    plain = words[0] == "--"
    words = words[1:] if plain else words
    known = words[0] != "command" and kinds.has(words[0], offered=not plain)
    if not known and not plain:
        own_path = any(one.startswith("PATH=") for one in options.get("env", ()))
        _check_spelling(kinds, words[0], must_be_on_path=not host and not own_path)
    if known and words[1:2] == ("--",):
        words = (words[0], *words[2:])
    env = tuple(_assignment(text) for text in options.pop("env", ()))
    if options.get("grace") is not None:
        checked_wait(options["grace"])
    kind = words[0] if known else "command"
    return {**options, "kind": kind, "args": words[1:] if known else words, "env": dict(env)}


def _check_spelling(kinds: "Kinds", word: str, *, must_be_on_path: bool) -> None:
    """Refuses a misspelt kind or program, which would be started as a command and fail.

    `must_be_on_path`: on the PATH of this process, unless the word is a path itself."""
    import difflib
    import shutil

    close = difflib.get_close_matches(word, kinds.names(), 1)
    if close == [word] or shutil.which(word):
        return
    if close or (must_be_on_path and "/" not in word):
        why = f"'{word}' is no kind of agent, and no program of that name is on PATH"
        raise BadRequest(why, f"did you mean {close[0]}?" if close else KINDS_ARE)


def check_order(kinds: "Kinds", words: tuple[str, ...], own: set[str]) -> None:
    """Refuses an option of knell after the kind: it would silently go to the agent. Behind `--` it
    is meant for the agent."""
    if words[:1] == ("--",):
        return
    after = words[1 : words.index("--")] if "--" in words else words[1:]
    strayed = [word for word in after if word.split("=")[0] in own]
    if strayed and kinds.has(words[0]):
        raise BadRequest(
            f"{strayed[0]} stands after {words[0]}, so {words[0]} would get it",
            f"put knell's options before {words[0]}, or write {words[0]} -- {strayed[0]} …",
        )


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or "\0" in text:
        raise BadRequest(f"--env {text!r} is not NAME=VALUE", "for example --env LANG=C")
    if not equals and name not in os.environ:  # --env NAME passes the caller's value on
        raise BadRequest(f"--env {name}: you have no such variable", f"write --env {name}=VALUE")
    return name, value if equals else os.environ[name]
