"""What the roles of hosts and operators can do in the database, attacked one by one.

`psycopg` talks to the database here as an attacker would who has stolen a host's credentials.
"""

import contextlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from fleets import Fleet, fleet_on
from postgres import Database

HOST_FUNCTIONS = ("hello", "bye", "lease", "publish", "waiting", "take", "finish")
INVOKED = ("order_json", "prune", "take_out")  # only from within, or by the owner
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'knell'"
FUNCTIONS = """
SELECT p.proname, p.prosecdef, p.proconfig, p.oid::regprocedure::text
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'knell'
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two hosts without links: only their roles matter here."""
    from postgres import cluster

    with (
        cluster().database() as database,
        fleet_on(database, tmp_path_factory.mktemp("fleet")) as one,
    ):
        for name in ("mine", "other"):
            one.join(name, link=False)
        yield one


def conninfo(fleet: Fleet, host: str) -> str:
    return json.loads((fleet.hosts[host].state / "fleet" / "link.json").read_text())["conninfo"]


@contextlib.contextmanager
def connected(where: str) -> "Iterator[psycopg.Connection[Any]]":
    with contextlib.closing(psycopg.connect(where, autocommit=True)) as conn:
        yield conn


@pytest.fixture
def thief(fleet: Fleet) -> "Iterator[psycopg.Connection[Any]]":
    """Whoever has the credentials of the host `mine`, and its name as a link."""
    with connected(conninfo(fleet, "mine")) as conn:
        yield conn


@pytest.fixture
def operator(fleet: Fleet) -> "Iterator[psycopg.Connection[Any]]":
    given = json.loads((fleet.boss.state / "fleet" / "operator.json").read_text())
    with connected(given["conninfo"]) as conn:
        yield conn


def refused(conn: "psycopg.Connection[Any]", statement: str, *values: Any) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        conn.execute(statement.encode(), values or None)
    return caught.value


def hello(conn: "psycopg.Connection[Any]", incarnation: str, **more: Any) -> dict[str, Any]:
    told = {"incarnation": incarnation, "boot": "b", "epoch": "e", "start_event": 0, "version": "0",
            "start_receipt": 0, "key": "", "clock": 0.0, "seat": "s"} | more  # fmt: skip
    return conn.execute("SELECT knell.hello(%s)", [json.dumps(told)]).fetchall()[0][0]


def an_order(fleet: Fleet, host: str) -> str:
    """An order to that host, as anybody may insert one who can write to the database."""
    id = str(uuid.uuid4())
    fleet.database.sql(
        "INSERT INTO knell.orders (id, host, body, signature, issued_by, expires_at)"
        " VALUES (%s, %s, 'secret words', '', 'postgres', now() + interval '1 hour')", id, host,
    )  # fmt: skip
    return id


# -- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["thief", "operator"])
def test_nobody_reads_or_writes_a_table(fleet: Fleet, request: Any, who: str) -> None:
    conn = request.getfixturevalue(who)
    tables = [name for (name,) in fleet.database.sql(TABLES)]
    assert len(tables) >= 8
    for name in tables:
        for statement in (
            f"SELECT * FROM knell.{name}", f"DELETE FROM knell.{name}", f"TRUNCATE knell.{name}",
            f"COPY knell.{name} TO STDOUT",
        ):  # fmt: skip
            error = refused(conn, statement)
            assert isinstance(error, psycopg.errors.InsufficientPrivilege), (statement, error)


def test_row_security_is_the_second_wall(fleet: Fleet, thief: "psycopg.Connection[Any]") -> None:
    """Somebody grants rights on a table by mistake: a host still sees only its own rows."""
    an_order(fleet, "other")
    mine = an_order(fleet, "mine")
    fleet.database.sql("GRANT ALL ON knell.orders, knell.hosts, knell.agents TO knell_host")
    try:
        ids = thief.execute("SELECT id::text FROM knell.orders").fetchall()
        assert (mine,) in ids
        assert thief.execute("SELECT DISTINCT host FROM knell.orders").fetchall() == [("mine",)]
        assert thief.execute("UPDATE knell.orders SET body = 'x'").rowcount == len(ids)
        assert thief.execute("DELETE FROM knell.hosts WHERE name = 'other'").rowcount == 0
        refused(thief, "INSERT INTO knell.agents VALUES ('other', 'x', '', true, '', '', '{}')")
    finally:
        fleet.database.sql("REVOKE ALL ON knell.orders, knell.hosts, knell.agents FROM knell_host")


def test_every_table_has_row_security(fleet: Fleet) -> None:
    without = fleet.database.sql(
        "SELECT relname FROM pg_class WHERE relnamespace = 'knell'::regnamespace"
        " AND relkind IN ('r', 'p') AND NOT relrowsecurity AND NOT relispartition"
    )
    assert without == []


# -- functions -------------------------------------------------------------------------------------


def test_every_function_is_closed_to_the_public_and_fixes_where_it_looks(fleet: Fleet) -> None:
    open_ = fleet.database.sql(
        "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'knell'::regnamespace"
        " AND has_function_privilege('public', oid, 'execute')"
    )
    assert open_ == []
    for name, definer, settings, _ in fleet.database.sql(FUNCTIONS):
        path = next((one for one in settings or () if one.startswith("search_path=")), "")
        assert path.endswith("pg_temp"), f"{name} looks into temporary tables first: {path}"
        assert definer or "knell" not in path or name in INVOKED, name


def test_a_temporary_table_does_not_stand_in_for_a_real_one(
    fleet: Fleet, thief: "psycopg.Connection[Any]"
) -> None:
    """If a host may make one at all, the functions do not see it."""
    with contextlib.suppress(psycopg.Error):
        thief.execute("CREATE TEMP TABLE operators (role name, name text)")
        thief.execute("INSERT INTO operators VALUES (session_user, 'thief')")
        thief.execute("CREATE TEMP TABLE hosts (name text, role name, left_at timestamptz)")
        thief.execute("INSERT INTO hosts VALUES ('other', session_user, NULL)")
    assert thief.execute("SELECT knell.is_operator()").fetchall() == [(False,)]
    assert thief.execute("SELECT knell.my_host()").fetchall() == [("mine",)]


def test_a_host_sees_nothing_of_the_fleet(thief: "psycopg.Connection[Any]") -> None:
    for call in ("fleet_hosts()", "fleet_runs('{}')", "fleet_counts('{}')", "room()",
                 "fleet_events('{\"limit\": 9}')", "fleet_list('{}')", "take_out('other')",
                 "signed_receipt('other', 'x')", "prune('0', false)"):  # fmt: skip
        refused(thief, f"SELECT knell.{call}")


def test_an_operator_is_no_host(operator: "psycopg.Connection[Any]") -> None:
    for call in ("hello('{}')", "bye('')", "lease('', 0)", "publish('', '{}')", "waiting('')",
                 f"take('', '{uuid.uuid4()}')", f"finish('', '{uuid.uuid4()}', 'done', '{{}}')",
                 "prune('0', false)"):  # fmt: skip
        refused(operator, f"SELECT knell.{call}")


def test_a_host_neither_reads_nor_takes_the_orders_of_another(
    fleet: Fleet, thief: "psycopg.Connection[Any]"
) -> None:
    theirs, mine = an_order(fleet, "other"), an_order(fleet, "mine")
    hello(thief, "i")
    shown = thief.execute("SELECT knell.waiting('i')").fetchall()[0][0]["orders"]
    assert theirs not in str(shown)
    assert mine in str(shown)
    assert thief.execute("SELECT knell.take('i', %s)", [theirs]).fetchall() == [("unknown",)]
    done = thief.execute("SELECT knell.finish('i', %s, 'done', '{}')", [theirs]).fetchall()
    assert done == [("unknown",)]
    assert thief.execute("SELECT knell.cancel(%s)", [theirs]).fetchall() == [("unknown",)]
    assert thief.execute("SELECT knell.answers(%s)", [[theirs]]).fetchall() == [([],)]
    state = fleet.database.sql("SELECT state, answer FROM knell.orders WHERE id = %s", theirs)
    assert state == [("issued", None)]


def test_a_host_publishes_only_itself(fleet: Fleet, thief: "psycopg.Connection[Any]") -> None:
    hello(thief, "i")
    row = {"name": "x", "run": "r", "host": "other", "state": "running", "tag": "", "team": ""}
    told = {"epoch": "e", "agents": [row], "host": "other"}
    thief.execute("SELECT knell.publish('i', %s)", [json.dumps(told)])
    assert fleet.database.sql("SELECT host FROM knell.agents WHERE name = 'x'") == [("mine",)]
    listed = fleet.json(fleet.boss, "list", "--fleet")["agents"]
    assert [(one["name"], one["host"]) for one in listed] == [("x", "mine")]


# -- becoming somebody else ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "SET ROLE postgres", "SET SESSION AUTHORIZATION postgres", "SET ROLE knell_operator",
        'SET ROLE "knell_h_other"', "CREATE ROLE more", "ALTER ROLE postgres PASSWORD 'x'",
        "ALTER ROLE \"knell_h_other\" PASSWORD 'x'", "GRANT knell_operator TO knell_host",
        "CREATE SCHEMA more", "CREATE TABLE public.more ()", "CREATE TABLE knell.more ()",
        "CREATE OR REPLACE FUNCTION knell.my_host() RETURNS text LANGUAGE sql RETURN 'other'",
        "CREATE EXTENSION dblink", "COPY (SELECT 1) TO PROGRAM 'id'",
        "SELECT pg_read_file('postgresql.conf')", "ALTER SYSTEM SET log_statement = 'all'",
        "SELECT rolpassword FROM pg_authid",
    ],
)  # fmt: skip
def test_a_host_becomes_nobody_else(thief: "psycopg.Connection[Any]", statement: str) -> None:
    refused(thief, statement)


def test_the_groups_cannot_log_in(fleet: Fleet) -> None:
    rows = fleet.database.sql(
        "SELECT rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls"
        " FROM pg_roles WHERE rolname LIKE 'knell%' ORDER BY 1"
    )
    assert [row[0] for row in rows if not row[1]] == ["knell_host", "knell_operator"]
    assert not any(any(row[2:]) for row in rows), rows


def test_another_fleet_in_the_same_cluster_is_closed_to_this_hosts_role(
    fleet: Fleet, tmp_path: Path
) -> None:
    from postgres import cluster

    with cluster().database() as second, fleet_on(second, tmp_path) as other:
        other.join("third", link=False)
        where = conninfo(fleet, "mine").replace(fleet.database.name, second.name)
        with connected(where) as conn:
            refused(conn, 'SELECT knell.hello(\'{"incarnation": "i"}\')')
            error = refused(conn, "SELECT knell.fleet_hosts()")
            assert "other" not in str(error)


def test_the_password_of_a_role_is_kept_only_as_a_verifier(
    database: Database, tmp_path: Path
) -> None:
    """Also in the log of a server that writes down every statement."""
    log = database.server.place / "log"
    database.sql("ALTER SYSTEM SET log_statement = 'all'")
    database.sql("SELECT pg_reload_conf()")
    try:
        with fleet_on(database, tmp_path) as one:
            one.join("build-7", link=False)
            for file in (one.hosts["build-7"].state / "fleet" / "link.json",
                         one.boss.state / "fleet" / "operator.json"):  # fmt: skip
                secret = conninfo_to_dict(json.loads(file.read_text())["conninfo"])
                assert len(str(secret["password"])) > 16
                assert str(secret["password"]) not in log.read_text()
    finally:
        database.sql("ALTER SYSTEM RESET log_statement")
        database.sql("SELECT pg_reload_conf()")
