"""Measures a local kill while the fleet's database hangs, refuses, is full or is gone.

A home for each state of the database, each with `knell watch`, and one without a fleet beside them;
the kills are shuffled among all of them, so that a slow moment of the machine meets each alike.
"""

import contextlib
import json
import random
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


class Home(NamedTuple):
    state: str
    host: Host


def local_figures(house: House, trials: int) -> dict[str, Any]:
    """State of the database → spread of `knell kill NAME`, with its ratio to no fleet."""
    with contextlib.ExitStack() as stack:
        homes = [stack.enter_context(home(house, state)) for state in STATES]
        times: dict[str, list[float]] = {one.state: [] for one in homes}
        rounds = [one for one in homes for _ in range(trials)]
        random.shuffle(rounds)
        for number, one in enumerate([*homes, *rounds]):  # the first of each warms up
            took = killed(one.host, f"agent-{number}")
            if number >= len(homes):
                times[one.state].append(took)
    found = {state: spread(values) for state, values in times.items()}
    return {
        state: figures | {"ratio": round(figures["median"] / found[FLOOR]["median"], 3)}
        for state, figures in found.items()
    }


def killed(host: Host, name: str) -> float:
    host.spawn(name=name)
    words = [sys.executable, "-m", "knell", "kill", name]
    begun = time.perf_counter()
    done = subprocess.run(words, env=host.env, cwd=host.root, capture_output=True, check=False)
    took = (time.perf_counter() - begun) * 1000
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return took


@contextlib.contextmanager
def home(house: House, state: str) -> Iterator[Home]:
    """A host whose database is in that state, and whose watch runs."""
    with contextlib.ExitStack() as stack:
        host = Host(house.root / state.replace(" ", "-"), "h")
        stack.callback(host.leave)
        server = joined(host, state, stack) if state != FLOOR else None
        log = (host.root / "watch.log").open("w")
        watch = host.begin("watch", stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        stack.callback(end, watch)
        if server:
            eventually(lambda: server.sql("SELECT 1 FROM knell.hosts WHERE seen_at IS NOT NULL"))
            STATES[state](server)
        yield Home(state, host)


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
