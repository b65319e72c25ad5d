"""Whom a look at other hosts means, and the rows that come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knell.core.codes import Code
from knell.core.errors import Refused
from knell.core.fleet.target import EVERYWHERE, FarTarget

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knell.api.results import AgentView


def means(target: str | FarTarget, view: AgentView) -> bool:
    if isinstance(target, str):
        return True
    words = (view.name, "all", f"tag:{view.tag}", f"team:{view.team}")
    return target.what in words and target.host in (view.host, EVERYWHERE)


def far_views(rows: Iterable[object]) -> list[AgentView]:
    from knell.life.look.far import far_view

    return [view for row in rows if (view := far_view(row))]


def another_run(target: FarTarget) -> Refused:
    why = f"'{target}' is another run by now: nothing was done to it"
    return Refused(why, "ask again", code=Code.RUN_OVER)
