"""Fuzzing the store: rows that no knell ever wrote are refused in one line, and crash nobody."""

import contextlib
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from chaos.fuzzing import Shell, shell_in
from chaos.report import Tally
from house import House, alive
from scenes import SLEEPS, started

pytestmark = pytest.mark.stress

VALUES = [
    "x", "", "-1", -1, 0, 2**63 - 1, 1.5, 1e308, float("inf"), b"\xff\x00", b"", "{", "[]", "{}",
    "null", "[[[]]]", "[" * 100_000, "1:2:3:4", "a:b:c:d", "9" * 500 + ":1:boot:0", ":::", "NaN",
    '{"a": NaN}', "\ud7ff", "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999+00:00",
    "2026-13-45", '[["a"]]', '["a", 5]', '{"result": "ended"}', "x" * 100_000, "a\nb\x1b[31m",
]  # fmt: skip
VERBS = (
    ("list",), ("list", "--all"), ("status",), ("show", "luna"), ("show", "nova"), ("events",),
    ("receipt", "nova"), ("explain", "luna"), ("stalled", "--all"), ("watch", "--once"),
    ("team",), ("task",), ("inbox", "luna"), ("doctor",), ("tree", "luna"),
    ("reap",), ("kill", "--dry-run", "luna"), ("invoke", "orchestrator.monitor-agent-lifecycle"),
    ("kill", "nobody"), ("beat", "luna"),
)  # fmt: skip


class Scene(NamedTuple):
    house: House
    shell: Shell
    whole: Path  # the database as it was
    pid: int

    @property
    def path(self) -> Path:
        return self.house.state / "knell.db"

    def restore(self) -> None:
        for end in ("-wal", "-shm"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)
        shutil.copyfile(self.whole, self.path)


@pytest.fixture
def scene(house: House) -> Iterator[Scene]:
    """luna lives, nova has ended; a team, a task and a message."""
    with shell_in(house) as shell:
        luna = started(house, SLEEPS, name="luna", task="t-1")
        started(house, SLEEPS, name="nova")
        for words in (("kill", "nova"), ("team", "create", "red"), ("team", "add", "red", "luna"),
                      ("task", "add", "--team", "red", "work"), ("send", "luna", "--", "hello"),
                      ("watch", "--once")):  # fmt: skip
            shell.run(*words).check()
        house.knell.close()
        whole = house.root / "whole.db"
        with closing(sqlite3.connect(house.state / "knell.db")) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copyfile(house.state / "knell.db", whole)
        one = Scene(house, shell, whole, luna.pid)
        yield one
        one.restore()


def columns(db: sqlite3.Connection) -> list[tuple[str, str]]:
    """Every column of every table that has a row."""
    tables = [
        name
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if not name.startswith("sqlite_")
        and db.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()
    ]
    return [
        (table, row[1]) for table in tables for row in db.execute(f"PRAGMA table_info({table})")
    ]


def spoil(scene: Scene, chance: random.Random) -> str:
    """Another value in one column, by somebody who does not care for constraints."""
    with closing(sqlite3.connect(scene.path)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        for (trigger,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            db.execute(f'DROP TRIGGER "{trigger}"')
        table, column = chance.choice(columns(db))
        value = chance.choice(VALUES)
        with contextlib.suppress(sqlite3.IntegrityError):  # a row's number takes only numbers
            db.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ?', [value])
        db.commit()
    return f"{table}.{column} = {str(value)[:40]!r}"


def test_a_senseless_row_crashes_nobody(
    scene: Scene, chance: random.Random, often: int, tally: Tally
) -> None:
    """A row that no knell ever wrote is passed over or told in one line, and ends nobody"""
    for _ in range(25 * often):
        scene.restore()
        what = spoil(scene, chance)
        for verb in chance.sample(VERBS, 3):
            said = scene.shell.run(*verb)
            assert "Traceback" not in said.err, (what, said)
            said.check()
            assert alive(scene.pid), (what, said)
        tally.broke("senseless row in the store")
