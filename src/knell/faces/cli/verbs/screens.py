"""The verbs that show agents live: top on a terminal, web in a browser."""

import os
from importlib.util import find_spec
from typing import Any

import click

from knell.api import Knell
from knell.core.errors import BadRequest, how_to_get, missing_extra
from knell.faces.cli import complete, options, output

PORT = 7378


def missing(*packages: str) -> list[str]:
    return [name for name in packages if find_spec(name) is None]


@click.command("top")
@click.argument("targets", nargs=-1, shell_complete=complete.agents)
@options.fleet
@options.flag("--readonly", help="No key changes anything.")
@options.choice("--theme", words=("light", "dark"), help="Default: as the terminal says, or dark.")
def top(targets: tuple[str, ...], *, fleet: bool, readonly: bool, theme: str) -> None:
    """Show every agent live, and act on them by keys.

    TARGETS are names, tag:NAME or team:NAME: only those are shown. Press ? for the keys. Leaving
    top ends no agent. With --fleet, agents of other hosts are ended by orders to their hosts, and
    what a host has not answered yet is shown as pending.

    \b
    knell top
    knell top tag:night
    knell top --fleet
    knell top --readonly
    """
    if absent := missing("textual"):
        raise missing_extra("knell top", absent, "top")
    if not output.has_terminal():
        raise BadRequest("knell top needs a terminal", "knell status prints the same once")
    show(targets, readonly=readonly, fleet=fleet, theme=theme)


def show(
    targets: tuple[str, ...] = (), *, readonly: bool = False, fleet: bool = False, theme: str = ""
) -> None:
    from knell.faces.top.app import TopApp

    # A broken store or setting, or a target without an agent, is told before the screen is taken.
    # A target of the fleet may mean an agent later: its database is not waited for.
    here = () if fleet else targets
    Knell().list(*here, with_ended=bool(here))
    # What a terminal says of itself there, as in `0;15`: black on white.
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    theme = theme or ("light" if background in ("7", "15") else "dark")
    TopApp(targets=targets, readonly=readonly, fleet=fleet, theme=theme).run()


def show_by_default() -> int:
    """`knell` alone: top on a terminal that can show it, else status and where to go on."""
    if (
        output.has_terminal()
        and not missing("textual")
        and os.environ.get("TERM") not in (None, "", "dumb")
    ):
        show()
        return 0
    from knell.faces.cli.group import cli

    cli(["status"], prog_name="knell", standalone_mode=False)
    if output.has_terminal() and missing("textual"):
        output.print_error(f"for a live screen: {how_to_get('top')}")
    output.print_error("all verbs: knell --help")
    return 0


# -- web ---------------------------------------------------------------------------------------


@click.command("web")
@options.port(PORT, "The port; 0: any port that is free.")
@options.flag("--open", "in_browser", help="Open the address in your browser.")
@options.fleet
@options.flag("--readonly", help="Nothing is changed, whatever is sent.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="NAME",
    help="The address to serve; others than loopback need TLS files or a proxy.",
)  # fmt: skip
@options.text("--tls-cert", metavar="FILE", help="The certificate, in PEM.")
@options.text("--tls-key", metavar="FILE", help="Its key, without a password.")
@options.text(
    "--behind-proxy", metavar="ORIGIN",
    help="A proxy serves it under this address, such as https://agents.example.",
)  # fmt: skip
def web(*, in_browser: bool, readonly: bool, **given: Any) -> None:
    """Show every agent in a browser, live, and act on them there.

    It prints an address that works once; the page has a button for another. It acts with your
    authority: who has opened the address may end your agents. Ctrl-C ends the server, and no agent.
    With --fleet, agents of other hosts are ended by orders to their hosts, and what a host has not
    answered yet is shown as pending.

    \b
    knell web --open
    knell web --fleet
    knell web --readonly --port 0
    knell web --host laptop.lan --tls-cert cert.pem --tls-key key.pem
    """
    if absent := missing("starlette", "uvicorn"):
        raise missing_extra("knell web", absent, "web")
    from knell.faces.web.options import WebOptions
    from knell.faces.web.server import opened_in_browser, serve

    wanted = WebOptions(os.environ, readonly=readonly, **given)
    with opened_in_browser() as show:

        def ready(address: str) -> None:
            click.echo(address)
            what = "It shows, and changes nothing." if readonly else "It acts with your authority."
            click.echo(f"{what} The address works once. Ctrl-C ends the server.", err=True)
            if in_browser:
                show(address)

        serve(wanted, ready)
