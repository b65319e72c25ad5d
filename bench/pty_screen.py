"""A program on a terminal of its own, whose output is read as it comes."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

SIZE = struct.pack("HHHH", 45, 140, 0, 0)


class PtyScreen:
    """Ends the program when the block ends."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.seen = b""
        self.pid, self._terminal = pty.fork()
        if not self.pid:
            os.execvpe(argv[0], list(argv), {**env, "TERM": "xterm-256color"})
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, SIZE)

    def __enter__(self) -> "PtyScreen":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def drain(self, seconds: float = 0.0) -> bool:
        """Reads what is there; whether the program still writes to it."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self._terminal, 65_536)
        except OSError:  # EIO: the program has left
            return False
        self.seen = (self.seen + piece)[-200_000:]
        return bool(piece)

    def wait_for(self, text: bytes, seconds: float = 120.0) -> None:
        until = time.monotonic() + seconds
        while text not in self.seen:
            if time.monotonic() > until or not self.drain(1.0):
                raise RuntimeError(f"{text!r} was never shown: {self.seen[-500:]!r}")

    def send(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def wait_end(self) -> None:
        while self.drain(1.0):
            pass
        os.waitpid(self.pid, 0)
