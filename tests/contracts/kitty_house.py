"""A real kitty on a screen that nobody sees, for one test, gone before its house is judged."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from house import House, eventually

SETTINGS = ("allow_remote_control=socket-only", "confirm_os_window_close=0")


class KittyHouse:
    def __init__(self, house: House, display: str) -> None:
        self.address = f"unix:{house.root}/kitty"
        homes = ("HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "KITTY_CONFIG_DIRECTORY")
        self.env = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "DISPLAY": display,
            "LIBGL_ALWAYS_SOFTWARE": "1",
            **dict.fromkeys(homes, str(house.home)),
        }

    def windows(self) -> dict[str, dict[str, Any]]:
        """What kitty itself says that it shows, by window number."""
        told = subprocess.run(
            ["kitty", "@", "--to", self.address, "ls"],
            env=self.env, capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
        tabs = [tab for os_window in json.loads(told.stdout) for tab in os_window["tabs"]]
        return {str(window["id"]): window for tab in tabs for window in tab["windows"]}

    def listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.address.removeprefix("unix:")) == 0


@contextlib.contextmanager
def kitty_in(house: House) -> Iterator[KittyHouse]:
    """A kitty with one window of the operator's own."""
    if not shutil.which("Xvfb") or not shutil.which("kitty"):
        pytest.skip("kitty or Xvfb is not installed")
    with contextlib.ExitStack() as stack:
        kitty = KittyHouse(house, stack.enter_context(screen()))
        options = [part for setting in SETTINGS for part in ("-o", setting)]
        argv = ["kitty", "--config", "NONE", *options, "--listen-on", kitty.address]
        log = stack.enter_context(open(house.root / "kitty.log", "wb"))
        shown = subprocess.Popen([*argv, "sleep", "1000"], env=kitty.env, stdout=log, stderr=log)
        stack.callback(ended, shown)
        eventually(lambda: kitty.listens() or shown.poll() is not None)
        assert shown.poll() is None, (house.root / "kitty.log").read_text()
        kitty.windows()  # it listens long before it answers
        yield kitty


@contextlib.contextmanager
def screen() -> Iterator[str]:
    heard, told = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(told), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
        pass_fds=[told], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(told)
    try:
        with open(heard, encoding="ascii") as number:
            yield f":{number.readline().strip()}"
    finally:
        ended(server)


def ended(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(300)
