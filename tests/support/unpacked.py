"""Everything that knell has written, in plain: packed receipts and archived runs are unpacked."""

import sqlite3
import subprocess
from base64 import b64decode
from contextlib import closing
from pathlib import Path

from knell.stores.records import unpacked


def plain_content(path: Path) -> bytes:
    """The file's bytes, and after them what they hold in packed form."""
    content = _read(path)
    if path.name.startswith(".ended-"):
        parts = [b64decode(line.split(b" ")[1]) for line in content.splitlines()]
    elif path.name.startswith("knell.db") and content.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as db:
            found = db.execute("SELECT data FROM receipts WHERE typeof(data) = 'blob'").fetchall()
        parts = [data for (data,) in found]
    else:
        parts = []
    return b"\n".join([content, *map(unpacked, parts)])


def _read(path: Path) -> bytes:
    """A database is read by another process: to close a second handle of it in this one would drop
    SQLite's locks, and another process could then delete the log under the test's own store."""
    if path.name.startswith("knell.db"):
        return subprocess.run(["cat", path], capture_output=True, check=False).stdout
    return path.read_bytes()
