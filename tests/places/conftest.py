"""Real terminals, each on a private socket, each gone and seen to be gone when its test ends."""

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Fact = Callable[[], object]


def alive(pid: int) -> bool:
    """Whether `pid` is a process that has not ended; one that nobody has reaped yet has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(fact: Fact, seconds: float = 200.0) -> None:
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, f"did not become true within {seconds} s"
        select.select([], [], [], 0.01)


@pytest.fixture
def eventually() -> Callable[[Fact], None]:
    return wait_until


@pytest.fixture
def is_alive() -> Callable[[int], bool]:
    return alive


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a name short enough for a Unix socket in it, unlike pytest's."""
    path = Path(tempfile.mkdtemp(prefix="q"))
    yield path
    shutil.rmtree(path)


class TmuxWorld:
    """Every tmux server below one TMUX_TMPDIR."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMUX_TMPDIR": str(folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        (folder / ".tmux.conf").write_text("set -g exit-empty on\n")

    def __call__(self, *arguments: str, server: str = "") -> str:
        """What tmux prints; the default server unless a socket is named."""
        flags = ["-S", server] if server else []
        argv = ["tmux", "-u", *flags, *arguments]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, check=True)
        return done.stdout.rstrip("\n")

    def sockets(self) -> list[str]:
        return [str(path) for path in self.folder.rglob("*") if path.is_socket()]

    def end(self) -> None:
        pids: list[int] = []
        for path in self.sockets():
            flags = ["tmux", "-S", path]
            told = subprocess.run(
                [*flags, "list-panes", "-a", "-F", "#{pid} #{pane_pid}"],
                env=self.env,
                capture_output=True,
                text=True,
                check=False,
            )
            pids += [int(pid) for pid in told.stdout.split()]
            subprocess.run([*flags, "kill-server"], env=self.env, capture_output=True, check=False)
        wait_until(lambda: not any(alive(pid) for pid in pids))
        for path in self.sockets():  # a server that was killed leaves its file
            refused = subprocess.run(
                ["tmux", "-S", path, "list-sessions"], capture_output=True, check=False
            )
            assert refused.returncode != 0


@pytest.fixture
def tmux(folder: Path) -> Iterator[TmuxWorld]:
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    world = TmuxWorld(folder)
    yield world
    world.end()


# -- kitty, on a screen that nobody sees ----------------------------------------------------------


def descendants(pid: int) -> list[int]:
    """Everything below `pid`, and `pid` itself."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [pid, *(below for child in children for below in descendants(int(child)))]


def end(process: "subprocess.Popen[bytes]") -> None:
    """End one of ours and see that nothing below it stays."""
    below = descendants(process.pid)
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    process.wait(300)
    wait_until(lambda: not any(alive(pid) for pid in below))


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    if not shutil.which("Xvfb") or not shutil.which("kitty"):
        pytest.skip("kitty or Xvfb is not installed")
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with open(read, encoding="ascii") as told:
        number = told.readline().strip()
    yield f":{number}"
    end(server)


class KittyWorld:
    """Kitties, one after the other, on one socket."""

    def __init__(self, folder: Path, display: str) -> None:
        self.folder = folder
        self.server = f"unix:{folder}/sock"
        homes = ("HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "KITTY_CONFIG_DIRECTORY")
        self.outer_env = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "DISPLAY": display,
            "LIBGL_ALWAYS_SOFTWARE": "1",
            **dict.fromkeys(homes, str(folder)),
        }
        self.env = {"PATH": os.environ["PATH"], "KITTY_LISTEN_ON": self.server}
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, remote_control: str = "socket-only") -> int:
        """The pid of a kitty that listens and has one window."""
        settings = (f"allow_remote_control={remote_control}", "confirm_os_window_close=0")
        options = [part for setting in settings for part in ("-o", setting)]
        argv = ["kitty", "--config", "NONE", *options, "--listen-on", self.server]
        with open(self.folder / "kitty.log", "ab") as log:
            kitty = subprocess.Popen(
                [*argv, "sh", "-c", "exec sleep 1000"], env=self.outer_env, stdout=log, stderr=log
            )
        self.running.append(kitty)
        wait_until(lambda: self.ready(kitty.pid) or kitty.poll() is not None)
        assert kitty.poll() is None, (self.folder / "kitty.log").read_text()
        return kitty.pid

    def ready(self, kitty: int) -> bool:
        path = self.server.removeprefix("unix:")
        with socket.socket(socket.AF_UNIX) as probe:
            listens = probe.connect_ex("\0" + path[1:] if path[0] == "@" else path) == 0
        commands = [Path(f"/proc/{pid}/comm").read_text() for pid in descendants(kitty)]
        return listens and "sleep\n" in commands

    def stop(self) -> None:
        while self.running:
            end(self.running.pop())


@pytest.fixture
def kitty(folder: Path, display: str) -> Iterator[KittyWorld]:
    world = KittyWorld(folder, display)
    yield world
    world.stop()
