"""Hosts that leave the fleet, and those that its owner takes out because they are gone."""

from knell.core.codes import Code
from knell.core.errors import Refused
from knell.fleet.private_files import Credentials
from knell.fleet.setup import is_heard, known_schema
from knell.fleet.wire import Wire, WireFailed


def tell_leaving(given: Credentials) -> str:
    """Has the database show this host as one that left; why that failed, empty if it did not."""
    try:
        wire = Wire(given.conninfo)
        try:
            wire.call("SELECT knell.leave()")
        finally:
            wire.close()
    except WireFailed as error:
        return str(error)
    return ""


def remove(url: str, host: str) -> int:
    """Takes a host out that will not come back. Its role can log in no more."""
    wire = Wire(url)
    try:
        known_schema(wire)
        found = wire.rows("SELECT role, left_at FROM knell.hosts WHERE name = $1", host)
        if not found or found[0][1]:
            raise Refused(f"no host '{host}' in the fleet", code=Code.HOST_NOT_FOUND)
        if is_heard(wire, host):
            why = f"host '{host}' is heard: its agents can still be reached"
            raise Refused(why, f"on {host}: knell fleet leave", code=Code.HOST_TAKEN)
        open_orders = "SELECT count(*) FROM knell.orders WHERE host = $1 AND state = 'issued'"
        [[orders]] = wire.rows(open_orders, host)
        wire.rows("SELECT knell.take_out($1)", host)
        wire.rows(f'ALTER ROLE "{found[0][0]}" NOLOGIN')
        return int(orders or 0)
    finally:
        wire.close()
