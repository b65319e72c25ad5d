"""Disks that fail on demand: full, read-only, deaf to writes, or dead under whoever uses them.

Each is an ext4 in memory, seen by this process and its children alone: a mount namespace is
entered for the test and left after it, so that nothing is ever mounted on the machine itself.
"""

import contextlib
import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from needs import REASONS

CLONE_NEWNS = 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 1 << 18
EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def mounts_of_our_own() -> Iterator[None]:
    """What is mounted inside is seen by nobody else, and is gone afterwards."""
    before = os.getcwd()
    outside = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        called("unshare", CLONE_NEWNS)
    except PermissionError:
        os.close(outside)
        pytest.skip(REASONS["needs_root"])
    try:
        called("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        yield
    finally:
        called("setns", outside, CLONE_NEWNS)
        os.close(outside)
        os.chdir(before)  # entering a namespace leads to its root


def called(function: str, *args: object) -> None:
    if getattr(LIBC, function)(*args):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Disk:
    """One small ext4; each fault is lifted by `mended`, once nobody has a file on it open."""

    def __init__(self, at: Path, size: int = 12 << 20) -> None:
        self.at = at
        self.image = os.memfd_create("disk", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(self.image, size)
        # Without a journal: replaying one is the kernel's promise, not ours.
        run("mkfs.ext4", "-q", "-O", "^has_journal", self.path)
        self.mount()
        at.chmod(0o700)

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self.image}"

    def mount(self) -> None:
        run("mount", "-o", "loop,errors=remount-ro", self.path, str(self.at))

    def mended(self) -> None:
        """Whole again, with all that had reached it."""
        with contextlib.suppress(FileNotFoundError):
            (self.at / "filler").unlink()
            return
        run("umount", str(self.at))
        whole = os.memfd_create("disk", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.sendfile(whole, self.image, 0, os.fstat(self.image).st_size)
        os.dup2(whole, self.image, inheritable=False)
        os.close(whole)
        run("e2fsck", "-fy", self.path, codes=(0, 1))
        self.mount()

    # -- faults -------------------------------------------------------------------------------

    def fill(self) -> None:
        """To the last byte: ENOSPC."""
        for piece in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError), (self.at / "filler").open("ab", 0) as file:
                while file.write(b"\xa5" * piece):
                    pass

    def write_protect(self) -> None:
        """As the kernel does when it meets an error: EROFS, also for files that are open."""
        self._sync()
        name = Path(f"/sys/dev/block/{self._device()}").resolve().name
        Path(f"/sys/fs/ext4/{name}/trigger_fs_error").write_text("broken on purpose")

    def deafen(self) -> None:
        """What is written is taken and never reaches the disk: EIO from fsync."""
        self._sync()
        fcntl.fcntl(self.image, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)

    def die(self) -> None:
        """EIO from every write, fsync, open and read."""
        fd = os.open(self.at, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(fd)

    def _sync(self) -> None:
        fd = os.open(self.at, os.O_RDONLY)
        try:
            called("syncfs", fd)
        finally:
            os.close(fd)

    def _device(self) -> str:
        device = os.stat(self.at).st_dev
        return f"{os.major(device)}:{os.minor(device)}"


def run(*argv: str, codes: tuple[int, ...] = (0,)) -> None:
    if not shutil.which(argv[0]):
        pytest.skip(f"{argv[0]} is not installed")
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in codes, (argv, done.stdout, done.stderr)
