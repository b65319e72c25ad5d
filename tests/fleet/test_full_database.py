"""A database without room: the hosts go on alone, and what they have to tell waits for room."""

import contextlib
import secrets
from collections.abc import Iterator

import pytest

from fleets import Fleet
from house import House, alive, eventually
from postgres import Cluster, Database, small_disk

ENDED = "SELECT agent, count(*) FROM knell.receipts WHERE receipt->>'result' = 'ended' GROUP BY 1"


@pytest.fixture
def cramped(house: House) -> Iterator[Fleet]:
    """A fleet whose database has a small file system of its own."""
    with small_disk() as folder:
        server = Cluster(folder=folder)
        server.sql("CREATE DATABASE agents")
        fleet = Fleet(Database(server, "agents"), house.root)
        with contextlib.closing(server), contextlib.closing(fleet):
            yield fleet


@pytest.mark.needs_root
@pytest.mark.parametrize("times", [1, 2])
def test_nothing_is_lost_while_the_database_is_full(cramped: Fleet, times: int) -> None:
    server, host = cramped.database.server, cramped.join("build-7")
    for time in range(times):
        luna, nova = f"luna{time}", f"nova{time}"
        pids = {name: host.spawn(name=name).run.process for name in (luna, nova)}
        cramped.await_agent("build-7", nova)
        server.fill()
        for _ in range(60):  # more than the pages that it has left
            host.knell.server.note("test.large", {"words": secrets.token_hex(20_000)})
        cramped.hear(cramped.links["build-7"], "not linked")
        asked = cramped.boss.run("kill", f"{luna}@build-7", "--wait", "1", "--json")
        assert asked.returncode in (1, 4), asked
        assert '"ended"' not in asked.stdout, "nobody said so"
        # At home everything works, and nothing of it waits.
        assert host.run("kill", nova).returncode == 0
        assert host.run("list").returncode == 0
        host.spawn(name=f"late{time}")
        first, second = pids[luna], pids[nova]
        assert first
        assert second
        assert not alive(second.pid)
        server.make_room()
        cramped.hear(cramped.links["build-7"], "linked as")
        cramped.await_agent("build-7", f"late{time}")
        again = cramped.boss.run("kill", f"{luna}@build-7", "--wait", "200", "--json")
        assert again.returncode in (0, 1), again  # 1: the first order was kept, and did it
        eventually(lambda first=first: not alive(first.pid))
        cramped.settled()
        wanted = [(f"{name}{n}", 1) for name in ("luna", "nova") for n in range(time + 1)]
        eventually(lambda wanted=wanted: sorted(cramped.database.sql(ENDED)) == sorted(wanted))
        cramped.told_all("build-7")
