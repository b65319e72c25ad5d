"""Makes a fleet, and lets hosts and operators join and leave it: roles, passwords, keys, files."""

import json
import os
import re
import secrets
from contextlib import closing
from typing import Any, NamedTuple

from knell.core.codes import Code
from knell.core.errors import BadRequest, FleetFailed, Refused
from knell.core.fleet.target import checked_host
from knell.core.ports.fleet import Joined
from knell.fleet.address import kept_address, others_address, with_password
from knell.fleet.keys import key_bytes, make_key
from knell.fleet.private_files import (
    Credentials,
    FleetFiles,
    read_private,
    trusted_keys,
    write_credentials,
    write_private,
)
from knell.fleet.schema import MAJOR, MINOR, Schema, bring_up_to_date, schema_of
from knell.fleet.wire import Wire, WireFailed, shown

# -- making and joining ---------------------------------------------------------------------------


def init(url: str, files: FleetFiles, operator: str) -> Joined:
    """Makes the schema and the first operator: role, credentials and key in this home."""
    with closing(Wire(url)) as wire:
        schema = bring_up_to_date(wire)
        return _add_operator(wire, url, files, schema, operator)


def upgrade(url: str) -> Schema:
    with closing(Wire(url)) as wire:
        if not schema_of(wire).major:
            raise FleetFailed("this database has no fleet", "knell fleet init URL")
        return bring_up_to_date(wire)


def prune(url: str, days: float, *, dry_run: bool) -> dict[str, Any]:
    if not 0 < days < 36500:  # noqa: PLR2004 - a hundred years
        raise BadRequest(f"--older-than {days:g} is no number of days", "for example 90")
    with closing(Wire(url)) as wire:
        known_schema(wire)
        return wire.call("SELECT knell.prune(make_interval(secs => $1), $2)", days * 86400, dry_run)


def join_as_operator(
    url: str, files: FleetFiles, operator: str, *, certificate: bool = False
) -> Joined:
    """Makes this home an operator's. `certificate`: makes only the role, for whoever has one."""
    with closing(Wire(url)) as wire:
        schema, mine = known_schema(wire), _own_role(wire, "operator_name")
        if mine is None:
            return _add_operator(wire, url, files, schema, operator, certificate=certificate)
        if mine != operator:
            raise Refused(f"these credentials are of operator '{mine}'", f"--operator {mine}")
        key, where = make_key(files.operator_key), kept_address(url)
        write_credentials(files.operator, Credentials(mine, schema.fleet, where))
        return Joined(mine, schema.fleet, "", shown(where), files.operator, key)


def known_schema(wire: Wire) -> Schema:
    try:
        schema = schema_of(wire)
    except WireFailed as error:
        if error.state != "42501":
            raise
        found = wire.call("SELECT knell.schema_of()")  # a role that may only call functions
        schema = Schema(found["major"], found["minor"], found["fleet"])
    if not schema.major:
        raise FleetFailed("this database has no fleet", "knell fleet init URL makes one")
    if schema.minor < MINOR:
        why = f"the fleet's schema has version {schema.major}.{schema.minor}"
        raise FleetFailed(f"{why}, this knell needs {MAJOR}.{MINOR}", "knell fleet upgrade URL")
    return schema


def _add_operator(
    wire: Wire, url: str, files: FleetFiles, schema: Schema, operator: str,
    *, certificate: bool = False,
) -> Joined:  # fmt: skip
    name = checked_host(operator)
    key = "" if certificate else make_key(files.operator_key)
    other = wire.rows("SELECT 1 FROM knell.operators WHERE name = $1 AND key != $2", name, key)
    if other:
        why = f"the fleet has an operator '{name}' already, with another key"
        raise Refused(why, "choose another name: --operator NAME")
    role, where = _login(wire, url, "operator", name, certificate=certificate)
    wire.rows(
        "INSERT INTO knell.operators (role, name, key) VALUES ($1, $2, $3)"
        " ON CONFLICT (role) DO UPDATE SET name = excluded.name, key = excluded.key",
        role, name, key,
    )  # fmt: skip
    if not certificate:
        write_credentials(files.operator, Credentials(name, schema.fleet, where))
    return Joined(
        name, schema.fleet, role, shown(where), "" if certificate else files.operator, key
    )


class JoinWish(NamedTuple):
    host: str
    trust: tuple[str, ...] = ()  # public keys of operators
    save_to: str = ""  # where to write the credentials, for another machine
    certificate: bool = False  # only the role is made: the host has a certificate for it


def join(url: str, files: FleetFiles, wish: JoinWish) -> Joined:
    """Gives this host, or the one whose credentials are saved to a file, a role of its own."""
    host = checked_host(wish.host)
    for key in wish.trust:
        key_bytes(key)
    with closing(Wire(url)) as wire:
        schema = known_schema(wire)
        mine = _own_role(wire)
        if mine is None:
            if is_heard(wire, host):
                why = f"host '{host}' has joined and is heard: it would lose its password"
                raise Refused(why, "choose another name: --as NAME", code=Code.HOST_TAKEN)
            role, where = _login(wire, url, "host", host, certificate=wish.certificate)
            _register(wire, host, role)
        elif mine and mine != host:
            raise Refused(f"these credentials are of host '{mine}'", f"--as {mine}")
        else:
            role, where = "", kept_address(url)
    if wish.certificate:
        return Joined(host, schema.fleet, role, shown(where), "", "")
    if wish.save_to:
        write_credentials(wish.save_to, Credentials(host, schema.fleet, where))
        return Joined(host, schema.fleet, role, shown(where), wish.save_to, "")
    return take_credentials(files, Credentials(host, schema.fleet, where), wish.trust, role)


def take_credentials(
    files: FleetFiles, given: Credentials, trust: tuple[str, ...], role: str = ""
) -> Joined:
    """Makes this home that host. It also obeys the operator of this home, if it has one."""
    key = make_key(files.host_key)
    write_credentials(files.link, given)
    for one in trust:
        add_trust(files, "operator", name_of_key(one), one)
    if os.path.exists(files.operator_key) and os.path.exists(files.operator):
        operator = json.loads(read_private(files.operator))["name"]
        add_trust(files, "operator", operator, make_key(files.operator_key))
    obeys = tuple(f"{who.partition(':')[0]} {name}" for who, name, _ in trusted_keys(files.trusted))
    return Joined(given.name, given.fleet, role, shown(given.conninfo), files.link, key, obeys)


def _own_role(wire: Wire, which: str = "host") -> str | None:
    """The host or operator that the role we came with is; None if it may make others."""
    try:
        found = wire.call("SELECT knell.schema_of()")
    except WireFailed as error:
        if error.state == "42501":
            return None
        raise
    return found[which] or None


def _register(wire: Wire, host: str, role: str) -> None:
    [row] = wire.rows("SELECT role, left_at FROM knell.hosts WHERE name = $1", host) or [("", "")]
    if row[0] and row[0] != role:
        why = f"the fleet has a host '{host}' already, with the role {row[0]}"
        raise Refused(why, "choose another name: --as NAME", code=Code.HOST_TAKEN)
    wire.rows(
        "INSERT INTO knell.hosts (name, role) VALUES ($1, $2)"
        " ON CONFLICT (name) DO UPDATE SET left_at = NULL, incarnation = '', backend = 0",
        host, role,
    )  # fmt: skip


def _login(wire: Wire, url: str, what: str, name: str, *, certificate: bool) -> tuple[str, str]:
    """The role of that host or operator, which may log in with a new random password or by
    certificate only; and how to connect as it."""
    role = re.sub(r"[^A-Za-z0-9_.-]", "-", f"knell_{what[0]}_{name}")[:63]
    role = _free_role(wire, role, f"{what}s")
    verb = "ALTER" if wire.rows("SELECT 1 FROM pg_roles WHERE rolname = $1", role) else "CREATE"
    password = "" if certificate else secrets.token_urlsafe(24)
    try:
        # What the server keeps of it is made here, so that no log of the server can show it.
        secret = f"'{wire.verifier(password, role)}'" if password else "NULL"
        wire.rows(f'{verb} ROLE "{role}" LOGIN PASSWORD {secret}')
        wire.rows(f'GRANT knell_{what} TO "{role}"')
        [[database]] = wire.rows("SELECT current_database()")
        wire.rows(f'GRANT CONNECT ON DATABASE "{database}" TO "{role}"')
    except WireFailed as error:
        if error.state == "42501":
            hint = "connect as the role that made the fleet, or as one with CREATEROLE"
            raise FleetFailed(f"this role may not make others: {error}", hint) from None
        raise
    there = others_address(url, wire.there())
    return role, with_password(there, password, user=role, dbname=str(database))


def _free_role(wire: Wire, role: str, table: str) -> str:
    """That name, unless another fleet in the same cluster has a role of it."""
    here = wire.rows(f"SELECT 1 FROM knell.{table} WHERE role = $1", role)  # noqa: S608 - ours
    there = wire.rows("SELECT 1 FROM pg_roles WHERE rolname = $1", role)
    if here or not there:
        return role
    [[database]] = wire.rows("SELECT current_database()")
    return f"{role[:40]}_{database}"[:63]


def is_heard(wire: Wire, host: str) -> bool:
    recent = "seen_at > clock_timestamp() - interval '30 s' AND left_at IS NULL"
    query = f"SELECT 1 FROM knell.hosts WHERE name = $1 AND {recent}"  # noqa: S608 - ours
    return bool(wire.rows(query, host))


def name_of_key(key: str) -> str:
    """The name of a key that was given none."""
    return "key-" + re.sub(r"[^A-Za-z0-9]", "-", key[-8:-1])


# -- leaving --------------------------------------------------------------------------------------


def tell_leaving(given: Credentials) -> str:
    """Has the database show this host as one that left; why that failed, empty if it did not."""
    try:
        with closing(Wire(given.conninfo)) as wire:
            wire.call("SELECT knell.leave()")
    except WireFailed as error:
        return str(error)
    return ""


def remove(url: str, host: str) -> int:
    """Takes a host out that will not come back. Its role can log in no more."""
    with closing(Wire(url)) as wire:
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


# -- whom to obey ---------------------------------------------------------------------------------


def add_trust(files: FleetFiles, signer: str, name: str, key: str) -> bool:
    """Whether the key is new in the list of those whose orders this host obeys."""
    key_bytes(key)
    checked_host(name)
    line = f"{signer} {name} {key}"
    lines = read_private(files.trusted).splitlines() if os.path.exists(files.trusted) else []
    if line in lines:
        return False
    write_private(files.trusted, "\n".join([*lines, line, ""]))
    return True


def drop_trust(files: FleetFiles, key: str) -> bool:
    lines = read_private(files.trusted).splitlines() if os.path.exists(files.trusted) else []
    kept = [line for line in lines if line.split()[-1:] != [key]]
    if kept != lines:
        write_private(files.trusted, "\n".join([*kept, ""]))
    return kept != lines
