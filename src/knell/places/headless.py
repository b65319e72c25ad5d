"""No terminal at all: a detached process whose output goes to a file."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from knell import files
from knell.core.errors import PlaceFailed
from knell.core.ports.terminal import Absent, Closing, Launch, PaneSighting
from knell.core.run import Place

if TYPE_CHECKING:
    from knell.core.stall.signs import Sign

SCREEN_BYTES = 16 * 1024


class Headless:
    name = "headless"
    has_panes = False

    def __init__(self, env: Mapping[str, str], timeout: float = 5.0) -> None:
        self._env = env
        self._timeout = timeout

    def open(self, launch: Launch) -> Place:
        """Start `launch.argv`, which detaches itself, and return when it has."""
        from knell.places.commands import reap_child, start, unbranded  # an ending needs none

        log = os.path.join(launch.rundir, "output.log")
        try:
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise PlaceFailed(f"cannot write {log}: {error.strerror}") from error
        try:
            outlets = [(os.POSIX_SPAWN_DUP2, output, fd) for fd in (1, 2)]
            pid = start(launch.argv, unbranded(self._env), outlets, new_session=True)
        finally:
            os.close(output)
        code = reap_child(pid, time.monotonic() + self._timeout)
        if code is None:
            raise PlaceFailed(f"{launch.argv[0]} did not detach within {self._timeout:g} s")
        if code:
            raise PlaceFailed(f"{launch.argv[0]} ended with {code} instead of detaching: {log}")
        return Place("headless", log=log)

    def look(self, place: Place, run: str) -> PaneSighting:
        return Absent("headless has no pane")

    def screen(self, place: Place) -> str:
        """The last of the output; empty if there is none."""
        # An agent may have put something else there: a link is not followed, a FIFO not waited for.
        data = self._tail(place.log, SCREEN_BYTES + 1)
        if len(data) <= SCREEN_BYTES:  # the keeper may have begun a new file just now
            data = self._tail(place.log + ".1", SCREEN_BYTES + 1 - len(data)) + data
        text = data[-SCREEN_BYTES:].decode("utf-8", "replace")
        # Half a line may hold half a secret, which no pattern would recognise.
        return text.partition("\n")[2] or text if len(data) > SCREEN_BYTES else text

    def _tail(self, path: str, size: int) -> bytes:
        try:
            return files.read_part(path, size, end=True, follow=False)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise PlaceFailed(f"cannot read {path}: {error.strerror}") from error

    def stirred(self, places: Sequence[Place]) -> dict[Place, "Sign"]:
        """How far each log has come, and when."""
        from knell.core.stall.signs import Sign  # an ending needs none

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

    def keyboard(self, place: Place, run: str) -> PaneSighting:
        return Absent("a headless agent has no terminal")

    def press(self, place: Place, key: str) -> None:
        raise PlaceFailed("a headless agent has no terminal to type into")

    def type_text(self, place: Place, text: str) -> None:
        raise PlaceFailed("a headless agent has no terminal to type into")

    def close(self, place: Place, run: str) -> Closing:
        return Closing(closed=True)

    def attach_command(self, place: Place) -> tuple[str, ...]:
        raise PlaceFailed("a headless agent has no pane", "knell logs -f NAME shows its output")

    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]:
        raise PlaceFailed("headless has no pane to adopt", "adopt the agent by its PID")
