"""A fleet for a test: an operator's home, hosts with links, all on one real PostgreSQL."""

import contextlib
import json
import select
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hosts import Host
from house import eventually
from knell import Knell
from knell.faces.fleet.host import ThisHost
from postgres import Database
from preloaded import Forked

PACE = {"KNELL_FLEET_POLL": "1", "KNELL_FLEET_LEASE": "2"}  # seconds


class Fleet:
    """Hosts that have joined. The first is the operator's own home as well."""

    def __init__(self, database: Database, root: Path) -> None:
        self.database, self.root = database, root
        self.hosts: dict[str, Host] = {}
        self.links: dict[str, Forked | subprocess.Popen[str]] = {}
        self.boss = Host(root / "boss", "boss")
        self.url = self.boss.root / "url"
        self.url.write_text(database.url)
        self.url.chmod(0o600)
        made = self.json(
            self.boss, "fleet", "init", "--url-file", str(self.url), "--operator", "ann"
        )
        self.key = made["key"]

    def json(self, host: Host, *words: str, code: int = 0) -> Any:
        done = host.run(*words, "--json")
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def join(self, name: str, *, link: bool = True, url: str = "", net: int = 0) -> Host:
        """`url`: how the host reaches the database, where that is another way."""
        host = Host(self.root / name, name, net)
        self.hosts[name] = host
        file = host.root / "url"
        file.write_text(url or self.database.url)
        file.chmod(0o600)
        self.join_again(name)
        if link:
            self.link(name)
        return host

    def join_again(self, name: str) -> None:
        host = self.hosts[name]
        words = ("--url-file", str(host.root / "url"), "--as", name, "--trust", self.key)
        self.json(host, "fleet", "join", *words)

    def link(self, name: str, **env: str) -> "Forked | subprocess.Popen[str]":
        """Runs the link of that host, and waits until it says that it is linked."""
        one = self.begin_link(name, **env)
        self.hear(one, "linked")
        return one

    def begin_link(self, name: str, **env: str) -> "Forked | subprocess.Popen[str]":
        host = self.hosts[name]
        one = host.begin(
            "fleet", "link", env={**host.env, **PACE, **env},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.links[name] = one
        return one

    def hear(self, one: "Forked | subprocess.Popen[str]", words: str) -> str:
        """The first line with these words that the link says."""
        assert one.stderr
        for line in one.stderr:
            if words in line:
                return line
        raise AssertionError(f"the link ended: {one.wait()}")

    @contextlib.contextmanager
    def linked(self, *names: str) -> Iterator[None]:
        """Links in threads of this process: as true, and begun at once."""
        with contextlib.ExitStack() as all_links:
            for name in names:
                all_links.enter_context(ThreadLink(self.hosts[name]))
            yield

    def unlink(self, name: str) -> None:
        """Kills the link with -9."""
        one = self.links.pop(name)
        one.kill()
        one.wait()
        assert one.stderr
        one.stderr.close()

    def orders(self) -> list[str]:
        """The states of all orders, oldest first."""
        rows = self.database.sql("SELECT state FROM knell.orders ORDER BY issued_at, id")
        return [state for (state,) in rows]

    def settled(self) -> list[str]:
        """The same, once none is open."""
        eventually(lambda: not {*self.orders()} & {"issued", "taken"})
        return self.orders()

    def agents(self, **which: Any) -> list[dict[str, Any]]:
        rows = self.database.sql("SELECT host, name, live FROM knell.agents")
        return [{"host": host, "name": name, "live": live} for host, name, live in rows]

    def await_agent(self, host: str, name: str, *, live: bool = True) -> None:
        wanted = {"host": host, "name": name, "live": live}
        eventually(lambda: wanted in self.agents())

    def told_all(self, name: str) -> None:
        """What the host has told is what it has: each event once, in order."""
        store = self.hosts[name].knell.fleet.store
        link = store.link()
        assert link
        own = [one["id"] for one in store.events(link.start_event, 1_000_000)]

        def told() -> list[int]:
            rows = self.database.sql(
                "SELECT seq FROM knell.events WHERE host = %s ORDER BY id", name
            )
            return [seq for (seq,) in rows]

        eventually(lambda: told()[-1:] == own[-1:])
        assert told() == own

    def close(self) -> None:
        for name in [*self.links]:
            self.unlink(name)
        for host in (self.boss, *self.hosts.values()):
            host.leave()


class ThreadLink:
    """The link of a host, stepped by a thread until the block ends."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._over, self._linked = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.trouble = ""

    def __enter__(self) -> "ThreadLink":
        self._thread.start()
        eventually(lambda: self._linked.is_set() or not self._thread.is_alive())
        assert self._linked.is_set(), self.trouble
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        knell = Knell(env=self._host.env)
        here = ThisHost(knell)
        link = knell.fleet.link(here, {"poll": 0.2, "lease": 0.2})
        while not self._over.is_set():
            link.step()
            self.trouble = link.trouble or self.trouble
            if link.fileno() >= 0:
                self._linked.set()
            ready = [fd for fd in (link.fileno(), here.wake) if fd >= 0]
            select.select(ready, [], [], 0.05)
        link.close()
        here.close()
        knell.close()


@contextlib.contextmanager
def fleet_on(database: Database, root: Path) -> Iterator[Fleet]:
    one = Fleet(database, root)
    try:
        yield one
    finally:
        one.close()
