"""A place of another package: where its code fails, it is a place that does not answer.

So it is too once its package is gone: what runs there can still be listed and ended.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from knell.core.errors import AskerError, PlaceFailed
from knell.core.ports.terminal import Absent, Closing, Launch, PaneSighting, Present
from knell.core.process import Unknown
from knell.core.run import Place

if TYPE_CHECKING:
    from knell.core.ports.terminal import Terminal
    from knell.core.stall.signs import Sign

T = TypeVar("T")


class OutsidePlace:
    """Every answer of its class is checked; `broken` says why that cannot be used at all."""

    def __init__(self, name: str, make: "Callable[[], Terminal]") -> None:
        self.name = name
        self.broken: AskerError | None = None
        self._inner: Terminal | None = None
        try:
            self._inner = make()
        except AskerError as error:
            self.broken = error
        self.has_panes = self._inner is None or self._inner.has_panes

    def open(self, launch: Launch) -> Place:
        return self._asked(Place, "open", launch)

    def look(self, place: Place, run: str) -> PaneSighting:
        return self._seen("look", place, run)

    def screen(self, place: Place) -> str:
        return self._asked(str, "screen", place)

    def stirred(self, places: Sequence[Place]) -> "dict[Place, Sign]":
        return cast("dict[Place, Sign]", self._asked(dict, "stirred", places))

    def keyboard(self, place: Place, run: str) -> PaneSighting:
        return self._seen("keyboard", place, run)

    def press(self, place: Place, key: str) -> None:
        self._asked(object, "press", place, key)

    def type_text(self, place: Place, text: str) -> None:
        self._asked(object, "type_text", place, text)

    def close(self, place: Place, run: str) -> Closing:
        try:
            return self._asked(Closing, "close", place, run)
        except PlaceFailed as error:
            return Closing(closed=False, why=str(error))

    def attach_command(self, place: Place) -> tuple[str, ...]:
        return cast("tuple[str, ...]", self._asked(tuple, "attach_command", place))

    def adopt(self, pane: str, server: str, run: str) -> tuple[Place, int]:
        return cast("tuple[Place, int]", self._asked(tuple, "adopt", pane, server, run))

    def _seen(self, method: str, place: Place, run: str) -> PaneSighting:
        try:
            return self._asked((Present, Absent, Unknown), method, place, run)
        except PlaceFailed as error:
            return Unknown(str(error))

    def _asked(self, wanted: "type[T] | tuple[type[T], ...]", method: str, *given: object) -> T:
        if self._inner is None:
            raise PlaceFailed(str(self.broken), self.broken.hint if self.broken else "")
        what = f"place {self.name}: {method}"
        try:
            found: object = getattr(self._inner, method)(*given)
        except PlaceFailed:
            raise
        except (Exception, SystemExit) as error:
            raise PlaceFailed(f"{what}: {type(error).__name__}: {error}") from error
        if not isinstance(found, wanted):
            raise PlaceFailed(f"{what}: it gives {type(found).__name__}")
        return found
