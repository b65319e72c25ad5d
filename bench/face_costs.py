"""What `top` and `web` cost: their first picture, a crowd that is looked at, scrolling, news."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from growth import left_a_run, model_run, multiply, read_life
from pty_screen import PtyScreen
from watch import sizes, ticks
from workshop import ROOT, Bench, against, spread

from house import pause
from knell.api import Knell
from knell.wiring import RealWorld

CLIENTS = 10
LOOKED_AT = 40.0  # seconds over which processor time is counted
RECEIPTS = 10_000
NEWS = 20  # events whose way to the page is timed
ROWS = 5_000
SLEEPER = ("sleep", "3600")


def faces_figures(bench: Bench, trials: int, agents: int) -> dict[str, Any]:
    bench.add_extras("top", "web")
    found: dict[str, Any] = {"agents": agents, "clients": CLIENTS}
    found["first"] = first_pictures(bench, trials)
    found["scroll_ms"] = scroll(bench)
    found["receipts"] = receipt_search(bench, trials)
    found["left_a_run"] = left_a_run(bench)
    try:
        start_crowd(bench, agents)
        found["top_cpu_percent"] = top_cpu(bench)
        found |= web_costs(bench)
        found["news_ms"] = news(bench)
    finally:
        bench.call(bench.knell, "kill", "all", "--force", "--yes")
    return found


def start_crowd(bench: Bench, agents: int) -> None:
    with Knell(env=bench.env) as knell:
        for number in range(agents):
            knell.spawn(command=SLEEPER, name=f"crowd-{number}", place="headless")


# -- the first picture -----------------------------------------------------------------------------


def first_pictures(bench: Bench, trials: int) -> dict[str, Any]:
    """Each beside the import of what it stands on, which nobody could be faster than."""
    bench.must(bench.knell, "spawn", "--in", "headless", "--name", "luna", "--", *SLEEPER)
    times: dict[str, dict[str, list[float]]] = {"top": {}, "web": {}}
    try:
        for _ in range(trials):
            add(times["top"], "floor: import textual.app", imported(bench, "textual.app"))
            add(times["top"], "knell top, its first rows", top_rows(bench))
            add(
                times["web"],
                "floor: import starlette, uvicorn",
                imported(bench, "starlette, uvicorn"),
            )
            page, picture = web_page(bench)
            add(times["web"], "knell web, its first page", page)
            add(times["web"], "knell web, the page and all agents", picture)
    finally:
        bench.call(bench.knell, "kill", "luna")
    return {name: against(values) for name, values in times.items()}


def add(times: dict[str, list[float]], name: str, value: float) -> None:
    times.setdefault(name, []).append(value)


def imported(bench: Bench, modules: str) -> float:
    begun = time.perf_counter()
    bench.must(bench.python, "-c", f"import {modules}")
    return (time.perf_counter() - begun) * 1000


def top_rows(bench: Bench) -> float:
    begun = time.perf_counter()
    with PtyScreen([bench.knell, "top"], bench.env) as screen:
        screen.wait_for(b"luna")
        took = (time.perf_counter() - begun) * 1000
        screen.send(b"q")
        screen.wait_end()
    return took


def web_page(bench: Bench) -> tuple[float, float]:
    begun = time.perf_counter()
    with web(bench) as server:
        with urllib.request.urlopen(server.origin, timeout=60) as answer:
            answer.read()
        page = (time.perf_counter() - begun) * 1000
        server.enter()
        server.get("/api/snapshot")
        return page, (time.perf_counter() - begun) * 1000


# -- a running server ------------------------------------------------------------------------------


class WebServer:
    """A `knell web`, and a script that was let in."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.pid = process.pid
        self.address = address
        self.origin, _, self._token = address.partition("/#")
        self.port = int(self.origin.rpartition(":")[2])
        self.bearer = ""

    def enter(self) -> None:
        body = json.dumps({"token": self._token, "script": True}).encode()
        asked = urllib.request.Request(
            f"{self.origin}/api/session", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            self.bearer = json.load(answer)["bearer"]

    def get(self, path: str) -> bytes:
        head = {"authorization": f"Bearer {self.bearer}"}
        asked = urllib.request.Request(f"{self.origin}{path}", headers=head)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.read()

    def link(self) -> str:
        head = {"authorization": f"Bearer {self.bearer}", "content-type": "application/json"}
        asked = urllib.request.Request(f"{self.origin}/api/link", b"{}", head)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.load(answer)["address"]

    def stream(self) -> socket.socket:
        link = socket.create_connection(("127.0.0.1", self.port), 60)
        head = f"Host: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.bearer}\r\n"
        link.sendall(f"GET /api/changes HTTP/1.1\r\n{head}\r\n".encode())
        return link


@contextlib.contextmanager
def web(bench: Bench) -> Iterator[WebServer]:
    argv = [bench.knell, "web", "--port", "0"]
    process = subprocess.Popen(
        argv, env=bench.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout
        yield WebServer(process, process.stdout.readline().strip())
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close() if process.stdout else None


# -- a crowd that is looked at ---------------------------------------------------------------------


def share(pid: int, seconds: float, drain: Any) -> float:
    """Percent of a core over so many seconds, while whoever reads its output goes on."""
    before, until = ticks(pid), time.monotonic() + seconds
    while time.monotonic() < until:
        drain()
        pause(0.1)
    used = (ticks(pid) - before) / os.sysconf("SC_CLK_TCK")
    return round(100 * used / seconds, 2)


def top_cpu(bench: Bench) -> float:
    with PtyScreen([bench.knell, "top"], bench.env) as screen:
        screen.wait_for(b"crowd-")
        share(screen.pid, 15, screen.drain)  # what only the beginning costs
        found = share(screen.pid, LOOKED_AT, screen.drain)
        screen.send(b"q")
        screen.wait_end()
    return found


def web_costs(bench: Bench) -> dict[str, Any]:
    with web(bench) as server, contextlib.ExitStack() as links:
        server.enter()
        first = links.enter_context(contextlib.closing(server.stream()))
        readers = [first]
        share(server.pid, 15, lambda: read_all(readers))
        idle = share(server.pid, LOOKED_AT, lambda: read_all(readers))
        readers += [
            links.enter_context(contextlib.closing(server.stream())) for _ in range(CLIENTS - 1)
        ]
        share(server.pid, 10, lambda: read_all(readers))
        memory = sizes(server.pid)["Rss:"] / 1024
    return {"web_idle_percent": idle, "web_memory_mb": round(memory, 1)}


def read_all(links: list[socket.socket]) -> None:
    for link in links:
        link.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            while link.recv(65536):
                pass


# -- scrolling, searching, news --------------------------------------------------------------------


def scroll(bench: Bench) -> dict[str, float]:
    """Milliseconds from a key to the drawn picture, in a list of thousands: what that takes more
    than in a list of one, because textual's driver for tests itself waits after each key."""
    alone = spread(_scrolled(bench, 1))["median"]
    return spread([max(0.0, late - alone) for late in _scrolled(bench, ROWS)])


def _scrolled(bench: Bench, rows: int) -> list[float]:
    script = str(ROOT / "bench" / "scrolling.py")
    argv = [bench.python, script, str(rows)]
    told = subprocess.run(argv, env=bench.env, check=True, capture_output=True, timeout=600)
    return json.loads(told.stdout)


def receipt_search(bench: Bench, trials: int) -> dict[str, Any]:
    """Milliseconds of a search that finds one, many and none among thousands of receipts."""
    home = bench.root / "receipts"
    env = bench.env | {"KNELL_HOME": str(home)}
    run = model_run(bench, env)
    store = next(home.glob("*.db"))
    multiply(store, read_life(store, run), 0, RECEIPTS)
    served = Bench(bench.root, Path(bench.python).parent)
    served.env = env
    found: dict[str, Any] = {}
    with web(served) as server:
        server.enter()
        for name, text in (
            ("one", "agent-00000999"),
            ("many", "killed"),
            ("none", "nobody-at-all"),
        ):
            values = []
            for _ in range(trials):
                begun = time.perf_counter()
                server.get(f"/api/receipts?text={text}")
                values.append((time.perf_counter() - begun) * 1000)
            found[name] = spread(values)
    return {"receipts": RECEIPTS, "found_ms": found}


@contextlib.contextmanager
def opened(bench: Bench) -> Iterator[RealWorld]:
    world = RealWorld(bench.env)
    try:
        yield world
    finally:
        world.close()


def news(bench: Bench) -> dict[str, float]:
    """Milliseconds from an event's commit to its line on the page of a real browser."""
    from playwright.sync_api import sync_playwright

    late: list[float] = []
    with web(bench) as server, sync_playwright() as playwright, opened(bench) as world:
        server.enter()
        path = shutil.which("chromium") or shutil.which("chromium-headless-shell")
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = chromium.new_page()
        page.goto(server.link())
        page.get_by_text("crowd-0", exact=True).first.wait_for()
        page.goto(f"{server.origin}/#/events")
        for number in range(NEWS):
            word = f"news-{number}-"
            # in the background, so that it looks on while the event is written
            page.evaluate(
                """(word) => { window.seen = new Promise((done) => {
                    const look = () => document.body.textContent.includes(word)
                        ? done(Date.now()) : requestAnimationFrame(look);
                    look();
                }); }""",
                word,
            )
            world.store.events.record("task.note", "crowd-0", "", {"detail": word})
            at = time.time() * 1000
            late.append(max(0.0, page.evaluate("window.seen") - at))
        chromium.close()
    return spread(late)
