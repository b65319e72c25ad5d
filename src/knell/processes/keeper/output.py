"""Keeps the last of a headless agent's output: RUNDIR/output.log, and before it output.log.1.

The agent writes into a pipe and the keeper into the file that it got as its own standard output.
When that has half of the limit it becomes output.log.1, and the older one goes. While the disk is
nearly full, nothing is written: the room is for the store, without which no agent can be ended.
"""

import os
import select
import stat

from proc import signal

PIECE = 65_536  # bytes; a pipe holds as many
RESERVE = 64 << 20  # bytes of the disk that output leaves free
LARGEST_SHARE = 20  # of a small disk, only one of so many parts


class Output:
    def __init__(self, rundir: str, limit: int) -> None:
        self.path = os.path.join(rundir, "output.log")
        self.half = limit // 2
        self.dropped = 0  # bytes that were not written
        self.inlet, self.outlet = os.pipe()
        os.set_blocking(self.inlet, False)

    def become_agents(self) -> None:
        """In the agent's process: from here on it writes into the pipe."""
        os.dup2(self.outlet, 1)
        os.dup2(self.outlet, 2)

    def close_outlet(self) -> None:
        """Closes our copy once the agent has it: else the pipe would never be seen to end."""
        if self.outlet >= 0:
            os.close(self.outlet)
            self.outlet = -1

    def take_in(self) -> bool:
        """Writes a piece of what has come; False once no process can write any more."""
        try:
            piece = os.read(self.inlet, PIECE)
        except BlockingIOError:
            return True
        self.write(piece)
        return bool(piece)

    def write(self, piece: bytes) -> None:
        try:
            if not piece or is_nearly_full():
                self.dropped += len(piece)
                return
            if os.fstat(1).st_size + len(piece) > self.half:
                self.rotate()
            if self.dropped:
                os.write(1, b"\n[knell: %d bytes are missing here]\n" % self.dropped)
                self.dropped = 0
            os.write(1, piece)
        except OSError:
            self.dropped += len(piece)

    def rotate(self) -> None:
        """Puts the full file in the place of the older one, and begins a new one."""
        os.rename(self.path, self.path + ".1")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        new = os.open(self.path, flags, 0o600)
        for fd in (1, 2):
            os.dup2(new, fd)
        os.close(new)

    def finish(self) -> None:
        """Writes what is left in the pipe. If a process that may live on holds it open, a child of
        ours goes on reading: without a reader, SIGPIPE would end it at its next write."""
        self.close_outlet()
        while select.select([self.inlet], [], [], 0)[0]:
            if not self.take_in():
                return
        if os.fork():
            return
        try:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.set_blocking(self.inlet, True)
            while self.take_in():
                pass
        finally:
            os._exit(0)


def is_file(fd: int) -> bool:
    return stat.S_ISREG(os.fstat(fd).st_mode)


def is_nearly_full() -> bool:
    disk = os.fstatvfs(1)
    reserve = min(RESERVE, disk.f_blocks * disk.f_frsize // LARGEST_SHARE)
    return disk.f_bavail * disk.f_frsize < reserve
