"""What the tests of `top` share: the app without a terminal, real agents, and waiting for facts."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot

from house import House
from knell.api import Knell
from knell.faces.top.app import TopApp
from knell.faces.top.rows import TopRow

PATIENCE = 120.0  # seconds, on a machine that is busy with something else
STEP = 0.05


class Played:
    """A running app and its keyboard."""

    def __init__(self, app: TopApp, pilot: Pilot[Any]) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, fact: Callable[[], Any], what: str = "") -> None:
        for _ in range(round(PATIENCE / STEP)):
            await self.pilot.pause(STEP)
            if fact():
                return
        raise AssertionError(f"{what or fact} did not come true:\n{self.text()}")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def shows(self, *texts: str) -> None:
        for text in texts:
            await self.until(lambda text=text: text in self.text(), f"{text!r} on the screen")

    async def told(self, text: str) -> None:
        """Waits for a notice; on the screen it is broken into lines."""
        notices = self.app._notifications
        await self.until(lambda: any(text in one.message for one in notices), f"the notice {text}")

    def text(self) -> str:
        """The screen as a person reads it."""
        width, height = self.app.size
        strips = self.app.screen._compositor.render_strips()
        lines = ["".join(segment.text for segment in strip)[:width] for strip in strips]
        return "\n".join(line.rstrip() for line in lines[:height])

    def rows(self) -> list[TopRow]:
        return self.app.board.table.rows

    def line_of(self, key: str) -> str:
        """What the line of this key says; empty if there is none."""
        return next((row.text for row in self.rows() if row.key == key), "")

    async def go_to(self, key: str) -> None:
        """Presses down until the line of this key is under the cursor."""
        await self.press("home")
        for _ in self.rows():
            if self.app.board.table.cursor == key:
                return
            await self.press("down")
        raise AssertionError(f"no line {key}:\n{self.text()}")

    def row(self, name: str) -> TopRow | None:
        return next((row for row in self.rows() if row.name == name), None)


def play(
    house: House,
    deeds: Callable[[Played], Awaitable[None]],
    *,
    size: tuple[int, int] = (120, 40),
    **options: Any,
) -> None:
    """Runs the app on an invisible terminal of this size, and does `deeds` with it."""

    async def run() -> None:
        app = TopApp(lambda: Knell(env=house.env), **options)
        async with app.run_test(size=size) as pilot:
            await deeds(Played(app, pilot))
        app.feed.join(PATIENCE)
        assert not app.feed.is_alive()

    asyncio.run(run())
