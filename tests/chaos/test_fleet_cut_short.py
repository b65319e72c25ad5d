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

from chaos.conftest import is_long
from chaos.cutting import CUTTER, chosen, saying
from chaos.report import Tally
from contracts.o_scenes import sql
from fleets import PACE, Fleet
from hosts import Host
from house import House, alive, eventually, pause, preloaded
from knell.core.run import Run
from postgres import cluster
from preloaded import Forked, Words

pytestmark = pytest.mark.stress

HOST = "build-7"


# How many cuts, in the long and the short version: the long one has 300 at least.
CUTS = {"link": (140, 20), "asker": (80, 10), "database": (50, 6), "origin": (50, 6)}


class Cuts:
    """Counts those that met an order on its way; one that came too late is made again."""

    def __init__(self, what: str, tally: Tally, said: str) -> None:
        self.wanted = CUTS[what][0 if is_long() else 1]
        self._tally, self._said = tally, said
        self._made = self._tried = 0
        self._latest = 0.5  # seconds; less after each that came too late, for a fast machine

    def __iter__(self) -> Iterator[None]:
        while self._made < self.wanted:
            assert self._tried < 12 * self.wanted, f"only {self._made} of {self._tried} met it"
            self._tried += 1
            yield

    def await_moment(self, chance: random.Random) -> None:
        pause(chance.uniform(0.0, self._latest))

    def met(self, *, it: bool) -> None:
        if it:
            self._made += 1
            self._tally.broke(self._said)
        else:
            self._latest *= 0.6


def numbers(names: list[str], chance: random.Random, many: int) -> Iterator[int]:
    """Every moment once if there are fewer than `many`, then some by chance once more: threads and
    the database take their steps at other times each time."""
    yield from chosen(names, chance, many)
    while True:
        yield chance.randint(1, len(names))


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
        return Forked(preloaded("faces"), given, **silent), log

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


@pytest.fixture
def play(house: House) -> Iterator[Play]:
    with cluster().database() as database:
        fleet = Fleet(database, house.root)
        house.at_end.callback(fleet.close)
        yield Play(fleet)
        house.at_end.close()


def test_the_link(play: Play, chance: random.Random, tally: Tally) -> None:
    """A link killed with -9 at any moment of an order: the next one finishes it, once."""
    cuts = Cuts("link", tally, "a host's link killed with -9 during an order")
    for at, _ in zip(moments_of_link(play, chance, cuts.wanted), cuts, strict=False):
        run = play.next_agent()
        play.fleet.unlink(HOST)
        play.order(run)
        link, log = play.cut(play.host, at, "fleet", "link")
        eventually(lambda link=link, run=run: link.poll() is not None or not play.is_open(run))
        cut = link.poll() is not None
        link.kill()
        link.wait()
        moment = (log.read_text().splitlines() or ["never"])[-1]
        with saying(f"the link was cut {moment} (number {at})"):
            play.fleet.link(HOST)
            play.check(run)
        cuts.met(it=cut)
    play.fleet.told_all(HOST)


def moments_of_link(play: Play, chance: random.Random, many: int) -> Iterator[int]:
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
    cuts = Cuts("asker", tally, "an asker killed with -9 during an order")
    for at, _ in zip(numbers(names, chance, cuts.wanted), cuts, strict=False):
        run = play.next_agent()
        words = ("kill", f"{run.agent}@{HOST}", "--wait", "60", "--json")
        asker, log = play.cut(boss, at, *words)
        cut = asker.wait() == -signal.SIGKILL
        with saying(f"the asker was cut at number {at} of {names}"):
            again = boss.run(*words)
            assert again.returncode == 0, again
            play.check(run, lost=True)
        cuts.met(it=cut)
    play.fleet.told_all(HOST)


def test_the_database(play: Play, chance: random.Random, tally: Tally) -> None:
    """A database killed with -9 during an order: nothing that it acknowledged is lost."""
    cuts = Cuts("database", tally, "the fleet's database killed with -9 during an order")
    for _ in cuts:
        run = play.next_agent()
        asker = play.fleet.boss.begin(
            "kill", f"{run.agent}@{HOST}", "--wait", "60", "--json",
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        cuts.await_moment(chance)
        underway = asker.poll() is None
        play.database.server.crash()
        play.database.server.start()
        asker.wait(300)
        with saying(f"the asker left with {asker.returncode}"):
            again = play.fleet.boss.run("kill", f"{run.agent}@{HOST}", "--wait", "120", "--json")
            assert again.returncode == 0, again
            play.check(run, lost=True)
        cuts.met(it=underway)
    play.fleet.told_all(HOST)


def test_the_origin(play: Play, chance: random.Random, tally: Tally) -> None:
    """A host whose link, keeper and agent are all killed with -9: its answer is the truth."""
    said = "a host's link, keeper and agent killed with -9 during an order"
    cuts = Cuts("origin", tally, said)
    for _ in cuts:
        run = play.next_agent()
        assert run.process
        assert run.keeper
        play.fleet.unlink(HOST)
        play.order(run)
        link = play.fleet.begin_link(HOST)
        cuts.await_moment(chance)
        underway = play.is_open(run)
        for pid in (link.pid, run.keeper.pid, run.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        play.fleet.unlink(HOST)
        play.fleet.link(HOST)
        with saying("the origin was cut"):
            eventually(lambda run=run: not play.is_open(run))
            play.host.run("list")  # whoever looks records the end that nobody else could
            play.check(run, lost=True)
        cuts.met(it=underway)
    play.fleet.told_all(HOST)


def test_the_long_version_has_three_hundred_cuts() -> None:
    """A link, asker, database or origin is killed at least 300 times in the long version."""
    assert sum(long for long, _ in CUTS.values()) >= 300
