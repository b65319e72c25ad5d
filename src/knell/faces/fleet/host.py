"""This host as the link sees it: what it publishes, and who carries its orders out.

Each order runs in a thread with a `Knell` of its own, so that one that takes a minute holds up
neither the link nor another order."""

import os
import queue
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from knell.api import Knell
from knell.core.authority import Caller
from knell.core.codes import Code
from knell.core.errors import KnellError
from knell.core.fleet.order import FleetOrder, OrderRefusal
from knell.core.ports.fleet import Beginning, FarClaim, Finished
from knell.faces.fleet.obey import asker_of, carry_out

NOBODY = Caller("nobody", doubt="no order is carried out")  # to write down what came of one
MOST = 16  # orders that are carried out at the same time; the others wait


class ThisHost:
    def __init__(self, knell: Knell) -> None:
        self.knell = knell
        self.store = store = knell.fleet.store
        self.boots, self.events, self.receipts = store.boots, store.events, store.receipts
        self.known_order, self.newest = store.order, store.newest
        self.wake, self._waker = os.pipe()
        for end in (self.wake, self._waker):
            os.set_blocking(end, False)
        self._over: queue.SimpleQueue[Finished] = queue.SimpleQueue()
        self._room = threading.Semaphore(MOST)
        self._version = version("knell")

    def close(self) -> None:
        """Waits for the orders that are being carried out."""
        for _ in range(MOST):
            self._room.acquire()
        os.close(self.wake)
        os.close(self._waker)

    # -- what the link tells of it -------------------------------------------------------------

    def begin(self) -> Beginning:
        clock = self.knell.server.clock()
        known = self.store.link()
        if known is None:  # the credentials were copied here, or the store was lost
            return self.begin_epoch()
        self.store.note_boot(clock.boot)
        starts = (known.start_event, known.start_receipt)
        home = os.stat(self.knell.fleet.files.folder)
        seat = f"{clock.boot}:{home.st_dev}:{home.st_ino}"
        return Beginning(clock.boot, known.epoch, *starts, self._version, seat, known.latest)

    def begin_epoch(self) -> Beginning:
        self.store.join(self.knell.server.new_id())
        return self.begin()

    def clock(self) -> float:
        return self.knell.server.clock().wall

    def note_contact(self, latest: float) -> None:
        clock = self.knell.server.clock()
        self.store.note_contact(clock.up, clock.boot, latest)

    def views(self) -> list[dict[str, Any]]:
        return [view.to_json() for view in self.knell.list() if view.run]

    def views_of(self, names: Sequence[str]) -> list[dict[str, Any]]:
        return [view.to_json() for view in self.knell.views_of(*names) if view.run]

    # -- tasks that agents of other hosts hold ---------------------------------------------------

    def far_claims(self) -> list[FarClaim]:
        held = [task for task in self.knell.tasks(status="in_progress") if "@" in task.owner_run]
        return [
            FarClaim(task.id, task.token, *reversed(task.owner_run.split("@", 1))) for task in held
        ]

    def hand_back(self, claim: FarClaim) -> None:
        self.knell.server.take_back(claim.task, claim.token)

    # -- orders --------------------------------------------------------------------------------

    def take(self, order: FleetOrder, body: str) -> None:
        self.store.take_order(order.id, body)

    def refuse(self, id: str, body: str, why: OrderRefusal) -> Finished:
        """Refuses the order, and records the attempt."""
        said = {"code": str(why.code), "message": why.why, "hint": "", "type": "Refused"}
        over = Finished(id, "refused", {"error": said, "exit": 1})
        self.store.close_order(id, body, over.state, over.answer)
        facts = {"order": id, "code": str(why.code), "why": why.why}
        self.knell.server.note("fleet.refused", facts)
        return over

    def start(self, order: FleetOrder) -> None:
        threading.Thread(target=self._obey, args=[order], daemon=True).start()

    def _obey(self, order: FleetOrder) -> None:
        with self._room, self.knell.acting_as(NOBODY) as mine:
            try:
                with self.knell.acting_as(asker_of(order)) as asking:
                    over = carry_out(asking, order)
                mine.fleet.store.close_order(order.id, "", over.state, over.answer)
            except Exception as error:  # noqa: BLE001 - an order without an answer would wait for ever
                why = f"it failed on the host: {error}"
                said = {"code": Code.OTHER, "message": why, "hint": ""}
                over = Finished(order.id, "refused", {"error": said, "exit": 1})
                with suppress(KnellError):
                    mine.fleet.store.close_order(order.id, "", over.state, over.answer)
        self._over.put(over)
        os.write(self._waker, b".")

    def finished(self) -> list[Finished]:
        with suppress(BlockingIOError):
            os.read(self.wake, 4096)
        return [self._over.get() for _ in range(self._over.qsize())]
