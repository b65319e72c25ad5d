"""Linux: what processes use: files, mounts, sockets, memory, and news of a directory."""

import os
import socket
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from knell.core.paths import is_below
from knell.processes.os.linux_facts import link_of
from knell.processes.os.proc import read, shown_at

IN_CREATE, IN_MOVED_TO = 0x100, 0x80
ESTABLISHED, CLOSE_WAIT, LISTEN = b"01", b"08", b"0A"  # states of a socket
_ADDRESS, _STATE, _INODE = 1, 3, 9  # columns of /proc/net/tcp


# Of netlink, which any user may ask (`ss -i` does the same). The kernel answers for the network
# namespace of the asker.
_SOCK_DIAG, _BY_FAMILY, _DUMP = 4, 20, 0x301  # protocol, message type, REQUEST | DUMP
_ERROR, _DONE = 2, 3  # message types
_CONNECTED = 1 << 1 | 1 << 8  # states: ESTABLISHED, CLOSE_WAIT
_INFO = 2  # the attribute that holds `struct tcp_info`
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")  # length and type
_PORTS = struct.Struct("!HH")  # ours and the other's, in network order
_PORTS_AT = 4
_INODE_AT, _ATTRIBUTES_AT = 68, 72  # in `struct inet_diag_msg`
_BYTES = struct.Struct("=QQ")  # bytes_acked, bytes_received in `struct tcp_info`
_BYTES_AT = 120
_WAIT = 1.0  # seconds; the kernel answers at once or not at all
_ROOM = 1 << 17


class _Mount(NamedTuple):
    device: bytes
    root: str  # the directory of the device's file system that is seen at the point
    point: str


class TcpConnection(NamedTuple):
    inode: str
    ports: tuple[int, int]  # ours and the other's
    received: int
    sent: int


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


def directory_of(pid: int, how: str) -> str:
    """Where its cwd or root can be looked at, also in another mount namespace."""
    return f"{shown_at(pid)}/{how}"


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
    spaces = {link_of("/proc/self/ns/mnt"): ("", here)}
    for pid in pids:
        space = link_of(f"/proc/{pid}/ns/mnt")
        if space and space not in spaces:
            spaces[space] = (f", for process {pid}", _mounts(f"/proc/{pid}"))
    return [
        f"{mount.point}{whose}"
        for whose, mounts in spaces.values()
        for mount in mounts
        if mount.device == device and is_below(mount.root, inside) and mount.point != path
    ]


def _mounts(shown: str) -> list[_Mount]:
    rows = [line.split(b" ", 5) for line in read(f"{shown}/mountinfo").splitlines()]
    return [_Mount(row[2], _plain(row[3]), _plain(row[4])) for row in rows]


def _plain(path: bytes) -> str:
    """Blank, tab, newline and backslash are written as octal numbers."""
    return os.fsdecode(path.decode("unicode_escape").encode("latin-1"))


def tcp_sockets() -> Iterator[tuple[bytes, int, bytes]]:
    """State, port on our side and inode of every TCP socket of the machine."""
    lines = read("/proc/net/tcp").splitlines()[1:] + read("/proc/net/tcp6").splitlines()[1:]
    for line in lines:
        row = line.split(None, _INODE + 1)
        if len(row) > _INODE:
            port = int(row[_ADDRESS].rsplit(b":", 1)[1], 16)
            yield row[_STATE], port, row[_INODE]


def sockets_of(pid: int) -> set[bytes]:
    """The inodes of those that it has open; none where we may not look."""
    try:
        links = [file for how, file in files_of(pid) if how == "open file"]
    except OSError:
        return set()
    return {os.fsencode(link[8:-1]) for link in links if link.startswith("socket:[")}


def tcp_connections() -> list[TcpConnection] | None:
    """Every open connection with its bytes so far; None if the kernel does not tell."""
    try:
        return [one for family in (socket.AF_INET, socket.AF_INET6) for one in _dump(family)]
    except (OSError, struct.error):
        return None


def _dump(family: int) -> Iterator[TcpConnection]:
    request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), _CONNECTED)
    header = _HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as link:
        link.settimeout(_WAIT)
        link.send(header + request)
        for what, body in _messages(link):
            if what == _ERROR:
                raise OSError("the kernel does not list its connections")
            if found := _connection(body):
                yield found


def _messages(link: socket.socket) -> Iterator[tuple[int, bytes]]:
    """Type and content of each message, up to the one that says that it was the last."""
    while True:
        packet, at = link.recv(_ROOM), 0
        while at + _HEADER.size <= len(packet):
            length, what, *_ = _HEADER.unpack_from(packet, at)
            if what == _DONE or length < _HEADER.size:
                return
            yield what, packet[at + _HEADER.size : at + length]
            at += _rounded(length)


def _connection(body: bytes) -> TcpConnection | None:
    """None for one that no process has open any more, or whose bytes the kernel does not count."""
    ours, theirs = _PORTS.unpack_from(body, _PORTS_AT)
    (inode,) = struct.unpack_from("=I", body, _INODE_AT)
    at = _ATTRIBUTES_AT
    while inode and at + _ATTRIBUTE.size <= len(body):
        length, what = _ATTRIBUTE.unpack_from(body, at)
        value = body[at + _ATTRIBUTE.size : at + length]
        if what == _INFO and len(value) >= _BYTES_AT + _BYTES.size:
            sent, received = _BYTES.unpack_from(value, _BYTES_AT)
            return TcpConnection(str(inode), (ours, theirs), received, sent)
        at += max(_rounded(length), _ATTRIBUTE.size)
    return None


def _rounded(length: int) -> int:
    return (length + 3) & ~3


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
