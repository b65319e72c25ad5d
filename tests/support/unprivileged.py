"""knell as run by somebody without root's rights: for root itself no file is read-only."""

import atexit
import os
import shutil
import socket
import subprocess
import sys
from functools import cache

import pytest

import preloaded
from complaints import Done
from house import HELPERS, House
from preloaded import PASSED_ON, Preloaded, fits, needs

NOBODY = 65534
# It may pass through and read every directory, as root's own interpreter may lie in a private one.
READER = ("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")
HUMBLE = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *READER)
GONE = "-dac_override,-dac_read_search"
OWNER = ("setpriv", f"--inh-caps={GONE}", f"--bounding-set={GONE}")


def handed_over(house: House) -> House:
    """The house in the hands of an unprivileged user; of this very user, if that is not root."""
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is not installed")
        house.root.chmod(0o755)
        for path in (house.root, house.home, house.state, *house.state.iterdir(), house.tmux_dir):
            os.chown(path, NOBODY, NOBODY)
    return house


class Humble(Preloaded):
    """A parent of commands that has fewer rights, where root runs the tests."""

    def __init__(self, *setpriv: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [*setpriv, sys.executable, preloaded.__file__, "verbs"],
                stdin=theirs.fileno(),
                env={name: os.environ[name] for name in PASSED_ON if name in os.environ}
                | {"LANG": "C.UTF-8"},
            )
        self.line = ours
        atexit.register(self.close)


@cache
def humble(*setpriv: str) -> Preloaded:
    parent = Humble(*setpriv)
    HELPERS.add(parent.process.pid)
    return parent


def unprivileged(house: House, *args: str) -> Done:
    """`knell ARGS` by that user."""
    return run_with(HUMBLE, house, *args)


def run_with(setpriv: tuple[str, ...], house: House, *args: str) -> Done:
    if os.geteuid():
        return house.run(*args)
    env, cwd = house.env, str(house.root)
    if fits(env, {}) and needs(args, env) == "verbs" and humble(*setpriv).is_near():
        return humble(*setpriv).run(args, env, cwd, "", 300)
    return subprocess.run(
        [*setpriv, sys.executable, "-m", "knell", *args],
        env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip


def without_override(house: House, *args: str) -> Done:
    """`knell ARGS` by the owner of everything in the house, for whom a file that nobody may read is
    as closed as for anybody. `unprivileged` cannot show that: it may read every file."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    return run_with(OWNER, house, *args)
