"""knell as run by somebody without root's rights: for root itself no file is read-only."""

import os
import shutil
import subprocess
import sys

import pytest

from complaints import Done
from house import House

NOBODY = 65534
# It may pass through and read every directory, as root's own interpreter may lie in a private one.
READER = "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"


def handed_over(house: House) -> House:
    """The house in the hands of an unprivileged user; of this very user, if that is not root."""
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is not installed")
        house.root.chmod(0o755)
        for path in (house.root, house.home, house.state, *house.state.iterdir(), house.tmux_dir):
            os.chown(path, NOBODY, NOBODY)
    return house


def unprivileged(house: House, *args: str) -> Done:
    """`knell ARGS` by that user."""
    before: tuple[str, ...] = ()
    if os.geteuid() == 0:
        before = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *READER)
    return subprocess.run(
        [*before, sys.executable, "-m", "knell", *args],
        env=house.env, cwd=house.root, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip


def without_override(house: House, *args: str) -> Done:
    """`knell ARGS` by the owner of everything in the house, for whom a file that nobody may read is
    as closed as for anybody. `unprivileged` cannot show that: it may read every file."""
    before: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is not installed")
        gone = "-dac_override,-dac_read_search"
        before = ("setpriv", f"--inh-caps={gone}", f"--bounding-set={gone}")
    return subprocess.run(
        [*before, sys.executable, "-m", "knell", *args],
        env=house.env, cwd=house.root, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
