"""Everything that knell has written, in plain: packed receipts and archived runs are unpacked."""

import sqlite3
from base64 import b64decode
from contextlib import closing
from pathlib import Path

from knell.stores.packing import unpacked


def plain_content(path: Path) -> bytes:
    """The file's bytes, and after them what they hold in packed form."""
    content = path.read_bytes()
    if path.name.startswith(".ended-"):
        parts = [b64decode(line.split(b" ")[1]) for line in content.splitlines()]
    elif path.name.startswith("knell.db") and content.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as db:
            found = db.execute("SELECT data FROM receipts WHERE typeof(data) = 'blob'").fetchall()
        parts = [data for (data,) in found]
    else:
        parts = []
    return b"\n".join([content, *map(unpacked, parts)])
