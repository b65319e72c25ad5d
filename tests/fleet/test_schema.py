"""A schema that is older, half applied, newer or somebody else's: said with what to do, left as it
is, and the host goes on alone."""

import contextlib
import re
import threading
from typing import Any, NamedTuple

import pytest

from fleets import Fleet
from hosts import Host
from house import eventually
from knell.core.errors import FleetFailed
from knell.fleet import schema
from knell.fleet.schema import MAJOR, MINOR
from knell.fleet.wire import Wire
from postgres import Database

OLDER = f"{MAJOR}.{MINOR - 1}"
FINGERPRINT = (
    "SELECT relname, relnatts FROM pg_class WHERE relnamespace = 'knell'::regnamespace ORDER BY 1"
)


class Wrong(NamedTuple):
    """A schema that cannot be used, and the words that each who meets it says."""

    made_by: tuple[str, ...]
    owner: str  # init, join and upgrade say
    link: str
    asker: str
    hint: str = "fleet upgrade"  # what the link and the asker are told to do


SCHEMAS = {
    "newer": Wrong(
        ("UPDATE knell.meta SET major = 99",), "99.", "99.", "99.", "upgrade knell on this"),
    "without a version": Wrong(
        ("DELETE FROM knell.meta",), "half applied", "half applied", "half applied", "restore"),
    "without a table": Wrong(
        ("DROP TABLE knell.agents CASCADE",), "lacks", "half applied", "half applied"),
    "without a function that all call": Wrong(
        ("DROP FUNCTION knell.schema_of()",), "lacks schema_of", "half applied", "half applied"),
    "without a function that the link calls": Wrong(
        ("DROP FUNCTION knell.publish",), "lacks publish", "half applied", ""),
    "without a function that the asker calls": Wrong(
        ("DROP FUNCTION knell.fleet_list",), "lacks fleet_list", "", "half applied"),
    "somebody else's": Wrong(
        ("DROP SCHEMA knell CASCADE", "CREATE SCHEMA knell", "CREATE TABLE knell.x ()"),
        "somebody else's", "does not let this role in", "does not let this role in", "fleet join"),
    "gone": Wrong(("DROP SCHEMA knell CASCADE",), "", "missing", "missing"),
    "of another fleet": Wrong(
        ("UPDATE knell.meta SET fleet = gen_random_uuid()",), "", "another fleet's",
        "another fleet's", "fleet join"),
}  # fmt: skip


def owner_says(fleet: Fleet, *words: str) -> str:
    done = fleet.boss.run("fleet", words[0], "--url-file", str(fleet.url), *words[1:])
    assert done.returncode == 1, done
    assert "hint:" in done.stderr, done
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("what", SCHEMAS)
def test_a_schema_that_cannot_be_used_is_said_and_left_alone(fleet: Fleet, what: str) -> None:
    wrong, host = SCHEMAS[what], fleet.join("build-7", link=False)
    for statement in wrong.made_by:
        fleet.database.sql(statement)
    there = fleet.database.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'knell'")
    before = fleet.database.sql(FINGERPRINT) if there else []
    if wrong.owner:
        for words in (("init",), ("join", "--as", "build-8"), ("upgrade",)):
            assert wrong.owner in owner_says(fleet, *words)
        assert fleet.database.sql(FINGERPRINT) == before, "it is as it was"
    link = fleet.begin_link("build-7")
    heard = fleet.hear(link, "not linked" if wrong.link else "linked as")
    assert wrong.link in heard
    assert not wrong.link or wrong.hint in heard, "the link says what to do"
    for words in asks(what) if wrong.asker else ():
        done = fleet.boss.run(*words)
        said = done.stdout + done.stderr
        assert (done.returncode, "Traceback" in said) == (1, False), said
        assert wrong.asker in said, said
        assert wrong.hint in said, said
    goes_on_alone(host)
    assert link.poll() is None


def asks(what: str) -> tuple[tuple[str, ...], ...]:
    """Those that meet it; an order and the state of the hosts need no list."""
    listed = ("list", "--fleet")
    return (listed,) if "asker" in what else (listed, ("kill", "luna@build-7"), ("fleet", "status"))


def goes_on_alone(host: Host) -> None:
    host.spawn(name="nova")
    assert host.run("list").returncode == 0
    assert host.run("kill", "nova").returncode == 0


# -- older, and brought up to date -----------------------------------------------------------------


def as_before(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema as the version before this one made it, with its hosts and operators."""
    kept: dict[str, list[Any]] = {}
    for table in ("hosts", "operators"):
        kept[table] = fleet.database.sql(f"SELECT to_jsonb(t)::text FROM knell.{table} t")
    [(name,)] = fleet.database.sql("SELECT fleet::text FROM knell.meta")
    fleet.database.sql("DROP SCHEMA knell CASCADE")
    files = schema.migrations()
    monkeypatch.setattr(schema, "migrations", lambda: files[: MINOR - 1])
    with contextlib.closing(Wire(fleet.database.url)) as wire:
        schema.bring_up_to_date(wire)
    monkeypatch.undo()
    fleet.database.sql("UPDATE knell.meta SET fleet = %s", name)
    for table, rows in kept.items():
        read = f"jsonb_populate_record(NULL::knell.{table}, %s)"
        insert = f"INSERT INTO knell.{table} SELECT * FROM {read}"
        for (row,) in rows:
            fleet.database.sql(insert, row)


def test_an_older_schema_is_named_and_one_word_brings_it_up_to_date(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a link that waits meanwhile, and takes up its work by itself."""
    host = fleet.join("build-7", link=False)
    host.spawn(name="luna")
    as_before(fleet, monkeypatch)
    assert fleet.database.sql("SELECT minor FROM knell.meta") == [(MINOR - 1,)]
    link = fleet.begin_link("build-7")
    heard = fleet.hear(link, "not linked")
    assert OLDER in heard
    assert "knell fleet upgrade URL" in heard
    never = "SELECT 1 FROM knell.hosts WHERE incarnation != '' OR seen_at IS NOT NULL"
    assert fleet.database.sql(never) == [], "who cannot take orders is not shown as heard"
    for words in (("list", "--fleet"), ("kill", "luna@build-7"), ("orders",)):
        done = fleet.boss.run(*words)
        assert (done.returncode, OLDER in done.stderr) == (1, True), done
        assert "knell fleet upgrade URL" in done.stderr
    assert fleet.orders() == []
    assert OLDER in owner_says(fleet, "join", "--as", "build-8")
    goes_on_alone(host)
    up = fleet.json(fleet.boss, "fleet", "upgrade", "--url-file", str(fleet.url))
    assert (up["major"], up["minor"]) == (MAJOR, MINOR)
    fleet.hear(link, "linked as")
    fleet.await_agent("build-7", "luna")
    [receipt] = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "200")["receipts"]
    assert receipt["result"] == "ended"


def test_a_newer_minor_version_is_used_as_before(fleet: Fleet) -> None:
    """Expand, then contract: whoever is not upgraded yet goes on."""
    fleet.database.sql("UPDATE knell.meta SET minor = 99")
    host = fleet.join("build-7")
    host.spawn(name="luna")
    fleet.await_agent("build-7", "luna")
    [receipt] = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "200")["receipts"]
    assert receipt["result"] == "ended"


def test_an_upgrade_that_fails_in_the_middle_leaves_nothing_half_applied(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_before(fleet, monkeypatch)
    before = fleet.database.sql(FINGERPRINT)
    fleet.database.sql("CREATE FUNCTION knell.leave() RETURNS int LANGUAGE sql RETURN 1")
    assert "already exists" in owner_says(fleet, "upgrade")
    assert fleet.database.sql(FINGERPRINT) == before
    assert fleet.database.sql("SELECT minor FROM knell.meta") == [(MINOR - 1,)]
    fleet.database.sql("DROP FUNCTION knell.leave()")
    fleet.json(fleet.boss, "fleet", "upgrade", "--url-file", str(fleet.url))


def test_an_init_whose_connection_ends_in_the_middle_leaves_nothing(database: Database) -> None:
    """The server ends it while it waits behind another one that makes the same schema."""
    waits = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE wait_event = 'advisory' AND datname = current_database()"
    )
    with contextlib.closing(database.connect()) as first:
        first.execute("SELECT pg_advisory_lock(7236970)")
        wire, failed = Wire(database.url), []

        def make() -> None:
            try:
                schema.bring_up_to_date(wire)
            except FleetFailed as error:
                failed.append(error)

        making = threading.Thread(target=make)
        making.start()
        eventually(lambda: database.sql(waits))
        making.join()
    wire.close()
    assert len(failed) == 1
    assert database.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'knell'") == []


def test_the_version_that_is_needed_is_the_newest_file() -> None:
    numbers = [number for number, _ in schema.migrations()]
    assert numbers == list(range(1, MINOR + 1))


def test_every_migration_is_known_by_what_it_makes() -> None:
    """Or a schema without it would pass for whole."""
    for number, text in schema.migrations():
        made = re.findall(r"CREATE (?:OR REPLACE )?(?:TABLE|FUNCTION) (knell\.\w+)", text)
        assert {f"knell.{name}" for name in schema.MADE.findall(text)} == {*made}, number
