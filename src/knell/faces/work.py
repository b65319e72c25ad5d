"""Carries out calls in threads, which go on when the caller no longer waits."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
MOST_CALLS = 64
MOST_WAITS = 512


class Work:
    """Calls are finished even when the server stops; waits are given up with their caller."""

    def __init__(self) -> None:
        self._calls = ThreadPoolExecutor(MOST_CALLS, "call")
        self._waits = ThreadPoolExecutor(MOST_WAITS, "wait")

    async def run(self, call: Callable[[threading.Event], T], *, waits: bool = False) -> T:
        """Runs the call in a thread. Its event is set once its caller no longer waits."""
        gone = threading.Event()
        pool = self._waits if waits else self._calls
        future = asyncio.wrap_future(pool.submit(call, gone))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            gone.set()
            future.add_done_callback(take_error)
            raise

    def __enter__(self) -> "Work":
        return self

    def __exit__(self, *_: object) -> None:
        """Returns when every call is done."""
        self._waits.shutdown(wait=False, cancel_futures=True)
        self._calls.shutdown(wait=True)
        self._waits.shutdown(wait=True)


def take_error(future: "asyncio.Future[T]") -> None:
    """Takes the error of a call whose caller has left, so that asyncio does not log it."""
    if not future.cancelled():
        future.exception()
