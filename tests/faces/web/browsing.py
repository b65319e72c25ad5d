"""A real browser for tests: Debian's chromium, what its pages ask for, and what fails in them."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Error, Page, sync_playwright

from faces.web.serving import Server
from house import House

PATIENCE = 150_000  # milliseconds, on a machine that is busy with something else
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-crash-reporter")


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


@contextlib.contextmanager
def browser(house: House) -> Iterator[Chromium]:
    """Gone with all its processes when the block ends."""
    path = shutil.which("chromium", path=house.env["PATH"])
    if path is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path, args=list(FLAGS), env=dict(house.env), timeout=PATIENCE
        )
        try:
            yield chromium
        finally:
            with contextlib.suppress(Error):
                chromium.close()


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
