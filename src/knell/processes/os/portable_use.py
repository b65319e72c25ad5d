"""POSIX and psutil: the same functions as linux_use.py. A docstring says what is less here."""

import os
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from knell.processes.os.portable_proc import TICKS, UNSEEN, cwd_of

ESTABLISHED, CLOSE_WAIT, LISTEN = b"ESTABLISHED", b"CLOSE_WAIT", b"LISTEN"
MEGABYTE = 1024 * 1024


@contextmanager
def _seen(pid: int) -> Generator[psutil.Process]:
    """The process, with the errors of the system, so that callers need not know psutil."""
    try:
        yield psutil.Process(pid)
    except psutil.NoSuchProcess as error:
        raise ProcessLookupError(pid) from error
    except psutil.AccessDenied as error:
        raise PermissionError(pid) from error


def files_of(pid: int) -> Iterator[tuple[str, str]]:
    """(cwd, exe or open file; path). PermissionError where we may not look."""
    with _seen(pid) as process:
        yield "cwd", process.cwd()
        yield "exe", process.exe()
        for file in process.open_files():
            yield "open file", file.path


def written_below(pid: int, folder: str) -> list[str]:
    """The regular files below a folder that it has open for writing, or, where the system does not
    say how, at all. PermissionError where we may not look."""
    top = folder.rstrip("/") + "/"
    with _seen(pid) as process:
        files = process.open_files()
    return [f.path for f in files if f.path.startswith(top) and getattr(f, "mode", "w") != "r"]


def open_descriptors() -> int:
    return psutil.Process().num_fds()


def directory_of(pid: int, how: str) -> str:
    """Where its cwd can be looked at; empty if unknown."""
    return cwd_of(pid) if how == "cwd" else ""


def mapped_files(pid: int) -> bytes:
    """One line for each mapping, the path last; nothing where the system does not tell."""
    with _seen(pid) as process:
        ask: Any = getattr(process, "memory_maps", tuple)
        paths = [os.fsencode(one.path) for one in ask()]
    return b"".join(b" " + path.replace(b"\n", b"\\012") + b"\n" for path in paths)


def mount_points() -> list[str]:
    return [one.mountpoint for one in psutil.disk_partitions(all=True)]


def mounts_of(path: str, pids: Iterable[int]) -> list[str]:
    """Where else a directory is mounted, which only Linux tells."""
    del path, pids
    return []


def tcp_sockets() -> Iterator[tuple[bytes, int, bytes]]:
    """State, port on our side and, in place of an inode, which only Linux has, both addresses of
    every TCP socket of the machine, or of the processes that we may look into."""
    try:
        yield from map(_socket, psutil.net_connections("tcp"))
    except psutil.AccessDenied:
        for pid in psutil.pids():
            yield from map(_socket, _connections(pid))


def _socket(one: Any) -> tuple[bytes, int, bytes]:
    return one.status.encode(), one.laddr.port, repr((one.laddr, one.raddr)).encode()


def _connections(pid: int) -> list[Any]:
    try:
        return psutil.Process(pid).net_connections("tcp")
    except UNSEEN:
        return []


def sockets_of(pid: int) -> set[bytes]:
    """The addresses of those that it has open; none where we may not look."""
    return {_socket(one)[2] for one in _connections(pid)}


def tcp_connections() -> None:
    """How many bytes each connection has carried: None, because this system does not tell."""


def bytes_moved(pid: int) -> int | None:
    try:
        counted = getattr(psutil.Process(pid), "io_counters", lambda: None)()
        return counted.read_chars + counted.write_chars if counted else None
    except (*UNSEEN, AttributeError):
        return None


def memory_free_mb() -> float | None:
    return psutil.virtual_memory().available / MEGABYTE


def machine_ticks() -> tuple[int, int]:
    """The idle ticks of all processors since boot, and all ticks."""
    used = psutil.cpu_times()
    idle = used.idle + getattr(used, "iowait", 0.0)
    guests = getattr(used, "guest", 0.0) + getattr(used, "guest_nice", 0.0)
    return round(idle * TICKS), round((sum(used) - guests) * TICKS)  # guests count as users too


def watch_directory(folder: str) -> int:
    if sys.platform != "darwin":
        return -1
    from knell.processes.os import darwin

    return darwin.watch_directory(folder)


def take_news(fd: int) -> None:
    from knell.processes.os import darwin

    darwin.take_news(fd)
