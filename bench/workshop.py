"""The place where things are measured: knell as its users have it, a home apart, and a floor."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from house import descendants, eventually, pause

ROOT = Path(__file__).resolve().parent.parent


class Bench:
    """A wheel of this tree in an environment of its own, and a home that nobody else uses."""

    def __init__(self, root: Path, programs: Path | None = None) -> None:
        """`programs` holds an interpreter and the `knell` that it runs."""
        self.root = root
        programs = programs or root / "venv" / "bin"
        self.python = str(programs / "python")
        self.knell = str(programs / "knell")
        self.env = {
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(root),
            "KNELL_HOME": str(root / "state"),
            "TMUX_TMPDIR": str(root),
            "LANG": "C.UTF-8",
        }

    def install(self) -> None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq"]
        wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(self.root)]
        subprocess.run([*wheel, str(ROOT)], check=True)
        subprocess.run([sys.executable, "-m", "venv", str(self.root / "venv")], check=True)
        built = next(self.root.glob("*.whl"))
        pins = ["-c", str(ROOT / "constraints.txt")]
        into = [*pip, "--python", self.python, "install", *pins]
        subprocess.run([*into, str(built)], check=True)

    def add_extras(self, *names: str) -> None:
        """What the base install does not bring; the knell of this interpreter has all of it."""
        built = next(self.root.glob("*.whl"), None)
        if built is not None:
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq"]
            into = [*pip, "--python", self.python, "install", "-c", str(ROOT / "constraints.txt")]
            subprocess.run([*into, f"{built}[{','.join(names)}]"], check=True)

    def call(self, *argv: str) -> str:
        done = subprocess.run(argv, env=self.env, cwd=self.root, capture_output=True, check=False)
        return done.stdout.decode()

    def must(self, *argv: str) -> str:
        """The same of a command that has to succeed."""
        done = subprocess.run(argv, env=self.env, cwd=self.root, capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode().strip().splitlines()[-2:]
            raise RuntimeError(f"{' '.join(argv)}: {done.returncode} {' '.join(said)}")
        return done.stdout.decode()

    def spawn(self, name: str, source: str, place: str = "headless") -> None:
        ready = self.root / f"{name}.ready"
        ready.unlink(missing_ok=True)
        where = ["--in", place, *(["--tmux-server", "bench"] if place == "tmux" else [])]
        told = self.call(
            self.knell, "spawn", "--name", name, *where, "--env", f"KNELL_READY={ready}",
            "--", self.python, "-S", "-c", source,
        )  # fmt: skip
        if name not in told:
            raise RuntimeError(f"{name} did not start: {told}")
        eventually(ready.exists)


def timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return (time.perf_counter() - begun) * 1000


def spread(values: list[float], digits: int = 2) -> dict[str, float]:
    return {
        "min": round(min(values), digits),
        "median": round(statistics.median(values), digits),
        "max": round(max(values), digits),
        "n": len(values),
    }


def against(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """The spread of each, and beside it how many times the floor of the same round its median is.

    The first key that begins with "floor" names the floor.
    """
    found = {name: spread(values) for name, values in times.items() if values}
    floor = next(figures for name, figures in found.items() if name.startswith("floor"))
    return {
        name: figures | {"floors": round(figures["median"] / floor["median"], 2)}
        for name, figures in found.items()
    }


def survivors_now() -> list[int]:
    """Whatever is below us; what is only on its way out gets a moment."""
    until = time.monotonic() + 0.5
    while descendants() and time.monotonic() < until:
        pause(0.005)
    return descendants()


@contextmanager
def workshop(*, install: bool = True) -> Iterator[Bench]:
    """Without `install`, the knell of this very interpreter is measured: a look, not a figure."""
    with tempfile.TemporaryDirectory(prefix="knell-bench-", ignore_cleanup_errors=True) as root:
        bench = Bench(Path(root), None if install else Path(sys.executable).parent)
        if install:
            bench.install()
        try:
            yield bench
        finally:
            bench.call(bench.knell, "kill", "all", "--force")
            bench.call("tmux", "-L", "bench", "kill-server")
