"""A damaged, foreign or newer database: one clear error, and neither it nor an agent is touched."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from complaints import FAILED, complaint
from house import House, alive

VERBS = [
    ("list",),
    ("status",),
    ("show", "luna"),
    ("tree", "luna"),
    ("kill", "luna"),
    ("stop", "luna"),
    ("reap", "--yes"),
    ("receipt", "luna"),
    ("resume", "luna"),
    ("events",),
    ("spawn", "--name", "nova", "--", "sleep", "100"),
    ("run", "--name", "nova", "--", "sleep", "100"),
]


def garbage_at_the_head(db: Path) -> None:
    db.write_bytes(b"not a database at all" * 100 + db.read_bytes())


def garbage_behind_the_head(db: Path) -> None:
    whole = db.read_bytes()
    db.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


def cut_in_the_middle(db: Path) -> None:
    db.write_bytes(db.read_bytes()[:6000])


def cut_to_a_few_bytes(db: Path) -> None:
    db.write_bytes(db.read_bytes()[:100])


def from_the_future(db: Path) -> None:
    changed(db, "PRAGMA user_version = 9999")


def of_another_program(db: Path) -> None:
    changed(db, "PRAGMA application_id = 7")


def without_its_tables(db: Path) -> None:
    changed(db, "DROP TABLE instances")


def a_directory(db: Path) -> None:
    db.rename(db.with_suffix(".aside"))
    db.mkdir()


def changed(db: Path, statement: str) -> None:
    connection = sqlite3.connect(db)
    connection.execute(statement)
    connection.commit()
    connection.close()


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "corrupt": (garbage_at_the_head, "is not a database"),
    "corrupt inside": (garbage_behind_the_head, "damaged"),
    "truncated": (cut_in_the_middle, "damaged"),
    "truncated to a few bytes": (cut_to_a_few_bytes, "is not a database"),
    "newer than us": (from_the_future, "newer knell (schema 9999"),
    "of another program": (of_another_program, "of another program"),
    "without a table": (without_its_tables, "not as knell left it"),
    "a directory": (a_directory, "is a directory"),
}
each_damage = pytest.mark.parametrize(("damage", "told"), DAMAGE.values(), ids=DAMAGE)


@pytest.fixture
def db(house: House) -> Path:
    """The database, once luna is on record, with no connection of ours open."""
    house.spawn(name="luna")
    house.knell.close()
    return house.state / "knell.db"


@each_damage
def test_one_error_and_nothing_is_lost(
    house: House, db: Path, damage: Callable[[Path], None], told: str
) -> None:
    pid = house.json("show", "luna")["pid"]
    good = db.read_bytes()
    damage(db)
    bad = db.read_bytes() if db.is_file() else b""
    for verb in (("events",), ("kill", "luna")):
        what, hint = complaint(house.run(*verb), FAILED)
        assert told in what
        assert str(db) in what
        assert hint
    assert (db.read_bytes() if db.is_file() else b"") == bad, "knell left it as it was"
    assert alive(pid)
    if db.is_dir():
        db.rmdir()
    db.write_bytes(good)
    [receipt] = house.json("kill", "luna")["receipts"]
    assert (receipt["result"], receipt["proof"]) == ("ended", "proven")


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_every_verb_says_it_in_the_same_way(house: House, db: Path, verb: tuple[str, ...]) -> None:
    good = db.read_bytes()
    cut_in_the_middle(db)
    complaint(house.run(*verb), FAILED)
    done = house.run(verb[0], "--json", *verb[1:]) if verb[0] != "run" else None
    if done:
        assert done.returncode == FAILED
        assert '"error": "StoreFailed"' in done.stdout
    db.write_bytes(good)
    assert [agent["name"] for agent in house.json("list", "--all")["agents"]] == ["luna"]


def test_doctor_says_it_and_goes_on(house: House, db: Path) -> None:
    good = db.read_bytes()
    cut_to_a_few_bytes(db)
    findings = {found["what"]: found for found in house.json("doctor")["findings"]}
    assert not findings["store"]["ok"]
    assert "is not a database" in findings["store"]["text"]
    assert findings["store"]["hint"]
    db.write_bytes(good)


def test_a_record_that_makes_no_sense_is_said_with_its_file(house: House, db: Path) -> None:
    changed(db, "UPDATE runs SET process = 'garbled'")
    what, _ = complaint(house.run("list"), FAILED)
    assert "cannot read" in what
    changed(db, "UPDATE runs SET process = ''")
    assert house.run("list", "--names").stdout == "luna\n"


def test_an_event_without_an_object_is_said_with_its_file(house: House, db: Path) -> None:
    """Before, `events` fell over it."""
    changed(db, "UPDATE events SET data = 'null'")
    what, _ = complaint(house.run("events"), FAILED)
    assert "cannot read" in what


@pytest.mark.parametrize("verb", ["show", "tree", "receipt", "resume"])
def test_a_run_whose_agent_has_no_row_is_no_agent(house: House, db: Path, verb: str) -> None:
    """Before, `show` and `tree` fell over it."""
    changed(db, "UPDATE agents SET name = 'other'")
    what, _ = complaint(house.run(verb, "luna"), FAILED)
    assert "luna" in what
    changed(db, "UPDATE agents SET name = 'luna'")


def test_a_run_whose_id_is_no_text_is_no_traceback(house: House, db: Path) -> None:
    """Before, every command fell over it."""
    [[id]] = sqlite3.connect(db).execute("SELECT id FROM runs").fetchall()
    changed(db, "UPDATE runs SET id = x''")
    done = house.run("kill", "--dry-run", "luna")
    assert "Traceback" not in done.stderr
    changed(db, f"UPDATE runs SET id = '{id}'")
    assert house.run("list", "--names").stdout == "luna\n"


def test_the_state_directory_is_a_file(house: House) -> None:
    house.env["KNELL_HOME"] = str(house.root / "file")
    (house.root / "file").touch()
    what, hint = complaint(house.run("list"), FAILED)
    assert "file" in what
    assert "KNELL_HOME" in hint


def test_a_state_directory_that_nobody_can_make(house: House) -> None:
    house.env["KNELL_HOME"] = "/proc/knell"
    what, hint = complaint(house.run("list"), FAILED)
    assert "cannot make /proc/knell" in what
    assert "KNELL_HOME" in hint
