"""The fleet's secrets: small files below the state's directory, which only their owner can read."""

import json
import os
import stat
from typing import Any, NamedTuple

from knell import files
from knell.core.codes import Code
from knell.core.errors import FleetFailed

LARGEST = 100_000  # bytes


class FleetFiles:
    """The files of one home."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.link, self.operator = f"{folder}/link.json", f"{folder}/operator.json"
        self.operator_key, self.host_key = f"{folder}/operator.key", f"{folder}/host.key"
        self.trusted, self.known_hosts = f"{folder}/trusted", f"{folder}/known_hosts"
        self.lock = f"{folder}/link.lock"


class Credentials(NamedTuple):
    """How this machine reaches the database, and as whom."""

    name: str  # of the host or the operator
    fleet: str
    conninfo: str

    def __repr__(self) -> str:
        return f"Credentials({self.name!r}, {self.fleet!r}, …)"  # the rest is secret


def read_private(path: str) -> str:
    """The text of a secret file; FleetFailed if it is not there, or if others can read it."""
    try:
        found = os.stat(path)
        if found.st_mode & 0o077 or not stat.S_ISREG(found.st_mode):
            mode = stat.S_IMODE(found.st_mode)
            why = f"{path} has mode {mode:04o}: others can read it"
            hint = f"chmod 600 {path}; if others may have read it, make a new one"
            raise FleetFailed(why, hint, code=Code.FLEET_FILE)
        if found.st_uid not in (os.geteuid(), 0):
            why = f"{path} belongs to another user"
            raise FleetFailed(why, "use a file of your own", code=Code.FLEET_FILE)
        return files.read(path, LARGEST).decode()
    except FileNotFoundError:
        hint = "knell fleet status says what is set up"
        raise FleetFailed(f"there is no {path}", hint, code=Code.FLEET_OFF) from None
    except (OSError, UnicodeDecodeError) as error:
        why = f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is no text'}"
        raise FleetFailed(why, "knell fleet join makes it again", code=Code.FLEET_FILE) from None


def write_private(path: str, text: str) -> None:
    """Replaces the file; from its first moment on only its owner can read it."""
    try:
        os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
        new = f"{path}.{os.getpid()}.new"
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            os.fchmod(fd, 0o600)
            file.write(text)
            file.flush()
            os.fsync(fd)
        os.replace(new, path)
    except OSError as error:
        why = f"cannot write {path}: {error.strerror}"
        raise FleetFailed(why, "check the directory and its room", code=Code.FLEET_FILE) from None


def read_credentials(path: str) -> Credentials:
    try:
        found: Any = json.loads(read_private(path))
        values: list[Any] = [found[name] for name in Credentials._fields]
    except (ValueError, KeyError, TypeError, RecursionError):
        values = [None]
    if not all(isinstance(one, str) for one in values):
        why = f"{path} holds no credentials of knell"
        raise FleetFailed(why, "knell fleet join makes it again", code=Code.FLEET_FILE)
    return Credentials(*values)


def write_credentials(path: str, given: Credentials) -> None:
    write_private(path, json.dumps(given._asdict(), indent=1) + "\n")


def trusted_keys(path: str) -> list[tuple[str, str, str]]:
    """(signer, name, key) of everyone whose orders this host obeys; a line that cannot be read
    trusts nobody."""
    if not os.path.exists(path):
        return []
    found: list[tuple[str, str, str]] = []
    for line in read_private(path).splitlines():
        match line.split():
            case ["operator" | "host" as who, name, key]:
                found.append((f"host:{name}" if who == "host" else who, name, key))
            case _:
                continue
    return found
