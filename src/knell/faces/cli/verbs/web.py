"""The verb that serves the page: web."""

import os
from typing import Any

import click

from knell.core.errors import missing_extra
from knell.faces.cli import options

PORT = 7378


def check_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise missing_extra("knell web", missing, "web")


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
    check_packages()
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
