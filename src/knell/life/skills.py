"""Installs and removes the skills that knell brings, where agent programs look for skills.

A skill is one folder. knell replaces and removes only a folder that is as knell left it; what a
person changed or put there stays, unless they ask to have it put aside."""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from knell.core.errors import BadRequest, KnellError
from knell.core.ports.trees import Trees
from knell.core.ports.world import World
from knell.core.skills import (
    NOTE,
    FolderSeen,
    Standing,
    changes,
    directory,
    new_note,
    note_in,
    standing,
)
from knell.life.base.authority import one_installer
from knell.life.base.versions import programs_here

ASIDE = ".before-knell"  # behind the name of the directory of skills: what stood there before


class SkillWish(NamedTuple):
    skills: tuple[str, ...] = ()  # none: all
    kinds: tuple[str, ...] = ()  # none: the programs that are here
    folder: str = ""  # another directory than the programs' own, such as a project's
    replace: bool = False  # put aside what is not knell's
    dry_run: bool = False


class SkillReport(NamedTuple):
    kind: str  # empty for a directory that was named
    skill: str
    path: str
    state: str  # as in Standing, or kept, or failed with the error
    changed: bool = False  # or, in a dry run, would be
    notes: tuple[str, ...] = ()
    error: str = ""
    hint: str = ""


class SkillSite(NamedTuple):
    kind: str
    skill: str
    path: str
    files: Mapping[str, bytes]  # empty: this version of knell no longer has it

    @property
    def aside(self) -> str:
        folder, name = os.path.split(self.path)
        return os.path.join(folder + ASIDE, name)

    def report(
        self, state: str, *, changed: bool = False, notes: tuple[str, ...] = ()
    ) -> SkillReport:
        return SkillReport(self.kind, self.skill, self.path, state, changed, notes)


def status(world: World, wish: SkillWish) -> list[SkillReport]:
    def look(site: SkillSite) -> SkillReport:
        tree = world.trees.look(site.path)
        state = standing(tree, site.files)
        return site.report(state, notes=_told(tree, state))

    return [_try_one(site, look) for site in _sites(world, wish)]


def install(world: World, wish: SkillWish) -> list[SkillReport]:
    """Puts the skills in; doing so twice is no error."""
    made: dict[str, int] = {}

    def put(site: SkillSite) -> SkillReport:
        folder = os.path.dirname(site.path)
        if not wish.dry_run and folder not in made:
            made[folder] = world.trees.make_above(site.path)
        return _install_one(world.trees, site, wish, made.get(folder, 0))

    with one_installer(world, "skills.lock", dry_run=wish.dry_run):
        return [_try_one(site, put) for site in _sites(world, wish) if site.files]


def uninstall(world: World, wish: SkillWish) -> list[SkillReport]:
    """Takes them out; each directory is then as it was before, to the byte."""
    with one_installer(world, "skills.lock", dry_run=wish.dry_run):
        sites = _sites(world, wish)
        made: dict[str, int] = {}
        for site in sites:
            note = note_in(world.trees.look(site.path)) if not wish.dry_run else None
            folder = os.path.dirname(site.path)
            made[folder] = max(made.get(folder, 0), note.made if note else 0)
        reports = [
            _try_one(site, lambda site: _uninstall_one(world.trees, site, wish)) for site in sites
        ]
        for folder, levels in () if wish.dry_run else made.items():
            world.trees.remove_empty(os.path.join(folder + ASIDE, "x"), 1)
            world.trees.remove_empty(os.path.join(folder, "x"), levels)
    return reports


def _try_one(site: SkillSite, verb: Callable[[SkillSite], SkillReport]) -> SkillReport:
    try:
        return verb(site)
    except KnellError as error:
        return site.report("failed")._replace(error=str(error), hint=error.hint)


# -- one skill in one directory --------------------------------------------------------------------


def _told(tree: FolderSeen, state: Standing) -> tuple[str, ...]:
    """What a person should know of a folder that is not as knell left it."""
    note = note_in(tree)
    if state is Standing.EDITED and note:
        return (f"changed since knell put it there: {', '.join(changes(tree, note))}",)
    if state is Standing.FOREIGN:
        what = {"link": "a link", "other": "a file"}.get(tree.what, "a folder")
        return (f"{what} that knell did not put there",)
    return ()


def _install_one(trees: Trees, site: SkillSite, wish: SkillWish, made: int) -> SkillReport:
    tree = trees.look(site.path)
    state, note = standing(tree, site.files), note_in(tree)
    if state is Standing.INSTALLED:
        return site.report(state)
    in_the_way = state in {Standing.EDITED, Standing.FOREIGN}
    if in_the_way and not wish.replace:
        [told] = _told(tree, state)
        hint = f"--replace puts it aside, in {os.path.dirname(site.aside)}"
        return site.report(state)._replace(error=f"{site.path}: {told}; left alone", hint=hint)
    told = (f"what stands there goes to {site.aside}",) if in_the_way else ()
    if wish.dry_run:
        return site.report(state, changed=True, notes=told)
    aside = in_the_way or bool(note and note.aside)
    new = new_note(site.files, made=max(made, note.made if note else 0), aside=aside)
    files = {**site.files, NOTE: new.dump()}
    if in_the_way:
        trees.move(site.path, site.aside)
        try:
            trees.put(site.path, files)
        except KnellError:
            trees.move(site.aside, site.path)
            raise
    else:
        trees.put(site.path, files, instead_of=tree if state is Standing.OUTDATED else None)
    return site.report(Standing.INSTALLED, changed=True, notes=told)


def _uninstall_one(trees: Trees, site: SkillSite, wish: SkillWish) -> SkillReport:
    tree = trees.look(site.path)
    state, note = standing(tree, site.files), note_in(tree)
    if note is None:
        return site.report(state, notes=_told(tree, state))
    before = note.aside and trees.look(site.aside).what != "nothing"
    if state is Standing.EDITED:
        told = (*_told(tree, state), "it is yours now")
        told += (f"what stood there before knell is in {site.aside}",) if before else ()
        if not wish.dry_run:
            trees.unlink(os.path.join(site.path, NOTE))
        return site.report("kept", notes=told)
    told = ("what stood there before comes back",) if before else ()
    if not wish.dry_run:
        trees.remove(site.path, tree)
        if before:
            trees.move(site.aside, site.path)
    return site.report(Standing.ABSENT, changed=True, notes=told)


# -- which skills, in which directories ------------------------------------------------------------


def _sites(world: World, wish: SkillWish) -> list[SkillSite]:
    shipped = world.trees.shipped()
    unknown = [name for name in wish.skills if name not in shipped]
    if unknown:
        raise BadRequest(f"knell has no skill '{unknown[0]}'", f"one of: {', '.join(shipped)}")
    sites: list[SkillSite] = []
    for kind, folder in _folders(world, wish).items():
        names = wish.skills or {**shipped, **dict.fromkeys(_left_by_others(world, folder))}
        sites += [
            SkillSite(kind, name, os.path.join(folder, name), shipped.get(name, {}))
            for name in names
        ]
    return sites


def _left_by_others(world: World, folder: str) -> list[str]:
    """Skills of another version of knell: they have its note."""
    names = world.trees.names(folder)
    return [name for name in names if note_in(world.trees.look(os.path.join(folder, name)))]


def _folders(world: World, wish: SkillWish) -> dict[str, str]:
    """Kind → directory, behind every link that leads to it."""
    if wish.folder:
        return {"": _settled(os.path.join(world.cwd, wish.folder))}
    known = {kind.name: kind for kind in world.kinds.everything()[0] if kind.skills}
    for name in wish.kinds:
        if name not in known:
            raise BadRequest(
                f"where {name} looks for skills is not known", f"one of: {', '.join(known)}"
            )
    folders = {name: directory(kind, world.env) for name, kind in known.items()}
    above = {name: os.path.dirname(folder) for name, folder in folders.items()}
    chosen = wish.kinds or programs_here(world, above, "--kind")
    return {name: _settled(folders[name]) for name in chosen}


def _settled(folder: str) -> str:
    """Behind every link: many keep their settings in a repository and link to it."""
    if os.path.islink(folder) and not os.path.exists(folder):
        raise BadRequest(f"{folder} is a link to what is not there", "mend the link, or remove it")
    return os.path.realpath(folder)
