"""Orders between hosts: from `knell kill NAME@HOST` to the origin's receipt."""

import json

from fleets import Fleet
from house import alive, eventually


def states(fleet: Fleet) -> list[str]:
    rows = fleet.database.sql("SELECT state FROM knell.orders ORDER BY issued_at")
    return [state for (state,) in rows]


def test_a_kill_on_another_host_gives_the_origins_receipt(fleet: Fleet) -> None:
    """With a link in a process of its own, as the watch runs it."""
    origin = fleet.join("build-7")
    origin.spawn(name="luna")
    fleet.await_agent("build-7", "luna")
    done = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "200")
    [receipt] = done["receipts"]
    assert (receipt["result"], receipt["proof"]) == ("ended", "proven")
    assert (receipt["host"], receipt["by"]) == ("build-7", "operator:ann")
    assert origin.knell.receipt("luna").run == receipt["run"]
    assert states(fleet) == ["done"]
    fleet.await_agent("build-7", "luna", live=False)
    kept = fleet.json(fleet.boss, "receipt", "luna@build-7")
    assert kept["run"] == receipt["run"]


def test_an_order_waits_for_its_host_and_is_carried_out_once(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    spawned = origin.spawn(name="luna")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "luna")
    waiting = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "0", code=4)
    assert waiting["ok"] is False
    assert [one["host"] for one in waiting["pending"]] == ["build-7"]
    assert origin.knell.show("luna").view.state == "running"
    [listed] = fleet.json(fleet.boss, "orders")["orders"]
    assert (listed["state"], listed["target"]) == ("issued", "luna")
    with fleet.linked("build-7"):
        eventually(lambda: states(fleet) == ["done"])
    assert origin.knell.receipt("luna").run == spawned.run.id
    # A database that was put back does not know that it was done.
    fleet.database.sql("UPDATE knell.orders SET state = 'issued', answer = NULL")
    origin.knell.restart("luna")
    with fleet.linked("build-7"):
        eventually(lambda: states(fleet) == ["done"])
    assert origin.knell.show("luna").view.state == "running"


def test_an_order_that_was_called_off_is_never_carried_out(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    origin.spawn(name="luna")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "luna")
    [order] = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "0", code=4)["pending"]
    assert fleet.boss.run("orders", "cancel", order["order"][:8]).returncode == 0
    again = fleet.boss.run("orders", "cancel", order["order"])
    assert again.returncode == 0  # it is as was wished
    with fleet.linked("build-7"):
        fleet.database.sql("UPDATE knell.hosts SET seen_at = NULL")
        eventually(lambda: fleet.database.sql("SELECT 1 FROM knell.hosts WHERE seen_at < now()"))
    assert states(fleet) == ["cancelled"]
    assert origin.knell.show("luna").view.state == "running"


def test_a_waiting_order_spares_what_was_started_since(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    old = origin.spawn(name="luna", tag="night")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "luna")
    fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "0", code=4)
    fleet.json(fleet.boss, "kill", "tag:night@*", "--wait", "0", code=4)
    origin.knell.restart("luna")
    origin.spawn(name="mona", tag="night")
    with fleet.linked("build-7"):
        eventually(lambda: states(fleet) == ["refused", "done"])
    live = {view.name: view.run for view in origin.knell.list()}
    assert live.keys() == {"luna", "mona"}
    assert live["luna"] != old.run.id
    [first, _] = fleet.database.sql("SELECT answer FROM knell.orders ORDER BY issued_at")
    assert first[0]["error"]["code"] == "run_over"


def test_the_verbs_mean_the_same_on_another_host(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    boss, program = fleet.boss, [*origin.script("import time; time.sleep(100)")]
    with fleet.linked("build-7"):
        words = (
            "spawn",
            "--host",
            "build-7",
            "--name",
            "luna",
            "--in",
            "headless",
            "--tag",
            "night",
        )
        started = boss.run(*words, "--wait", "200", "--json", "--", *program)
        assert started.returncode == 0, started.stderr
        assert json.loads(started.stdout)["name"] == "luna"
        fleet.await_agent("build-7", "luna")
        [row] = fleet.json(boss, "list", "--fleet")["agents"]
        assert (row["name"], row["host"], row["tag"]) == ("luna", "build-7", "night")
        assert fleet.json(boss, "list", "tag:night@*")["agents"] != []
        assert fleet.json(boss, "status", "--fleet")["hosts"][0]["name"] == "build-7"
        shown = fleet.json(boss, "show", "luna@build-7", "--wait", "200")
        assert shown["name"] == "luna"
        tree = fleet.json(boss, "tree", "luna@build-7", "--wait", "200")
        assert tree["processes"]
        assert fleet.json(boss, "explain", "luna@build-7", "--wait", "200")["host"] == "build-7"
        again = fleet.json(boss, "restart", "luna@build-7", "--wait", "200")
        assert again["run"] != row["run"]
        eventually(lambda: run_of(fleet) == again["run"])
        stopped = fleet.json(boss, "stop", "luna@build-7", "--mode", "hard", "--wait", "200")
        assert [one["result"] for one in stopped["receipts"]] == ["ended"]
        fleet.await_agent("build-7", "luna", live=False)
        back = fleet.json(boss, "resume", "luna@build-7", "--wait", "200")
        eventually(lambda: run_of(fleet) == back["run"])
        everything = fleet.json(boss, "kill", "all@*", "--wait", "200")
        assert [one["agent"] for one in everything["receipts"]] == ["luna"]
    types = [event["type"] for event in fleet.json(boss, "events", "--fleet")["events"]]
    assert types.count("life.started") == 3
    assert (
        fleet.database.sql("SELECT host, seq FROM knell.events GROUP BY 1, 2 HAVING count(*) > 1")
        == []
    )


def test_what_the_host_warns_of_is_shown_and_the_agent_with_it(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    (origin.root / ".hermes").mkdir()
    (origin.root / ".hermes" / "agent-sessions.yaml").write_text("tmux_sessions: [")
    words = ("--name", "luna", "--in", "headless", "--cwd", str(origin.root), "--wait", "200")
    with fleet.linked("build-7"):
        done = fleet.boss.run("spawn", "--host", "build-7", *words, "--", "sleep", "100")
        assert (done.returncode, "luna: command runs as PID" in done.stdout) == (0, True), done
        assert done.stderr.startswith("warning: the row of 'luna' was not written: "), done
        assert "Traceback" not in done.stderr


def test_an_order_with_options_that_no_verb_takes_does_nothing(fleet: Fleet) -> None:
    """They come from outside, as the arguments of a program do. The link is a process of its own,
    as only the import of `knell.Knell` has the types of arguments checked."""
    luna = fleet.join("build-7").spawn(name="luna").run.process
    fleet.await_agent("build-7", "luna")
    bad: tuple[tuple[str, str, dict[str, object], str], ...] = (
        ("kill", "luna@build-7", {"cleanup": "sweep"}, "cleanup"),
        ("kill", "luna@build-7", {"grace": "2"}, "grace"),
        ("restart", "luna@build-7", {"yes": "no"}, "yes"),
    )
    for verb, target, options, name in bad:
        [one] = fleet.boss.knell.fleet.order(verb, target, options, wait=200)
        assert one.order, (verb, options)
        error = one.order.answer["error"]
        assert error["code"] == "bad_parameter", (verb, options, one.order)
        assert error["message"].startswith(f"{name} must be ")
    assert luna
    assert alive(luna.pid)


def run_of(fleet: Fleet) -> str:
    """The one that lives; none while the host has not published it."""
    rows = fleet.database.sql("SELECT run FROM knell.agents WHERE live")
    return rows[0][0] if len(rows) == 1 else ""


def test_a_name_that_is_elsewhere_is_suggested_with_its_host(fleet: Fleet) -> None:
    origin = fleet.join("build-7", link=False)
    origin.spawn(name="luna")
    with fleet.linked("build-7"):
        fleet.await_agent("build-7", "luna")
    done = fleet.boss.run("kill", "luna", env={**fleet.boss.env, "KNELL_FLEET_DEADLINE": "100"})
    assert done.returncode == 1
    assert "knell kill luna@build-7" in done.stderr
    wrong = fleet.boss.run("kill", "luna@build-8")
    assert (wrong.returncode, "build-7" in wrong.stderr) == (1, True)
