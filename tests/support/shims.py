"""A git that does something else first."""

import shutil
import tempfile
from pathlib import Path

from house import House


def shim(house: House, on: str, does: str) -> dict[str, str]:
    """An environment in which git does something else first, whenever its words have `on`."""
    real = shutil.which("git", path=house.env["PATH"])
    folder = Path(tempfile.mkdtemp(prefix="bin-", dir=house.root))
    script = folder / "git"
    script.write_text(f'#!/bin/sh\ncase " $* " in *" {on} "*) {does};; esac\nexec {real} "$@"\n')
    script.chmod(0o755)
    return {"PATH": f"{folder}:{house.env['PATH']}", "GIT_CONFIG_NOSYSTEM": "1"}
