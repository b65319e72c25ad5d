"""A day of many agents under one watch: real processes, a clock that is wound by hand.

Each agent plays one part: it works, rests, asks, thinks, or hangs. Between two rounds of the watch
everybody does what their part says, then the clock is wound. The machine sleeps once, the clock is
set twice and the watch is stopped once. Nobody may be called stalled who is not.
"""

import contextlib
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from day_parts import CAST, Part, Player
from house import House, alive, eventually, state_and_parent
from knell.core.agent import Agent
from knell.core.ports.processes import Processes
from knell.core.ports.terminal import Terminal
from knell.core.run import Place, Run
from knell.core.stall.signs import Clock, Sign, Vital
from knell.core.stall.verdict import Activity
from knell.life.start.spawn import Wish, spawn
from knell.life.watch.loop import WatchLoop, WatchWish
from knell.places.tmux import Tmux
from knell.processes import queries
from knell.wiring import RealWorld

ACTOR = Path(__file__).with_name("day_actor.py")
INTERVAL = 15.0  # seconds between two rounds, as the watch has it
FASTER = 100.0  # so many simulated seconds of CPU time is a real one worth
ASLEEP = 2400.0  # seconds that the machine sleeps
SET_BY = 3600.0  # seconds by which the clock is set, there and back
PAUSED = 600.0  # seconds that the watch stands still

# What happens to the machine, and after which share of the rounds.
SLEEP, FORWARD, BACKWARD, PAUSE = 0.36, 0.5, 0.6, 0.72


# -- the world whose clock is wound ----------------------------------------------------------------


class WoundProcesses:
    """CPU time is wound with the clock, so that a busy tool need not be busy for an hour."""

    def __getattr__(self, name: str) -> Any:
        return getattr(queries, name)

    def vitals(self, runs: Sequence[Run], programs: Any) -> dict[str, Vital]:
        seen = queries.vitals(runs, programs).items()
        return {run: v._replace(cpu=None if v.cpu is None else v.cpu * FASTER) for run, v in seen}


class WoundTmux(Tmux):
    """tmux has only the real clock: whatever it tells may have been drawn just now."""

    def __init__(self, world: "WoundWorld") -> None:
        super().__init__(world.env)
        self._world = world

    def stirred(self, places: Sequence[Place]) -> dict[Place, Sign]:
        wall = self._world.clock().wall
        return {place: Sign(sign.mark, wall) for place, sign in super().stirred(places).items()}


class WoundWorld(RealWorld):
    """This machine with a clock that stands still until it is wound."""

    def __init__(self, env: dict[str, str]) -> None:
        super().__init__(env)
        self._at: Clock | None = None
        self._tmux = WoundTmux(self)
        self.processes = cast("Processes", WoundProcesses())

    def stand_still(self) -> None:
        self._at = super().clock()

    def wind(self, *, awake: float = 0.0, asleep: float = 0.0, set_by: float = 0.0) -> None:
        wall, been_awake, up, boot = self.clock()
        passed = awake + asleep
        self._at = Clock(wall + passed + set_by, been_awake + awake, up + passed, boot)

    def clock(self) -> Clock:
        return self._at or super().clock()

    def seconds(self) -> float:
        return self.clock().wall

    def now(self) -> str:
        return self.moment(self.seconds())

    def place(self, name: str, *, usable: bool = False) -> Terminal:
        return self._tmux if name == "tmux" else super().place(name, usable=usable)


# -- the day ---------------------------------------------------------------------------------------


class Wrong(NamedTuple):
    """A verdict that was wrong: stalled, and it was not."""

    name: str
    at: float
    why: str


class Found(NamedTuple):
    name: str
    patience: float  # seconds that the verdict may wait for a sign of life
    after: float  # seconds from the last sign to the verdict, watched and awake
    bound: float
    why: str


class Chronicle(NamedTuple):
    """What came of the day."""

    agents: int
    healthy: int
    rounds: int
    agent_rounds: int  # verdicts on agents that were not to be called stalled
    wrong: list[Wrong]
    found: list[Found]
    missed: list[str]  # hung, and not called so in time, or not ended
    ended_wrongly: list[str]
    verdicts: dict[str, Counter[str]]  # by agent


class Day:
    def __init__(self, house: House, rounds: int) -> None:
        self.house = house
        self.rounds = rounds
        self.at = 0  # the round
        self.watched = 0.0  # seconds so far in which the watch could see who moves
        self.world = WoundWorld(house.env)
        self.stage = socket.socket(socket.AF_UNIX)
        self.switchboard = socket.create_server(("127.0.0.1", 0))
        self.calls: list[socket.socket] = []
        self.players: dict[str, Player] = {}
        self.wrong: list[Wrong] = []
        self.found: dict[str, Found] = {}
        self.agent_rounds = 0
        self.verdicts: dict[str, Counter[str]] = {}

    @property
    def time(self) -> float:
        """By which the parts are played: the rounds so far, in seconds."""
        return self.at * INTERVAL

    def is_round(self, share: float) -> bool:
        return self.at == int(share * self.rounds)

    # -- the cast -----------------------------------------------------------------------------

    def open(self, cast: Sequence[Part]) -> None:
        programs = self.house.root / "programs"
        programs.mkdir()
        claude = programs / "claude"
        claude.write_text(f"#!{sys.executable} -IS\n{ACTOR.read_text()}")
        claude.chmod(0o755)
        self.house.env["PATH"] = f"{programs}:{self.house.env['PATH']}"
        self.world.env = dict(self.house.env)
        path = self.house.root / "stage"
        self.stage.bind(str(path))
        self.stage.listen(64)
        self.stage.settimeout(300)
        for part in cast:
            self.enter(part, str(path))
        self.world.stand_still()

    def enter(self, part: Part, stage: str) -> None:
        command = (sys.executable, "-IS", str(ACTOR)) if part.kind == "command" else ()
        agent = Agent(
            part.name,
            part.kind,
            str(self.house.root),
            command,
            env=(("DAY_STAGE", stage), ("DAY_NAME", part.name)),
            place=part.place,
            server="test" if part.place == "tmux" else "",
        )
        run = spawn(self.world, Wish(agent)).run
        assert run.process
        with self.stage.accept()[0] as heard:  # the line keeps it open
            line = heard.makefile("rw")
        assert line.readline().strip() == part.name
        hang = None if part.hangs is None else int(part.hangs * self.rounds)
        self.players[part.name] = Player(part, run.process.pid, line, self, hang)

    def close(self) -> None:
        for player in self.players.values():
            with contextlib.suppress(OSError):
                player.line.close()
        for call in (*self.calls, self.stage, self.switchboard):
            call.close()
        self.world.close()

    # -- what parts ask of the day ------------------------------------------------------------

    @property
    def number(self) -> int:
        """Where the far end of a connection can be called."""
        return int(self.switchboard.getsockname()[1])

    def hang_up(self) -> None:
        """Closes the far end of the call that was just made; the near end stays open."""
        self.switchboard.accept()[0].close()

    def listen(self) -> None:
        """Holds the far end of the call that was just made."""
        self.calls.append(self.switchboard.accept()[0])

    def stop(self, pid: int) -> None:
        """As a person does it from another terminal."""
        os.kill(pid, signal.SIGSTOP)
        eventually(lambda: state_and_parent(pid)[0] == "T")

    def go_on(self, pid: int) -> None:
        os.kill(pid, signal.SIGCONT)
        eventually(lambda: state_and_parent(pid)[0] != "T")

    # -- the rounds ---------------------------------------------------------------------------

    def live(self) -> Chronicle:
        watch = WatchLoop(self.world, WatchWish(policy="kill"))
        for number in range(self.rounds):
            self.at = number
            for player in self.players.values():
                if alive(player.pid):
                    player.play()
            told = list(watch.run_round())
            assert not watch.troubles, (watch.troubles, told)
            for one in watch.found:
                self.take_down(one.agent.name, one.verdict.activity, one.verdict.why)
            self.watched += INTERVAL
            self.world.wind(awake=INTERVAL)
            self.disturb()
        return self.chronicle()

    def disturb(self) -> None:
        if self.is_round(SLEEP):
            self.world.wind(asleep=ASLEEP)
        if self.is_round(FORWARD):
            self.world.wind(set_by=SET_BY)
        if self.is_round(BACKWARD):
            self.world.wind(set_by=-SET_BY)
        if self.is_round(PAUSE):
            self.watched += INTERVAL  # of a longer absence the watch counts one round more
            self.world.wind(awake=PAUSED)

    def take_down(self, name: str, activity: Activity, why: str) -> None:
        player = self.players[name]
        self.verdicts.setdefault(name, Counter())[activity.value] += 1
        silent = self.watched - player.last_sign
        # The watch adds up differences of a float clock. Where that clock passes a power of two, as
        # 8192 s after the boot, sixty times 15 s may be a hair more than 900: either is right then.
        hung = player.hangs and silent >= player.part.patience
        self.agent_rounds += not hung
        if activity is not Activity.STALLED:
            return
        if not hung:
            self.wrong.append(Wrong(name, self.time, why))
        elif name not in self.found:
            self.found[name] = Found(name, player.part.patience, silent, player.bound, why)

    def chronicle(self) -> Chronicle:
        hung = [player for player in self.players.values() if player.hangs]
        well = [player for player in self.players.values() if not player.hangs]
        live = {run.agent for run in self.world.store.runs.live()}

        def caught(player: Player) -> bool:
            seen = self.found.get(player.part.name)
            ended = player.part.name not in live and not alive(player.pid)
            return seen is not None and seen.after <= seen.bound and ended

        return Chronicle(
            agents=len(self.players),
            healthy=len(well),
            rounds=self.rounds,
            agent_rounds=self.agent_rounds,
            wrong=self.wrong,
            found=[self.found[p.part.name] for p in hung if p.part.name in self.found],
            missed=[player.part.name for player in hung if not caught(player)],
            ended_wrongly=[p.part.name for p in well if p.part.name not in live],
            verdicts=self.verdicts,
        )


def spend(house: House, rounds: int, cast: Sequence[Part] = CAST) -> Chronicle:
    """The whole day; everybody is ended by the house."""
    with opened(house, rounds, cast) as day:
        return day.live()


@contextlib.contextmanager
def opened(house: House, rounds: int, cast: Sequence[Part]) -> Iterator[Day]:
    day = Day(house, rounds)
    try:
        day.open(cast)
        yield day
    finally:
        day.close()


def summary(told: Chronicle) -> dict[str, Any]:
    """As plain values, for the bench."""
    return {
        "agents": told.agents,
        "healthy": told.healthy,
        "rounds": told.rounds,
        "verdicts_on_the_healthy": told.agent_rounds,
        "false_verdicts": len(told.wrong),
        "ended_wrongly": told.ended_wrongly,
        "hung": told.agents - told.healthy,
        "missed": told.missed,
        "found": {
            one.name: {"patience_s": one.patience, "after_s": one.after} for one in told.found
        },
        "verdicts": {name: dict(seen) for name, seen in told.verdicts.items()},
        "parts": {part.name: part.play.__doc__ or "" for part in CAST},
    }
