"""Installs and removes heartbeat hooks in the settings of the programs that have hooks."""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from knell.core.errors import BadRequest, FileFailed, KnellError
from knell.core.hooks import edit
from knell.core.hooks.edit import Backup, digest
from knell.core.hooks.entries import Hooks
from knell.core.ports.disk import WholeFile
from knell.core.ports.world import World
from knell.life.base.authority import one_installer
from knell.life.base.versions import programs_here


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
    program: str  # the kind
    hooks: Hooks
    path: str
    chosen: bool = False  # named by the caller: no directory is made for it


def status(world: World, wish: HookWish) -> list[HookReport]:
    def look(site: Site) -> HookReport:
        return _report(world, site, world.disk.read_whole(site.path).content)

    return [_try_one(site, look) for site in _sites(world, wish)]


def install(world: World, wish: HookWish) -> list[HookReport]:
    """Puts our hooks in; doing so twice is no error. One program's failure spares the others."""
    return _change(world, wish, _install_one)


def uninstall(world: World, wish: HookWish) -> list[HookReport]:
    """Takes our hooks out: the old file byte for byte, or just ours if it was edited since."""
    return _change(world, wish, _uninstall_one)


def _change(
    world: World, wish: HookWish, verb: Callable[[World, Site, HookWish], HookReport]
) -> list[HookReport]:
    with one_installer(world, "hooks.lock", dry_run=wish.dry_run):
        sites = _sites(world, wish)
        return [_try_one(site, lambda site: verb(world, site, wish)) for site in sites]


def _try_one(site: Site, verb: Callable[[Site], HookReport]) -> HookReport:
    try:
        return verb(site)
    except KnellError as error:
        why = f"{site.path}: {error}"
        return HookReport(site.program, site.path, "failed", error=why, hint=error.hint)


# -- which files ---------------------------------------------------------------------------------


def _sites(world: World, wish: HookWish) -> list[Site]:
    if wish.settings:
        return [_named_site(world, wish)]
    programs = {name: _hooks_of(world, name) for name in wish.programs} or _here(world)
    notes = world.disk.glob(os.path.join(_backups(world), "*.json"))
    noted = [_read_backup(world, note.removesuffix(".json")) for note in notes]
    sites: dict[str, Site] = {}
    for name, hooks in programs.items():
        usual = Site(name, hooks, _usual_path(world, hooks))
        sites[os.path.realpath(usual.path)] = usual
        for backup in noted:
            if backup and backup.program == name:
                sites.setdefault(backup.path, Site(name, hooks, backup.path, chosen=True))
    return list(sites.values())


def _hooks_of(world: World, name: str) -> Hooks:
    hooks = world.kind(name).hooks
    if hooks is None:
        known = ", ".join(_with_hooks(world))
        raise BadRequest(f"{name} has no hooks that knell knows", f"use one of {known}")
    return hooks


def _with_hooks(world: World) -> dict[str, Hooks]:
    return {kind.name: kind.hooks for kind in world.kinds.everything()[0] if kind.hooks}


def _named_site(world: World, wish: HookWish) -> Site:
    if len(wish.programs) != 1:
        raise BadRequest("with --settings, name the one program whose file it is")
    [name] = wish.programs
    hooks = _hooks_of(world, name)
    if wish.settings.endswith(".toml") and not any(one.endswith(".toml") for one in hooks.files):
        raise BadRequest(f"{name} keeps its hooks in JSON, not TOML")
    return Site(name, hooks, os.path.join(world.cwd, wish.settings), chosen=True)


def _here(world: World) -> dict[str, Hooks]:
    """The programs with hooks that are on this machine."""
    known = _with_hooks(world)
    folders = {name: _directory(world, hooks) for name, hooks in known.items()}
    return {name: known[name] for name in programs_here(world, folders, "knell hooks install")}


def _directory(world: World, hooks: Hooks) -> str:
    """Without links if a variable names it: Codex writes it down so when it trusts a hook."""
    directory = hooks.directory(world.env)
    return os.path.realpath(directory) if world.env.get(hooks.variable) else directory


def _usual_path(world: World, hooks: Hooks) -> str:
    """Where our hooks are, else where other hooks are: Codex complains of two files with hooks."""
    paths = [os.path.join(_directory(world, hooks), name) for name in hooks.files]
    settings = {path: _settings(world, hooks, path) for path in paths}
    with_ours = [path for path in paths if edit.found(settings[path])]
    with_any = [path for path in paths if edit.has_events(settings[path])]
    return (with_ours or with_any or paths)[0]


def _settings(world: World, hooks: Hooks, path: str) -> Mapping[str, Any]:
    """What the file says; nothing if it cannot be read, which its own report then says."""
    try:
        settings = edit.parsed(hooks, path, world.disk.read_whole(path).content or b"")
        edit.found(settings)
    except KnellError:
        return {}
    return settings


# -- the two changes, and the report -------------------------------------------------------------


def _install_one(world: World, site: Site, wish: HookWish) -> HookReport:
    looked = world.disk.read_whole(site.path)
    if edit.is_complete(site.hooks, edit.parsed(site.hooks, site.path, looked.content or b"")):
        return _report(world, site, looked.content)
    was = _read_backup(world, _stem(world, looked.path))
    base = edit.restored(site.hooks, site.path, looked.content, was)
    after = edit.installed(site.hooks, site.path, base)
    if not wish.dry_run:
        made = not site.chosen and world.disk.make_directory(os.path.dirname(looked.path))
        made = made or bool(was and was.made_directory)
        _keep_backup(world, Backup(site.program, looked.path, base, digest(after), made))
        _replace(world, site, looked, after)
    return _changed(world, site, looked, after, wish)


def _uninstall_one(world: World, site: Site, wish: HookWish) -> HookReport:
    looked = world.disk.read_whole(site.path)
    stem = _stem(world, looked.path)
    was = _read_backup(world, stem)
    after = edit.restored(site.hooks, site.path, looked.content, was)
    if not wish.dry_run:
        if after is None:
            edit.check(site.hooks, site.path, looked.content or b"", b"")
            _remove(world, looked.path, looked)
        elif after != looked.content:
            _replace(world, site, looked, after)
        for suffix in (".json", ".orig"):
            _remove(world, stem + suffix)
        if was and was.made_directory:
            world.disk.remove_if_empty(os.path.dirname(looked.path))
    return _changed(world, site, looked, after, wish)


def _replace(world: World, site: Site, looked: WholeFile, after: bytes) -> None:
    def check(copy: bytes) -> None:
        edit.check(site.hooks, site.path, looked.content or b"", copy)

    world.disk.replace(looked, after, check)


def _remove(world: World, path: str, looked: WholeFile | None = None) -> None:
    file = looked or world.disk.read_whole(path)
    if file.content is not None:
        world.disk.remove(file)


def _changed(
    world: World, site: Site, looked: WholeFile, after: bytes | None, wish: HookWish
) -> HookReport:
    changed = after != looked.content
    if not wish.dry_run:
        return _report(world, site, after)._replace(changed=changed)
    diff = edit.diff(site.path, looked.content or b"", after or b"")
    return _report(world, site, looked.content)._replace(changed=changed, diff=diff)


def _report(world: World, site: Site, content: bytes | None) -> HookReport:
    hooks, name = site.hooks, site.program
    settings = edit.parsed(hooks, site.path, content or b"")
    if not edit.found(settings):
        return HookReport(name, site.path, "absent")
    state = "installed" if edit.is_complete(hooks, settings) else "outdated"
    directory, file = os.path.split(site.path)
    beside = os.path.join(directory, hooks.switches)
    switches = _settings(world, hooks, beside) if file in hooks.files else settings
    notes = edit.notes(hooks, site.path, content or b"", switches)
    return HookReport(name, site.path, state, notes=tuple(notes))


# -- backups: NAME.orig is the settings file byte for byte, NAME.json says what it is ------------


def _backups(world: World) -> str:
    return os.path.join(world.home, "hooks")


def _stem(world: World, path: str) -> str:
    return os.path.join(_backups(world), digest(os.fsencode(path))[:16])


def _read_backup(world: World, stem: str) -> Backup | None:
    """None if it is not whole: then our entries are known by their mark."""
    try:
        note = json.loads(world.disk.read_whole(f"{stem}.json").content or b"")
        wanted = note.pop("original")
        original = world.disk.read_whole(f"{stem}.orig").content if wanted else None
        if wanted and (original is None or digest(original) != wanted):
            return None
        return Backup(**note, original=original)
    except (FileFailed, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _keep_backup(world: World, backup: Backup) -> None:
    """On disk when this returns: the settings file itself is touched only after that."""
    world.disk.make_directory(_backups(world))
    stem = _stem(world, backup.path)
    original = None
    if backup.original is None:
        _remove(world, f"{stem}.orig")
    else:
        original = digest(backup.original)
        world.disk.replace(world.disk.read_whole(f"{stem}.orig"), backup.original)
    note = json.dumps({**backup._asdict(), "original": original}, indent=2)
    world.disk.replace(world.disk.read_whole(f"{stem}.json"), note.encode())
