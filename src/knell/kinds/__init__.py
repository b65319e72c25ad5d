"""The agent programs that knell knows: each file in this folder is one, imported when needed.

A file whose name begins with an underscore is no kind. Further kinds come from the settings
(`[kinds.NAME]`) and from entry points of other packages (`knell.kinds`); see `_outside.py`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from knell.core.errors import BadConfig, BadRequest
from knell.core.kind import Kind

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from knell.core.ports.kinds import BrokenKind

    Offers = dict[str, list[EntryPoint]]

COMMAND = "command"


def built_in() -> tuple[str, ...]:
    """The names of the files in this folder; `command`, which is no agent program, comes last."""
    files = {name for folder in __path__ for name in os.listdir(folder)}
    stems = {name.removesuffix(".py") for name in files if name.endswith(".py")}
    return (*sorted(name for name in stems if name[0] != "_" and name != COMMAND), COMMAND)


def kind(name: str) -> Kind:
    """The built-in kind of that name."""
    found: Kind = import_module(f"{__name__}.{name}").KIND
    return found


class KnownKinds:
    """Every kind, from wherever it comes. `tables` reads `[kinds]` of the settings."""

    def __init__(self, tables: Callable[[], Mapping[str, object]]) -> None:
        self._tables = tables
        self._built_in = built_in()
        self._outside: dict[str, Kind] = {}
        self._known_offers: Offers | None = None

    def kind(self, name: str) -> Kind:
        if name in self._built_in:
            if name in self._readable_tables():  # it would be ignored, and its writer not learn why
                why = f"kinds.{name} in the settings: the name is taken by a kind that knell brings"
                raise BadConfig(why, "choose another name")
            return kind(name)
        if name not in self._outside:
            self._outside[name] = self._loaded(name)
        return self._outside[name]

    def kind_or_command(self, name: str) -> Kind:
        if name in self._built_in:
            return kind(name)
        try:
            return self.kind(name)
        except (BadRequest, BadConfig):
            return kind(COMMAND)

    def has(self, name: str, *, offered: bool = True) -> bool:
        if name in self._built_in or name in self._outside or name in self._tables():
            return True
        return offered and "/" not in name and name in self._offers()

    def names(self) -> tuple[str, ...]:
        known = {*self._built_in, *self._readable_tables(), *self._offers()}
        return (*sorted(known - {COMMAND}), COMMAND)

    def near(self) -> list[Kind]:
        outside = [name for name in self._readable_tables() if name not in self._built_in]
        found = [self.kind_or_command(name) for name in (*self._built_in, *outside)]
        return [one for one in found if one.name != COMMAND]

    def everything(self) -> "tuple[list[Kind], list[BrokenKind]]":
        from knell.core.ports.kinds import BrokenKind
        from knell.kinds import _outside

        good: list[Kind] = self.near()
        broken: list[BrokenKind] = []
        tables, offers = self._readable_tables(), self._offers()
        for name in (*tables, *(one for one in offers if one not in tables)):
            try:
                found = self.kind(name)
            except (BadRequest, BadConfig) as error:
                broken.append(BrokenKind(name, str(error), error.hint))
            else:
                good += [found] if found not in good else []
        taken = {*self._built_in, *tables}
        broken += [_outside.shadowed(offers[name]) for name in offers if name in taken]
        return good, broken

    def recognise(self, argv: Sequence[str]) -> str:
        """Entry points are asked last: most processes are agents of a near kind, or no agents."""
        for kind in self.near():
            if kind.runs_in(argv):
                return kind.name
        offers = self._offers() if argv else ()
        return next((n for n in offers if self.kind_or_command(n).runs_in(argv)), COMMAND)

    def strip_env(self) -> tuple[str, ...]:
        from knell.kinds._children_env import NAMES

        outside = [name for name in self._readable_tables() if name not in self._built_in]
        theirs = (self.kind_or_command(name).strip_env for name in outside)
        return tuple(dict.fromkeys((*NAMES, *(name for names in theirs for name in names))))

    def _readable_tables(self) -> Mapping[str, object]:
        """Empty if the settings file cannot be read: verbs that need it report that themselves."""
        try:
            return self._tables()
        except BadConfig:
            return {}

    def _offers(self) -> "Offers":
        if self._known_offers is None:
            from knell import entry_points

            self._known_offers = entry_points.offered("knell.kinds")
        return self._known_offers

    def _loaded(self, name: str) -> Kind:
        from knell.kinds import _outside

        tables = self._tables()
        if name in tables:
            return _outside.from_settings(name, tables[name])
        offers = self._offers()
        if name in offers:
            return _outside.from_entry_point(name, offers[name])
        hint = f"use one of {', '.join(self.names())}, or -- COMMAND for any program"
        raise BadRequest(f"'{name}' is no kind of agent", hint)
