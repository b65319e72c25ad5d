"""Orders that wait, are interrupted or come twice: nothing is lost, nothing is done twice."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleets import PACE, Fleet
from hosts import Host, Wires
from house import House, alive, eventually
from pgbouncer import pooled
from postgres import Cluster
from relay import Mode, relaying

LINKED = "SELECT pid FROM pg_stat_activity WHERE usename = %s"
ENDED = "SELECT count(*) FROM knell.receipts WHERE receipt->>'result' = 'ended'"


def pid_of(spawned: Any) -> int:
    assert spawned.run.process
    return spawned.run.process.pid


def pending(fleet: Fleet, target: str, *words: str) -> dict[str, Any]:
    """An order whose host does not answer: exit code 4, and nothing is called ended."""
    said = fleet.json(fleet.boss, "kill", target, "--wait", "0.2", *words, code=4)
    assert said["receipts"] == []
    [one] = said["pending"]
    return one


def mirrored(fleet: Fleet, name: str, *agents: str) -> Host:
    """A host whose agents are known to the fleet, and whose link is down."""
    host = fleet.join(name)
    for agent in agents:
        host.spawn(name=agent, tag="night")
        fleet.await_agent(name, agent)
    fleet.unlink(name)
    return host


# -- waiting ---------------------------------------------------------------------------------------


def test_an_order_to_a_host_that_is_away_is_pending_and_is_done_when_it_is_back(
    fleet: Fleet,
) -> None:
    host = mirrored(fleet, "build-7", "luna")
    luna = host.knell.world.store.runs.of("luna")[0]
    order = pending(fleet, "luna@build-7")
    assert luna.process
    assert alive(luna.process.pid)
    [waiting] = fleet.json(fleet.boss, "orders")["orders"]
    assert (waiting["id"], waiting["state"], waiting["host"]) == (
        order["order"],
        "issued",
        "build-7",
    )
    fleet.link("build-7")
    assert fleet.settled() == ["done"]
    assert not alive(luna.process.pid)
    eventually(lambda: fleet.database.sql(ENDED) == [(1,)])
    receipt = fleet.json(fleet.boss, "receipt", "luna@build-7")
    assert (receipt["run"], receipt["by"]) == (luna.id, "operator:ann")


def test_an_order_that_is_called_off_or_has_expired_is_never_done(fleet: Fleet) -> None:
    host = mirrored(fleet, "build-7", "luna", "nova")
    first = pending(fleet, "luna@build-7")
    fleet.json(fleet.boss, "orders", "cancel", first["order"][:8])
    pending(fleet, "nova@build-7")
    past = "UPDATE knell.orders SET expires_at = now() - interval '1 s' WHERE state = 'issued'"
    fleet.database.sql(past)
    fleet.link("build-7")
    assert sorted(fleet.settled()) == ["cancelled", "expired"]
    for name in ("luna", "nova"):
        run = host.knell.world.store.runs.of(name)[0]
        assert run.process
        assert alive(run.process.pid), name
    again = fleet.boss.run("orders", "cancel", first["order"])
    assert again.returncode == 0 or "called off" in again.stderr + again.stdout


def test_a_group_means_those_who_lived_when_it_was_ordered(fleet: Fleet) -> None:
    """Who was started while the order waited is not meant."""
    host = mirrored(fleet, "build-7", "luna")
    pending(fleet, "tag:night@*", "--yes")
    late = pid_of(host.spawn(name="late", tag="night"))
    fleet.link("build-7")
    assert fleet.settled() == ["done"]
    assert alive(late)
    assert not host.knell.world.store.runs.of("luna")[0].live


def test_a_name_that_was_used_again_is_spared(fleet: Fleet) -> None:
    host = mirrored(fleet, "build-7", "luna")
    pending(fleet, "luna@build-7")
    host.kill("luna")
    again = pid_of(host.spawn(name="luna"))
    fleet.link("build-7")
    assert fleet.settled() == ["refused"]
    assert alive(again)


# -- the connection --------------------------------------------------------------------------------


def test_a_link_whose_backend_is_terminated_comes_back(fleet: Fleet) -> None:
    host = fleet.join("build-7")
    luna = pid_of(host.spawn(name="luna"))
    fleet.await_agent("build-7", "luna")
    for _ in range(3):
        [(pid,)] = eventually(lambda: fleet.database.sql(LINKED, "knell_h_build-7"))
        fleet.database.sql("SELECT pg_terminate_backend(%s)", pid)
        again = eventually(lambda pid=pid: fleet.database.sql(LINKED + " AND pid <> %s",
                                                              "knell_h_build-7", pid))  # fmt: skip
        assert len(again) == 1
    [receipt] = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "60")["receipts"]
    assert receipt["result"] == "ended"
    assert not alive(luna)


def test_a_relay_that_acknowledges_and_drops_is_noticed(fleet: Fleet) -> None:
    """Neither side is told anything; the host's own deadline ends it."""
    with relaying(fleet.database.server.port) as relay:
        through = fleet.database.url.replace(f":{fleet.database.server.port}/", f":{relay.port}/")
        host = fleet.join("build-7", url=through)
        luna = pid_of(host.spawn(name="luna"))
        fleet.await_agent("build-7", "luna")
        relay.become(Mode.SWALLOW)
        pending(fleet, "luna@build-7")
        assert alive(luna)
        said = host.run("kill", "luna", "--dry-run")
        assert said.returncode == 0
        fleet.hear(fleet.links["build-7"], "not linked")
        relay.become(Mode.CLOSE)
        relay.become(Mode.FORWARD)
        assert fleet.settled() == ["done"]
        assert not alive(luna)
        fleet.unlink("build-7")


def test_pgbouncer_lends_a_connection_for_a_transaction_only(fleet: Fleet) -> None:
    """It delivers no notifications, so the link asks again and again."""
    fleet.join("build-7", link=False)
    with pooled(fleet.database) as port:
        for file in (fleet.hosts["build-7"].state / "fleet" / "link.json",
                     fleet.boss.state / "fleet" / "operator.json"):  # fmt: skip
            text = file.read_text()
            file.write_text(text.replace(f"port={fleet.database.server.port}", f"port={port}"))
            assert file.read_text() != text
        luna = pid_of(fleet.hosts["build-7"].spawn(name="luna"))
        fleet.link("build-7")
        fleet.await_agent("build-7", "luna")
        [receipt] = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "60")["receipts"]
        assert receipt["result"] == "ended"
        assert not alive(luna)
        fleet.unlink("build-7")


@pytest.fixture
def wires() -> Iterator[Wires]:
    one = Wires()
    yield one
    one.close()


@pytest.mark.needs_root
def test_a_host_behind_a_cut_wire_acts_alone_and_catches_up(house: House, wires: Wires) -> None:
    net = wires.host()
    server = Cluster(net=wires.database)
    server.sql("CREATE DATABASE agents")
    from postgres import Database

    class Near(Database):
        """The operator sits beside the database."""

        @property
        def url(self) -> str:
            return f"postgresql:///agents?host={server.sockets}&port=5432&user=postgres"

    fleet = Fleet(Near(server, "agents"), house.root)
    house.at_end.callback(server.close)
    house.at_end.callback(fleet.close)
    there = server.url("agents", address=wires.address(net))
    host = fleet.join("build-7", url=there, net=net)
    luna, nova = (pid_of(host.spawn(name=name)) for name in ("luna", "nova"))
    fleet.await_agent("build-7", "nova")
    wires.cut(net)
    pending(fleet, "luna@build-7")
    assert alive(luna)
    [ended] = host.kill("nova")  # at home, without the fleet
    assert not alive(nova)
    assert ended.receipts[0].result == "ended"
    assert len(server.sql("SELECT 1 FROM knell.agents WHERE live", database="agents")) == 2
    wires.mend(net)
    assert fleet.settled() == ["done"]
    eventually(lambda: fleet.database.sql(ENDED) == [(2,)])
    assert not alive(luna)
    fleet.unlink("build-7")


# -- the database ----------------------------------------------------------------------------------


def test_a_crash_of_the_database_loses_no_order(fleet: Fleet) -> None:
    host = mirrored(fleet, "build-7", "luna")
    luna = host.knell.world.store.runs.of("luna")[0]
    pending(fleet, "luna@build-7")
    fleet.database.server.crash()
    fleet.begin_link("build-7")
    fleet.hear(fleet.links["build-7"], "not linked")
    fleet.database.server.start()
    assert fleet.settled() == ["done"]
    assert not host.knell.world.store.runs.of("luna")[0].live
    eventually(lambda: fleet.database.sql(ENDED) == [(1,)])
    assert luna.process


def test_a_database_that_stands_still_holds_up_no_local_verb(fleet: Fleet) -> None:
    """Whoever asks over the fleet gets an error in time; at home everything works."""
    host = fleet.join("build-7")
    luna, nova = (pid_of(host.spawn(name=name)) for name in ("luna", "nova"))
    fleet.await_agent("build-7", "nova")
    fleet.database.server.freeze()
    done = fleet.boss.run("kill", "luna@build-7", "--wait", "1", "--json")
    assert done.returncode in (1, 4), done
    assert '"ended"' not in done.stdout
    assert host.run("kill", "nova").returncode == 0
    assert not alive(nova)
    assert alive(luna)
    fleet.database.server.thaw()
    eventually(lambda: fleet.database.sql(ENDED) == [(1,)])
    fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "60")
    assert not alive(luna)


def test_orders_that_were_done_are_not_done_again_after_an_old_backup(fleet: Fleet) -> None:
    host = mirrored(fleet, "build-7", "luna")
    pending(fleet, "luna@build-7")
    kept = fleet.database.server.backup()
    fleet.link("build-7")
    assert fleet.settled() == ["done"]
    again = pid_of(host.spawn(name="luna"))
    nova = host.spawn(name="nova").run
    fleet.await_agent("build-7", "nova")
    fleet.database.server.restore(kept)
    assert fleet.settled() == ["done"], "the host answers from its own memory"
    assert alive(again)
    fleet.await_agent("build-7", "nova")  # what the backup does not know is published again
    events = "SELECT count(*), count(DISTINCT seq) FROM knell.events WHERE agent = 'nova'"
    eventually(lambda: fleet.database.sql(events)[0][0] > 0)
    [(many, different)] = fleet.database.sql(events)
    assert many == different
    assert nova.id


# -- who is this host? -----------------------------------------------------------------------------


def test_a_copy_of_a_hosts_disk_is_told_apart(fleet: Fleet) -> None:
    host = fleet.join("build-7")
    host.spawn(name="luna")
    fleet.await_agent("build-7", "luna")
    copy = Host(fleet.root / "copy", "build-7")
    shutil.rmtree(copy.state)
    shutil.copytree(host.state, copy.state, ignore=shutil.ignore_patterns("*.sock", "runs"))
    fleet.hosts["copy"] = copy
    one = fleet.begin_link("copy")
    said = fleet.hear(one, "not linked")
    assert "build-7" in said
    assert "copy" in said
    [receipt] = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "60")["receipts"]
    assert receipt["result"] == "ended"
    assert one.poll() is None, "it goes on alone"
    fleet.unlink("copy")
    shutil.rmtree(copy.state)
    copy.state.mkdir(mode=0o700)


def test_one_home_has_one_link(fleet: Fleet) -> None:
    host = fleet.join("build-7")
    done = host.run("fleet", "link")
    assert done.returncode == 1
    assert "runs already" in done.stderr


REBOOTED = 'mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@"'


@pytest.mark.needs_root
def end_by_hand(host: Host, name: str) -> None:
    """Without knell, which believes no boot that a mount has made up."""
    run = host.knell.world.store.runs.of(name)[0]
    for one in (run.keeper, run.process):
        assert one
        subprocess.run(["kill", "-9", str(one.pid)], check=False)
        eventually(lambda one=one: not alive(one.pid))


@pytest.mark.needs_root
def test_a_rebooted_host_does_not_end_those_who_came_after(fleet: Fleet, tmp_path: Path) -> None:
    host = mirrored(fleet, "build-7", "luna")
    pending(fleet, "all@build-7", "--yes")
    pending(fleet, "luna@build-7")
    end_by_hand(host, "luna")  # as the machine's own end does
    boot = tmp_path / "boot_id"
    boot.write_text("11111111-2222-3333-4444-555555555555\n")
    after = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        REBOOTED,
        "sh",
        str(boot),
        sys.executable,
        "-m",
        "knell",
    ]
    born = ["spawn", "--in", "headless", "--name", "nova", "--json", "--", "sleep", "600"]
    subprocess.run([*after, *born], env=host.env, check=True, capture_output=True, timeout=300)
    link = subprocess.Popen(
        [*after, "fleet", "link"], env={**host.env, **PACE}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        states = fleet.settled()
        listed = subprocess.run(
            [*after, "list", "--json"], env=host.env, check=True, capture_output=True, timeout=300
        )
        assert b'"nova"' in listed.stdout
        assert states[0] == "refused" or "nova" not in str(
            fleet.database.sql("SELECT answer FROM knell.orders")
        )
        nova = host.knell.world.store.runs.of("nova")[0]
        assert nova.process
        assert alive(nova.process.pid)
    finally:
        link.kill()
        link.communicate()
        end_by_hand(host, "nova")
