"""The live streams: every browser's open request gets what is new, or is told to start afresh."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

BEHIND = 200  # messages that a slow browser may be behind
COMMENT_EVERY = 15.0  # seconds
MOST_STREAMS = 64
Queue = asyncio.Queue[bytes | None]


def message(name: str, data: Any, number: int = 0) -> bytes:
    """One message of a stream of server-sent events."""
    head = f"id: {number}\n" if number else ""
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n".encode()


class Streams:
    """Lives in the loop of the server; the feed's thread reaches it by `publish`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queues: set[Queue] = set()
        self.over = False

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    def publish(self, number: int, told: dict[str, Any]) -> None:
        """From any thread."""
        if self._loop and not self.over:
            encoded = message("change", told, number)
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._give, encoded)

    def _give(self, encoded: bytes) -> None:
        for queue in self._queues:
            if queue.qsize() < BEHIND:
                queue.put_nowait(encoded)
                continue
            while not queue.empty():
                queue.get_nowait()
            queue.put_nowait(message("resync", {"why": "this browser was too slow"}))

    @property
    def full(self) -> bool:
        return len(self._queues) >= MOST_STREAMS

    @property
    def any(self) -> bool:
        return bool(self._queues)

    def join(self) -> Queue:
        queue: Queue = asyncio.Queue()
        self._queues.add(queue)
        return queue

    def leave(self, queue: Queue) -> None:
        self._queues.discard(queue)

    def end(self) -> None:
        """Every open stream ends."""
        self.over = True
        for queue in self._queues:
            queue.put_nowait(None)

    async def follow(self, queue: Queue) -> AsyncIterator[bytes]:
        """What is given from now on; a comment where nothing is, so that a cut is noticed."""
        while not self.over:
            try:
                async with asyncio.timeout(COMMENT_EVERY):
                    found = await queue.get()
            except TimeoutError:
                yield b": nothing is new\n\n"
                continue
            if found is None:
                return
            yield found
