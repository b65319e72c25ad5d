"""Linux: what processes use: files, mounts, sockets, memory, and news of a directory."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from knell.core.paths import is_below
from knell.processes.os.linux_connections import tcp_connections
from knell.processes.os.proc import read, shown_at

__all__ = ["tcp_connections"]

IN_CREATE, IN_MOVED_TO = 0x100, 0x80
ESTABLISHED, CLOSE_WAIT, LISTEN = b"01", b"08", b"0A"  # states of a socket
_ADDRESS, _STATE, _INODE = 1, 3, 9  # columns of /proc/net/tcp


class _Mount(NamedTuple):
    device: bytes
    root: str  # the directory of the device's file system that is seen at the point
    point: str


class Socket(NamedTuple):
    state: bytes
    port: int  # on our side
    inode: bytes


def files_of(pid: int) -> Iterator[tuple[str, str]]:
    """(cwd, root, exe or open file; path). PermissionError where we may not look."""
    shown = shown_at(pid)
    for how in ("cwd", "root", "exe"):
        try:
            yield how, os.readlink(f"{shown}/{how}")
        except FileNotFoundError:
            if how != "exe":  # kernel threads and programs that a package update replaced
                raise
    for _, path in _descriptors(shown):
        yield "open file", path


def _descriptors(shown: str) -> Iterator[tuple[str, str]]:
    """Number and path of each open file."""
    for fd in os.listdir(f"{shown}/fd"):
        try:
            yield fd, os.readlink(f"{shown}/fd/{fd}")
        except FileNotFoundError:
            continue  # closed meanwhile


def written_below(pid: int, folder: str) -> list[str]:
    """The regular files below a folder that it has open for writing. PermissionError where we may
    not look."""
    shown = shown_at(pid)
    found: list[str] = []
    for fd, path in _descriptors(shown):
        if path.startswith(folder.rstrip("/") + "/"):
            info = read(f"{shown}/fdinfo/{fd}").partition(b"flags:")[2].split(None, 1)
            if info and int(info[0], 8) & os.O_ACCMODE != os.O_RDONLY:
                found.append(path)
    return found


def open_descriptors() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


def directory_of(pid: int, how: str) -> tuple[int, int]:
    """Device and inode of its cwd or root: the same in every mount namespace. (0, 0) if unknown."""
    try:
        found = os.stat(f"{shown_at(pid)}/{how}")
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def mapped_files(pid: int) -> bytes:
    """One line for each mapping, the path last, a newline in it as \\012."""
    with open(f"{shown_at(pid)}/maps", "rb") as file:
        return file.read()


def mount_points() -> list[str]:
    return [mount.point for mount in _mounts("/proc/self")]


def mounts_of(path: str, pids: Iterable[int]) -> list[str]:
    """Where else a directory, or a part of it, is mounted: here, or for one of these processes, as
    in a container. Whoever works there has other paths, and keeps them when it is renamed."""
    here = _mounts("/proc/self")
    above = [mount for mount in here if is_below(path, mount.point)]
    if not above:
        return []
    device, root, point = max(above, key=lambda mount: len(mount.point))
    inside = os.path.normpath(os.path.join(root, os.path.relpath(path, point)))
    spaces = {_mount_space("/proc/self"): ("", here)}
    for pid in pids:
        space = _mount_space(f"/proc/{pid}")
        if space and space not in spaces:
            spaces[space] = (f", for process {pid}", _mounts(f"/proc/{pid}"))
    return [
        f"{mount.point}{whose}"
        for whose, mounts in spaces.values()
        for mount in mounts
        if mount.device == device and is_below(mount.root, inside) and mount.point != path
    ]


def _mount_space(shown: str) -> str:
    try:
        return os.readlink(f"{shown}/ns/mnt")
    except OSError:
        return ""  # it has ended, or may not be looked into


def _mounts(shown: str) -> list[_Mount]:
    rows = [line.split(b" ", 5) for line in read(f"{shown}/mountinfo").splitlines()]
    return [_Mount(row[2], _plain(row[3]), _plain(row[4])) for row in rows]


def _plain(path: bytes) -> str:
    """Blank, tab, newline and backslash are written as octal numbers."""
    return os.fsdecode(path.decode("unicode_escape").encode("latin-1"))


def tcp_sockets() -> Iterator[Socket]:
    """Every TCP socket of the machine."""
    lines = read("/proc/net/tcp").splitlines()[1:] + read("/proc/net/tcp6").splitlines()[1:]
    for line in lines:
        row = line.split(None, _INODE + 1)
        if len(row) > _INODE:
            port = int(row[_ADDRESS].rsplit(b":", 1)[1], 16)
            yield Socket(row[_STATE], port, row[_INODE])


def sockets_of(pid: int) -> set[bytes]:
    """The inodes of those that it has open; none where we may not look."""
    try:
        links = [file for how, file in files_of(pid) if how == "open file"]
    except OSError:
        return set()
    return {os.fsencode(link[8:-1]) for link in links if link.startswith("socket:[")}


def bytes_moved(pid: int) -> int | None:
    """How many bytes it has read and written so far, files, pipes and terminals; None: unknown."""
    lines = read(f"{shown_at(pid)}/io").splitlines()
    amounts = dict(line.split(b": ", 1) for line in lines if b": " in line)
    if b"rchar" not in amounts or b"wchar" not in amounts:
        return None
    return int(amounts[b"rchar"]) + int(amounts[b"wchar"])


def memory_free_mb() -> float | None:
    """What programs may allocate without making others swap."""
    line = read("/proc/meminfo").partition(b"\nMemAvailable:")[2].split(None, 1)
    return int(line[0]) / 1024 if line else None


def machine_ticks() -> tuple[int, int]:
    """The idle ticks of all processors since boot, and all ticks; zeros if that cannot be read."""
    # Only the first eight: the time of guests is counted in user already.
    ticks = [int(word) for word in read("/proc/stat").partition(b"\n")[0].split()[1:9]]
    return (ticks[3] + ticks[4], sum(ticks)) if ticks else (0, 0)


def watch_directory(folder: str) -> int:
    """A file descriptor that is readable once something new is in it; -1 if there is none."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    fd: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    watched = libc.inotify_add_watch(fd, os.fsencode(folder), IN_CREATE | IN_MOVED_TO)
    if fd >= 0 and watched < 0:  # no such folder yet, or too many watches
        os.close(fd)
        return -1
    return fd


def take_news(fd: int) -> None:
    """Takes what a watched directory has told, so that the next wait waits again."""
    try:
        while os.read(fd, 65_536):
            pass
    except BlockingIOError:
        return
