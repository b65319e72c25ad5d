"""Measures how knell grows with its history: one store that remembers 100,000 ended runs."""

import json
import os
import random
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from workshop import Bench, against, timed

from knell.api import Knell
from knell.stores.records import packed, unpacked

RUNS = (0, 1_000, 10_000, 100_000)  # ended runs in the store when the verbs are timed
BATCH = 1_000  # lives in one transaction
LIVES = 100  # of each agent that came back again and again; the other half of the runs lived once
REAL = 50  # lives that are lived for real, to weigh what they leave beside the store
ASLEEP = ("sh", "-c", "sleep 600; true")
MODEL = "model-00000000"  # the one whose life is lived for real; the others' names are as long
VERBS = {
    "list": ("list",),
    "list --all": ("list", "--all"),
    "status": ("status",),
    "events": ("events",),
    "events NAME": ("events", MODEL),
    "receipt NAME": ("receipt", MODEL),
    "spawn": ("spawn", "--in", "headless", "--name", "fresh", "--", "sleep", "600"),
    "kill NAME": ("kill", "fresh"),
}


class Life(NamedTuple):
    """What one life left in the store: rows by table, without the numbers SQLite gives itself."""

    run: str
    columns: dict[str, list[str]]
    rows: dict[str, list[tuple[Any, ...]]]


def growth_figures(bench: Bench, trials: int, sizes: tuple[int, ...] = RUNS) -> dict[str, Any]:
    """`{"runs", "store_mb", "bytes_a_run", "rundir_a_run", "how", "verbs"}`.

    `verbs` is verb → number of ended runs → spread, with `floor: python -c pass` among the verbs;
    `store_mb` is by the same number. `kill NAME` ends one live agent on that store.
    """
    home = bench.root / "grown"
    env = bench.env | {"KNELL_HOME": str(home)}
    run = model_run(bench, env)
    store = home / "knell.db"
    life, written = read_life(store, run), 0
    found: dict[str, dict[str, Any]] = {}
    weights: dict[str, int] = {}
    for size in sizes:
        multiply(store, life, written, size)
        written, weights[str(size)] = size, store.stat().st_size
        for verb, figures in timed_verbs(bench, env, trials).items():
            found.setdefault(verb, {})[str(size)] = figures
    last, first = weights[str(sizes[-1])], weights[str(sizes[0])]
    return {
        "runs": sizes[-1],
        "how": f"one life lived for real, its rows copied; half of the agents lived {LIVES} times",
        "store_mb": {size: round(weight / 1e6, 2) for size, weight in weights.items()},
        "bytes_a_run": round((last - first) / max(1, sizes[-1] - sizes[0])),
        "rundir_a_run": left_a_run(bench),
        "verbs": found,
    }


def timed_verbs(bench: Bench, env: dict[str, str], trials: int) -> dict[str, Any]:
    """Each verb and the floor, shuffled; a kill always comes right after its spawn."""
    times: dict[str, list[float]] = {"floor: python -c pass": []}
    rounds = [verb for verb in (*times, *VERBS) if verb != "kill NAME" for _ in range(trials)]
    random.shuffle(rounds)
    for verb in rounds:
        words = (bench.knell, *VERBS[verb]) if verb in VERBS else (bench.python, "-c", "pass")
        times.setdefault(verb, []).append(told(bench, env, words))
        if verb == "spawn":
            ending = (bench.knell, *VERBS["kill NAME"])
            times.setdefault("kill NAME", []).append(told(bench, env, ending))
    return against(times)


def told(bench: Bench, env: dict[str, str], argv: tuple[str, ...]) -> float:
    """Milliseconds of a command that must succeed."""
    return timed(
        lambda: subprocess.run(argv, env=env, cwd=bench.root, capture_output=True, check=True)
    )


# -- the history -----------------------------------------------------------------------------------


def model_run(bench: Bench, env: dict[str, str]) -> str:
    """One agent with a child, spawned and killed for real; the id of its run."""
    spawn = (bench.knell, "spawn", "--json", "--in", "headless", "--name", MODEL)
    argv = (*spawn, "--", *ASLEEP)
    done = subprocess.run(argv, env=env, cwd=bench.root, capture_output=True, check=True)
    told(bench, env, (bench.knell, "kill", MODEL))
    return json.loads(done.stdout)["agents"][0]["run"]


def read_life(store: Path, run: str) -> Life:
    """Every row that speaks of the run or of its agent, whichever tables this schema has."""
    life = Life(run, {}, {})
    with closing(sqlite3.connect(store)) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            told_columns = db.execute(f"PRAGMA table_info({table})").fetchall()
            columns = [name for _, name, kind, _, _, key in told_columns if not own(kind, key)]
            rows = db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            ours = [row for row in rows if any(speaks_of(value, run) for value in row)]
            if ours:
                life.columns[table], life.rows[table] = columns, ours
    if not {"agents", "runs", "events", "receipts"} <= set(life.rows):
        raise RuntimeError(f"the store holds only {sorted(life.rows)} of a life")
    return life


def own(kind: str, key: int) -> bool:
    """Whether SQLite numbers that column itself."""
    return bool(key) and kind.upper() == "INTEGER"


def speaks_of(value: object, run: str) -> bool:
    return isinstance(value, str) and (MODEL in value or run in value)


def multiply(store: Path, life: Life, begin: int, end: int) -> None:
    """Writes the lives from `begin` to `end`, in the order in which they would have been lived."""
    with closing(sqlite3.connect(store, isolation_level=None)) as db:
        for first in range(begin, end, BATCH):
            db.execute("BEGIN IMMEDIATE")
            for table, columns in life.columns.items():
                holes = ", ".join("?" * len(columns))
                insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({holes})"
                db.executemany(insert, copies(life, table, first, min(first + BATCH, end)))
            db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def copies(life: Life, table: str, first: int, last: int) -> Iterator[tuple[Any, ...]]:
    for number in range(first, last):
        agent, run = f"agent-{agent_number(number):08}", f"{life.run[:-8]}{number:08x}"
        for row in life.rows[table]:
            yield tuple(renamed(value, {life.run: run, MODEL: agent}) for value in row)


def renamed(value: Any, names: dict[str, str]) -> Any:
    """With other names in it, also where it is packed."""
    if isinstance(value, bytes):
        return packed(renamed(unpacked(value).decode(), names).encode())
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new)
    return value


def agent_number(life: int) -> int:
    """Every second life is somebody's only one; the others are LIVES of the same agent."""
    return life if life % 2 else life // (2 * LIVES) * 2 * LIVES


def left_a_run(bench: Bench) -> dict[str, int]:
    """What a headless run leaves, over so many real lives of agents of their own: pages of the
    store, and on the disk beside it the blocks of everything below `runs`."""
    home = bench.root / f"left-{os.urandom(2).hex()}"
    env = bench.env | {"KNELL_HOME": str(home)}
    live_and_end(env, range(2))
    before = weights(home)
    live_and_end(env, range(2, 2 + REAL))
    store, beside, files = (
        round((now - then) / REAL) for now, then in zip(weights(home), before, strict=True)
    )
    return {"bytes_in_store": store, "bytes_on_disk": beside, "files": files}


def live_and_end(env: dict[str, str], numbers: range) -> None:
    with Knell(env=env) as knell:
        for number in numbers:
            knell.spawn(command=ASLEEP, name=f"agent-{number:08}", place="headless")
        knell.kill("all")


def weights(home: Path) -> tuple[int, int, int]:
    """Bytes of the store, bytes below `runs`, and how many files there are."""
    with closing(sqlite3.connect(home / "knell.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    below = [home / "runs", *(home / "runs").rglob("*")]
    blocks = sum(path.lstat().st_blocks for path in below)
    return (home / "knell.db").stat().st_size, blocks * 512, len(below)
