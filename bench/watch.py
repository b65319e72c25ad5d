"""Measures the watch: what it costs, how soon it knows, and how often it is wrong."""

import json
import multiprocessing
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from workshop import spread, timed

from day import INTERVAL, spend, summary
from house import eventually, open_house, pause
from knell.core.agent import Agent
from knell.core.run import Place, Run, State
from knell.life.watch.loop import WatchLoop, WatchWish
from knell.life.watch.signs.collect import read_heartbeat
from knell.wiring import RealWorld

HOUR = 200  # rounds of 15 s; with ten minutes in which the watch is paused, an hour awake
ROUNDS = 3  # over which the watcher's CPU time is taken
AT_ONCE = 20  # agents by one spawn command
STALL, EVERY = 3.0, 1.0  # seconds: --older-than and --interval, to see how soon a stall is told
SLEEPS = ("sleep", "3600")
# Only its screen shows that it lives, so that the watch must read it again and again.
PRINTS = ("sh", "-c", "while sleep 5; do echo one more word; done")
BEATING = 0.5  # seconds for which heartbeats are counted


def watch_figures(bench: Any, trials: int, agents: int, panes: int) -> dict[str, Any]:
    """`bench` is the installed wheel with a home of its own, as run.py has it."""
    return {
        "load_before": round(os.getloadavg()[0], 2),
        "beat": beat_command(bench, trials),
        "heartbeats": heartbeats(bench),
        "verdict_s": stall_to_verdict(bench, trials),
        "day": simulated_day(),
        "watcher": {
            f"{agents} headless agents": watcher_cost(bench, agents, "headless", SLEEPS),
            f"{panes} in tmux panes that print": watcher_cost(bench, panes, "tmux", PRINTS),
        },
    }


# -- the simulated day -----------------------------------------------------------------------------


def simulated_day() -> dict[str, Any]:
    """An hour with everybody in it, over real processes and a wound clock."""
    begun = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="knell-day-", ignore_cleanup_errors=True) as root,
        open_house(Path(root)) as house,
    ):
        told = summary(spend(house, HOUR))
    return told | {"interval_s": INTERVAL, "took_s": round(time.perf_counter() - begun, 1)}


# -- what the watcher costs ------------------------------------------------------------------------


def watcher_cost(bench: Any, agents: int, place: str, does: tuple[str, ...]) -> dict[str, Any]:
    """CPU time of `knell watch` at its default interval, its programs included, and its memory."""
    crowd(bench, agents, place, does)
    try:
        earlier = last_round(bench)
        with watching(bench) as watch:
            await_round(bench, earlier)
            server = tmux_server(bench) if place == "tmux" else 0
            before = (time.perf_counter(), ticks(watch.pid), ticks(server))
            for _ in range(ROUNDS):
                await_round(bench, last_round(bench))
            after = (time.perf_counter(), ticks(watch.pid), ticks(server))
            memory = sizes(watch.pid)
        seconds, own, servers = (b - a for a, b in zip(before, after, strict=True))
        rate = os.sysconf("SC_CLK_TCK")
        return {
            "agents": agents,
            "load": round(os.getloadavg()[0], 2),
            "rounds": ROUNDS,
            "seconds": round(seconds, 1),
            "percent_of_a_core": round(100 * own / rate / seconds, 2),
            "tmux_server_percent": round(100 * servers / rate / seconds, 2),
            "cpu_ms_a_round": round(1000 * own / rate / ROUNDS, 1),
            "resident_kb": memory["Rss:"],
            "proportional_kb": memory["Pss:"],
            "round_ms": spread(rounds_inside(bench)),
        }
    finally:
        bench.call(bench.knell, "kill", "all", "--force")


def crowd(bench: Any, agents: int, place: str, does: tuple[str, ...]) -> None:
    """So many that do the same, started by two commands at a time."""
    where = ["--in", place, *(["--tmux-server", "bench"] if place == "tmux" else [])]
    counts = [AT_ONCE] * (agents // AT_ONCE) + [agents % AT_ONCE] * bool(agents % AT_ONCE)
    spawning: list[subprocess.Popen[bytes]] = []
    for number, count in enumerate(counts):
        names = ["--name", f"{place}-{number}", "--count", str(count)]
        argv = [bench.knell, "spawn", *where, *names, "--", *does]
        spawning.append(subprocess.Popen(argv, env=bench.env, stdout=subprocess.DEVNULL))
        if len(spawning) > 1:
            spawning.pop(0).wait()
    for one in spawning:
        one.wait()
    listed = json.loads(bench.must(bench.knell, "list", "--json"))["agents"]
    if len(listed) != agents:
        raise RuntimeError(f"{len(listed)} of {agents} were started")


@contextmanager
def watching(bench: Any, *options: str) -> Iterator[subprocess.Popen[str]]:
    argv = [bench.knell, "watch", "--json", *options]
    with subprocess.Popen(
        argv, env=bench.env, cwd=bench.root, text=True,
        stdout=subprocess.PIPE if options else subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as watch:  # fmt: skip
        try:
            yield watch
        finally:
            watch.terminate()


def last_round(bench: Any) -> str:
    """When the watcher was last through, by its own record."""
    world = RealWorld(bench.env)
    with closing(world):
        found = world.store.watch.watcher(world.host)
    return found.round_at if found else ""


def await_round(bench: Any, after: str) -> None:
    eventually(lambda: last_round(bench) > after or pause(0.2), 120)


def ticks(pid: int) -> int:
    """Of the process and of those it has reaped."""
    if not pid:
        return 0
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15])


def sizes(pid: int) -> dict[str, int]:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split()[0]: int(line.split()[1]) for line in rollup}


def tmux_server(bench: Any) -> int:
    return int(bench.call("tmux", "-L", "bench", "display-message", "-p", "#{pid}"))


def rounds_inside(bench: Any, count: int = 5) -> list[float]:
    """How long one round takes from its first look to its last word; the first is warming up."""
    world = RealWorld(bench.env)
    try:
        watch = WatchLoop(world, WatchWish())
        return [timed(lambda: list(watch.run_round())) for _ in range(count + 1)][1:]
    finally:
        world.close()


# -- how soon it knows -----------------------------------------------------------------------------


def stall_to_verdict(bench: Any, trials: int) -> dict[str, float]:
    """Seconds from the moment at which an agent counts as stalled to the event that says so."""
    late: list[float] = []
    with watching(bench, "--older-than", f"{STALL:g}", "--interval", f"{EVERY:g}") as watch:
        assert watch.stdout
        await_round(bench, last_round(bench))
        for number in range(trials):
            run = beats_once(bench, f"beats-once-{number}")
            file = Path(bench.env["KNELL_HOME"], "runs", run, "heartbeat")
            eventually(file.exists)
            due = file.stat().st_mtime + STALL
            next(line for line in watch.stdout if run in line and '"stalled"' in line)
            late.append(time.time() - due)
    bench.call(bench.knell, "kill", "all", "--force")
    return spread(late)


def beats_once(bench: Any, name: str) -> str:
    """One that promises to beat and does not; its run."""
    body = 'touch "$KNELL_HEARTBEAT"; exec sleep 600'
    spawn = [bench.knell, "spawn", "--json", "--name", name, "--in", "headless"]
    told = json.loads(bench.call(*spawn, "--", "sh", "-c", body))
    return told["agents"][0]["run"]


# -- heartbeats ------------------------------------------------------------------------------------


def heartbeats(bench: Any) -> dict[str, Any]:
    """Touches by one and by eight processes, and how long a watcher needs to take them in."""
    found: dict[str, Any] = {
        "by_1_process_a_second": touches(bench, 1),
        "by_8_processes_a_second": touches(bench, 8),
    }
    for agents in (200, 1000):
        found[f"taken_in_ms_{agents}"] = spread(taken_in(bench, agents))
    return found


def touches(bench: Any, processes: int) -> int:
    """All of them together, a second."""
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        files = [str(bench.root / f"beat-{number}") for number in range(processes)]
        return round(sum(pool.map(touch_for_a_while, files, chunksize=1)))


def touch_for_a_while(path: str) -> float:
    Path(path).touch()
    count, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < BEATING:
        for _ in range(50):
            os.utime(path)
        count += 50
    return count / passed


def taken_in(bench: Any, agents: int, rounds: int = 5) -> list[float]:
    """Every file looked at, and all beats in one transaction."""
    world = RealWorld(bench.env | {"KNELL_HOME": str(bench.root / f"beats-{agents}")})
    runs = [
        Run(f"run-{n}", f"agent-{n}", world.host, State.RUNNING, Place("headless"), world.now())
        for n in range(agents)
    ]
    try:
        for run in runs:
            world.store.runs.add(Agent(run.agent, "command", "/"), run)
            os.makedirs(world.rundir(run.id))
        return [timed(lambda: take_in(world, runs)) for _ in range(rounds) if beat_all(world, runs)]
    finally:
        world.close()


def beat_all(world: RealWorld, runs: list[Run]) -> bool:
    return all(
        world.disk.touch(os.path.join(world.rundir(run.id), "heartbeat")) == "" for run in runs
    )


def take_in(world: RealWorld, runs: list[Run]) -> None:
    at = world.clock()
    seen = {run.id: read_heartbeat(world, run, None, at).sign for run in runs}
    beats = {run: world.moment(sign.wall) for run, sign in seen.items() if sign}
    assert len(beats) == len(runs)
    world.store.watch.remember(dict.fromkeys(beats, "{}"), beats)


def beat_command(bench: Any, trials: int) -> dict[str, Any]:
    """`knell beat` as an agent gives it, shuffled with the floor and with plain `touch`."""
    run = bench.root / "state" / "runs" / "somebody"
    run.mkdir(parents=True)
    inside = bench.env | {"KNELL_HEARTBEAT": str(run / "heartbeat")}
    commands = {
        "floor: python -c pass": [bench.python, "-c", "pass"],
        "knell beat": [bench.knell, "beat"],
        "touch": ["touch", inside["KNELL_HEARTBEAT"]],
    }
    order = [name for name in commands for _ in range(trials * 5)]
    random.shuffle(order)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for name in order:
        argv = commands[name]
        times[name].append(timed(lambda argv=argv: subprocess.run(argv, env=inside, check=True)))
    (run / "heartbeat").unlink()
    run.rmdir()
    return {name: spread(values) for name, values in times.items()}
