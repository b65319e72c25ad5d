"""The address of the database: read from the command line or a private file, and kept for later."""

import os
from typing import Any

import psycopg
from psycopg import conninfo

from knell.core.errors import BadRequest
from knell.fleet.private_files import read_private

LEAVE_IT_OUT = (
    "leave it out: knell takes PGPASSWORD, ~/.pgpass, a service file, or --url-file FILE (mode 600)"
)
FILES = ("sslcert", "sslkey", "sslrootcert", "sslcrl", "passfile")
OWNERS = ("user", "password", "service", "passfile", "sslcert", "sslkey", "sslpassword")


def where(url: str, url_file: str) -> str:
    """The address of the database, from the command line or from a private file."""
    if bool(url) is bool(url_file):
        raise BadRequest("give the URL of the database, or --url-file FILE", "one of them")
    return url_from_file(url_file) if url_file else checked_url(url)


def checked_url(url: str) -> str:
    """What was typed, if it may stand on a command line."""
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        why = "that is no address of a PostgreSQL database"
        raise BadRequest(why, "for example postgresql://ann@db.example/agents") from None
    if not url.strip():
        raise BadRequest("the address is empty", "for example postgresql://ann@db.example/agents")
    if given.get("password"):
        why = "a password in the address can be read by every user of this machine"
        raise BadRequest(why, LEAVE_IT_OUT)
    return with_password(given, os.environ.get("PGPASSWORD", ""))


def url_from_file(path: str) -> str:
    text = read_private(path).strip()
    try:
        conninfo.conninfo_to_dict(text)
    except psycopg.Error:
        why = f"{path} holds no address of a PostgreSQL database"
        raise BadRequest(why, "one line, for example postgresql://ann:secret@db/agents") from None
    return text


def with_password(given: Any, password: str, **more: str) -> str:
    words = {key: value for key, value in {**given, **more}.items() if value not in (None, "")}
    return conninfo.make_conninfo("", **words, **({"password": password} if password else {}))


def others_address(url: str, there: dict[str, str]) -> dict[str, str]:
    """The same database without the user, password and files of whoever connects here. `there`:
    where the connection went, which a service file or the environment may have said."""
    given = conninfo.conninfo_to_dict(url)
    keep = {key: str(value) for key, value in given.items() if value and key not in OWNERS}
    return there | keep


def kept_address(url: str) -> str:
    """The address with absolute paths, for connecting later from another directory."""
    given = conninfo.conninfo_to_dict(url)
    whole = {
        key: os.path.abspath(os.path.expanduser(str(value)))
        for key, value in given.items()
        if key in FILES and value and value != "system"
    }
    return conninfo.make_conninfo(url, **whole)
