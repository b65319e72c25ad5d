"""What this machine has, and what lies around on it."""

import os
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
        orphans = living_orphans(world, by_stamp=True)
        world.store.check()
        findings.append(Finding("store", True, f"{world.home}, {len(live)} live"))  # noqa: FBT003
    except QuellError as error:
        findings.append(Finding("store", False, str(error), error.hint))  # noqa: FBT003
    findings.append(_runs(world))
    return Diagnosis(findings, orphans, world.kernel.foreign())


def _runs(world: World) -> Finding:
    """Keepers write into directories there: whether one can be made, and a file in it."""
    probe = world.rundir(f".doctor-{world.new_id()}")
    runs = os.path.dirname(probe)
    why = world.disk.make_marked(probe, "probe", "may be deleted\n")
    why = world.disk.remove_below(runs, probe) or why if world.disk.is_directory(probe) else why
    if why:
        return Finding("runs", False, why, "see that the disk has room and is healthy")  # noqa: FBT003
    return Finding("runs", True, runs)  # noqa: FBT003


def _settings(world: World) -> Finding:
    try:
        settings = world.settings
    except QuellError as error:
        return Finding("config", False, str(error), error.hint)  # noqa: FBT003
    return Finding("config", True, f"grace {settings.kill_grace:g} s")  # noqa: FBT003
