"""A fleet that is set up wrongly: a clear error, a hint, no secret shown, and the host goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from fleets import Fleet
from hosts import Host
from house import House
from postgres import Database, free_port

SECRET = "hunter2-and-more"


def said(host: House, *words: str, code: int = 1) -> str:
    """What a person reads, of a command that fails with that code and a hint."""
    done = host.run(*words)
    text = done.stdout + done.stderr
    assert done.returncode == code, text
    assert "hint:" in text, text
    assert "Traceback" not in text
    assert SECRET not in text
    return text


def url_file(host: House, url: str, mode: int = 0o600) -> str:
    path = host.root / "url"
    path.write_text(url)
    path.chmod(mode)
    return str(path)


# -- the address -----------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["init", "join", "upgrade"])
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SECRET}@db.example/agents",
        f"postgres://ann:{SECRET}@db.example/agents?sslmode=odd",
        f"host=db.example password={SECRET}",
        f"postgresql://ann:{SECRET}%zz@db.example/agents",
    ],
)
def test_a_password_on_the_command_line_is_refused_and_never_shown(
    house: House, verb: str, url: str
) -> None:
    said(house, "fleet", verb, url, code=2)
    assert SECRET not in str(house.knell.world.store.events.read(0, "", 100))


@pytest.mark.parametrize("url", ["", "nonsense", "http://db.example", "postgresql://[", "a=b=c"])
def test_what_is_no_address_is_said_to_be_none(house: House, url: str) -> None:
    assert "PostgreSQL" in said(house, "fleet", "init", url, code=2) or not url


def test_a_database_that_is_not_there_is_named_without_the_password(house: House) -> None:
    url = f"postgresql://ann:{SECRET}@127.0.0.1:{free_port()}/agents"
    assert "127.0.0.1" in said(house, "fleet", "init", "--url-file", url_file(house, url))


def test_a_wrong_password_is_not_shown(house: House, database: Database) -> None:
    url = database.url_of("postgres", SECRET)
    assert "password" in said(house, "fleet", "init", "--url-file", url_file(house, url))


def test_a_file_with_the_address_that_others_can_read_is_refused(
    house: House, database: Database
) -> None:
    path = url_file(house, database.url, 0o644)
    assert "0644" in said(house, "fleet", "init", "--url-file", path)


def test_a_role_without_rights_is_told_which_it_needs(house: House, database: Database) -> None:
    database.sql(f"CREATE ROLE weak LOGIN PASSWORD '{SECRET}'")
    path = url_file(house, database.url_of("weak", SECRET))
    said(house, "fleet", "init", "--url-file", path)
    assert database.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'knell'") == []


# -- the schema: see test_schema.py ----------------------------------------------------------------


def test_a_database_without_a_fleet_is_said_to_have_none(house: House, database: Database) -> None:
    path = url_file(house, database.url)
    assert "fleet init" in said(house, "fleet", "join", "--url-file", path, "--as", "build-7")


def test_two_inits_at_once_make_one_fleet(fleet: Fleet) -> None:
    again = Host(fleet.root / "again", "again")
    path = url_file(again, fleet.database.url)
    both = [
        again.begin("fleet", "init", "--url-file", path, "--operator", f"o{n}") for n in range(3)
    ]
    assert [one.wait(300) for one in both] == [0, 0, 0]
    assert fleet.database.sql("SELECT count(*) FROM knell.meta") == [(1,)]


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["a@b", "", "-x", "a b", "ü", "a" * 200, "a/b", "x'; DROP ROLE y", "\x1b[1m"]
)
def test_a_name_that_no_host_can_have_is_refused(fleet: Fleet, name: str) -> None:
    host = Host(fleet.root / "odd", "odd")
    done = host.run("fleet", "join", "--url-file", url_file(host, fleet.database.url), "--as", name)
    if name:
        assert done.returncode == 2, done
        assert "hint:" in done.stderr
        assert "\x1b" not in done.stderr
        assert fleet.database.sql("SELECT 1 FROM knell.hosts") == []


def test_a_second_host_of_a_name_does_not_take_it(fleet: Fleet) -> None:
    first = fleet.join("build-7")
    before = (first.state / "fleet" / "link.json").read_text()
    other = Host(fleet.root / "other", "build-7")
    words = ("fleet", "join", "--url-file", url_file(other, fleet.database.url), "--as", "build-7")
    assert "build-7" in said(other, *words)
    assert not (other.state / "fleet" / "link.json").exists()
    assert (first.state / "fleet" / "link.json").read_text() == before
    fleet.unlink("build-7")
    fleet.link("build-7")  # its password still works


def test_long_names_that_begin_alike_get_roles_of_their_own(fleet: Fleet) -> None:
    names = [f"{'h' * 54}{number}" for number in range(2)]
    host = Host(fleet.root / "long", "long")
    path = url_file(host, fleet.database.url)
    codes = []
    for name in names:
        words = ("fleet", "join", "--url-file", path, "--as", name, "--save-to", f"{name}.json")
        codes.append(host.run(*words).returncode)
    rows = fleet.database.sql("SELECT name, role FROM knell.hosts ORDER BY 1")
    assert len({role for _, role in rows}) == len(rows)
    assert all(code in (0, 2) for code in codes)


def test_a_second_operator_of_a_name_does_not_take_it(fleet: Fleet) -> None:
    other = Host(fleet.root / "other", "other")
    path = url_file(other, fleet.database.url)
    assert "ann" in said(other, "fleet", "join", "--url-file", path, "--operator", "ann")
    fleet.json(fleet.boss, "fleet", "status")  # the first one's password still works


# -- targets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "code"),
    [("luna@nowhere", 1), ("luna@*", 2), ("@build-7", 2), ("luna@", 2), ("a@b@c", 2),
     ("session:x@build-7", 1), ("all@nowhere", 1), ("nobody@build-7", 1)],
)  # fmt: skip
def test_a_target_that_means_nothing_ends_nothing(fleet: Fleet, target: str, code: int) -> None:
    fleet.join("build-7", link=False)
    done = fleet.boss.run("kill", target, "--json")
    assert done.returncode == code, done
    assert json.loads(done.stdout)["ok"] is False
    assert fleet.orders() == []


def test_without_a_fleet_an_at_sign_says_how_to_get_one(house: House) -> None:
    assert "fleet" in said(house, "kill", "luna@build-7")
    assert "fleet" in said(house, "list", "--fleet")


def test_an_operator_without_a_key_gives_no_orders(fleet: Fleet) -> None:
    host = fleet.join("build-7")
    host.spawn(name="luna")
    fleet.await_agent("build-7", "luna")
    key = fleet.boss.state / "fleet" / "operator.key"
    away = key.rename(key.with_name("away"))
    said(fleet.boss, "kill", "luna@build-7")
    away.rename(key)
    key.chmod(0o644)
    assert "0644" in said(fleet.boss, "kill", "luna@build-7")
    assert fleet.orders() == []
    assert host.knell.world.store.runs.of("luna")[0].live


def test_no_secret_is_shown_by_what_looks(fleet: Fleet) -> None:
    host = fleet.join("build-7")
    given: Any = json.loads((host.state / "fleet" / "link.json").read_text())
    secret = given["conninfo"].partition("password=")[2].split()[0]
    assert len(secret) > 16
    for words in (("fleet", "status"), ("fleet", "key", "list"), ("doctor",), ("events",)):
        for more in ((), ("--json",)):
            done = host.run(*words, *more)
            assert secret not in done.stdout + done.stderr, words
    link = fleet.links["build-7"]
    assert secret not in Path(f"/proc/{link.pid}/cmdline").read_text()
    assert secret.encode() not in Path(f"/proc/{link.pid}/environ").read_bytes()
