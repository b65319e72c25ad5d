"""Programs of a test that use knell, forked from a parent that has imported it."""

import os
import subprocess

from house import House, preloaded
from preloaded import Forked, Words


def run_script(house: House, source: str, *args: str) -> int:
    """The exit code of `python -c SOURCE ARGS` in that house, negative where a signal ended it."""
    path = house.root / f"script-{os.urandom(4).hex()}.py"
    path.write_text(source)
    words = Words(str(path), args, house.env, str(house.root))
    quiet = subprocess.DEVNULL
    with Forked(preloaded(), words, stdin=quiet, stdout=quiet) as script:
        return script.wait(300)
