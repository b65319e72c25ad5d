"""Many hosts in one process: the real link of each, over a stand-in for its local store.

    python bench/simulated_hosts.py PLAN.json

A stand-in ends an agent by noting so. Everything else is real: connections, publishing, signatures,
orders, answers. Reads commands as lines (cut N, rejoin, again, quit) and answers each with a line.
"""

import heapq
import itertools
import json
import os
import random
import select
import sys
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from knell.core.fleet.order import FleetOrder, OrderRefusal
from knell.core.ports.fleet import Beginning, Finished, OutgoingReceipt, StoredOrder
from knell.fleet.link import Link
from knell.fleet.private_files import Credentials, FleetFiles


def now_text() -> str:
    return datetime.now(UTC).isoformat()


class Plan(NamedTuple):
    """Which hosts, and what their agents look like: rows that a real host has published."""

    names: list[str]
    conninfo: str  # with {role} in it
    fleet: str
    folder: str
    agents: int
    view: dict[str, Any]
    receipt: dict[str, Any]


class StandIn:
    """What a link needs of its host, in memory."""

    def __init__(self, plan: Plan, name: str) -> None:
        self.plan, self.name = plan, name
        self.boot, self.epoch = str(uuid.uuid4()), str(uuid.uuid4())
        self._events: list[dict[str, Any]] = []
        self._receipts: list[OutgoingReceipt] = []
        self._orders: dict[str, StoredOrder] = {}
        self.over: list[Finished] = []
        self._agents: dict[str, dict[str, Any]] = {}
        self._crew = 0
        self.spawn_again()

    def spawn_again(self) -> None:
        """New runs of all agents. The tag tells them from those that the mirror still shows."""
        self._crew += 1
        for number in range(self.plan.agents):
            name, run = f"agent-{number}", uuid.uuid4().hex
            self._agents[name] = {
                **self.plan.view, "name": name, "run": run, "host": self.name,
                "tag": f"crew-{self._crew}", "state": "running",
            }  # fmt: skip
            self._note("life.started", name, run)

    def _note(self, type: str, agent: str, run: str) -> None:
        event = {"id": len(self._events) + 1, "at": now_text(), "type": type, "agent": agent,
                 "run": run, "data": {"by": "operator"}}  # fmt: skip
        self._events.append(event)

    def end(self, name: str) -> dict[str, Any]:
        """The agent is over, with a receipt of a real receipt's size."""
        agent = self._agents[name]
        receipt = {**self.plan.receipt, "agent": name, "run": agent["run"], "host": self.name}
        if agent["state"] != "ended":
            agent["state"] = "ended"
            self._note("life.stopped", name, agent["run"])
            number = len(self._receipts) + 1
            self._receipts.append(OutgoingReceipt(number, number, agent["run"], receipt))
        return receipt

    # -- what the link asks -----------------------------------------------------------------------

    def begin(self) -> Beginning:
        return Beginning(self.boot, self.epoch, 0, 0, "0", self.boot, 0.0)

    def begin_epoch(self) -> Beginning:
        return self.begin()

    def boots(self) -> frozenset[str]:
        return frozenset({self.boot})

    def clock(self) -> float:
        return time.time()

    def note_contact(self, latest: float) -> None:
        pass

    def newest(self) -> tuple[int, int]:
        return len(self._events), len(self._receipts)

    def views(self) -> list[dict[str, Any]]:
        return [view for view in self._agents.values() if view["state"] != "ended"]

    def views_of(self, names: Sequence[str]) -> list[dict[str, Any]]:
        return [self._agents[name] for name in names]

    def events(self, after: int, limit: int) -> list[dict[str, Any]]:
        return self._events[after : after + limit]

    def receipts(self, after: int, limit: int) -> list[OutgoingReceipt]:
        return self._receipts[after : after + limit]

    def far_claims(self) -> list[Any]:
        return []

    def hand_back(self, claim: Any) -> None:
        pass

    def known_order(self, id: str) -> StoredOrder | None:
        return self._orders.get(id)

    def take(self, order: FleetOrder, body: str) -> None:
        self._orders[order.id] = StoredOrder(order.id, now_text(), body, "taken", {}, {})

    def refuse(self, id: str, body: str, why: OrderRefusal) -> Finished:
        return Finished(id, "refused", {"error": {"code": str(why.code), "message": why.why}})

    def start(self, order: FleetOrder) -> None:
        meant = [name for name, view in self._agents.items() if view["run"] in order.runs]
        receipts = [self.end(name) for name in meant]
        answer = {"targets": [{"label": order.target, "orphaned": [], "receipts": receipts}]}
        self._orders[order.id] = self._orders[order.id]._replace(state="done", answer=answer)
        self.over.append(Finished(order.id, "done", answer))

    def finished(self) -> list[Finished]:
        over, self.over = self.over, []
        return over


class Crowd:
    """Steps every link when it is due or when its socket wakes."""

    def __init__(self, plan: Plan) -> None:
        files = FleetFiles(plan.folder)
        self.links = [
            Link(
                Credentials(name, plan.fleet, plan.conninfo.format(role=f"knell_h_{name}")),
                files,
                StandIn(plan, name),
            )
            for name in plan.names
        ]
        self._poll = select.poll()
        self._poll.register(0, select.POLLIN)
        self._by_fd: dict[int, int] = {}
        self._fd_of: dict[int, int] = {}
        self._heap = [(0.0, number) for number in range(len(self.links))]
        self._cut: set[int] = set()
        self.over = False

    def run(self) -> None:
        while not self.over:
            wait = max(0.0, self._heap[0][0] - time.monotonic()) if self._heap else 1.0
            for fd, _ in self._poll.poll(wait * 1000):
                if fd == 0:
                    self._obey(sys.stdin.readline().split())
                else:
                    self._step(self._by_fd[fd])
            while self._heap and self._heap[0][0] <= time.monotonic() and not self._asked():
                _, number = heapq.heappop(self._heap)
                wait = self._step(number)
                heapq.heappush(self._heap, (time.monotonic() + wait, number))

    def _asked(self) -> bool:
        """Whether somebody else is to be served first."""
        return bool(self._poll.poll(0))

    def _step(self, number: int) -> float:
        if number in self._cut:
            return 3600.0
        link = self.links[number]
        wait = link.step()
        if isinstance(link.host, StandIn) and link.host.over:
            wait = min(wait, link.step())  # what it just did is answered at once
        self._follow(number, link.fileno())
        return wait

    def _follow(self, number: int, fd: int) -> None:
        known = self._fd_of.get(number, -1)
        if known == fd:
            return
        if known >= 0 and self._by_fd.get(known) == number:
            self._poll.unregister(known)
            del self._by_fd[known]
        if fd >= 0:
            self._poll.register(fd, select.POLLIN)
            self._by_fd[fd] = number
        self._fd_of[number] = fd

    # -- commands ---------------------------------------------------------------------------------

    def _obey(self, words: list[str]) -> None:
        if not words or words[0] == "quit":
            self.over = True
        elif words[0] == "cut":
            for number in itertools.islice(range(len(self.links)), int(words[1])):
                self._cut.add(number)
                wire, self.links[number].wire = self.links[number].wire, None
                _ = wire and wire.close()
                self._follow(number, -1)
        elif words[0] == "rejoin":
            self._heap += [(0.0, number) for number in self._cut]
            heapq.heapify(self._heap)
            self._cut.clear()
        elif words[0] == "again":
            for link in self.links:
                assert isinstance(link.host, StandIn)
                link.host.spawn_again()
        linked = sum(link.wire is not None for link in self.links)
        trouble = next((link.trouble for link in self.links if link.trouble), "")
        print(json.dumps({"linked": linked, "trouble": trouble}), flush=True)


def main() -> None:
    random.seed(os.getpid())
    Crowd(Plan(**json.loads(Path(sys.argv[1]).read_text()))).run()


if __name__ == "__main__":
    main()
