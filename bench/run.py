"""Measures knell as its users have it: an installed wheel, started by its own interpreter.

    make bench                            everything, to docs/benchmarks.md and bench/results.json
    make bench ARGS='--quick --dry'       a look in about two minutes, which writes nothing
    make bench ARGS='--only times,many'   some parts; the others keep the figures they have

Times stand beside `python -c pass` among the same shuffled trials, so that a slow or busy machine
changes little; the spread of that floor is the machine's noise. Every process it starts is ended,
and what is left is seen by this process, which is the subreaper of all of them.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]  # house.py and others

import ways  # noqa: E402
from workshop import Bench, workshop  # noqa: E402

from house import become_subreaper, descendants, pause  # noqa: E402


class Scale(NamedTuple):
    """How much of everything."""

    trials: int = 5
    few: int = 2  # trials of what takes many seconds each
    sizes: tuple[int, ...] = (1, 10, 50, 200)  # agents ended at once
    most: int = 1000  # the same, by knell alone
    kept: int = 50  # keepers that are weighed together
    watched: int = 200  # agents under one watcher
    panes: int = 50  # the same in tmux panes
    served: int = 20  # agents with an MCP server
    history: tuple[int, ...] = (0, 1_000, 10_000, 100_000)  # ended runs in the store
    hosts: int = 1000  # of a simulated fleet
    local: int = 40  # kills at home, in each state of the fleet's database


FAILURES = (RuntimeError, AssertionError, OSError, LookupError, ValueError)
QUICK = Scale(1, 1, (1, 10), 50, 10, 20, 5, 3, (0, 1_000), 8, 2)
SLOW = (
    "watch",
    "mcp",
    "faces",
    "survivors",
    "innocents",
    "fleet",
    "real",
)  # not in a quick look unless asked for


class Part(NamedTuple):
    told: str  # what is being measured, for whoever waits
    minutes: float  # about, on two cores
    measure: Callable[[Bench, Scale], dict[str, Any]]  # imports what it needs, and nothing earlier


# -- the parts -------------------------------------------------------------------------------------


def starts(bench: Bench, scale: Scale) -> dict[str, Any]:
    from starts import start_figures

    return start_figures(bench, scale.trials)


def times(bench: Bench, scale: Scale) -> dict[str, Any]:
    from times import times_figures

    return times_figures(bench, scale.trials)


def many(bench: Bench, scale: Scale) -> dict[str, Any]:
    from many import many_figures

    return many_figures(bench, scale.trials, scale.sizes, scale.most)


def keeper(bench: Bench, scale: Scale) -> dict[str, Any]:
    from costs import keeper_figures

    return keeper_figures(bench, scale.trials, scale.kept)


def watch(bench: Bench, scale: Scale) -> dict[str, Any]:
    from watch import watch_figures

    return watch_figures(bench, scale.trials, scale.watched, scale.panes)


def mcp(_: Bench, scale: Scale) -> dict[str, Any]:
    from mcp_memory import figures

    return figures(scale.served)


def growth(bench: Bench, scale: Scale) -> dict[str, Any]:
    from growth import growth_figures

    return growth_figures(bench, scale.trials, scale.history)


def faces(bench: Bench, scale: Scale) -> dict[str, Any]:
    from face_costs import faces_figures

    return faces_figures(bench, scale.trials, scale.watched)


def survivors(bench: Bench, scale: Scale) -> dict[str, Any]:
    from survivors import survivor_figures

    return survivor_figures(bench, scale.trials)


def innocents(bench: Bench, scale: Scale) -> dict[str, Any]:
    from innocents import innocent_figures

    return innocent_figures(bench, scale.few)


def real(bench: Bench, scale: Scale) -> dict[str, Any]:
    from real import real_figures

    return real_figures(bench, scale.few)


def fleet(_: Bench, scale: Scale) -> dict[str, Any]:
    from fleet_part import fleet_figures
    from fleet_scale import FleetScale

    size = FleetScale() if scale.hosts == FleetScale().hosts else FleetScale(scale.hosts, 5, 5, 5.0)
    return fleet_figures(size, scale.local)


PARTS = {
    "starts": Part("whole commands, one agent", 1.5, starts),
    "times": Part("one ending by every way", 5, times),
    "many": Part("kill all by every way that has it", 8, many),
    "keeper": Part("what a keeper costs", 0.5, keeper),
    "watch": Part("what the watch costs, and how soon it knows", 4, watch),
    "mcp": Part("memory of the MCP server", 0.5, mcp),
    "growth": Part("a store that remembers many runs", 1.5, growth),
    "faces": Part("what top and web cost", 5, faces),
    "survivors": Part("who survives each way", 8, survivors),
    "innocents": Part("who is hit by mistake", 1, innocents),
    "fleet": Part("a thousand hosts on one PostgreSQL", 8, fleet),
    "real": Part("real agents", 4, real),
}


# -- the run ---------------------------------------------------------------------------------------


def measured(bench: Bench, names: list[str], scale: Scale) -> dict[str, Any]:
    """Those parts one after another, and under `taken` when and on how busy a machine.

    One that fails is left out, and says why on stderr.
    """
    found: dict[str, Any] = {}
    taken: dict[str, Any] = {}
    for number, name in enumerate(names, 1):
        part = PARTS[name]
        about = f"about {part.minutes:g} min" if scale != QUICK else "quickly"
        print(f"[{number} of {len(names)}] {name}: {part.told}, {about}", file=sys.stderr)
        begun, load = time.monotonic(), os.getloadavg()[0]
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        try:
            found[name] = part.measure(bench, scale)
        except FAILURES:  # the figures of the others were long in the making
            traceback.print_exc()
            continue
        took = time.monotonic() - begun
        taken[name] = {"at": at, "load": round(load, 2), "took_s": round(took, 1)}
    return found | {"taken": taken, "machine": machine(), "trials": scale.trials}


def machine() -> str:
    cores, python = os.cpu_count(), platform.python_version()
    return f"{platform.system()} {platform.release()}, {cores} cores, Python {python}"


def together(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The parts that were not measured now keep what they have, with the day on which they did."""
    if ways.WANTED:  # the other ways keep their figures, and how they were taken
        parts = {part: merged(known.get(part, {}), new[part]) for part in new if part in PARTS}
        stays = {name: known[name] for name in ("machine", "trials") if name in known}
        when = {f"{part}: {', '.join(ways.WANTED)}": one for part, one in new["taken"].items()}
        new = new | parts | stays | {"taken": when}
    return known | new | {"taken": known.get("taken", {}) | new["taken"]}


def merged(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """One part, of which only some ways were measured now. What stands beside them stays as it is:
    the floor is that of the others, and each way has its ratio to its own."""
    both = {way: one for way, one in new.items() if isinstance(one, dict) and way != "ways"}
    if "ways" not in new:
        return known | both
    measured = new["ways"].keys()
    why = known.get("unavailable", {}) | new.get("unavailable", {})
    return (
        both
        | known
        | {
            "ways": known.get("ways", {}) | new["ways"],
            "versions": known.get("versions", {}) | new.get("versions", {}),
            "unavailable": {way: one for way, one in why.items() if way not in measured},
        }
    )


def chosen(given: argparse.Namespace) -> tuple[list[str], Scale]:
    """The parts that are wanted, and how much of each."""
    scale = QUICK if given.quick else Scale()
    told = {name: getattr(given, name) for name in ("trials", "few", "most", "watched", "panes")}
    scale = scale._replace(**{name: value for name, value in told.items() if value is not None})
    if given.sizes:
        scale = scale._replace(sizes=tuple(int(size) for size in given.sizes.split(",")))
    wanted = given.only.split(",") if given.only else list(PARTS)
    unknown = sorted(set(wanted) - set(PARTS))
    if unknown:
        raise SystemExit(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if given.quick and not given.only:
        wanted = [name for name in wanted if name not in SLOW]
        print(f"left out of a quick look: {', '.join(SLOW)}", file=sys.stderr)
    return [name for name in PARTS if name in wanted], scale


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", help="parts, with commas between them")
    parser.add_argument("--ways", default="", help="how their names begin, commas between them")
    parser.add_argument("--trials", type=int)
    parser.add_argument("--few", type=int, help="trials of innocents and of real agents")
    parser.add_argument("--sizes", default="", help="agents ended at once, as in 1,10,50")
    parser.add_argument("--most", type=int, help="agents ended at once by knell alone; 0 for none")
    parser.add_argument("--watched", type=int, help="agents under one watcher")
    parser.add_argument("--panes", type=int, help="the same in tmux panes")
    parser.add_argument("--quick", action="store_true", help="a look in about two minutes")
    parser.add_argument("--dry", action="store_true", help="print, write nothing")
    parser.add_argument(
        "--here", action="store_true", help="measure this interpreter's knell, not a wheel"
    )
    return parser


def main() -> None:
    given = options().parse_args()
    names, scale = chosen(given)
    ways.WANTED[:] = given.ways.split(",") if given.ways else []
    become_subreaper()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    try:
        with workshop(install=not given.here) as bench:
            results = measured(bench, names, scale)
    finally:
        end_the_rest()
    print(json.dumps(results, indent=2))
    if not given.dry:
        write(results)
    if failed := [name for name in names if name not in results]:
        raise SystemExit(f"not measured: {', '.join(failed)}")


def interrupted(number: int, _: object) -> None:
    """As an exception, so that every part ends what it has started."""
    raise SystemExit(128 + number)


def end_the_rest() -> None:
    """Whatever is below us is ours, however it got there; a few times, as it may have forked."""
    for _ in range(50):
        for pid in (left := descendants()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            return
        pause(0.02)


def write(results: dict[str, Any]) -> None:
    from page import write_page

    file = ROOT / "bench" / "results.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    results = together(known, results)
    file.write_text(json.dumps(results, indent=2) + "\n")
    write_page(results, ROOT / "docs")


if __name__ == "__main__":
    main()
