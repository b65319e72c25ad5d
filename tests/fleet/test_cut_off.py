"""A host that is cut off: the watch runs the link, and ends what should not go on alone."""

import contextlib
import sqlite3
import subprocess
import sys

from fleets import PACE, Fleet
from house import eventually


def test_an_agent_is_stopped_when_its_host_was_cut_off_for_longer_than_it_may(fleet: Fleet) -> None:
    host = fleet.join("build-7", link=False)
    for name, seconds in (("short", 60), ("long", 6000), ("patient", 0)):
        host.spawn(name=name, cut_off_after=seconds)
    clock = host.knell.world.clock()
    store = host.knell.fleet.store
    store.note_contact(clock.up - 600, clock.boot, 0.0)
    host.knell.watch_once()
    live = {view.name for view in host.knell.list()}
    assert live == {"short", "long", "patient"}, "it has not lived for a minute yet"
    begun = host.knell.world.moment(clock.wall - 300)
    run = host.knell.show("short").view.run
    with contextlib.closing(sqlite3.connect(host.state / "knell.db")) as db, db:
        db.execute("UPDATE runs SET started_at = ? WHERE id = ?", [begun, run])
    store.note_contact(clock.up, clock.boot, 0.0)
    host.knell.watch_once()
    assert len(host.knell.list()) == 3, "the database was heard just now"
    store.note_contact(clock.up - 600, clock.boot, 0.0)
    host.knell.watch_once()
    assert {view.name for view in host.knell.list()} == {"long", "patient"}
    receipt = host.knell.receipt("short")
    assert (receipt.by, receipt.reason, receipt.result) == ("watch", "cut_off", "ended")


def test_the_watch_runs_the_link_and_takes_it_along_when_it_dies(fleet: Fleet) -> None:
    host = fleet.join("build-7", link=False)
    host.spawn(name="luna")
    watch = subprocess.Popen(
        [sys.executable, "-m", "knell", "watch"], env={**host.env, **PACE}, cwd=host.root,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        fleet.await_agent("build-7", "luna")
        done = fleet.json(fleet.boss, "kill", "luna@build-7", "--wait", "200")
        assert [one["result"] for one in done["receipts"]] == ["ended"]
    finally:
        watch.kill()
        watch.wait()
    here = "SELECT 1 FROM pg_stat_activity WHERE usename = 'knell_h_build-7'"
    eventually(lambda: not fleet.database.sql(here))
