"""The verb that opens the live screen: top."""

import os

import click

from knell.api import Knell
from knell.core.errors import BadRequest, how_to_get, missing_extra
from knell.faces.cli import complete, options, output


def has_textual() -> bool:
    from importlib.util import find_spec

    return find_spec("textual") is not None


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
    if not has_textual():
        raise missing_extra("knell top", ["textual"], "top")
    if not output.has_terminal():
        raise BadRequest("knell top needs a terminal", "knell status prints the same once")
    show(targets, readonly=readonly, fleet=fleet, theme=theme)


def show(
    targets: tuple[str, ...] = (), *, readonly: bool = False, fleet: bool = False, theme: str = ""
) -> None:
    from knell.faces.top.app import TopApp

    # A broken store or setting, or a target that means nobody, is said before the screen is taken.
    # A target of the fleet may mean somebody later: its database is not waited for.
    here = () if fleet else targets
    Knell().list(*here, with_ended=bool(here))
    theme = theme or theme_of(os.environ.get("COLORFGBG", ""))
    TopApp(targets=targets, readonly=readonly, fleet=fleet, theme=theme).run()


def theme_of(colours: str) -> str:
    """What a terminal says of itself in COLORFGBG, as in `0;15`: black on white."""
    background = colours.rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"


def show_by_default() -> int:
    """`knell` alone: top on a terminal that can show it, else status and where to go on."""
    if output.has_terminal() and has_textual() and os.environ.get("TERM") not in (None, "", "dumb"):
        show()
        return 0
    from knell.faces.cli.group import cli

    cli(["status"], prog_name="knell", standalone_mode=False)
    if output.has_terminal() and not has_textual():
        output.print_error(f"for a live screen: {how_to_get('top')}")
    output.print_error("all verbs: knell --help")
    return 0
