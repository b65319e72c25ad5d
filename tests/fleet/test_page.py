"""docs/fleet.md is run: each command of its console blocks, in order, on the machine it names."""

import re
import shlex
from pathlib import Path

from fleets import Fleet
from hosts import Host
from house import House
from postgres import PASSWORD, Database

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fleet.md"
COMMAND = re.compile(r"^([a-z0-9-]+)\$ knell (.+?)(?:\s+# exit (\d))?$")


def commands() -> list[tuple[str, str, int]]:
    blocks = re.findall(
        r"^<!-- run by tests/fleet/test_page.py -->\n```console\n(.*?)^```",
        PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE,
    )  # fmt: skip
    found = [COMMAND.match(line) for block in blocks for line in block.splitlines()]
    assert all(found), "a line that is no command"
    return [(one[1], one[2], int(one[3] or 0)) for one in found if one]


def test_every_command_of_the_page_works(house: House, database: Database) -> None:
    fleet = Fleet.__new__(Fleet)
    fleet.database, fleet.root, fleet.hosts, fleet.links = database, house.root, {}, {}
    fleet.boss = Host(house.root / "desk", "desk")
    house.at_end.callback(fleet.close)
    machines = {"desk": fleet.boss}
    for name in ("build-7", "build-8"):
        machines[name] = fleet.hosts[name] = Host(house.root / name, name)
    key = ""
    for machine, words, code in commands():
        host = machines[machine]
        host.env["PGPASSWORD"] = PASSWORD
        there = f"127.0.0.1:{database.server.port}/{database.name}"
        told = words.replace("db.example/agents", there)
        told = told.replace("ed25519:KEY", key).replace("build-8.json", str(house.root / "8.json"))
        if "ORDER" in told:
            told = told.replace("ORDER", host.json("orders")["orders"][0]["id"])
        done = host.run(*shlex.split(told))
        assert done.returncode == code, (words, done.stdout, done.stderr)
        if words == "fleet key list":
            key = re.findall(r"ed25519:\S+", done.stdout)[0]
        if words.startswith("fleet join") and "--save-to" not in words:
            at_work(fleet, machine, host)
    assert {machine for machine, _, _ in commands()} == set(machines)


def at_work(fleet: Fleet, name: str, host: Host) -> None:
    """The agents that the page speaks of; build-8 is away when its agent is to be ended."""
    agent = {"build-7": "luna", "build-8": "nova"}[name]
    fleet.link(name)
    host.spawn(name=agent)
    fleet.await_agent(name, agent)
    if name == "build-8":
        fleet.unlink(name)
