"""Keeps the link of this host running beside the watch, in a process of its own.

So a connection that hangs delays no local ending, and a fault in the link does not end the watch.
The link ends when its standard input closes, which the kernel does when the watch is gone."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping

AGAIN = 5.0  # seconds between the end of a link and the next one, and between looks for a fleet


def keep_link(credentials: str, env: Mapping[str, str]) -> None:
    """Returns at once. As long as this process lives and has joined a fleet, it has a link."""
    threading.Thread(target=_keep, args=[credentials, dict(env)], daemon=True).start()


def _keep(credentials: str, env: dict[str, str]) -> None:
    pause = threading.Event()
    while True:
        if os.path.exists(credentials):
            _run_link(credentials, env, pause)
        pause.wait(AGAIN)


def _run_link(credentials: str, env: dict[str, str], pause: threading.Event) -> None:
    command = [sys.executable, "-P", "-m", "knell", "fleet", "link", "--tied"]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE) as link:
        while link.poll() is None and os.path.exists(credentials):
            pause.wait(0.5)
        link.terminate()  # the host has left its fleet
