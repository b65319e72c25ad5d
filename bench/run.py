"""Measures quell as its users have it: an installed wheel, started by its own interpreter.

    make bench                      everything, results to docs/benchmarks.md and bench/results.json
    make bench ARGS='--trials 2'    quicker, for a look; ARGS='--dry' prints without writing
    make bench ARGS='--only watch'  one part; the others keep the figures they have

Times are ratios to `python -c pass` in the same run, so that a slow or busy machine changes little;
the machine's noise (spread of that floor) stands beside them. Every process it starts is ended, and
the survivors are counted by this process, which is the subreaper of all of them.
"""

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # house.py and its neighbours

from page import page  # noqa: E402
from watch import watch_figures  # noqa: E402
from workshop import Bench, spread, survivors_now, timed, workshop  # noqa: E402

from house import become_subreaper, pause  # noqa: E402
from quell.habits import HABITS, OBEDIENT  # noqa: E402

DEAF = HABITS["ignores_term"]


def starts(bench: Bench, trials: int) -> dict[str, Any]:
    """Whole commands, shuffled with the floor so that all meet the same noise."""
    bench.spawn("one", OBEDIENT)
    commands = {
        "floor: python -c pass": [bench.python, "-c", "pass"],
        "quell list, 1 agent": [bench.quell, "list"],
        "quell list --json": [bench.quell, "list", "--json"],
        "quell status": [bench.quell, "status"],
        "quell --help": [bench.quell, "--help"],
    }
    rounds = [name for name in commands for _ in range(trials * 5)]
    random.shuffle(rounds)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for name in rounds:
        times[name].append(timed(lambda argv=commands[name]: bench.call(*argv)))
    bench.call(bench.quell, "kill", "all")
    return {name: spread(values) for name, values in times.items()}


def endings(bench: Bench, trials: int) -> dict[str, Any]:
    """One kill, from the start of the command to verified death, per place."""
    found: dict[str, Any] = {}
    places = ["headless", *(["tmux"] if shutil.which("tmux") else [])]
    for place in places:
        times, engine = [], []
        for number in range(trials * 3):
            name = f"{place}-{number}"
            bench.spawn(name, OBEDIENT, place)
            begun = time.perf_counter()
            told = json.loads(bench.call(bench.quell, "kill", name, "--json"))
            times.append((time.perf_counter() - begun) * 1000)
            engine.append(float(told["receipts"][0]["duration_ms"]))
        found[f"quell kill, obedient, {place}"] = spread(times)
        found[f"the engine alone, {place}"] = spread(engine)
    return found


def many(bench: Bench, sizes: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for size in sizes:
        for word, source, extra in (("obedient", OBEDIENT, []), ("deaf", DEAF, ["--grace", "1"])):
            for number in range(size):
                bench.spawn(f"{word}-{size}-{number}", source)
            listed = timed(lambda: bench.call(bench.quell, "list"))
            took = timed(lambda extra=extra: bench.call(bench.quell, "kill", "all", *extra))
            found[f"quell kill all, {size} {word}"] = spread([took])
            found[f"quell list, {size} agents"] = spread([listed])
    return found


def keeper_cost(bench: Bench, trials: int) -> dict[str, Any]:
    """What a keeper adds to the start of a program, and what it weighs."""
    bare = [timed(lambda: bench.call(bench.python, "-S", "-c", "pass")) for _ in range(trials * 5)]
    bench.spawn("weighed", OBEDIENT)
    tree = json.loads(bench.call(bench.quell, "tree", "weighed", "--json"))["processes"]
    keeper = next(process["pid"] for process in tree if process["via"] == "keeper")
    rollup = Path(f"/proc/{keeper}/smaps_rollup").read_text()
    sizes = {line.split()[0]: int(line.split()[1]) for line in rollup.splitlines()[1:]}
    begun = keeper_ticks(keeper)
    pause(2)
    ticks = keeper_ticks(keeper) - begun
    bench.call(bench.quell, "kill", "all")
    return {
        "resident_kb": sizes["Rss:"],
        "proportional_kb": sizes["Pss:"],
        "cpu_ticks_in_2_s": ticks,
        "bare_start_ms": spread(bare),
        "birth_ms": spread(births(bench, trials)),
    }


def births(bench: Bench, trials: int) -> list[float]:
    """From starting the keeper to the agent's first instruction, without the quell command."""
    from quell.core.climbing import Order
    from quell.processes.launching import await_birth, keeper_argv, prepare

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


def keeper_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def survivors(bench: Bench, trials: int) -> dict[str, Any]:
    """Every habit in every place; a survivor is a process below this one that was not before."""
    places = ["headless", *(["tmux"] if shutil.which("tmux") else [])]
    cases = [(habit, place) for place in places for habit in HABITS]
    found: dict[str, Any] = {}
    for habit, place in cases:
        left, proven = 0, 0
        for number in range(trials):
            name = f"{habit}-{place}-{number}".replace("_", "-")
            bench.spawn(name, HABITS[habit], place)
            told = json.loads(bench.call(bench.quell, "kill", name, "--grace", ".2", "--json"))
            proven += told["receipts"][0]["proof"] == "proven"
            if place == "tmux":
                bench.call("tmux", "-L", "bench", "kill-server")
            left += len(survivors_now())
        found[f"{habit}, {place}"] = {"trials": trials, "survivors": left, "proven": proven}
    return found


def measured(bench: Bench, given: argparse.Namespace) -> dict[str, Any]:
    """The parts that were asked for, with the machine they ran on."""
    trials = given.trials
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "starts": lambda: starts(bench, trials),
        "endings": lambda: endings(bench, trials),
        "many": lambda: many(bench, [int(size) for size in given.sizes.split(",")]),
        "keeper": lambda: keeper_cost(bench, trials),
        "survivors": lambda: survivors(bench, trials),
        "watch": lambda: watch_figures(bench, trials, given.watched, given.panes),
    }
    wanted = given.only.split(",") if given.only else list(parts)
    unknown = set(wanted) - set(parts)
    if unknown:
        raise SystemExit(
            f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(parts)}"
        )
    found: dict[str, Any] = {}
    if not given.only:
        found["machine"] = (
            f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, "
            f"Python {platform.python_version()}"
        )
        found["load_before"] = round(os.getloadavg()[0], 2)
    return found | {name: parts[name]() for name in parts if name in wanted}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--sizes", default="1,10,50")
    parser.add_argument("--watched", type=int, default=200, help="agents under one watcher")
    parser.add_argument("--panes", type=int, default=50, help="the same in tmux panes")
    parser.add_argument("--only", default="", help="parts, with commas between them")
    parser.add_argument("--dry", action="store_true", help="print, write nothing")
    given = parser.parse_args()
    become_subreaper()
    with workshop() as bench:
        results = measured(bench, given)
    print(json.dumps(results, indent=2))
    if not given.dry:
        file = ROOT / "bench" / "results.json"
        known = json.loads(file.read_text()) if given.only and file.exists() else {}
        results = known | results
        file.write_text(json.dumps(results, indent=2) + "\n")
        (ROOT / "docs" / "benchmarks.md").write_text(page(results))


if __name__ == "__main__":
    main()
