"""Reports the steps of an ending to the client while a tool call runs."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

from knell.api import Knell
from knell.core.errors import KnellError
from knell.core.ports.store import Event
from knell.core.run import Run
from knell.faces.mcp.callers import ServerOptions, ToolCaller, knell_for
from knell.faces.work import take_error

POLL_SECONDS = 0.05  # between two looks at the events
SENTENCES = {
    "life.stopping": "claimed: this call ends it",
    "life.stopped": "ended, and on record",
    "life.spared": "not all of it could be ended",
}


Report = Callable[[float, float | None, str | None], Coroutine[Any, Any, None]]


@asynccontextmanager
async def report_steps(
    options: ServerOptions, caller: ToolCaller, agent: str, report: Report
) -> AsyncGenerator[None]:
    """While the block runs, every step of the ending of that agent is reported."""
    loop, begun, over = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def follow() -> None:
        try:
            with knell_for(options, caller.caller) as knell:
                run = knell.server.recorded_run(agent)
                last = max((e.id for e in knell.server.recorded_events(0, limit=1)), default=0)
                loop.call_soon_threadsafe(begun.set)
                for count, text in enumerate(steps_of(knell, run, last, over) if run else (), 1):
                    asyncio.run_coroutine_threadsafe(report(count, None, text), loop).result()
        except KnellError:
            return  # the call itself tells what is wrong with the store
        finally:
            loop.call_soon_threadsafe(begun.set)

    following = asyncio.create_task(asyncio.to_thread(follow))
    try:
        await begun.wait()
        yield
        over.set()
        await following
    finally:
        over.set()
        following.add_done_callback(take_error)  # a client that has left hears no step


def steps_of(knell: Knell, run: Run, last: int, over: threading.Event) -> Iterator[str]:
    """What happens to the run after that event, each step as a sentence, until `over` is set and
    the last step was found."""
    done = False
    while not done:
        done = over.wait(POLL_SECONDS)
        for event in knell.server.recorded_events(last, run.agent):
            last = event.id
            if event.run == run.id and (text := sentence(event)):
                yield text


def sentence(event: Event) -> str:
    """Empty for what is no step of an ending."""
    if event.type == "life.rung":
        return f"rung: {event.data.get('rung', '')}"
    return SENTENCES.get(event.type, "")
