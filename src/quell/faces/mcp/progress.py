"""Tells how far the ladder was climbed, from what the store has on record."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from quell.api import Quell
from quell.core.errors import QuellError
from quell.core.store import Happened
from quell.faces.mcp.asker import Asker, Means, acting

GLANCE = 0.05  # seconds between two looks at the trail
SENTENCES = {
    "life.stopping": "claimed: nobody else ends it",
    "life.stopped": "ended, and on record",
    "life.spared": "not all of it could be ended",
}


class Report(Protocol):
    async def __call__(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


@asynccontextmanager
async def followed(means: Means, asker: Asker, agent: str, report: Report) -> AsyncGenerator[None]:
    """While the block runs, every step of the ending of that agent is reported."""
    loop, steps, begun = asyncio.get_running_loop(), asyncio.Queue[str](), asyncio.Event()
    over = threading.Event()

    def tell(text: str) -> None:
        loop.call_soon_threadsafe(steps.put_nowait, text)

    def follow() -> None:
        try:
            with acting(means, asker) as quell:
                trail = Trail(quell, agent)
                loop.call_soon_threadsafe(begun.set)
                while not over.wait(GLANCE):
                    trail.news(tell)
                trail.news(tell)
        except QuellError:
            return  # the call itself tells what is wrong with the store
        finally:
            loop.call_soon_threadsafe(begun.set)

    following = asyncio.create_task(asyncio.to_thread(follow))
    teller = asyncio.create_task(_tell(steps, report))
    try:
        await begun.wait()
        yield
        over.set()
        await following
        await steps.join()
    finally:
        over.set()
        teller.cancel()


async def _tell(steps: "asyncio.Queue[str]", report: Report) -> None:
    told = 0
    while True:
        text = await steps.get()
        told += 1
        try:
            await report(told, None, text)
        finally:
            steps.task_done()


class Trail:
    """What happens to the newest run of an agent, from now on."""

    def __init__(self, quell: Quell, agent: str) -> None:
        self._store = quell.world.store
        self._run = quell.served.known(agent)
        self._last = max((event.id for event in self._store.events(0, "", 1)), default=0)

    def news(self, tell: Callable[[str], None]) -> None:
        if self._run is None:
            return
        for event in self._store.events(self._last, self._run.agent, 100):
            self._last = event.id
            if event.run == self._run.id and (text := sentence(event)):
                tell(text)


def sentence(event: Happened) -> str:
    """Empty for what is no step of an ending."""
    if event.type == "life.rung":
        return f"rung: {event.data.get('rung', '')}"
    return SENTENCES.get(event.type, "")
