"""Measures what a keeper costs: memory, CPU while its agent lives, and time at the start."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from watch import SLEEPS, crowd, sizes, ticks
from workshop import Bench, spread, timed

from house import pause
from knell.core.ports.keepers import Order
from knell.processes.keepers import await_birth, keeper_argv, prepare

SECONDS = 2.0  # for which the keepers' CPU time is counted


def keeper_figures(bench: Bench, trials: int, agents: int) -> dict[str, Any]:
    """`{"agents": {number: {"resident_kb", "proportional_kb", "cpu_ticks_in_2_s"}}, "birth_ms",
    "bare_start_ms"}`: memory of one keeper among so many, ticks of all of them together."""
    weighed = {str(number): weight(bench, number) for number in sorted({1, agents})}
    bare = [timed(lambda: bench.call(bench.python, "-S", "-c", "pass")) for _ in range(trials * 5)]
    return {
        "agents": weighed,
        "bare_start_ms": spread(bare),
        "birth_ms": spread(births(bench, trials)),
    }


def weight(bench: Bench, agents: int) -> dict[str, Any]:
    """Of one keeper on average; what they share counts once."""
    crowd(bench, agents, "headless", SLEEPS)
    try:
        keepers = keepers_of(bench)
        found = [sizes(pid) for pid in keepers]
        begun = sum(map(ticks, keepers))
        pause(SECONDS)
        return {
            "resident_kb": round(sum(one["Rss:"] for one in found) / agents),
            "proportional_kb": round(sum(one["Pss:"] for one in found) / agents),
            f"cpu_ticks_in_{SECONDS:g}_s": sum(map(ticks, keepers)) - begun,
        }
    finally:
        bench.call(bench.knell, "kill", "all", "--force")


def keepers_of(bench: Bench) -> list[int]:
    """Each is the parent of its agent."""
    agents = json.loads(bench.must(bench.knell, "list", "--json"))["agents"]
    stats = [Path(f"/proc/{agent['pid']}/stat").read_text() for agent in agents]
    return [int(stat.rsplit(")", 1)[1].split()[1]) for stat in stats]


def births(bench: Bench, trials: int) -> list[float]:
    """From starting the keeper to the agent's first instruction, without the knell command."""
    times = []
    for number in range(trials * 5):
        rundir = str(bench.root / "births" / f"{number}")
        argv = (bench.python, "-S", "-c", "pass")
        cradle = prepare(rundir, Order(argv, str(bench.root), bench.env, 1.0))
        begun = time.perf_counter()
        subprocess.run(keeper_argv(rundir, detach=True), env=bench.env, check=True)
        await_birth(cradle, 10)
        times.append((time.perf_counter() - begun) * 1000)
    return times
