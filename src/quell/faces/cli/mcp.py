"""quell mcp."""

import os

import click

from quell.core.errors import BadRequest
from quell.faces.cli import options

PROGRAMS = ("claude", "codex", "gemini", "opencode", "cursor")
PORT = 7377


@click.command("mcp")
@click.option("--http", is_flag=True, help="One server for all agents, on 127.0.0.1.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="With --http; 0: any that is free.",
)
@click.option(
    "--operator",
    is_flag=True,
    help="I, a person, use this server: whoever calls it and is no agent may do what I may.",
)
@click.option(
    "--config", "program", type=click.Choice(PROGRAMS), help="Print what goes into its settings."
)
@options.as_json
def command(
    *, http: bool, port: int, operator: bool, program: str | None, json_wanted: bool
) -> None:
    """Serve agents that manage agents, over the Model Context Protocol.

    Without options: one client, over standard input and output, known by its ancestry. With --http:
    every agent, known by the token in its QUELL_TOKEN.
    """  # fmt: skip
    if program:
        _print_snippet(
            program, f"http://127.0.0.1:{port}/mcp" if http else "", json_wanted=json_wanted
        )
        return
    if http and operator:
        raise BadRequest(
            "--operator is for a server of one client", "over HTTP everybody has a token of its own"
        )
    try:
        _serve(http=http, port=port, operator=operator)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types", "uvicorn", "anyio"}:
            raise
        raise BadRequest("quell mcp needs the mcp package", "pip install 'quell[mcp]'") from error


def _serve(*, http: bool, port: int, operator: bool) -> None:
    from quell.faces.mcp.asker import Means

    means = Means(dict(os.environ), operator=operator)
    if http:
        from quell.faces.mcp.http import serve as serve_all

        serve_all(means, port, click.echo)
    else:
        from quell.faces.mcp.stdio import serve

        serve(means)


def _print_snippet(program: str, address: str, *, json_wanted: bool) -> None:
    from quell.faces.mcp.config import snippet

    told = snippet(program, address)
    if json_wanted:
        options.print_json({"program": program, "file": told.file, "snippet": told.text})
        return
    click.echo(f"into {told.file}:", err=True)
    click.echo(told.text, nl=False)
