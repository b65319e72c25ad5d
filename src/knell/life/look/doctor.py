"""Examines what this machine has, and which processes agents have left on it."""

import os
from typing import NamedTuple

from knell.core.errors import AskerError, KnellError
from knell.core.kind import Kind
from knell.core.ports.store import BACKUP_EVERY
from knell.core.ports.world import World
from knell.core.process import FoundProcess
from knell.core.run import Orphan
from knell.life.base.members import living_orphans
from knell.life.base.restore import backup_age, missing_records
from knell.life.base.take_in import take_in_journals
from knell.life.base.versions import installed_version, version_text


class Finding(NamedTuple):
    """What was looked at. If it is not ok, it is broken, or only not there: a program that is not
    installed, something that this machine cannot do."""

    what: str
    ok: bool
    text: str
    hint: str = ""
    broken: bool = False


def _fine(what: str, text: str) -> Finding:
    return Finding(what, ok=True, text=text)


def _broken(what: str, text: str, hint: str = "") -> Finding:
    return Finding(what, ok=False, text=text, hint=hint, broken=True)


class Diagnosis(NamedTuple):
    findings: list[Finding]
    orphans: list[Orphan]
    foreign: list[FoundProcess]


def examine(world: World) -> Diagnosis:
    """Looks at everything that knell depends on; ends and changes nothing."""
    findings = [Finding(*fact) for fact in world.processes.abilities()]
    findings += _programs(world)
    findings += _refused(world)
    findings.append(_settings(world))
    findings.append(_home(world))
    orphans: list[Orphan] = []
    try:
        live = take_in_journals(world)
        orphans = living_orphans(world)
        world.store.check()
        findings.append(_fine("store", f"{world.home}, {len(live)} live"))
        findings.append(_completeness(world))
    except KnellError as error:
        findings.append(_broken("store", str(error), error.hint))
    findings += [_backup(world), _runs(world)]
    return Diagnosis(
        findings, orphans, world.processes.foreign_leftovers(world.kinds.everything()[0])
    )


def _completeness(world: World) -> Finding:
    """Whether the store is older than the run directories beside it."""
    missing, _ = missing_records(world, world.store)
    if not missing:
        return _fine("records", "the store knows every run that has a directory")
    names = ", ".join(dict.fromkeys(record.agent.name for record in missing))
    text = f"{len(missing)} runs are not in the store: {names}"
    return _broken("records", text, "knell doctor --repair restores them")


def _backup(world: World) -> Finding:
    age = backup_age(world)
    if age is None:
        return _fine("backup", "no backup yet; knell watch makes one a day")
    text = f"the newest backup of the store is {age / 3600:.0f} hours old"
    late = age > 2 * BACKUP_EVERY
    return Finding("backup", not late, text, "knell watch makes one a day" if late else "")


def _programs(world: World) -> list[Finding]:
    """Terminals, git and agent programs on PATH, these with their versions; the agent programs
    that are not there in one line, because hardly anyone has all of them."""
    import shutil

    agents = {kind.program: kind for kind in world.kinds.everything()[0]}
    wanted = dict.fromkeys(("tmux", "kitty", "wezterm", "git", *agents))
    found = {name: shutil.which(name, path=world.env.get("PATH")) for name in wanted}
    missing = [name for name in agents if not found[name]]
    findings = [
        Finding(name, bool(where), _program_text(world, agents.get(name), where))
        for name, where in found.items()
        if name not in missing
    ]
    if not missing:
        return findings
    text, some = f"not on PATH: {', '.join(missing)}", len(missing) < len(agents)
    return [*findings, Finding("agents", some, text, "knell spawn KIND says how to get one")]


def _program_text(world: World, kind: Kind | None, where: str | None) -> str:
    if not where or kind is None:
        return where or "not on PATH"
    version = version_text(kind, installed_version(world, kind, where))
    return f"{where}; {version}" if version else where


def _refused(world: World) -> list[Finding]:
    """Kinds and places from the settings and from other packages that cannot be used."""
    broken = world.kinds.everything()[1]
    found = [_broken(f"kind {one.name}", one.why, one.hint) for one in broken]
    for name in world.place_names():
        try:
            world.place(name, usable=True)
        except AskerError as error:
            found.append(_broken(f"place {name}", str(error), error.hint))
    return found


def _runs(world: World) -> Finding:
    """Keepers write into directories there: whether one can be made, and a file in it."""
    probe = world.rundir(f".doctor-{world.new_id()}")
    runs = os.path.dirname(probe)
    why = world.disk.make_marked(probe, "probe", "may be deleted\n")
    why = world.disk.remove_below(runs, probe) or why if world.disk.is_directory(probe) else why
    if why:
        return _broken(
            "runs", why, "see that you may write there, and that the disk has room and is healthy"
        )
    return _fine("runs", runs)


def _home(world: World) -> Finding:
    """Whoever can write into the state directory can make knell signal any process of the user."""
    why = world.disk.open_to_others(world.home)
    if why:
        hint = f"chown it to yourself and chmod 700 {world.home}, or set KNELL_HOME"
        return _broken("state", f"{world.home}: {why}", hint)
    return _fine("state", world.home)


def _settings(world: World) -> Finding:
    try:
        settings = world.settings
    except KnellError as error:
        return _broken("config", str(error), error.hint)
    text = f"readable; kill waits {settings.kill_grace:g} s between TERM and KILL"
    return _fine("config", text)
