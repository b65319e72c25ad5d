"""Measures a local kill while the fleet's database hangs, refuses, is full or is gone.

For each state of the database two homes with `knell watch`, one in a fleet and a twin without one.
Kills alternate between them, and each is compared with its neighbour in time, so that a slow minute
of the machine meets both alike. The median of these ratios is the figure; how sure it is, is drawn
again from the ratios themselves. Processor time beside it does not depend on who else runs. A twin
that is compared with another twin shows what the method itself strays.
"""

import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from workshop import spread

from hosts import Host
from house import House, eventually
from postgres import Cluster, small_disk

FLOOR = "without a fleet"
WIDEST = 0.1  # from one end of the range of a ratio to the other
MOST = 5  # times as many trials as were asked for, until the range is as narrow


class Cost(NamedTuple):
    """What one kill took, in milliseconds."""

    wall: float
    cpu: float  # of the command and of what it waited for


def local_figures(house: House, trials: int) -> dict[str, Any]:
    """State of the database → spread of `knell kill NAME`, with its ratios to no fleet."""
    return {state: state_figures(house, state, trials) for state in STATES}


def state_figures(house: House, state: str, trials: int) -> dict[str, Any]:
    with home(house, state) as host, home(house, FLOOR, "twin of " + state) as twin:
        costs: dict[Host, list[Cost]] = {host: [], twin: []}
        number = 0
        while number <= trials or (number <= trials * MOST and not is_sure(*costs.values())):
            pair = (host, twin) if number % 2 else (twin, host)
            for one in pair:
                cost = killed(one, f"agent-{number}")
                costs[one] += [cost] if number else []  # the first of each warms up
            number += 1
    ours = costs[host]
    walls, cpus = ratios_of(ours, costs[twin])
    low, high = sure_range(walls)
    return spread([one.wall for one in ours]) | {
        "ratio": round(statistics.median(walls), 3), "ratio_low": low, "ratio_high": high,
        "cpu_ms": round(statistics.median(one.cpu for one in ours), 1),
        "cpu_ratio": round(statistics.median(cpus), 3),
    }  # fmt: skip


def ratios_of(ours: list[Cost], theirs: list[Cost]) -> tuple[list[float], list[float]]:
    pairs = [*zip(ours, theirs, strict=True)]
    return [mine.wall / twin.wall for mine, twin in pairs], [a.cpu / b.cpu for a, b in pairs]


def is_sure(ours: list[Cost], theirs: list[Cost]) -> bool:
    """Whether the range is narrow enough to tell five percent; a busy machine needs more."""
    low, high = sure_range(ratios_of(ours, theirs)[0])
    return high - low <= WIDEST


def sure_range(ratios: list[float], draws: int = 2000) -> tuple[float, float]:
    """Where 95 of 100 medians lie that are drawn from the same ratios."""
    chance = random.Random(1)
    many = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(draws))
    return round(many[draws // 40], 3), round(many[-draws // 40], 3)


def killed(host: Host, name: str) -> Cost:
    host.spawn(name=name)
    words = [sys.executable, "-m", "knell", "kill", name]
    begun = time.perf_counter()
    with (host.root / "said").open("wb") as said:
        one = subprocess.Popen(words, env=host.env, cwd=host.root, stdout=said, stderr=said)
        _, status, used = os.wait4(one.pid, 0)
    took = (time.perf_counter() - begun) * 1000
    one.returncode = os.waitstatus_to_exitcode(status)
    if one.returncode:
        raise RuntimeError((host.root / "said").read_text())
    return Cost(took, (used.ru_utime + used.ru_stime) * 1000)


@contextlib.contextmanager
def home(house: House, state: str, name: str = "") -> Iterator[Host]:
    """A host whose database is in that state, and whose watch runs."""
    with contextlib.ExitStack() as stack:
        host = Host(house.root / (name or state).replace(" ", "-"), "h")
        stack.callback(host.leave)
        server = joined(host, state, stack) if state != FLOOR else None
        log = (host.root / "watch.log").open("w")
        watch = host.begin("watch", stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        stack.callback(end, watch)
        if server:
            eventually(lambda: server.sql("SELECT 1 FROM knell.hosts WHERE seen_at IS NOT NULL"))
            STATES[state](server)
        yield host


def joined(host: Host, state: str, stack: contextlib.ExitStack) -> Cluster:
    folder = stack.enter_context(small_disk()) if state == "full" else ""
    server = Cluster(folder=folder)
    stack.callback(server.close)
    url = host.root / "url"
    url.write_text(server.url("postgres"))
    url.chmod(0o600)
    for words in (("init", "--operator", "ann"), ("join", "--as", "h")):
        done = host.run("fleet", words[0], "--url-file", str(url), *words[1:], "--json")
        assert done.returncode == 0, (words, done.stderr, json.dumps(words))
    return server


def end(process: Any) -> None:
    process.kill()
    process.wait(60)


# -- what is wrong with the database ---------------------------------------------------------------


def drop(server: Cluster) -> None:
    """Another server answers in its place, and knows nothing of this fleet."""
    server.sql("DROP SCHEMA knell CASCADE")
    server.sql('ALTER ROLE "knell_h_h" NOLOGIN')
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'knell_h_h'")


STATES: dict[str, Any] = {
    FLOOR: None,
    "linked": lambda _: None,
    "hanging": Cluster.freeze,
    "refused": Cluster.stop,
    "full": Cluster.fill,
    "gone": drop,
}
