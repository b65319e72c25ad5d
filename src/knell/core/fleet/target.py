"""Targets of other hosts: name@host, tag:X@*, all@host, team:X@*; pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from knell.core.agent import SHOWN, checked_name
from knell.core.errors import BadRequest

EVERYWHERE = "*"
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,49}")
_USE = "write NAME@HOST, tag:X@*, team:X@*, all@HOST or all@*"


class FarTarget(NamedTuple):
    """What is meant, and where."""

    what: str  # a name, tag:X, team:X or all
    host: str  # * for every host

    @property
    def group(self) -> bool:
        return self.what == "all" or self.what.partition(":")[0] in ("tag", "team")

    def __str__(self) -> str:
        return f"{self.what}@{self.host}"


def is_far(target: str) -> bool:
    """A session or a pane of this host may have the sign in its name."""
    return "@" in target and target.partition(":")[0] not in ("session", "pane", "id", "name")


def far_target(target: str) -> FarTarget:
    """What `x@y` means; BadRequest for what cannot mean anything."""
    what, _, host = target.rpartition("@")
    if not what or not host or "@" in what:
        raise BadRequest(f"'{target}' is no target of the fleet", _USE)
    if host != EVERYWHERE:
        checked_host(host)
    word, colon, value = what.partition(":")
    if colon and (word not in ("tag", "team") or not value):
        raise BadRequest(f"'{target}': across hosts there is no '{word}:'", _USE)
    found = FarTarget(what, host)
    if host == EVERYWHERE and not found.group:
        raise BadRequest(f"'{what}' is one agent: name its host", f"knell list --fleet; {_USE}")
    return found


def checked_far_agent(name: str) -> str:
    """`name@host`, if one agent of one host may be called so."""
    found = far_target(name)
    if found.group or found.host == EVERYWHERE:
        raise BadRequest(f"'{name}' is no single agent", "write NAME@HOST")
    checked_name(found.what)
    return str(found)


def checked_host(name: str) -> str:
    """`name` if it may be a host's; else an error."""
    if HOST.fullmatch(name):
        return name
    shown = repr(name[:SHOWN])
    why = f"the host name {shown} is not usable: letters, digits, '.', '-' and '_', at most 50"
    raise BadRequest(why, "choose another: knell fleet join URL --as NAME")


def meant_far(targets: Sequence[str]) -> list[str | FarTarget]:
    """What targets of a look mean on other hosts; a session, a pane or an id is of this one."""
    if not targets:
        return [""]
    wide = [one for one in targets if ":" not in one or one.partition(":")[0] in ("tag", "team")]
    return [
        far_target(one) if is_far(one) else FarTarget(one, EVERYWHERE)
        for one in targets
        if is_far(one) or one in wide
    ]


def conditions(target: str | FarTarget) -> dict[str, str]:
    """The columns by which the database finds what a target means."""
    if not target:
        return {}
    meant = far_target(target) if isinstance(target, str) else target
    kind, _, value = meant.what.partition(":")
    which = {kind: value} if value else {} if meant.what == "all" else {"name": meant.what}
    return {"host": meant.host, **which}
