"""The watch under faults: killed at any moment, a store that is locked, gone or damaged."""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from complaints import FAILED, USAGE, complaint
from house import House, alive, eventually, pause
from scenes import SLEEPS, Played, adopted, end, started
from watchers import (
    BEATS_ON,
    BEATS_ONCE,
    EXITS_WHEN_TOLD,
    Watching,
    ask,
    configure,
    environment_file,
    gone,
    last_run,
    let_exit,
    once,
    runs,
    told,
    watching,
)

KILLS = 12
CRASHES = (
    "with open('lives', 'a') as file: file.write(os.environ['KNELL_RUN'] + '\\n')\n"
    "tell()\nos._exit(7)"
)


# -- killed at any moment ----------------------------------------------------------------------


@pytest.mark.stress  # at moments that chance chooses
def test_a_watcher_killed_at_any_moment_leaves_nothing_undone(house: House) -> None:
    healthy = started(house, BEATS_ON, name="healthy", restart=3)
    stalled = [started(house, BEATS_ONCE, name=f"stalled-{n}", tag="night") for n in range(2)]
    stranger = adopted(house, SLEEPS, name="stranger")
    started(house, CRASHES, name="crasher", restart=9)
    with_task(house, stalled[0])
    chance = random.Random(4)
    for number in range(KILLS):
        if number == KILLS // 2:
            claimed_and_left(house, stranger)
        killed_watch(house, chance.uniform(0, 0.6))
    once(house, "--older-than", "1", "--policy", "tag:night=kill")
    pids_left(house, stalled)
    everything_accounted_for(house)
    assert alive(healthy.pid)
    assert [run.id for run in runs(house, "healthy")] == [healthy.run.id]
    assert all(len(runs(house, one.run.agent)) == 1 for one in stalled)
    ended = last_run(house, "stranger").ending
    assert ended
    assert (ended.by, ended.reason, ended.detail) == ("operator", "killed", "left")
    assert ask(house, "SELECT count(*) FROM orchestrator_task WHERE status = 'running'") == [(0,)]
    restarts_once(house)


def killed_watch(house: House, seconds: float) -> None:
    """A watcher that is ended with -9 so long after it has opened the store."""
    words = ("--interval", "0.05", "--older-than", "1", "--policy", "tag:night=kill")
    watch = Watching(house, *words)
    eventually(lambda: in_its_database(watch.pid, house))
    pause(seconds)  # nothing is concluded from it: any moment will do
    watch.end(signal.SIGKILL)
    assert "Traceback" not in watch.err, watch.err


def in_its_database(pid: int, house: House) -> bool:
    try:
        links = [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()]
    except OSError:
        return False
    return str(house.state / "knell.db") in links


CLAIMS_AND_DIES = """
import os, signal, sys
from knell import Knell
from knell.core.run import Outcome
from knell.core.ports.ending_store import ClaimRequest
from knell.core.run import Ending
world = Knell()._world
ending = Ending(Outcome.KILLED, "operator", "killed", "left")
world.store.endings.claim([ClaimRequest(sys.argv[1], ending)], world.processes.me())
os.kill(os.getpid(), signal.SIGKILL)
"""


def claimed_and_left(house: House, played: Played) -> None:
    argv = [sys.executable, "-c", CLAIMS_AND_DIES, played.run.id]
    subprocess.run(argv, env=house.env, check=False, timeout=300)


def with_task(house: House, played: Played) -> None:
    ask(
        house,
        "INSERT INTO orchestrator_task (task_id, status, assigned_agent) VALUES (?, 'running', ?)",
        "t-1",
        played.run.agent,
    )


def pids_left(house: House, stalled: list[Played]) -> None:
    """The stalled may have been ended by any of the watchers; by now they are."""
    gone(*(one.pid for one in stalled))
    for one in stalled:
        ended = last_run(house, one.run.agent).ending
        assert ended
        assert (ended.outcome, ended.by, ended.reason) == ("killed", "watch", "stalled")


def everything_accounted_for(house: House) -> None:
    """Whoever lives is on record as running, and whoever has ended, ended once and wholly."""
    world = house.knell.world
    live = {run.id: run for run in world.store.runs.live()}
    every = [run for agent in world.store.runs.agents() for run in runs(house, agent.name)]
    for run in live.values():
        assert run.state == "running", run
        assert run.owner is None, run
    farewells = Counter(event.run for event in told(house, "life.stopped", name=""))
    for run in every:
        if run.id not in live:
            assert run.ending, run
            assert farewells[run.id] == 1, run
            assert world.store.endings.receipt(run.id), run
    stamped = {run for run, members in world.processes.stamped().items() if members}
    ours = {run.id for run in every}
    assert stamped & ours <= set(live), "a process of an ended run is alive"


def restarts_once(house: House) -> None:
    """Each end was followed by one start at most, and each start is a life that was lived once."""
    every = runs(house, "crasher")
    began = Counter(run.restarted_from for run in every if run.restarted_from)
    assert all(number == 1 for number in began.values()), began
    lived = Counter((house.root / "lives").read_text().split())
    assert all(number == 1 for number in lived.values()), lived
    assert set(lived) <= {run.id for run in every}
    assert len(every) > 1, "in all that time it was started again"
    kept = [run.id for run in every[:-1] if environment_file(house, run).exists()]
    # A start that was cut short is made again with the environment of the run before it.
    cut_short = every[-1].process is None and not environment_file(house, every[-1]).exists()
    assert len(kept) <= int(cut_short), "an environment that nobody needs any more"


# -- the store is locked -----------------------------------------------------------------------


@contextlib.contextmanager
def locked(house: House) -> Iterator[None]:
    """Another program that writes, and does not finish."""
    with contextlib.closing(sqlite3.connect(house.state / "knell.db", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


@pytest.mark.timeout(180)
def test_a_store_that_is_locked_is_said_and_outlasted(house: House) -> None:
    luna = started(house, EXITS_WHEN_TOLD)
    with watching(house) as watch:
        with locked(house):
            said = watch.complaint("trouble: ")
            assert "locked" in said or "busy" in said
            let_exit(house, 3)
            gone(luna.pid, luna.keeper)
        watch.line("life.stopped", "luna")
        watch.round()
        assert watch.err.count("trouble: ") <= 3, "said once, not in every round"
    run = last_run(house)
    assert run.ending
    assert (run.ending.outcome, run.ending.exit_code) == ("failed", 3)


# -- the store is gone or damaged --------------------------------------------------------------


def test_a_database_that_is_moved_away_is_said_and_back_is_used_again(house: House) -> None:
    luna = started(house, EXITS_WHEN_TOLD)
    db, aside = house.state / "knell.db", house.root / "aside"
    aside.mkdir()
    with watching(house) as watch:
        db.rename(aside / "knell.db")
        watch.complaint("trouble: ", "moved or deleted")
        assert watch.process.poll() is None
        assert not db.exists(), "nothing is made in its place"
        (aside / "knell.db").rename(db)
        let_exit(house, 0)
        watch.line("life.stopped", "luna")
    gone(luna.pid)


def test_a_database_that_was_deleted_is_made_anew_and_watched(house: House) -> None:
    before = started(house, SLEEPS, name="before")
    with watching(house) as watch:
        house.knell.close()
        for name in ("knell.db", "knell.db-wal", "knell.db-shm"):
            (house.state / name).unlink(missing_ok=True)
        watch.complaint("trouble: ", "moved or deleted")
        luna = started(house, EXITS_WHEN_TOLD)
        let_exit(house, 3)
        gone(luna.pid, luna.keeper)
        watch.line("life.stopped", "luna")
    end(before.pid)  # nobody knows of it any more
    gone(before.keeper)


def test_a_database_that_is_damaged_while_it_is_watched(house: House) -> None:
    """It says so, or has what it needs in memory; in no case does it fall over."""
    luna = started(house, EXITS_WHEN_TOLD)
    db = house.state / "knell.db"
    with watching(house) as watch:
        house.knell.close()
        with contextlib.closing(sqlite3.connect(db)) as copied:
            good = copied.serialize()
        with db.open("r+b") as file:
            file.write(b"not a database at all" * 400)
        let_exit(house, 0)
        eventually(
            lambda: (
                "trouble: " in watch.err
                or "life.stopped" in watch.out
                or watch.process.poll() is not None
            )
        )
        assert watch.end() in {-signal.SIGTERM, FAILED}
    assert "Traceback" not in watch.err
    for path in house.state.glob("knell.db*"):
        path.unlink()
    db.write_bytes(good)
    gone(luna.pid, luna.keeper)


@pytest.mark.parametrize("words", [(), ("--once",), ("--dry-run",), ("--install",)])
def test_a_database_that_is_none_is_an_error_before_anybody_is_watched(
    house: House, words: tuple[str, ...]
) -> None:
    (house.state / "knell.db").write_bytes(b"not a database at all" * 400)
    what, _ = complaint(house.run("watch", *words), FAILED)
    assert "is not a database" in what


def test_a_state_directory_that_cannot_be_made(house: House) -> None:
    house.env["KNELL_HOME"] = "/proc/knell"
    complaint(house.run("watch"), FAILED)


@pytest.mark.parametrize("host", ["a/b", "..", "x" * 300, "a b\n"])
def test_a_host_that_is_no_name_of_a_file(house: House, host: str) -> None:
    house.env["KNELL_HOST"] = host
    with watching(house) as watch:
        watch.round()
    assert not [p for p in house.root.iterdir() if p.name.endswith(".lock")]


# -- settings ----------------------------------------------------------------------------------

BAD_CONFIGS = {
    "no TOML": "[watch\n",
    "unknown setting": "[watch]\nintervall = 3\n",
    "a text for a number": '[watch]\ninterval = "often"\n',
    "an interval of 0": "[watch]\ninterval = 0\n",
    "no patience": "[stall]\nafter = 0\n",
    "an unknown policy": '[watch]\nstalled = "maim"\n',
    "an unknown rule": '[watch]\npolicies = ["role:x=kill"]\n',
    "a rule that is no list": '[watch]\npolicies = "tag:x=kill"\n',
    "an unknown cleanup": '[watch]\ncleanup = "burn"\n',
}


@pytest.mark.parametrize("text", BAD_CONFIGS.values(), ids=BAD_CONFIGS)
def test_a_broken_config_is_an_error_before_anybody_is_watched(house: House, text: str) -> None:
    luna = started(house, SLEEPS)
    configure(house, text)
    for words in ((), ("--once",), ("--install",)):
        what, hint = complaint(house.run("watch", *words), USAGE)
        assert what
        assert hint
    assert alive(luna.pid)
    assert ask(house, "SELECT * FROM watchers") == []
    del house.env["KNELL_CONFIG"]


def test_settings_that_change_while_it_watches_do_not_break_it(house: House) -> None:
    configure(house, "[watch]\ninterval = 0.1\n")
    luna = started(house, EXITS_WHEN_TOLD)
    with watching(house) as watch:
        configure(house, "[watch\n")
        watch.round()
        let_exit(house, 0)
        watch.line("life.stopped", "luna")
    del house.env["KNELL_CONFIG"]
    gone(luna.pid)


# -- what it looks at vanishes -----------------------------------------------------------------


def test_the_directory_in_which_it_was_started_is_deleted(house: House) -> None:
    folder = house.root / "gone"
    folder.mkdir()
    argv = [sys.executable, "-m", "knell", "watch", "--interval", "0.1"]
    with (house.root / "err").open("w") as err:
        watch = subprocess.Popen(argv, env=house.env, cwd=folder, stdout=err, stderr=err)
    store = house.knell.world.store
    host = os.uname().nodename
    eventually(lambda: store.watch.watcher(host))
    folder.rmdir()
    luna = started(house, EXITS_WHEN_TOLD)
    let_exit(house, 0)
    eventually(lambda: not last_run(house).live)
    watch.kill()
    watch.wait(timeout=300)
    assert "Traceback" not in (house.root / "err").read_text()
    gone(luna.pid)


def test_agents_that_come_and_go_all_the_time(house: House) -> None:
    """Deaths in the middle of a round, many times; every one is taken in, once."""
    with watching(house, "--interval", "0.05") as watch:
        for number in range(8):
            words = ("spawn", "--name", f"brief-{number}", "--", "sh", "-c", "sleep 0.5; exit 3")
            assert house.run(*words).returncode == 0
        for number in range(8):
            watch.line("life.stopped", f"brief-{number}")
    everything_accounted_for(house)
