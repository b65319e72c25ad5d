"""A real browser for tests: chromium, what its pages ask for, and what fails in them.

A process that runs tests has one browser, begun when a test first needs it and gone with it; each
test opens profiles of its own in it, which share nothing with those of another.
"""

import asyncio
import atexit
import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Error, Page, sync_playwright

from faces.web.serving import Server
from house import SERVERS, House

PATIENCE = 150_000  # milliseconds, on a machine that is busy with something else
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# The first draws no window that nobody sees, and takes a third of the processor time.
PROGRAMS = ("chromium-headless-shell", "chromium")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-crash-reporter"),
    *("--no-zygote", "--in-process-gpu"),  # fewer processes, which every look at all of them meets
)


class Window:
    """One browser profile: its tabs share cookies, as a person's do."""

    def __init__(self, chromium: Chromium, server: Server, **options: Any) -> None:
        self.server = server
        self.requests: list[str] = []  # addresses
        self.troubles: list[str] = []  # what a page threw, and what the browser refused to it
        options.setdefault("permissions", ["clipboard-read", "clipboard-write"])
        self.profile = chromium.new_context(**options)
        self.profile.set_default_timeout(PATIENCE)
        self.profile.on("request", lambda request: self.requests.append(request.url))
        self.profile.on("weberror", lambda error: self.troubles.append(str(error.error)))
        self.profile.on("console", self._noted)

    def _noted(self, message: Any) -> None:
        away = "net::ERR" in message.text or "status of 401" in message.text
        if message.type == "error" and not away:  # a server that is away is part of a test
            self.troubles.append(message.text)

    def tab(self, place: str = "", *, address: str = "") -> Page:
        """Opens the address that works once, or a place in the page that is let in already."""
        page = self.profile.new_page()
        page.goto(address or f"{self.server.origin}/#/{place}")
        return page

    def enter(self) -> Page:
        page = self.tab(address=self.server.address)
        page.locator("#nav a").first.wait_for()
        return page


class Browsing:
    """The browser of this process, and the driver through which it is used."""

    def __init__(self) -> None:
        self.home = tempfile.mkdtemp(prefix="knell-browser-")
        manager: Any = sync_playwright()
        self.playwright = manager.start()
        self.loop = manager._loop
        SERVERS.add(manager._client._transport._proc.pid)  # the parent of the browser
        self.chromium: Chromium | None = None
        atexit.register(self.close, os.getpid())

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Meanwhile playwright's loop is the one that runs in this thread; a test of something else
        may run its own."""
        asyncio._set_running_loop(self.loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    def begun(self, path: str) -> Chromium:
        """Another one if a test had it crash."""
        known = self.chromium
        if known is None or not known.is_connected():
            known = self.chromium = self.playwright.chromium.launch(
                executable_path=path,
                args=list(FLAGS),
                env={"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8"},
                timeout=PATIENCE,
            )
        return known

    def close(self, owner: int) -> None:
        if os.getpid() != owner:
            return
        with self.in_use(), contextlib.suppress(Error):
            if self.chromium:
                self.chromium.close()
            self.playwright.stop()
        shutil.rmtree(self.home, ignore_errors=True)


@cache
def browsing() -> Browsing:
    try:
        return Browsing()
    finally:
        asyncio._set_running_loop(None)


@contextlib.contextmanager
def browser(house: House) -> Iterator[Chromium]:
    """Without a profile; all that are opened are closed when the block ends."""
    found = [path for one in PROGRAMS if (path := shutil.which(one, path=house.env["PATH"]))]
    if not found:
        pytest.skip("chromium is not installed")
    one = browsing()
    with one.in_use():
        chromium = one.begun(found[0])
        try:
            yield chromium
        finally:
            close_profiles(chromium)
            if not found[0].endswith(PROGRAMS[0]):
                chromium.close()  # the whole one has a helper that is not below it


def close_profiles(chromium: Chromium) -> None:
    with contextlib.suppress(Error):  # it is gone
        for profile in chromium.contexts:
            profile.close()


def card(page: Page, name: str) -> Any:
    """The card of an agent."""
    link = page.get_by_role("link", name=name, exact=True)
    return page.locator("article.card").filter(has=link)


def waits(page: Page, fact: Callable[[], Any]) -> None:
    """Until a fact outside of the page is true, while the page goes on."""
    for _ in range(PATIENCE // 50):
        if fact():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never came true: {fact}")


def answer(page: Page, word: str) -> None:
    """Says yes to the question that is open, and sees it close."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=word, exact=True).click()
    dialog.wait_for(state="hidden")
