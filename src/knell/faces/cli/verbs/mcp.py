"""`knell mcp` serves the Model Context Protocol."""

import os

import click

from knell.core.errors import BadRequest
from knell.faces.cli import complete, options, output

PORT = 7377


@options.verb("mcp")
@options.flag("--http", help="One server for all agents, on 127.0.0.1.")
@options.port(PORT, "The port for --http; 0: any port that is free.")
@options.flag(
    "--operator",
    help="You use this server yourself: a caller that is no agent may do all that you may.",
)  # fmt: skip
@click.option(
    "--config", "program", metavar="KIND", shell_complete=complete.mcp_clients,
    help="Print what to put into the settings of this kind of agent, or of cursor.",
)  # fmt: skip
def command(*, http: bool, port: int, operator: bool, program: str | None) -> None:
    """Serve agents that manage agents, over the Model Context Protocol.

    Without --http it serves the one client that started it, over standard input and output. With
    --http it serves every agent, and knows each by the token in its KNELL_TOKEN.

    \b
    knell mcp --config claude
    knell mcp --http
    """
    if program:
        _print_snippet(program, f"http://127.0.0.1:{port}/mcp" if http else "")
        return
    if http and operator:
        raise BadRequest(
            "--operator needs a server with one client, without --http",
            "over HTTP every agent proves itself by its own token",
        )
    from knell.api.verbs import check_mcp_package

    check_mcp_package()
    from knell.faces.mcp.callers import ServerOptions

    wanted = ServerOptions(dict(os.environ), operator)
    if http:
        from knell.faces.mcp.http import serve as serve_all

        serve_all(wanted, port, click.echo)
    else:
        from knell.faces.mcp.stdio import serve

        serve(wanted)


def _print_snippet(program: str, address: str) -> None:
    from knell.api import Knell

    snippet = Knell().mcp_snippet(program, address)
    if output.json_wanted():
        output.print_json({"program": program, "file": snippet.file, "snippet": snippet.text})
        return
    click.echo(f"Put this into {snippet.file}:", err=True)
    click.echo(snippet.text, nl=False)
