"""The schema `knell` of a database: brought up to date, or what is wrong with it and what to do."""

import os
import re
from typing import NamedTuple

from knell.core.codes import Code
from knell.core.errors import FleetFailed
from knell.fleet.wire import Wire, WireFailed

MAJOR, MINOR = 1, 5  # the version that this knell knows, and the oldest of it that it can use
MISSING = ("3F000", "42883", "42P01", "42703")  # in SQL: no such schema, function, table, column
FORBIDDEN = "42501"
UPGRADE = "its owner runs: knell fleet upgrade URL"
GROUPS = ("knell_host", "knell_operator")
MADE = re.compile(r"^CREATE (?:OR REPLACE )?(?:FUNCTION|TABLE) knell\.(\w+)", re.MULTILINE)
THERE = """
SELECT proname FROM pg_proc WHERE pronamespace = 'knell'::regnamespace
UNION SELECT relname FROM pg_class WHERE relnamespace = 'knell'::regnamespace
"""


class Schema(NamedTuple):
    """What a database has of it."""

    major: int  # 0: there is none
    minor: int
    fleet: str


def migrations() -> list[tuple[int, str]]:
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sql")
    found: list[tuple[int, str]] = []
    for name in sorted(os.listdir(folder)):
        if re.fullmatch(r"\d{4}_\w+\.sql", name):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.append((int(name[:4]), file.read()))
    return found


def schema_of(wire: Wire) -> Schema:
    """What is there; FleetFailed for what is somebody else's, half applied, or newer."""
    there = wire.rows("SELECT 1 FROM pg_namespace WHERE nspname = 'knell'")
    if not there:
        return Schema(0, 0, "")
    try:
        [row] = wire.rows("SELECT major, minor, fleet FROM knell.meta") or [("", "", "")]
    except WireFailed as error:
        if error.state == "42P01":  # there is no such table
            raise _strange("the schema 'knell' of this database is somebody else's") from None
        raise
    if not row[0]:
        raise _strange("the schema 'knell' of this database is half applied: it has no version")
    found = Schema(int(row[0] or 0), int(row[1] or 0), row[2] or "")
    if found.major > MAJOR:
        version = f"{found.major}.{found.minor}"
        why = f"the fleet's schema has version {version}, this knell knows {MAJOR}"
        raise _unusable(why, "upgrade knell on this machine")
    if missing := _made_by(found.minor) - {str(name) for [name] in wire.rows(THERE)}:
        shown = ", ".join(sorted(missing)[:5])
        raise _strange(f"the schema 'knell' of this database is half applied: it lacks {shown}")
    return found


def _made_by(minor: int) -> set[str]:
    """The tables and functions that a schema of that version has."""
    texts = (text for number, text in migrations() if number <= minor)
    return {name for text in texts for name in MADE.findall(text)}


def _strange(why: str) -> FleetFailed:
    return _unusable(why, "restore the database, or use another one: knell fleet init URL")


def bring_up_to_date(wire: Wire) -> Schema:
    """Applies what is missing, all or nothing. Two that do so at once wait for each other."""
    wire.rows("BEGIN")
    try:
        wire.rows("SELECT pg_advisory_xact_lock(7236970)")  # "knl"
        found = schema_of(wire)
        if not found.major:
            for group in GROUPS:
                wire.rows(
                    f"DO $$ BEGIN CREATE ROLE {group} NOLOGIN;"
                    " EXCEPTION WHEN duplicate_object THEN NULL; END $$"
                )
        for number, text in migrations():
            if number <= found.minor:
                continue
            wire.rows(text, seconds=60.0)
            wire.rows(
                "INSERT INTO knell.meta (major, minor, fleet) VALUES ($1, $2, gen_random_uuid())"
                " ON CONFLICT (one) DO UPDATE SET minor = excluded.minor",
                MAJOR,
                number,
            )
        found = schema_of(wire)
        wire.rows("COMMIT")
    except WireFailed as error:
        if error.state:
            wire.rows("ROLLBACK")
        if error.state in ("42501", "0LP01"):
            hint = "connect as the database's owner, with the right CREATEROLE"
            raise FleetFailed(f"this role may not do that: {error}", hint) from None
        raise
    except FleetFailed:
        wire.rows("ROLLBACK")
        raise
    return found


# -- for hosts and operators, who may only call its functions ------------------------------------


def check_schema(wire: Wire, fleet: str) -> None:
    """FleetFailed for a schema that is older, half applied, newer, somebody else's or another
    fleet's."""
    try:
        found = wire.call("SELECT knell.schema_of()")
    except WireFailed as error:
        raise explained(error) from None
    if not found:
        why = "the schema 'knell' of this database is half applied: it has no version"
        raise _unusable(why, "its owner restores the database")
    version = f"{found['major']}.{found['minor']}"
    if found["major"] > MAJOR:
        why = f"the fleet's schema has version {version}, this knell knows {MAJOR}.{MINOR}"
        raise _unusable(why, "upgrade knell on this machine")
    if (found["major"], found["minor"]) < (MAJOR, MINOR):
        why = f"the fleet's schema has version {version}, this knell needs {MAJOR}.{MINOR}"
        raise _unusable(why, UPGRADE)
    if found["fleet"] != fleet:
        why = "the database is another fleet's than the one that was joined"
        raise _unusable(why, "knell fleet join URL")


def explained(error: WireFailed) -> FleetFailed:
    """The same in words of knell, where it is the schema that is wrong."""
    if error.state in MISSING:
        why = "the schema 'knell' of this database is missing, half applied or somebody else's"
        return _unusable(why, f"{UPGRADE}, which says what is wrong with it")
    if error.state == FORBIDDEN:
        why = f"the schema 'knell' of this database does not let this role in ({error})"
        return _unusable(why, "was it made anew, by somebody else? if so: knell fleet join URL")
    return error


def _unusable(why: str, hint: str) -> FleetFailed:
    return FleetFailed(why, hint, code=Code.FLEET_SCHEMA)
