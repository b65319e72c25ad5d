"""Whether the schema in the database is one that this knell can use; if not, what to do."""

from typing import Any

from knell.core.codes import Code
from knell.core.errors import FleetFailed
from knell.fleet.wire import Wire, WireFailed

MAJOR, MINOR = 1, 5  # the version that this knell knows, and the oldest of it that it can use
MISSING = (
    "3F000",
    "42883",
    "42P01",
    "42703",
)  # PostgreSQL: no such schema, function, table, column
FORBIDDEN = "42501"
UPGRADE = "its owner runs: knell fleet upgrade URL"


def checked_schema(wire: Wire, fleet: str) -> dict[str, Any]:
    """What the database says of its schema; FleetFailed for one that is older, half applied, newer,
    somebody else's or another fleet's."""
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
    return found


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
