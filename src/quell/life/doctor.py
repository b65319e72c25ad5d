"""What this machine has, and what lies around on it."""

from typing import NamedTuple

from quell.core.errors import QuellError
from quell.core.ports import World
from quell.core.process import Member
from quell.core.run import Orphan
from quell.life.orphans import living_orphans
from quell.life.settle import settle


class Finding(NamedTuple):
    what: str
    ok: bool
    told: str
    hint: str = ""


class Diagnosis(NamedTuple):
    findings: list[Finding]
    orphans: list[Orphan]
    foreign: list[Member]


def examine(world: World) -> Diagnosis:
    """Looks at everything quell leans on; ends and changes nothing."""
    findings = [Finding(*fact) for fact in world.kernel.abilities()]
    findings += [Finding(*fact) for fact in world.programs()]
    findings.append(_settings(world))
    orphans: list[Orphan] = []
    try:
        live = settle(world)
        findings.append(Finding("store", True, f"{world.home}, {len(live)} live"))  # noqa: FBT003
        orphans = living_orphans(world, by_stamp=True)
    except QuellError as error:
        findings.append(Finding("store", False, str(error), error.hint))  # noqa: FBT003
    return Diagnosis(findings, orphans, world.kernel.foreign())


def _settings(world: World) -> Finding:
    try:
        settings = world.settings
    except QuellError as error:
        return Finding("config", False, str(error), error.hint)  # noqa: FBT003
    return Finding("config", True, f"grace {settings.kill_grace:g} s")  # noqa: FBT003
