"""Where calls are carried out: in threads, which go on when the caller does not wait any more."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
MOST_DEEDS = 64
MOST_WAITS = 512


class Work:
    """Deeds are finished even when the server stops; waits are given up with their caller."""

    def __init__(self) -> None:
        self._deeds = ThreadPoolExecutor(MOST_DEEDS, "deed")
        self._waits = ThreadPoolExecutor(MOST_WAITS, "wait")

    async def done(self, deed: Callable[[threading.Event], T], *, waits: bool = False) -> T:
        """What the deed returns. It is told by the event that nobody listens any more."""
        gone = threading.Event()
        pool = self._waits if waits else self._deeds
        future = asyncio.wrap_future(pool.submit(deed, gone))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            gone.set()
            future.add_done_callback(_heard)
            raise

    def finish(self) -> None:
        """Returns when every deed is done."""
        self._waits.shutdown(wait=False, cancel_futures=True)
        self._deeds.shutdown(wait=True)
        self._waits.shutdown(wait=True)


def _heard(future: "asyncio.Future[T]") -> None:
    """An error of a deed that nobody waits for is not complained about when it is forgotten."""
    if not future.cancelled():
        future.exception()
