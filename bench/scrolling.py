"""Scrolls `knell top` through thousands of rows; prints the milliseconds from key to picture.

python bench/scrolling.py 5000
"""

import asyncio
import json
import sys
import time

from knell.api import Knell
from knell.faces.top.app import TopApp
from knell.faces.top.feed import TopScene

KEYS = ("pagedown",) * 30 + ("down",) * 30 + ("end", "home", "pageup", "end", "up")


async def main(rows: int) -> list[float]:
    app = TopApp()
    late: list[float] = []
    with Knell() as knell:
        knell.spawn(command=("sleep", "600"), name="luna", place="headless")
        now = knell.snapshot()
        knell.kill("luna")
    [view] = now.agents
    agents = tuple(view._replace(name=f"agent-{n:05}", run=f"run-{n}") for n in range(rows))
    app.feed.start = lambda: None  # type: ignore[method-assign] - the rows stay as they are here
    async with app.run_test(size=(140, 45)) as pilot:
        app.board.show(TopScene(now._replace(agents=agents), taken=time.monotonic()), "")
        await pilot.pause()
        for key in KEYS:
            begun = time.perf_counter()
            await pilot.press(key)
            app.screen._compositor.render_strips()  # noqa: SLF001 - textual has no other word for it
            late.append((time.perf_counter() - begun) * 1000)
    return late


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1])))))
