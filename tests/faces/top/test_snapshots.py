"""What `top` shows, line by line, at two sizes and at a fixed time.

A change that is meant: KNELL_SNAPSHOTS=write pytest tests/faces/top/test_snapshots.py
"""

import asyncio
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from faces.top.playing import Played
from faces.top.test_rows import view
from house import House
from knell.api import Knell
from knell.api.results import Event, Snapshot
from knell.faces.top.app import TopApp
from knell.faces.top.board import Board
from knell.faces.top.feed import Focus, TopScene
from knell.faces.top.rows import EndedAgent

KEPT = Path(__file__).parent
FOCUS = Focus(
    "run-nova",
    ("stalled: no heartbeat for 134 s", "  against  heartbeat: unchanged for 134 s"),
    ("41206 keeper", "  41207 claude", "    41290 npm exec mcp-fs (stopped)"),
    ("Reading the plan", "> "),
)


def scene() -> TopScene:
    """A night with one of everything."""
    ended = datetime.now(UTC) - timedelta(minutes=5, seconds=20)
    fields = {
        "nova": {"activity": "stalled", "tag": "night", "task": "TASK-3", "processes": 6,
                 "worktree": "fix-login *3", "quiet_s": 134.0, "cpu_percent": 0.0},
        "luna": {"tag": "dev", "task": "TASK-1", "processes": 4, "quiet_s": 1.0},
        "wendy": {"kind": "codex", "activity": "waiting", "place": "headless", "pane": "",
                  "tag": "red", "quiet_s": 40.0, "processes": 3, "worktree": "roof merged"},
        "a-name-that-is-much-longer-than-its-column": {"activity": "idle", "quiet_s": 4000.0},
    }  # fmt: skip
    agents = tuple(view(name, **facts) for name, facts in fields.items())
    old = view("old", state="ended", outcome="killed", ended_at=ended.isoformat())
    events = tuple(
        Event(number, "2020-11-16T12:00:00Z", kind, agent, "", {})
        for number, (kind, agent) in enumerate(
            (("life.started", "luna"), ("watch.verdict", "nova"))
        )
    )
    now = Snapshot("", "host", "/home", 2, {"running": 4}, {}, agents, (), (), None, 0)
    return TopScene(now, (EndedAgent(old),), events, FOCUS, (), time.monotonic())


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize("size", [(80, 24), (140, 45)], ids=["80x24", "140x45"])
def test_the_screen_is_as_it_was(
    house: House, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Board, "clock", lambda _: "14:03")
    monkeypatch.setattr(Board, "elapsed", lambda _: 0.0)

    async def shown() -> str:
        app = TopApp(lambda: Knell(env=house.env))
        monkeypatch.setattr(app.feed, "start", lambda: None)  # the scene stays as it is
        async with app.run_test(size=size) as pilot:
            app.board.show(scene(), "")
            await pilot.pause()
            return Played(app, pilot).text() + "\n"

    text = asyncio.run(shown())
    kept = KEPT / f"screen-{size[0]}x{size[1]}.txt"
    if os.environ.get("KNELL_SNAPSHOTS") == "write":
        kept.write_text(text, "utf-8")
    assert text == kept.read_text("utf-8")
