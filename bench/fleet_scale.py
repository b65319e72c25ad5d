"""Measures a fleet: a thousand simulated hosts with twenty agents each on one PostgreSQL.

The hosts are simulated in a few processes (simulated_hosts.py) beside the database, on the same
machine, so its cores are shared; the database's own load is counted apart. The database syncs to
the disk, as a real one does.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from workshop import spread

from house import House, eventually, pause
from knell import Knell
from knell.fleet.keys import make_key
from knell.fleet.private_files import FleetFiles
from postgres import PASSWORD, SUPERUSER, Cluster

HERE = Path(__file__).resolve().parent
PROCESSES = 4
SECRET = "of every simulated host"
TICK = os.sysconf("SC_CLK_TCK")
CEILING = 300.0  # seconds for the slowest thing
SETTINGS = """\
max_connections = {connections}
fsync = on
full_page_writes = on
shared_buffers = 256MB
max_wal_size = 1GB
autovacuum_naptime = 15s
"""


class FleetScale(NamedTuple):
    hosts: int = 1000
    agents: int = 20
    kills: int = 40
    idle_s: float = 60.0


def scale_figures(house: House, scale: FleetScale) -> dict[str, Any]:
    """Every figure of the part; `house` is the operator's home."""
    with database_for(scale) as (server, name):
        fleet = make_fleet(house, server, name)
        roles_for(server, name, scale)
        with crowd(house, server, name, scale, fleet) as hosts:
            return {"hosts": scale.hosts, "agents": scale.agents} | measures(
                Measured(house, server, name, scale, hosts)
            )


# -- setting it up ---------------------------------------------------------------------------------


@contextlib.contextmanager
def database_for(scale: FleetScale) -> Iterator[tuple[Cluster, str]]:
    server = Cluster(SETTINGS.format(connections=scale.hosts + 100), folder=tempfile.gettempdir())
    try:
        server.sql("CREATE DATABASE fleet")
        yield server, "fleet"
    finally:
        server.close()


def make_fleet(house: House, server: Cluster, database: str) -> str:
    url = house.root / "url"
    url.write_text(server.url(database, SUPERUSER, PASSWORD))
    url.chmod(0o600)
    made = house.json("fleet", "init", "--url-file", str(url), "--operator", "bench")
    house.json("fleet", "key", "trust", made["key"])
    make_key(FleetFiles(str(house.state / "fleet")).host_key)  # the simulated hosts share it
    return made["fleet"]


def roles_for(server: Cluster, database: str, scale: FleetScale) -> None:
    """As `fleet join` makes them, but a thousand at once and with one password."""
    with contextlib.closing(server.connect(database)) as conn:
        for name in names_of(scale):
            role = f"knell_h_{name}"
            conn.execute(
                f"CREATE ROLE \"{role}\" LOGIN PASSWORD '{SECRET}' IN ROLE knell_host".encode()
            )
            conn.execute("INSERT INTO knell.hosts (name, role) VALUES (%s, %s)", (name, role))


def names_of(scale: FleetScale) -> list[str]:
    return [f"h{number:04d}" for number in range(scale.hosts)]


def model_life(house: House) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `list` and `kill` say of a real agent: the rows of the simulated ones are as large."""
    house.spawn(name="model", tag="night")
    [view] = house.json("list")["agents"]
    [receipt] = house.json("kill", "model")["receipts"]
    return view, receipt


class Hosts:
    """The processes of the crowd."""

    def __init__(self, processes: list["subprocess.Popen[str]"]) -> None:
        self.processes = processes

    def ask(self, *words: str, share: bool = False) -> list[dict[str, Any]]:
        """Every process obeys; with `share`, the last word is a number that they divide."""
        told = list(words)
        if share:
            told[-1] = str(int(words[-1]) // len(self.processes))
        for one in self.processes:
            assert one.stdin
            one.stdin.write(" ".join(told) + "\n")
            one.stdin.flush()
        return [json.loads(one.stdout.readline()) for one in self.processes if one.stdout]

    def linked(self) -> int:
        return sum(one["linked"] for one in self.ask("look"))


@contextlib.contextmanager
def crowd(
    house: House, server: Cluster, database: str, scale: FleetScale, fleet: str
) -> Iterator[Hosts]:
    view, receipt = model_life(house)
    words = {
        "host": "127.0.0.1",
        "port": server.port,
        "dbname": database,
        "password": f"'{SECRET}'",
    }
    where = " ".join(f"{key}={value}" for key, value in words.items()) + " user={role}"
    plan = {"conninfo": where, "fleet": fleet, "folder": str(house.state / "fleet"),
            "agents": scale.agents, "view": view, "receipt": receipt}  # fmt: skip
    names, processes = names_of(scale), []
    for number in range(PROCESSES):
        file = house.root / f"plan-{number}.json"
        file.write_text(json.dumps(plan | {"names": names[number::PROCESSES]}))
        file.chmod(0o600)
        processes.append(
            subprocess.Popen(
                [sys.executable, str(HERE / "simulated_hosts.py"), str(file)], env=house.env,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
    try:
        yield Hosts(processes)
    finally:
        for one in processes:
            one.kill()
            one.communicate()


# -- measuring -------------------------------------------------------------------------------------


class Measured:
    """The fleet while it is measured."""

    def __init__(
        self, house: House, server: Cluster, database: str, scale: FleetScale, hosts: Hosts
    ) -> None:
        self.house, self.server, self.database = house, server, database
        self.scale, self.hosts = scale, hosts
        self.knell = Knell(env=house.env)

    def sql(self, statement: str) -> list[Any]:
        return self.server.sql(statement, database=self.database)

    def count(self, which: str) -> int:
        return self.sql(f"SELECT count(*) FROM knell.{which}")[0][0]

    def until(self, fact: Callable[[], bool]) -> float:
        begun = time.monotonic()
        eventually(fact, CEILING)
        return round(time.monotonic() - begun, 2)

    def all_live(self, crew: int) -> bool:
        """Whether the mirror shows the new runs of all agents: an order names what is there."""
        shown = self.count(f"agents WHERE live AND tag = 'crew-{crew}'")
        return shown >= self.scale.hosts * self.scale.agents


def measures(one: Measured) -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["joined_s"] = one.until(lambda: one.hosts.linked() == one.scale.hosts and one.all_live(1))
    found["idle"] = idle(one)
    found["cost"] = cost(one)
    found["kill_one_ms"] = kill_one(one)
    found["command_ms"] = commands(one)
    one.hosts.ask("again")
    one.until(lambda: one.all_live(2))
    found["kill_all"] = kill_all(one)
    one.hosts.ask("again")
    one.until(lambda: one.all_live(3))
    found["cut"] = cut_and_back(one)
    return found


def idle(one: Measured) -> dict[str, float]:
    """Cores that the database takes while nothing happens but signs of life."""
    before, begun = cpu_s(one.server), time.monotonic()
    transactions = transactions_of(one)
    pause(one.scale.idle_s)
    took = time.monotonic() - begun
    used = cpu_s(one.server) - before
    done = transactions_of(one) - transactions
    return {"cores": round(used / took, 3), "seconds": round(took, 1),
            "transactions_a_s": round(done / took)}  # fmt: skip


def cpu_s(server: Cluster) -> float:
    """Seconds of processor that the server's processes have used, the ended ones as well."""
    total = 0
    for pid in server.processes():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            own, ended = fields[11:13], fields[13:15] if pid == server.pid else []
            total += sum(map(int, own + ended))
    return total / TICK


def transactions_of(one: Measured) -> int:
    one.sql("SELECT pg_stat_clear_snapshot()")
    where = f"pg_stat_database WHERE datname = '{one.database}'"
    return one.sql(f"SELECT xact_commit + xact_rollback FROM {where}")[0][0]


def cost(one: Measured) -> dict[str, Any]:
    tables = (
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'knell'"
    )
    size = one.sql(f"SELECT sum(pg_total_relation_size(c.oid)) {tables} AND c.relkind = 'r'")[0][0]
    rows = sum(one.count(name) for name in ("hosts", "agents", "events", "receipts", "orders"))
    backends = one.sql("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'knell%'")
    weights = [pss_kb(pid) for (pid,) in backends]
    return {
        "rows_a_host": round(rows / one.scale.hosts, 1),
        "bytes_a_host": round(int(size) / one.scale.hosts),
        "connections_a_host": round(len(backends) / one.scale.hosts, 2),
        "server_mb_a_host": round(sum(weights) / 1024 / one.scale.hosts, 2),
    }


def pss_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def kill_one(one: Measured) -> dict[str, float]:
    """From before the order is signed until its receipt is here; the connection is there."""
    times: list[float] = []
    for number in range(one.scale.kills):
        target = f"agent-{number % one.scale.agents}@{random.choice(names_of(one.scale))}"
        begun = time.perf_counter()
        [answer] = one.knell.fleet.order("kill", target, {}, wait=CEILING)
        assert answer.order, target
        assert answer.order.state == "done", answer
        times.append((time.perf_counter() - begun) * 1000)
    return spread(times)


def commands(one: Measured) -> dict[str, Any]:
    """Whole commands, as a person types them."""
    found: dict[str, list[float]] = {"list --fleet": [], "kill NAME@HOST": []}
    for number in range(5):
        begun = time.perf_counter()
        listed = one.house.run("list", "--fleet", "--json")
        found["list --fleet"].append((time.perf_counter() - begun) * 1000)
        assert listed.returncode == 0, listed.stderr
        target = f"agent-{number % one.scale.agents}@{names_of(one.scale)[number]}"
        begun = time.perf_counter()
        killed = one.house.run("kill", target, "--json", "--wait", "60")
        found["kill NAME@HOST"].append((time.perf_counter() - begun) * 1000)
        assert killed.returncode == 0, killed.stderr
    return {name: spread(times) for name, times in found.items()}


def kill_all(one: Measured) -> dict[str, Any]:
    """One order for each host, in one transaction; until the last receipt is in the database."""
    receipts, before = one.count("receipts"), cpu_s(one.server)
    begun = time.monotonic()
    answers = one.knell.fleet.order("kill", "all@*", {}, wait=CEILING)
    answered = time.monotonic() - begun
    wanted = receipts + one.scale.hosts * one.scale.agents
    eventually(lambda: one.count("receipts") >= wanted, CEILING)
    took = time.monotonic() - begun
    states = [answer.order.state if answer.order else "pending" for answer in answers]
    parts = [part for one in answers if one.order for part in one.order.answer["targets"]]
    done = sum(len(part["receipts"]) for part in parts)
    return {
        "orders": len(answers), "done": states.count("done"), "receipts": done,
        "last_answer_s": round(answered, 2), "last_receipt_s": round(took, 2),
        "database_cpu_s": round(cpu_s(one.server) - before, 2),
    }  # fmt: skip


def cut_and_back(one: Measured) -> dict[str, Any]:
    """A tenth of the hosts is cut off, all are to be ended, then the tenth comes back."""
    many = one.scale.hosts // 10 // PROCESSES * PROCESSES
    one.hosts.ask("cut", str(many), share=True)
    answers = one.knell.fleet.order("kill", "all@*", {}, wait=20.0)
    pending = sum(answer.order is None for answer in answers)
    begun = time.monotonic()
    one.hosts.ask("rejoin")
    eventually(lambda: one.count("orders WHERE state IN ('issued', 'taken')") == 0, CEILING)
    return {"hosts": many, "pending": pending, "all_done_s": round(time.monotonic() - begun, 2)}
