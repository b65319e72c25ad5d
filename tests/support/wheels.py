"""Wheels of this tree and of the commit before it, and environments to install them into."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What a wheel is made of.
PARTS = ("src/knell", "scripts", "pyproject.toml", "README.md", "LICENSE")


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that one of the processes of a test run makes and all of them use."""
    base = factory.getbasetemp()
    base = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = base / name
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / "made").touch()
    return folder


def build(tree: Path, into: Path) -> Path:
    """The wheel of a tree, without isolation and without network."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)],
        cwd=tree, env=plain_environment(), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [wheel] = into.glob("*.whl")
    return wheel


def plain_environment() -> dict[str, str]:
    away = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "KNELL_HOME", "KNELL_CONFIG")
    return {name: value for name, value in os.environ.items() if name not in away}


def wheel_of_this_tree(folder: Path) -> None:
    tree = folder / "tree"
    tree.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, tree / part)
    build(tree, folder)


def wheel_of_the_commit_before(folder: Path) -> None:
    """From git; where that has no knell before this one (a shallow clone, a copy, the commit that
    gave it its name), of this tree under an older number: then every file is still replaced under
    those who use it."""
    tree = folder / "tree"
    tree.mkdir()
    command = ("git", "-C", str(ROOT), "archive", "HEAD~1", *PARTS)
    archived = subprocess.run(command, capture_output=True, check=False, timeout=300)
    if archived.returncode == 0:
        with tarfile.open(fileobj=BytesIO(archived.stdout)) as tar:
            tar.extractall(tree, filter="data")
    else:
        shutil.rmtree(tree)
        wheel_of_this_tree(folder)
        [made] = folder.glob("*.whl")
        made.unlink()
        init = tree / "src/knell/__init__.py"
        older = re.sub(r'__version__ = ".*"', '__version__ = "0.0.1"', init.read_text())
        init.write_text(older)
    build(tree, folder)


class Installed:
    """A virtual environment with one wheel of knell in it, and the libraries of this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = folder / "bin/python"
        [packages] = folder.glob("lib/python*/site-packages")
        # a path in a .pth file is not read for .pth files itself: knell's own sources stay away
        (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def pip(self, *words: str) -> None:
        """The libraries have a pip: `--python` would start one only for it to start another."""
        argv = [str(self.python), "-m", "pip", "-q", *words]
        subprocess.run(argv, env=plain_environment(), check=True, timeout=300)

    def install(self, wheel: Path) -> None:
        self.pip("install", "--no-deps", "--no-index", "--force-reinstall", str(wheel))

    def uninstall(self) -> None:
        self.pip("uninstall", "-y", "knell")

    def run(self, *words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """`knell WORDS` as it was installed, from a directory that has no sources."""
        with tempfile.TemporaryDirectory() as cwd:
            return subprocess.run(
                [self.folder / "bin/knell", *words], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, check=False, timeout=300,
            )  # fmt: skip


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as file:
        return sorted(file.namelist())
