"""No terminal at all: a detached process whose output goes to a file."""

import os
import stat
import time
from collections.abc import Mapping, Sequence

from quell.core.errors import PlaceFailed
from quell.core.panes import Absent, Closing, Launch, PaneSighting
from quell.core.run import Place
from quell.core.signs import Sign
from quell.places.commands import reaped, start, unbranded

SCREEN_BYTES = 16 * 1024


class Headless:
    name = "headless"
    has_panes = False

    def __init__(self, env: Mapping[str, str], timeout: float = 5.0) -> None:
        self._env = unbranded(env)
        self._timeout = timeout

    def open(self, launch: Launch) -> Place:
        """Start `launch.argv`, which detaches itself, and return when it has."""
        log = os.path.join(launch.rundir, "output.log")
        try:
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise PlaceFailed(f"cannot write {log}: {error.strerror}") from error
        try:
            outlets = [(os.POSIX_SPAWN_DUP2, output, fd) for fd in (1, 2)]
            pid = start(launch.argv, self._env, outlets, new_session=True)
        finally:
            os.close(output)
        code = reaped(pid, time.monotonic() + self._timeout)
        if code is None:
            raise PlaceFailed(f"{launch.argv[0]} did not detach within {self._timeout:g} s")
        if code:
            raise PlaceFailed(f"{launch.argv[0]} ended with {code} instead of detaching: {log}")
        return Place("headless", log=log)

    def look(self, place: Place, run: str) -> PaneSighting:
        return Absent("headless has no pane")

    def screen(self, place: Place) -> str:
        """The last of the output; empty if there is none."""
        # What an agent may have put there instead: a link is not followed, a fifo not waited for.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(place.log, flags), "rb") as log:
                found = os.fstat(log.fileno())
                if not stat.S_ISREG(found.st_mode):
                    raise PlaceFailed(f"cannot read {place.log}: it is no file")
                before = log.seek(max(0, found.st_size - SCREEN_BYTES))
                text = log.read(SCREEN_BYTES).decode("utf-8", "replace")
            # Half a line may hold half a secret, which nobody would know for one.
            return text.partition("\n")[2] or text if before else text
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise PlaceFailed(f"cannot read {place.log}: {error.strerror}") from error

    def stirred(self, places: Sequence[Place]) -> dict[Place, Sign]:
        """How far each log has come, and when."""
        found: dict[Place, Sign] = {}
        for place in places:
            try:
                log = os.stat(place.log)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise PlaceFailed(f"cannot look at {place.log}: {error.strerror}") from error
            found[place] = Sign(f"{log.st_size} {log.st_mtime_ns}", log.st_mtime)
        return found

    def type_line(self, place: Place, clear: tuple[str, ...], line: str, shown: str = "") -> None:
        raise PlaceFailed("a headless agent has no terminal to type into")

    def close(self, place: Place, run: str) -> Closing:
        return Closing(closed=True)

    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]:
        raise PlaceFailed("headless has no pane to adopt", "adopt the agent by its PID")
