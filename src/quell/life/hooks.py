"""Heartbeat hooks in the settings of Claude Code, Codex and Gemini: look, decide, act."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from quell.core import hookedit
from quell.core.errors import AskerError, BadRequest, QuellError
from quell.core.hookedit import Backup, digest
from quell.core.hooks import PROGRAMS, Program
from quell.core.ports import World
from quell.life import hookfiles
from quell.life.hookfiles import Backups, Looked


class HookWish(NamedTuple):
    programs: tuple[str, ...] = ()  # none: all that are here
    settings: str = ""  # another file than the program's own
    dry_run: bool = False


class HookReport(NamedTuple):
    program: str
    path: str
    state: str  # installed, outdated, absent; or failed, with the error
    changed: bool = False  # or, in a dry run, would be
    notes: tuple[str, ...] = ()  # why hooks that are there do not run
    diff: str = ""  # of a dry run
    error: str = ""
    hint: str = ""


class Site(NamedTuple):
    """One settings file of one program."""

    program: Program
    path: str
    chosen: bool = False  # named by the asker: no directory is made for it


Verb = Callable[[World, Site, HookWish], HookReport]


def status(world: World, wish: HookWish) -> list[HookReport]:
    return [_guarded(world, site, wish, _seen) for site in _sites(world, wish)]


def install(world: World, wish: HookWish) -> list[HookReport]:
    """Puts our hooks in; asking twice is no error. One program's failure spares the others."""
    return _each(world, wish, _installed)


def uninstall(world: World, wish: HookWish) -> list[HookReport]:
    """Takes our hooks out: the old file byte for byte, or just ours if it was edited since."""
    return _each(world, wish, _uninstalled)


def _each(world: World, wish: HookWish, verb: Verb) -> list[HookReport]:
    sites = _sites(world, wish)
    if wish.dry_run:
        return [_guarded(world, site, wish, verb) for site in sites]
    with Backups(world.home).locked():
        return [_guarded(world, site, wish, verb) for site in sites]


def _guarded(world: World, site: Site, wish: HookWish, verb: Verb) -> HookReport:
    try:
        return verb(world, site, wish)
    except QuellError as error:
        told = f"{site.path}: {error}"
        return HookReport(site.program.name, site.path, "failed", error=told, hint=error.hint)


# -- which files ---------------------------------------------------------------------------------


def _sites(world: World, wish: HookWish) -> list[Site]:
    if wish.settings:
        return [_named_site(world, wish)]
    programs = [PROGRAMS[name] for name in wish.programs] or _here(world)
    if not programs:
        raise AskerError(
            f"none of {', '.join(PROGRAMS)} is on this machine",
            "name one to set it up beforehand: quell hooks install claude",
        )
    noted = Backups(world.home).all()
    sites: dict[str, Site] = {}
    for program in programs:
        usual = Site(program, _usual_path(world, program))
        sites[os.path.realpath(usual.path)] = usual
        for backup in noted:
            if backup.program == program.name:
                sites.setdefault(backup.path, Site(program, backup.path, chosen=True))
    return list(sites.values())


def _named_site(world: World, wish: HookWish) -> Site:
    if len(wish.programs) != 1:
        raise BadRequest("with --settings, name the one program whose file it is")
    program = PROGRAMS[wish.programs[0]]
    if wish.settings.endswith(".toml") and not _uses_toml(program):
        raise BadRequest(f"{program.name} keeps its hooks in JSON, not TOML")
    return Site(program, os.path.join(world.cwd, wish.settings), chosen=True)


def _uses_toml(program: Program) -> bool:
    return any(name.endswith(".toml") for name in program.files)


def _here(world: World) -> list[Program]:
    import shutil

    return [
        program
        for program in PROGRAMS.values()
        if os.path.isdir(_directory(world, program))
        or shutil.which(program.name, path=world.env.get("PATH", ""))
    ]


def _directory(world: World, program: Program) -> str:
    """Without links if a variable names it: Codex writes it down so when it trusts a hook."""
    directory = program.directory(world.env)
    return os.path.realpath(directory) if world.env.get(program.variable) else directory


def _usual_path(world: World, program: Program) -> str:
    """Where our hooks are, or else where anybody's are: Codex complains of two files with hooks."""
    paths = [os.path.join(_directory(world, program), name) for name in program.files]
    if len(paths) == 1:
        return paths[0]
    settings = {path: _settings(program, path) for path in paths}
    with_ours = [path for path in paths if hookedit.found(settings[path])]
    with_any = [path for path in paths if hookedit.has_events(settings[path])]
    return (with_ours or with_any or paths)[0]


def _settings(program: Program, path: str) -> Mapping[str, Any]:
    """What the file says; nothing, if it cannot be read: that is told when it is its turn."""
    try:
        settings = hookedit.parsed(program, path, hookfiles.look(path).content or b"")
        hookedit.found(settings)
    except QuellError:
        return {}
    return settings


# -- the three verbs -----------------------------------------------------------------------------


def _seen(_: World, site: Site, __: HookWish) -> HookReport:
    return _report(site, hookfiles.look(site.path).content)


def _installed(world: World, site: Site, wish: HookWish) -> HookReport:
    looked, backups = hookfiles.look(site.path), Backups(world.home)
    settings = hookedit.parsed(site.program, site.path, looked.content or b"")
    if hookedit.is_complete(site.program, settings):
        return _report(site, looked.content)
    was = backups.of(looked.path)
    base = hookedit.restored(site.program, site.path, looked.content, was)
    after = hookedit.installed(site.program, site.path, base)
    if not wish.dry_run:
        made = not site.chosen and hookfiles.make_directory(os.path.dirname(looked.path))
        made = made or bool(was and was.made_directory)
        backups.keep(Backup(site.program.name, looked.path, base, digest(after), made))
        _replace(site, looked, after)
    return _changed(site, looked, after, wish)


def _uninstalled(world: World, site: Site, wish: HookWish) -> HookReport:
    looked, backups = hookfiles.look(site.path), Backups(world.home)
    was = backups.of(looked.path)
    after = hookedit.restored(site.program, site.path, looked.content, was)
    if not wish.dry_run:
        if after is not None and after != looked.content:
            _replace(site, looked, after)
        if after is None and looked.content is not None:
            hookedit.check(site.program, site.path, looked.content, b"")
            hookfiles.remove(looked)
        backups.forget(looked.path)
        if was and was.made_directory:
            hookfiles.remove_if_empty(os.path.dirname(looked.path))
    return _changed(site, looked, after, wish)


def _replace(site: Site, looked: Looked, after: bytes) -> None:
    def check(copy: bytes) -> None:
        hookedit.check(site.program, site.path, looked.content or b"", copy)

    hookfiles.replace(looked, after, check)


def _changed(site: Site, looked: Looked, after: bytes | None, wish: HookWish) -> HookReport:
    changed = after != looked.content
    if not wish.dry_run:
        return _report(site, after)._replace(changed=changed)
    diff = hookedit.diff(site.path, looked.content or b"", after or b"")
    return _report(site, looked.content)._replace(changed=changed, diff=diff)


def _report(site: Site, content: bytes | None) -> HookReport:
    program, name = site.program, site.program.name
    settings = hookedit.parsed(program, site.path, content or b"")
    if not hookedit.found(settings):
        return HookReport(name, site.path, "absent")
    state = "installed" if hookedit.is_complete(program, settings) else "outdated"
    directory, file = os.path.split(site.path)
    beside = os.path.join(directory, program.switches)
    switches = _settings(program, beside) if file in program.files else settings
    notes = hookedit.notes(program, site.path, content or b"", switches)
    return HookReport(name, site.path, state, notes=tuple(notes))
