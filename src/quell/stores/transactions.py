"""One connection, and the only two ways to use it."""

import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager

from quell.core.errors import StoreFailed
from quell.stores.failures import PATIENCE, code_of, damaged, translated
from quell.stores.opening import opened

# What a power cut may take. NORMAL: the last moments, never the file. FULL: nothing that was told.
NORMAL = "PRAGMA synchronous = NORMAL"
FULL = "PRAGMA synchronous = FULL"
HURRY = 30.0  # seconds after a wait in vain in which the next one is short
MOMENT = 0.05

# What reading a row raises that quell did not write.
_SENSELESS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


class Transactions:
    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._safety = ""
        self._hurried_until, self._patience = 0.0, PATIENCE
        self.db, self._refusal = opened(self._path)
        with translated(self._path):
            self._file = self._file_now()

    def close(self) -> None:
        with translated(self._path):
            self.db.close()

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A record that does not make sense is a StoreFailed too."""
        with translated(self._path):
            try:
                yield self.db
            except _SENSELESS as error:
                raise StoreFailed(
                    f"{self._path} holds a record that this quell cannot read ({error})",
                    "upgrade quell if a newer one wrote it; else restore the file from a copy",
                ) from error

    @contextmanager
    def writing(self, safety: str) -> Generator[sqlite3.Connection]:
        """All of it is written, or nothing; nobody else writes meanwhile."""
        with translated(self._path):
            if self._refusal is not None:
                raise self._refusal
            if self._file_now() != self._file:
                raise StoreFailed(
                    f"{self._path} was moved or deleted while it was in use",
                    "put it back, or run the command again and a new one is made",
                )
            if safety != self._safety:
                self.db.execute(safety)  # before the transaction: inside one it has no effect
                self._safety = safety
            try:
                self._begin()
                yield self.db
                self.db.execute("COMMIT")
            except BaseException:
                self.db.rollback()
                raise

    def _begin(self) -> None:
        """Waits its turn; soon after it has waited in vain, only for a moment.

        Whoever ends fifty agents while somebody keeps the store locked waits once, not fifty times.
        """
        patience = MOMENT if time.monotonic() < self._hurried_until else PATIENCE
        if patience != self._patience:
            self.db.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
            self._patience = patience
        try:
            self.db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if code_of(error) == sqlite3.SQLITE_BUSY:
                self._hurried_until = time.monotonic() + HURRY
            raise
        self._hurried_until = 0.0

    def check(self) -> None:
        """StoreFailed unless every page can be read, and one be written and flushed."""
        with self.reading() as db:
            [[found], *_] = db.execute("PRAGMA quick_check(1)").fetchall()
            if found != "ok":
                raise damaged(self._path, found)
        with self.writing(FULL) as db:  # the first page, which then says what it said before
            version = db.execute("PRAGMA user_version").fetchone()[0]
            db.execute(f"PRAGMA user_version = {version:d}")

    def _file_now(self) -> tuple[int, int]:
        """SQLite would go on writing to a file that no longer has a name, and all of it be lost."""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return (0, 0)
        return (found.st_dev, found.st_ino)
