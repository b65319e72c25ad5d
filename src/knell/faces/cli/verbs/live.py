"""The verbs that show a live agent at work: logs, screen, attach, path."""

import os
import shutil

from knell.api import Knell
from knell.core.errors import BadRequest
from knell.faces.cli import options, output
from knell.faces.text.terminal import printable


@options.verb("logs")
@options.one_name
@options.flag("--follow", "-f", help="Go on printing until the agent has ended.")
@options.number("--lines", "-n", least=1, default=100, help="How many lines to begin with.")
def logs(name: str, *, follow: bool, lines: int) -> None:
    """Print what an agent printed: the output of a headless one, else the screen of its pane.

    Secrets are hidden and control codes left out. Ctrl-C ends --follow, and not the agent.

    \b
    knell logs luna              the last 100 lines
    knell logs -f luna           and then what comes
    """
    knell = Knell()
    if not follow:
        found = knell.logs(name, lines=lines)
        document = {"agent": name, "lines": found}
        text = "\n".join(map(printable, found))
        output.print_result(document, text, if_empty=f"'{name}' has printed nothing")
        return
    if output.json_wanted():
        raise BadRequest(
            "--follow prints lines as they come, never one JSON document", "leave out --json"
        )
    for fresh in knell.follow_logs(name, lines=lines):
        output.print_line("\n".join(map(printable, fresh)))
    output.print_error(f"'{name}' has ended: knell receipt {name}")


@options.verb("screen")
@options.one_name
def screen(name: str) -> None:
    """Print what an agent's pane shows now; of an ended agent, its last screen.

    \b
    knell screen luna
    watch knell screen luna
    """
    found = Knell().screen(name)
    if not found.live and not output.json_wanted():
        output.print_error(f"'{found.agent}' has ended; this is its last screen")
    output.print_result(
        found._asdict(),
        "\n".join(map(printable, found.lines)),
        if_empty=f"the screen of '{found.agent}' is empty",
    )


@options.verb("attach")
@options.one_live
@options.flag("--print", "only_print", help="Print the command, and do nothing.")
def attach(name: str, *, only_print: bool) -> None:
    """Go to an agent's pane: in tmux, kitty or wezterm.

    Inside the same tmux the client is switched there; from elsewhere tmux attaches to it. Leave it
    with tmux's own detach key, and the agent goes on.

    \b
    knell attach luna
    """
    command = Knell().attach_command(name)
    if only_print or output.json_wanted():
        import shlex

        output.print_result({"agent": name, "command": list(command)}, shlex.join(command))
        return
    if not shutil.which(command[0]):
        raise BadRequest(f"{command[0]} is not on PATH", "attach where the agent's terminal is")
    os.execvp(command[0], command)


@options.verb("path")
@options.one_name
def path(name: str) -> None:
    """Print the directory in which an agent works.

    \b
    knell path luna
    cd "$(knell path luna)"
    """
    found = Knell().path(name)
    output.print_result({"agent": name, "path": found}, found)
