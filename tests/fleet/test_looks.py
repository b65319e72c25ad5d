"""What an operator sees of the fleet: who is heard, who has left, what was dropped."""

import json
import subprocess
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from fleets import Fleet
from house import eventually

AWAKE = "UPDATE knell.pulse SET at = now(), since = now() - interval '1 h'"


def states(fleet: Fleet) -> dict[str, str]:
    return {one["name"]: one["state"] for one in fleet.json(fleet.boss, "fleet", "status")["hosts"]}


def never_restarted(fleet: Fleet, *, hours: int = 1) -> None:
    """The same view of the hosts as of a server that has been up for that long."""
    [(text,)] = fleet.database.sql("SELECT pg_get_functiondef('knell.fleet_hosts()'::regprocedure)")
    assert text.count("pg_postmaster_start_time()") == 1
    fleet.database.sql(
        text.replace("pg_postmaster_start_time()", f"now() - interval '{hours} h'").replace(
            "%", "%%"
        )
    )


# -- who is heard ----------------------------------------------------------------------------------


def test_a_host_is_heard_then_silent_and_never_called_dead(fleet: Fleet) -> None:
    never_restarted(fleet)
    for name in ("near", "far", "new"):
        fleet.join(name, link=False)
    fleet.hosts["far"].spawn(name="luna")
    with fleet.linked("far"):
        fleet.await_agent("far", "luna")
    fleet.database.sql("UPDATE knell.hosts SET seen_at = now() WHERE name = 'near'")
    fleet.database.sql(
        "UPDATE knell.hosts SET seen_at = now() - interval '9 min' WHERE name = 'far'"
    )
    fleet.database.sql(AWAKE)
    assert states(fleet) == {"near": "heard", "far": "silent", "new": "never"}
    listed = fleet.boss.run("list", "--fleet")
    [line] = [one for one in listed.stderr.splitlines() if one.startswith("far: silent")]
    assert "9m" in line
    assert "its agents may be working" in line
    assert "new: never heard" in listed.stderr
    assert "near" not in listed.stderr
    for words in (("list", "--fleet"), ("fleet", "status"), ("status", "--fleet")):
        said = fleet.boss.run(*words)
        assert "dead" not in said.stdout + said.stderr
    [row] = fleet.json(fleet.boss, "list", "--fleet")["agents"]
    assert (row["name"], row["state"], row["host_state"]) == ("luna", "running", "silent")
    assert row["host_seen_s"] > 500


@pytest.mark.parametrize(
    "away",
    [
        "UPDATE knell.pulse SET at = now() - interval '2 min'",  # nobody was heard for a while
        "UPDATE knell.pulse SET at = now(), since = now() - interval '20 s'",  # back just now
    ],
)
def test_after_the_database_was_away_nobody_is_judged(fleet: Fleet, away: str) -> None:
    never_restarted(fleet)
    fleet.join("far", link=False)
    fleet.database.sql("UPDATE knell.hosts SET seen_at = now() - interval '9 min'")
    fleet.database.sql(AWAKE)
    assert states(fleet) == {"far": "silent"}
    fleet.database.sql(away)
    assert states(fleet) == {"far": "unsure"}
    assert "(the database was away)" in fleet.boss.run("fleet", "status").stdout


def test_a_server_that_was_just_started_judges_nobody(fleet: Fleet) -> None:
    fleet.join("far", link=False)
    fleet.database.sql("UPDATE knell.hosts SET seen_at = now() - interval '9 min'")
    fleet.database.sql(AWAKE)
    fleet.database.server.stop()
    fleet.database.server.start()
    assert states(fleet) == {"far": "unsure"}


def test_of_many_silent_hosts_only_the_first_are_named(fleet: Fleet) -> None:
    rows = "SELECT 'h' || n, 'r' || n FROM generate_series(1, 40) n"
    fleet.database.sql(f"INSERT INTO knell.hosts (name, role) {rows}")
    said = fleet.boss.run("list", "--fleet").stderr.splitlines()
    assert len([line for line in said if "never heard" in line]) == 10
    assert any("and 30 more hosts" in line for line in said)


def test_too_few_connections_are_told_before_they_run_out(fleet: Fleet) -> None:
    before = fleet.boss.run("fleet", "status")
    assert "connections: " in before.stdout
    assert "max_connections" not in before.stdout
    [(most,)] = fleet.database.sql("SELECT current_setting('max_connections')::int")
    held = [fleet.database.connect() for _ in range(int(most * 0.85))]
    try:
        assert "raise max_connections" in fleet.boss.run("fleet", "status").stdout
    finally:
        for one in held:
            one.close()


# -- what they run ---------------------------------------------------------------------------------


def test_whatever_an_agent_is_called_its_row_is_passed_on_whole(fleet: Fleet) -> None:
    """Also what looks like the end of a row, or like another host."""
    fleet.join("near", link=False)
    odd = ['x", "host": "far', "},\n{", "\u2028", '"', "\\", "é", ', "host": "far"}']
    for number, text in enumerate(odd):
        view: dict[str, Any] = {"name": f"a{number}", "host": "far", "note": text, "kind": "x"}
        view |= dict.fromkeys(("state", "outcome", "activity", "place", "pane", "tag", "team"), "")
        view |= {"pid": number, "started_at": "", "ended_at": ""}
        fleet.database.sql(
            "INSERT INTO knell.agents VALUES ('near', %s, 'r', true, '', '', %s)",
            view["name"], json.dumps(view),
        )  # fmt: skip
    rows = fleet.json(fleet.boss, "list", "--fleet")["agents"]
    assert [one["note"] for one in rows] == odd
    assert {one["host"] for one in rows} == {"near"}, "a host publishes only itself"
    names = fleet.boss.run("list", "--fleet", "--names").stdout.split()
    assert names == [f"a{number}@near" for number in range(len(odd))]
    assert fleet.boss.run("list", "--fleet").stdout.count("near") == len(odd)


@pytest.mark.parametrize(
    "view", ["{}", '{"host": "x"}', "[]", "7", '"x"', '{"name": 7, "pid": []}']
)
def test_a_row_that_no_host_of_ours_published_hides_no_other(fleet: Fleet, view: str) -> None:
    host = fleet.join("near", link=False)
    host.spawn(name="luna")
    with fleet.linked("near"):
        fleet.await_agent("near", "luna")
    fleet.database.sql("INSERT INTO knell.agents VALUES ('near', 'a', 'r', true, '', '', %s)", view)
    rows = fleet.json(fleet.boss, "list", "--fleet")["agents"]
    assert {one["host"] for one in rows} == {"near"}
    assert rows[-1]["name"] == "luna"
    for words in (("list", "--fleet"), ("list", "--fleet", "-q"), ("status", "--fleet")):
        done = fleet.boss.run(*words)
        assert (done.returncode, "luna" in done.stdout) == (0, True), done


def test_an_empty_fleet_is_a_document_too(fleet: Fleet) -> None:
    assert fleet.json(fleet.boss, "list", "--fleet") == {"agents": [], "hosts": []}
    assert fleet.boss.run("list", "--fleet", "--names").stdout == ""


# -- leaving ---------------------------------------------------------------------------------------


def test_a_host_that_leaves_is_shown_as_such_and_waited_for_no_more(fleet: Fleet) -> None:
    host = fleet.join("build-7", link=False)
    luna = host.spawn(name="luna").run
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "luna")
    fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "0", code=4)
    assert fleet.json(host, "fleet", "leave") == {"ok": True, "host": "build-7", "untold": ""}
    assert states(fleet) == {"build-7": "left"}
    assert fleet.orders() == ["cancelled"]
    assert fleet.json(fleet.boss, "list", "--fleet")["agents"] == []
    again = fleet.boss.run("kill", "luna@build-7")
    assert (again.returncode, "no host 'build-7'" in again.stderr) == (1, True), again
    assert host.knell.world.store.runs.of("luna")[0].live, "its agents go on"
    # And it may come back, under the same name, with what it has done meanwhile.
    fleet.join_again("build-7")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "luna")
        [receipt] = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "200")["receipts"]
    assert receipt["run"] == luna.id


def test_a_host_leaves_without_its_database_and_says_so(fleet: Fleet) -> None:
    host = fleet.join("build-7", link=False)
    fleet.database.server.stop()
    done = host.run("fleet", "leave")
    assert done.returncode == 0, done
    assert "was not told" in done.stderr
    assert "knell fleet remove build-7 URL" in done.stderr
    assert not (host.state / "fleet" / "link.json").exists()


def test_a_host_that_is_gone_for_good_is_taken_out_by_the_owner(fleet: Fleet) -> None:
    host = fleet.join("build-7", link=False)
    host.spawn(name="luna")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "luna")
        remove = ("fleet", "remove", "build-7", "--url-file", str(fleet.url))
        heard = fleet.boss.run(*remove)
        assert (heard.returncode, "is heard" in heard.stderr) == (1, True), heard
    fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "0", code=4)
    fleet.database.sql("UPDATE knell.hosts SET seen_at = now() - interval '9 min'")
    assert fleet.json(fleet.boss, *remove)["orders"] == 1
    assert states(fleet) == {"build-7": "left"}
    link = fleet.begin_link("build-7")
    assert "not permitted to log in" in fleet.hear(link, "not linked")
    again = fleet.boss.run(*remove)
    assert (again.returncode, "no host" in again.stderr) == (1, True), again


# -- keeping it ------------------------------------------------------------------------------------


def test_prune_drops_what_is_old_by_whole_months_and_keeps_receipts(fleet: Fleet) -> None:
    host = fleet.join("build-7", link=False)
    for name in ("luna", "nova"):
        host.spawn(name=name)
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "nova")
        for name in ("luna", "nova"):
            fleet.json(fleet.boss, "kill", f"{name}@build-7", "--wait", "200")
            fleet.await_agent("build-7", name, live=False)
    sql = fleet.database.sql
    sql("SELECT knell.make_room(now() - interval '200 days')")
    sql("INSERT INTO knell.events (received_at, host, seq, at, type, agent, run, data)"
        " VALUES (now() - interval '200 days', 'build-7', 0, '', 'old', '', '', '{}')")  # fmt: skip
    sql(
        "UPDATE knell.orders SET finished_at = now() - interval '200 days'"
        " WHERE body LIKE '%%luna%%'"
    )
    sql("UPDATE knell.agents SET updated_at = now() - interval '200 days' WHERE name = 'luna'")
    prune = ("fleet", "prune", "--url-file", str(fleet.url), "--older-than", "90")
    would = fleet.json(fleet.boss, *prune, "--dry-run")
    assert (len(would["months"]), would["orders"], would["agents"]) == (1, 1, 1)
    assert sql("SELECT count(*) FROM knell.events WHERE type = 'old'") == [(1,)]
    did = fleet.json(fleet.boss, *prune)
    assert {**did} == {**would}
    assert sql("SELECT count(*) FROM knell.events WHERE type = 'old'") == [(0,)]
    assert sql("SELECT count(*) FROM knell.events")[0][0] > 0, "this month's stay"
    assert sql("SELECT count(*) FROM knell.orders") == [(1,)]
    assert sql("SELECT name FROM knell.agents") == [("nova",)]
    assert sql("SELECT count(*) FROM knell.receipts") == [(2,)]
    assert fleet.json(fleet.boss, *prune)["orders"] == 0


def until_stopped(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    for event in map(json.loads, lines):
        yield event["host"], event["seq"]
        if event["type"] == "life.stopped":
            return


def test_events_of_all_hosts_are_followed_each_once(fleet: Fleet) -> None:
    for name in ("build-1", "build-7"):
        fleet.join(name, link=False)
    fleet.hosts["build-1"].spawn(name="first")
    with fleet.linked("build-1", "build-7"):
        fleet.await_agent("build-1", "first")
        watch = fleet.boss.begin(
            "events", "--fleet", "-f", "--json", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert watch.stdout
            assert json.loads(watch.stdout.readline())["host"] == "build-1"
            for number in range(4):
                host = fleet.hosts[("build-1", "build-7")[number % 2]]
                host.spawn(name=f"a{number}")
            fleet.hosts["build-7"].kill("a1")
            seen = [*until_stopped(watch.stdout)]
        finally:
            watch.kill()
            watch.wait()
            for pipe in (watch.stdout, watch.stderr):
                _ = pipe and pipe.close()
    assert len(seen) == len({*seen})
    for name in ("build-1", "build-7"):
        own = [seq for host, seq in seen if host == name]
        assert own == sorted(own), "each host's in their order"
    told = "SELECT count(*) FROM knell.events WHERE type = 'life.started'"
    eventually(lambda: fleet.database.sql(told) == [(5,)])
