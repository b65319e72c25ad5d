"""`knell fleet`: makes and joins a fleet of hosts, its keys, its state, its link."""

import os
from typing import TYPE_CHECKING, Any

import click

from knell.api import Knell
from knell.faces.cli import options, output
from knell.faces.exits import Exit

if TYPE_CHECKING:
    from knell.core.ports.fleet import Joined


@click.group("fleet", cls=options.CommandGroup)
def fleet() -> None:
    """Agents on many hosts, through one PostgreSQL database.

    \b
    knell fleet init postgresql://ann@db.example/agents  once
    knell fleet join postgresql://ann@db.example/agents  on each host
    knell watch                                          on each host: the link
    knell list --fleet
    knell kill luna@build-7
    """


database = options.together(
    click.argument("url", required=False, default=""),
    options.text("--url-file", metavar="FILE", help="Read the URL from a file of mode 600."),
)


@fleet.command("init")
@database
@options.text("--operator", metavar="NAME", help="Your name as operator; default: $USER.")
def init(**given: str) -> None:
    """Make the fleet in a database: schema, roles, and you as its operator.

    URL is of a role that owns the database and may create roles. A password does not belong into
    it: use PGPASSWORD, ~/.pgpass or a service file.
    """
    joined = Knell().fleet.init(**given)
    lines = [
        f"the fleet is made in {joined.database}; you are its operator '{joined.name}'",
        f"your credentials: {joined.file}",
        f"your public key:  {joined.key}",
        f"on each host: knell fleet join URL --trust {joined.key}",
    ]
    output.print_result(_json(joined), "\n".join(lines))


@fleet.command("join")
@database
@options.text("--as", "host", metavar="NAME", help="The host's name; default: its own.")
@click.option(
    "--trust", multiple=True, metavar="KEY", help="The public key of an operator to obey."
)
@options.text("--operator", metavar="NAME", help="Join as an operator, not as a host.")
@options.text("--save-to", metavar="FILE", help="Write credentials for another machine.")
@options.flag("--certificate", help="Only make the role, for a machine with a certificate for it.")
@options.text("--from", "from_file", metavar="FILE", help="Use credentials that --save-to wrote.")
def join(**given: Any) -> None:
    """Make this machine a host of the fleet: a role of its own, its credentials in a private file.

    URL is of a role that may create roles, as for init; or of a role that is this host's already,
    with a certificate or a service file.
    """
    joined = Knell().fleet.join(**given)
    what = "operator" if given["operator"] else "host"
    if given["certificate"]:
        text = f"the role is {joined.role}: give it a certificate of that common name"
        output.print_result(_json(joined), text)
        return
    lines = [f"joined {joined.database} as {what} '{joined.name}'", f"credentials: {joined.file}"]
    if joined.key:
        lines.append(f"public key:  {joined.key}")
    if what == "host" and not given["save_to"]:
        obeys = ", ".join(joined.obeys) or "nobody yet: knell fleet key trust KEY"
        lines += [f"obeys: {obeys}", "knell watch runs the link"]
    output.print_result(_json(joined), "\n".join(lines))


def _json(joined: "Joined") -> dict[str, Any]:
    return {"ok": True, **joined._asdict()}


@fleet.command("leave")
def leave() -> None:
    """Forget the fleet on this host. Its agents go on; its receipts stay in the database."""
    name, untold = Knell().fleet.leave()
    document = {"ok": True, "host": name, "untold": untold}
    empty = "this host was in no fleet"
    output.print_result(document, f"'{name}' has left the fleet" if name else "", if_empty=empty)
    if untold:
        output.print_error(f"warning: the database was not told: {untold}")
        output.print_error(f"hint: later, as its owner: knell fleet remove {name} URL")


@fleet.command("remove")
@click.argument("host")
@database
def remove(host: str, **given: str) -> None:
    """Take HOST out of the fleet, where the machine is gone for good. URL is the owner's.

    Orders that wait for it are called off, and its role can log in no more. A host that still
    answers is not taken out: run knell fleet leave there.
    """
    orders = Knell().fleet.remove(host, **given)
    text = f"'{host}' is no host of the fleet any more; orders called off: {orders}"
    output.print_result({"ok": True, "host": host, "orders": orders}, text)


@fleet.command("upgrade")
@database
def upgrade(**given: str) -> None:
    """Bring the schema in the database up to date."""
    found = Knell().fleet.upgrade(**given)
    text = f"the schema has version {found.major}.{found.minor}"
    output.print_result({"ok": True, **found._asdict()}, text)


@fleet.command("prune")
@database
@click.option("--older-than", type=float, required=True, metavar="DAYS")
@options.dry_run
def prune(*, older_than: float, dry_run: bool, **given: str) -> None:
    """Drop events by whole months, closed orders and ended agents that are older. Receipts stay."""
    gone = Knell().fleet.prune(days=older_than, dry_run=dry_run, **given)
    would = "would drop" if dry_run else "dropped"
    months = ", ".join(gone["months"]) or "none"
    text = (
        f"{would}: months of events: {months}; orders: {gone['orders']}; agents: {gone['agents']}"
    )
    output.print_result({"ok": True, **gone}, text)


@fleet.command("status")
def status() -> Exit:
    """Show how this machine is in the fleet, and every host with the time since it was heard."""
    from knell.faces.text.fleet import status_text

    found = Knell().fleet.status()
    output.print_result(found.to_json(), status_text(found))
    return Exit.DONE if not found.trouble else Exit.FAILED


@fleet.command("link", cls=click.Command)
@options.flag("--tied", hidden=True, help="End when standard input closes.")
def link(*, tied: bool) -> None:
    """Run the link of this host in the foreground; knell watch does this by itself."""
    from knell.faces.fleet.run import run_link

    run_link(Knell(), output.print_error, tied=tied, env=os.environ)


# -- keys ------------------------------------------------------------------------------------------


@fleet.group("key", cls=options.CommandGroup)
def key() -> None:
    """The keys by which orders are signed, and those that this host obeys."""


@key.command("new")
def new() -> None:
    """Make the operator's key of this home, unless it has one; print the public one."""
    made = Knell().fleet.new_key()
    output.print_result({"ok": True, "key": made}, made)


@key.command("list")
def list_keys() -> None:
    """List the public keys of this home, and those that it obeys."""
    found = Knell().fleet.keys()
    document = {"keys": [{"what": what, "name": name, "key": text} for what, name, text in found]}
    lines = [f"{what:<18} {name:<16} {text}" for what, name, text in found]
    output.print_result(document, "\n".join(lines), if_empty="no keys yet")


@key.command("trust")
@click.argument("public_key")
@options.text("--name", help="Whose key it is.")
@options.text("--host", help="It is that host's: obey orders of agents there.")
@options.flag("--remove", help="Obey this key no more.")
def trust(public_key: str, *, name: str, host: str, remove: bool) -> None:
    """Obey orders that are signed with this public key, from now on."""
    fleet = Knell().fleet
    new = fleet.distrust(public_key) if remove else fleet.trust(public_key, name=name, host=host)
    words = {
        (True, True): "obeyed no more", (True, False): "it was not obeyed",
        (False, True): "obeyed from now on", (False, False): "it was obeyed before",
    }  # fmt: skip
    output.print_result({"ok": True, "changed": new}, words[remove, new])


@key.command("pin")
@click.argument("host")
@click.argument("public_key", required=False, default="")
@options.flag("--remove", help="Forget its key; the next one seen is taken for it.")
def pin(host: str, public_key: str, *, remove: bool) -> None:
    """Know HOST by this public key: its answers and receipts are proven by it.

    Without this, the first key that is seen is taken for the host's.
    """
    fleet = Knell().fleet
    new = fleet.unpin(host) if remove else fleet.pin(host, public_key)
    known = "its key is forgotten" if remove else f"{host} is known by that key"
    unchanged = "its key was not known" if remove else f"{host} was known by that key before"
    output.print_result({"ok": True, "changed": new}, known if new else unchanged)


# -- orders ----------------------------------------------------------------------------------------


@click.group("orders", cls=options.CommandGroup, invoke_without_command=True)
@options.flag("--all", "with_closed", help="Also those that are over.")
@options.as_json
@click.pass_context
def orders(ctx: click.Context, *, with_closed: bool) -> None:
    """List the orders to other hosts that wait for their host.

    \b
    knell orders
    knell orders --all
    knell orders cancel 3f2a
    """
    if ctx.invoked_subcommand:
        return
    from knell.faces.text.fleet import orders_text

    found = Knell().fleet.orders(with_closed=with_closed)
    document = {"orders": [one._asdict() for one in found]}
    output.print_result(document, orders_text(found), if_empty="no order waits")


@orders.command("cancel")
@click.argument("id")
def cancel(id: str) -> None:
    """Call an order off that its host has not taken yet. ID: its first characters are enough."""
    whole = Knell().fleet.cancel(id)
    output.print_result({"ok": True, "order": whole}, f"order {whole} is called off")
