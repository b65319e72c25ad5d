"""A fleet whose link, asker, origin and database are killed with -9 at any moment of an order."""

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.conftest import is_long, is_small
from chaos.cutting import CUTTER, chosen, saying
from chaos.report import Tally
from contracts.o_scenes import sql
from fleets import PACE, Fleet
from hosts import Host
from house import House, alive, eventually, pause, preloaded
from knell.core.run import Run
from postgres import cluster
from preloaded import Forked, Words

HOST = "build-7"


def some(long: int, short: int, small: int) -> int:
    return long if is_long() else small if is_small() else short


def numbers(names: list[str], chance: random.Random, many: int) -> list[int]:
    """Every moment once if there are fewer than `many`, then some by chance once more: threads and
    the database take their steps at other times each time."""
    once = chosen(names, chance, many)
    return once + [chance.randint(1, len(names)) for _ in range(many - len(once))]


class Play:
    """One host of a fleet; each time another agent is to be ended, and a witness lives on."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.host = fleet, fleet.join(HOST)
        self.witness = self.host.spawn(name="witness").run
        self.count = 0

    @property
    def database(self) -> Any:
        return self.fleet.database

    def next_agent(self) -> Run:
        """One more that the fleet knows of."""
        self.count += 1
        run = self.host.spawn(name=f"a{self.count}").run
        self.fleet.await_agent(HOST, run.agent)
        return run

    def order(self, run: Run) -> None:
        """Given and not waited for."""
        done = self.fleet.boss.run("kill", f"{run.agent}@{HOST}", "--wait", "0", "--json")
        assert done.returncode in (0, 4), done

    def cut(self, host: Host, at: int, *words: str) -> tuple[Forked, Path]:
        """`knell WORDS` on that host, which dies at that moment."""
        log = host.root / "cut.log"
        log.unlink(missing_ok=True)
        args = (str(at), str(log), *words)
        env = {**host.env, **PACE}
        given = Words(str(CUTTER), args, env, str(host.root))
        silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        return Forked(preloaded(mcp=False), given, **silent), log

    def is_open(self, run: Run) -> bool:
        states = self.database.sql(
            "SELECT state FROM knell.orders WHERE body LIKE %s", f"%{run.id}%"
        )
        return any(state in ("issued", "taken") for (state,) in states)

    def check(self, run: Run, *, lost: bool = False) -> None:
        """The run is over, once, with one receipt here and one there; nobody else was touched."""
        eventually(lambda: not self.is_open(run))
        assert run.process
        assert not alive(run.process.pid)
        assert self.witness.process
        assert alive(self.witness.process.pid)
        [(receipts,)] = sql(self.host, "SELECT count(*) FROM receipts WHERE run = ?", run.id)
        assert receipts == 1
        rows = "SELECT count(*) FROM knell.receipts WHERE run = %s"
        eventually(lambda: self.database.sql(rows, run.id) == [(1,)])
        stopped = "SELECT count(*) FROM knell.events WHERE run = %s AND type = 'life.stopped'"
        eventually(lambda: self.database.sql(stopped, run.id) == [(1,)])
        states = {state for (state,) in self.database.sql(
            "SELECT state FROM knell.orders WHERE body LIKE %s", f"%{run.id}%")}  # fmt: skip
        assert states <= ({"done", "refused"} if lost else {"done"}), states

    def same_events(self) -> None:
        """What the host has told is what it has, once and in order."""
        [(start,)] = sql(self.host, "SELECT start_event FROM fleet_link")
        own = [
            id for (id,) in sql(self.host, "SELECT id FROM events WHERE id > ? ORDER BY id", start)
        ]

        def told() -> list[int]:
            rows = self.database.sql(
                "SELECT seq FROM knell.events WHERE host = %s ORDER BY id", HOST
            )
            return [seq for (seq,) in rows]

        eventually(lambda: told()[-1:] == own[-1:])
        assert told() == own


@pytest.fixture
def play(house: House) -> Iterator[Play]:
    with cluster().database() as database:
        fleet = Fleet(database, house.root)
        house.at_end.callback(fleet.close)
        yield Play(fleet)
        house.at_end.close()


def test_the_link(play: Play, chance: random.Random, tally: Tally) -> None:
    """A link killed with -9 at any moment of an order: the next one finishes it, once."""
    for at in moments_of_link(play, chance, some(140, 20, 5)):
        run = play.next_agent()
        play.fleet.unlink(HOST)
        play.order(run)
        link, log = play.cut(play.host, at, "fleet", "link")
        eventually(lambda link=link, run=run: link.poll() is not None or not play.is_open(run))
        link.kill()
        link.wait()
        moment = (log.read_text().splitlines() or ["never"])[-1]
        with saying(f"the link was cut {moment} (number {at})"):
            play.fleet.link(HOST)
            play.check(run)
        tally.broke("a host's link killed with -9 during an order")
    play.same_events()


def moments_of_link(play: Play, chance: random.Random, many: int) -> list[int]:
    """One order to its end tells which moments there are."""
    run = play.next_agent()
    play.fleet.unlink(HOST)
    play.order(run)
    link, log = play.cut(play.host, 0, "fleet", "link")
    eventually(lambda: not play.is_open(run))
    link.kill()
    link.wait()
    play.fleet.link(HOST)
    play.check(run)
    return numbers(log.read_text().splitlines(), chance, many)


def test_the_asker(play: Play, chance: random.Random, tally: Tally) -> None:
    """An asker killed with -9 at any moment: whoever asks again gets the one ending."""
    boss = play.fleet.boss
    run = play.next_agent()
    asker, log = play.cut(boss, 0, "kill", f"{run.agent}@{HOST}", "--wait", "60", "--json")
    assert asker.wait() == 0
    play.check(run)
    names = log.read_text().splitlines()
    for at in numbers(names, chance, some(80, 10, 3)):
        run = play.next_agent()
        words = ("kill", f"{run.agent}@{HOST}", "--wait", "60", "--json")
        asker, log = play.cut(boss, at, *words)
        asker.wait()
        with saying(f"the asker was cut at number {at} of {names}"):
            again = boss.run(*words)
            assert again.returncode == 0, again
            play.check(run, lost=True)
        tally.broke("an asker killed with -9 during an order")
    play.same_events()


def test_the_database(play: Play, chance: random.Random, tally: Tally) -> None:
    """A database killed with -9 during an order: nothing that it acknowledged is lost."""
    for _ in range(some(50, 6, 2)):
        run = play.next_agent()
        asker = play.fleet.boss.begin(
            "kill", f"{run.agent}@{HOST}", "--wait", "60", "--json",
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        pause(chance.uniform(0.0, 0.4))
        play.database.server.crash()
        play.database.server.start()
        asker.wait(300)
        with saying(f"the asker left with {asker.returncode}"):
            again = play.fleet.boss.run("kill", f"{run.agent}@{HOST}", "--wait", "120", "--json")
            assert again.returncode == 0, again
            play.check(run, lost=True)
        tally.broke("the fleet's database killed with -9 during an order")
    play.same_events()


def test_the_origin(play: Play, chance: random.Random, tally: Tally) -> None:
    """A host whose link, keeper and agent are all killed with -9: its answer is the truth."""
    for _ in range(some(50, 6, 2)):
        run = play.next_agent()
        assert run.process
        assert run.keeper
        play.fleet.unlink(HOST)
        play.order(run)
        link = play.fleet.begin_link(HOST)
        pause(chance.uniform(0.0, 0.5))
        for pid in (link.pid, run.keeper.pid, run.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        play.fleet.unlink(HOST)
        play.fleet.link(HOST)
        with saying("the origin was cut"):
            eventually(lambda run=run: not play.is_open(run))
            play.host.run("list")  # whoever looks records the end that nobody else could
            play.check(run, lost=True)
        tally.broke("a host's link, keeper and agent killed with -9 during an order")
    play.same_events()
