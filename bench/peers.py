"""The peers, as their users install them: from PyPI, pinned, into a place that goes with the bench.

They see a HOME of their own below the workshop's root, and nothing of the user's.
"""

import os
import subprocess
import sys
from pathlib import Path

PINS = {"circus": "0.19.0", "hcom": "0.7.31", "psutil": "7.2.2", "supervisor": "4.3.0"}


class Peers:
    """One virtual environment for all of them, made when the first is asked for."""

    def __init__(self, root: Path) -> None:
        self.home = root / "peers"
        self.bin = self.home / "venv" / "bin"
        self.python = str(self.bin / "python")
        self._failed: str | None = None
        self.env = {
            "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "LANG": "C.UTF-8",
        }

    def missing(self) -> str:
        """Installs them if that was not tried yet; why it failed, or "" if all are there."""
        if self._failed is None:
            self._failed = "" if (self.home / "installed").exists() else self._install()
        return self._failed

    def _install(self) -> str:
        self.home.mkdir(exist_ok=True)
        pins = [f"{name}=={version}" for name, version in PINS.items()]
        pip = [self.python, "-m", "pip", "--disable-pip-version-check", "--no-input", "-q"]
        for argv in (
            [sys.executable, "-m", "venv", str(self.home / "venv")],
            [*pip, "install", "--cache-dir", str(self.home / "cache"), *pins],
        ):
            done = subprocess.run(
                argv, env=installing(self.env), capture_output=True, text=True, check=False
            )
            if done.returncode:
                return f"cannot install {' '.join(pins)}: {last_line(done.stderr + done.stdout)}"
        (self.home / "installed").touch()
        return ""


def installing(env: dict[str, str]) -> dict[str, str]:
    """The peers' own environment, and what the user told pip of the way to its index."""
    wanted = ("PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy", "ALL_PROXY")
    told = {name: value for name, value in os.environ.items() if name.startswith(wanted)}
    return told | env


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
