"""Scenes of the watch: a real `knell watch` beside the test, agents that beat, clocks to wind."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from house import House, alive, eventually
from knell.core.ports.store import Event
from knell.core.restart import RestartPlan
from knell.core.run import Run
from knell.core.stall.signs import Clock
from knell.wiring import RealWorld
from scenes import Played, started

# Bodies for scenes.started. Beats are what `touch "$KNELL_HEARTBEAT"` does.
_TOUCH = "touch = lambda: open(os.environ['KNELL_HEARTBEAT'], 'a').close() or os.utime(os.environ['KNELL_HEARTBEAT'])\n"  # noqa: E501
BEATS_ONCE = _TOUCH + "touch()\ntell()\nwhile True: time.sleep(9)"
BEATS_ON = _TOUCH + "tell()\nwhile True:\n    touch()\n    time.sleep(0.1)"
# Beats once, and again as soon as the file `again` is in its directory.
BEATS_WHEN_TOLD = (
    _TOUCH
    + """touch()
tell()
while not os.path.exists("again"):
    time.sleep(0.005)
touch()
open("beaten", "w").close()
while True: time.sleep(9)"""
)
# Exits with the code that the file `go` holds, once it is there.
EXITS_WHEN_TOLD = """tell()
while not os.path.exists("go"):
    time.sleep(0.005)
os._exit(int(open("go").read()))"""


# -- a watcher -----------------------------------------------------------------------------------


class Watching:
    """A `knell watch` that runs beside the test; its output goes to files, read at any time."""

    def __init__(self, house: House, *args: str, env: Mapping[str, str] | None = None) -> None:
        self.house = house
        number = len(list(house.root.glob("*.watch.out")))
        self._out = house.root / f"{number}.watch.out"
        self._err = house.root / f"{number}.watch.err"
        self.host = dict(env or house.env).get("KNELL_HOST") or os.uname().nodename
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = house.begin(
                "watch", *args, env=dict(env or house.env), stdin=subprocess.DEVNULL,
                stdout=out, stderr=err,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def line(self, *words: str) -> str:
        """The first line of its log that holds all these words, once there is one."""

        def found() -> str:
            lines = [line for line in self.out.splitlines(keepends=True) if line.endswith("\n")]
            return next((line for line in lines if all(word in line for word in words)), "")

        return eventually(lambda: found() or self._over()).rstrip()

    def complaint(self, *words: str) -> str:
        eventually(lambda: all(word in self.err for word in words) or self._over())
        return self.err

    def round(self, rounds: int = 1) -> None:
        """Until that many whole rounds were made after this call, each from its beginning."""
        for _ in range(rounds + 1):
            last = self._round_at()
            eventually(lambda last=last: self._round_at() not in (last, "") or self._over())

    def _round_at(self) -> str:
        known = self.house.knell.world.store.watch.watcher(self.host)
        mine = known and known.process and known.process.pid == self.pid
        return known.round_at if known and mine else ""

    def _over(self) -> str:
        """Whoever waits for a watcher that has gone waits in vain."""
        assert self.process.poll() is None, f"the watch is over: {self.out}{self.err}"
        return ""

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        return self.process.wait(timeout=300)


@contextlib.contextmanager
def watching(house: House, *args: str, env: Mapping[str, str] | None = None) -> Iterator[Watching]:
    """A watcher that has made its first round; every 0.1 s if nothing else is said."""
    args = args if "--interval" in args else (*args, "--interval", "0.1")
    watch = Watching(house, *args, env=env)
    try:
        eventually(lambda: watch._round_at() or watch._over())
        yield watch
    finally:
        watch.end(signal.SIGKILL)
    assert "Traceback" not in watch.err, watch.err


def once(house: House, *args: str) -> str:
    """One round of the watch by the command line; what it said."""
    done = house.run("watch", "--once", *args)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


# -- agents --------------------------------------------------------------------------------------


def stalled_agent(house: House, body: str = BEATS_ONCE, **wish: Any) -> Played:
    """An agent that has broken its promise to beat, for whoever is patient for one second."""
    played = started(house, body, **wish)
    eventually(lambda: stalls(house, played.run.agent))
    return played


def stalls(house: House, name: str = "luna") -> bool:
    [one] = house.knell.verdicts(name, older_than=1)
    return one.verdict.activity == "stalled"


def verdict(house: House, name: str = "luna", *options: str) -> dict[str, Any]:
    """As `knell stalled` judges one agent; ends nobody."""
    [one] = house.json("stalled", name, *options)["agents"]
    return one


def activity(house: House, name: str = "luna", *options: str) -> str:
    return verdict(house, name, *options)["activity"]


def last_run(house: House, name: str = "luna") -> Run:
    return house.knell.world.store.runs.of(name)[0]


def runs(house: House, name: str = "luna") -> list[Run]:
    """Oldest first."""
    return house.knell.world.store.runs.of(name)[::-1]


def told(house: House, *types: str, name: str = "luna") -> list[Event]:
    """The events of these types, oldest first; looked up without taking anything in."""
    events = house.knell.world.store.events.read(0, name, 1000)
    return [event for event in events if not types or event.type in types]


def plans(house: House) -> list[RestartPlan]:
    return house.knell.world.store.restarts.plans()


def settled_by_watch(house: House, name: str = "luna") -> Run:
    """Its last run, once somebody else than this test has recorded the end."""
    eventually(lambda: not last_run(house, name).live)
    return last_run(house, name)


def restarted(house: House, first: Run, name: str = "luna") -> Run:
    """The run that came in the place of `first`, once its process is known."""
    eventually(lambda: last_run(house, name).id != first.id and last_run(house, name).process)
    return last_run(house, name)


def let_exit(house: House, code: int) -> None:
    """Tells who EXITS_WHEN_TOLD; in one step, for it may be reading."""
    (house.root / "go.new").write_text(str(code))
    (house.root / "go.new").rename(house.root / "go")


def heartbeat(house: House, run: Run) -> Path:
    return Path(house.knell.world.rundir(run.id)) / "heartbeat"


def environment_file(house: House, run: Run) -> Path:
    return house.state / "environments" / run.id


def gone(*pids: int) -> None:
    eventually(lambda: not any(map(alive, pids)))


def ask(house: House, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """What the database says, or does, without any of our code."""
    with contextlib.closing(sqlite3.connect(house.state / "knell.db", timeout=300)) as db, db:
        return db.execute(statement, values).fetchall()


def configure(house: House, text: str) -> None:
    (house.root / "config.toml").write_text(text)
    house.env["KNELL_CONFIG"] = str(house.root / "config.toml")


def documents(text: str) -> list[dict[str, Any]]:
    """What `knell watch --json` wrote: one document a line."""
    return [json.loads(line) for line in text.splitlines()]


# -- clocks --------------------------------------------------------------------------------------


class WoundWorld(RealWorld):
    """The real machine, seen by clocks that the test winds."""

    wall = 0.0
    awake = 0.0
    asleep = 0.0

    def pass_by(self, seconds: float) -> None:
        """Time goes by, and the machine is awake."""
        self.wall += seconds
        self.awake += seconds

    def suspend(self, seconds: float) -> None:
        """The lid is shut for that long."""
        self.wall += seconds
        self.asleep += seconds

    def set_clock(self, seconds: float) -> None:
        """Somebody sets the clock of the wall forward, or back."""
        self.wall += seconds

    def clock(self) -> Clock:
        now = super().clock()
        return Clock(
            now.wall + self.wall,
            now.awake + self.awake,
            now.up + self.awake + self.asleep,
            now.boot,
        )

    def seconds(self) -> float:
        return super().seconds() + self.wall

    def now(self) -> str:
        return self.moment(self.seconds())


def wound(house: House) -> WoundWorld:
    """The house with wound clocks, in this process alone; its end closes it."""
    house.knell.close()
    world = WoundWorld(env=house.env)
    house.knell.world = world
    return world
