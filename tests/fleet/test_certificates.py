"""Hosts and operators who log in by certificates of a private authority, as docs/fleet.md says it:
the page's own commands are run. A wrong certificate is refused in words."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleets import Fleet
from hosts import Host
from house import House
from postgres import HBA, PASSWORD, Cluster, Database, handed_to_server

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fleet.md"
HERE = "tests/fleet/test_certificates.py"
COMMAND = re.compile(r"^([a-z0-9-]+)\$ knell (.+)$")


def block(kind: str) -> str:
    """The block of that kind that the page keeps for these tests."""
    text = PAGE.read_text("utf-8")
    [found] = re.findall(
        rf"<!-- \w+ by {HERE} -->\n```{kind}\n(.*?)^```", text, re.DOTALL | re.MULTILINE
    )
    return found


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The authority of the page, what it signed, and what another one signed for the same names."""
    folder = tmp_path_factory.mktemp("papers")
    make = block("sh").replace("DNS:$1", "IP:127.0.0.1,DNS:$1")
    for place in (folder, folder / "others"):
        place.mkdir(exist_ok=True)
        subprocess.run(
            ["bash", "-euc", make + "certificate knell_h_build-8\n"], cwd=place, check=True,
            capture_output=True, timeout=120,
        )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def server(papers: Path) -> Iterator[Cluster]:
    """With the settings of the page."""
    one = Cluster()
    for name in ("db.example.crt", "db.example.key", "ca.crt"):
        shutil.copy(papers / name, one.data / name)
    settings, _, hba = block("text").partition("# pg_hba.conf\n")
    with (one.data / "postgresql.conf").open("a") as file:
        file.write(settings)
    (one.data / "pg_hba.conf").write_text(hba + HBA.format(how="scram-sha-256"))
    handed_to_server(one.data)
    one.stop()
    one.start()
    yield one
    one.close()


class Scene:
    """The machines of the page."""

    def __init__(self, root: Path, papers: Path, database: Database) -> None:
        self.fleet, self.papers = Fleet(database, root), papers
        self.machines: dict[str, Host] = {"desk": self.fleet.boss}
        for name in ("bea", "build-7", "build-8"):
            host = self.machines[name] = self.fleet.hosts[name] = Host(root / name, name)
            for paper in papers.glob("*.*"):
                shutil.copy(paper, host.root)
        self.key = ""

    def run(self, machine: str, words: str) -> "subprocess.CompletedProcess[str]":
        database = self.fleet.database
        there = f"127.0.0.1:{database.server.port}/{database.name}"
        told = words.replace("db.example/agents", there).replace("ed25519:KEY", self.key)
        host = self.machines[machine]
        owners = {"PGPASSWORD": PASSWORD} if machine == "desk" else {}
        return host.run(*shlex.split(told), env=host.env | owners, cwd=host.root)

    def follow_page(self) -> None:
        for line in block("console").splitlines():
            found = COMMAND.match(line)
            assert found, line
            done = self.run(found[1], found[2])
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            if found[1] == "bea":
                self.key = re.findall(r"ed25519:\S+", done.stdout)[0]


@pytest.fixture
def scene(house: House, papers: Path, server: Cluster) -> Iterator[Scene]:
    with server.database() as database:
        one = Scene(house.root, papers, database)
        house.at_end.callback(one.fleet.close)
        yield one
        house.at_end.close()


def test_the_page_makes_a_host_and_an_operator_without_a_password(scene: Scene) -> None:
    scene.follow_page()
    host, bea = scene.machines["build-7"], scene.machines["bea"]
    for file in (host.state / "fleet" / "link.json", bea.state / "fleet" / "operator.json"):
        assert "password" not in file.read_text()
    scene.fleet.link("build-7")  # from wherever it is started
    host.spawn(name="luna")
    scene.fleet.await_agent("build-7", "luna")
    [receipt] = scene.fleet.json(bea, "kill", "luna@build-7", "--wait", "200")["receipts"]
    assert (receipt["result"], receipt["by"]) == ("ended", "operator:bea")
    [(how,)] = scene.fleet.database.sql(
        "SELECT client_dn FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
        " WHERE usename = 'knell_h_build-7'"
    )
    assert how == "/CN=knell_h_build-7"


WRONG = {
    "of another role": (
        "sslcert=knell_o_bea.crt&sslkey=knell_o_bea.key&sslrootcert=ca.crt",
        "certificate authentication failed"),
    "of another host": (
        "sslcert=knell_h_build-8.crt&sslkey=knell_h_build-8.key&sslrootcert=ca.crt",
        "certificate authentication failed"),
    "signed by another authority": (
        "sslcert=others/knell_h_build-7.crt&sslkey=others/knell_h_build-7.key&sslrootcert=ca.crt",
        "unknown ca"),
    "none": ("sslcert=none.crt&sslkey=none.key&sslrootcert=ca.crt", "valid client certificate"),
    "with a key that others can read": (
        "sslcert=knell_h_build-7.crt&sslkey=open.key&sslrootcert=ca.crt", "group or world access"),
    "with another's key": (
        "sslcert=knell_h_build-7.crt&sslkey=knell_o_bea.key&sslrootcert=ca.crt", "match"),
    "for a server of another authority": (
        "sslcert=knell_h_build-7.crt&sslkey=knell_h_build-7.key&sslrootcert=others/ca.crt",
        "certificate verify failed"),
}  # fmt: skip


def test_a_wrong_certificate_is_refused_and_the_host_goes_on_alone(scene: Scene) -> None:
    scene.follow_page()
    host = scene.machines["build-7"]
    shutil.copytree(scene.papers / "others", host.root / "others")
    shutil.copy(scene.papers / "knell_h_build-7.key", host.root / "open.key")
    (host.root / "open.key").chmod(0o644)
    kept = (host.state / "fleet" / "link.json").read_text()
    for name, (papers, words) in WRONG.items():
        url = f"postgresql://knell_h_build-7@db.example/agents?sslmode=verify-full&{papers}"
        done = scene.run("build-7", f"fleet join '{url}' --as build-7")
        assert done.returncode == 1, name
        assert words in done.stderr, (name, done.stderr)
        assert "hint:" in done.stderr
        assert (host.state / "fleet" / "link.json").read_text() == kept
    # The link whose certificate is replaced by another's says so too.
    for end in ("crt", "key"):
        shutil.copy(host.root / f"knell_o_bea.{end}", host.root / f"knell_h_build-7.{end}")
    link = scene.fleet.begin_link("build-7")
    assert "certificate authentication failed" in scene.fleet.hear(link, "not linked")
    host.spawn(name="nova")
    assert host.run("kill", "nova").returncode == 0


def test_a_certificate_is_for_one_host_only(scene: Scene) -> None:
    scene.follow_page()
    mine = "sslcert=knell_h_build-7.crt&sslkey=knell_h_build-7.key&sslrootcert=ca.crt"
    url = f"postgresql://knell_h_build-7@db.example/agents?sslmode=verify-full&{mine}"
    done = scene.run("build-7", f"fleet join '{url}' --as build-8")
    assert (done.returncode, "of host 'build-7'" in done.stderr) == (1, True), done
    bea = "sslcert=knell_o_bea.crt&sslkey=knell_o_bea.key&sslrootcert=ca.crt"
    url = f"postgresql://knell_o_bea@db.example/agents?sslmode=verify-full&{bea}"
    done = scene.run("bea", f"fleet join '{url}' --operator ann")
    assert (done.returncode, "of operator 'bea'" in done.stderr) == (1, True), done


def test_a_password_does_not_stand_in_for_a_certificate(scene: Scene) -> None:
    scene.follow_page()
    scene.fleet.database.sql("ALTER ROLE \"knell_h_build-7\" PASSWORD 'known'")
    url = "postgresql://knell_h_build-7@db.example/agents?sslmode=require"
    host = scene.machines["build-7"]
    told = f"fleet join '{url}' --as build-7".replace(
        "db.example/agents",
        f"127.0.0.1:{scene.fleet.database.server.port}/{scene.fleet.database.name}",
    )
    done = host.run(*shlex.split(told), env={**host.env, "PGPASSWORD": "known"})
    assert (done.returncode, "certificate" in done.stderr) == (1, True), done
