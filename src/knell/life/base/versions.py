"""Finds out whether and in which version an agent program is installed, without running it, and
whether a version that knell was not tried with writes files that knell cannot read."""

import os
import re
from collections.abc import Mapping

from knell.core.agent import Agent
from knell.core.errors import AskerError, LaunchFailed
from knell.core.json_lines import object_in, records_of
from knell.core.kind import Kind
from knell.core.ports.world import World

VERSION = re.compile(r"[0-9][0-9A-Za-z.+_-]{0,40}")
HIGHEST = 6  # folders above the program in which its package.json may lie


def installed_version(world: World, kind: Kind, path: str) -> str:
    """From the npm package that the program lies in, or from its file's own name, where its
    installer keeps versions side by side; empty if neither says."""
    real = world.disk.real(path)
    name = os.path.basename(real)
    if any(os.path.basename(glob) == "*" for glob in kind.paths) and VERSION.fullmatch(name):
        return name
    folder = real
    for _ in range(HIGHEST):
        folder = os.path.dirname(folder)
        version = _version_of_package(world, kind, os.path.join(folder, "package.json"))
        if version:
            return version
    return ""


def _version_of_package(world: World, kind: Kind, path: str) -> str:
    package = object_in(world.disk.head(path))
    version = str(package.get("version", "")) if package.get("name") in kind.packages else ""
    return version if VERSION.fullmatch(version) else ""


def programs_here(world: World, folders: Mapping[str, str], how: str) -> list[str]:
    """Of these kinds, each with a folder of its settings, those whose program is on this machine;
    `how` is the option by which a person names one that is not."""
    import shutil

    found = [
        name
        for name, folder in folders.items()
        if os.path.isdir(folder)
        or shutil.which(world.kind(name).program, path=world.env.get("PATH", ""))
    ]
    if not found:
        hint = f"name one to set it up beforehand: {how} {next(iter(folders))}"
        raise AskerError(f"none of {', '.join(folders)} is on this machine", hint)
    return found


def version_text(kind: Kind, version: str) -> str:
    """What `doctor` says of it: the version, and whether knell was tried with it."""
    seen = ", ".join(kind.seen)
    if not seen:
        return f"version {version}" if version else ""
    if not version:
        return f"knell was tried with {seen}"
    if version in kind.seen:
        return f"version {version}, which knell was tried with"
    if is_newer(version, kind.seen):
        return f"version {version}; newer than what knell was tried with: {seen}"
    return f"version {version}; knell was tried with {seen}"


def why_unreadable(world: World, kind: Kind) -> str:
    """What to say of conversations that cannot be read since a newer version is installed; empty
    if none is, or its version is not known: then the file itself is at fault."""
    import shutil

    path = shutil.which(kind.program, path=world.env.get("PATH"))
    version = installed_version(world, kind, path) if path else ""
    if not is_newer(version, kind.seen):
        return ""
    tried = f"knell was tried with {', '.join(kind.seen)}"
    return (
        f"unsure: {kind.name} {version} writes its conversations in a way that knell does not know"
        f" ({tried}); report it with what `knell doctor` prints"
    )


def has_known_records(kind: Kind, head: bytes | None) -> bool:
    """Whether the beginning of a conversation's file holds a record as this kind writes them. What
    could not be read, is empty, or has a first line that is longer than was read, may."""
    if not kind.record_keys or not head or b"\n" not in head:
        return True
    return any(key in record for record in records_of(head) for key in kind.record_keys)


def is_newer(version: str, seen: tuple[str, ...]) -> bool:
    """Whether it is later than all of them; False where that cannot be told."""
    return bool(version and seen) and _numbers(version) > max(map(_numbers, seen))


def _numbers(version: str) -> tuple[int, ...]:
    plain = re.split(r"[-+]", version)[0]  # what follows names a build
    return tuple(int(part) for part in re.findall(r"\d{1,9}", plain))


def check_installed(kind: Kind, agent: Agent, env: Mapping[str, str]) -> None:
    """Refuses a start whose program is nowhere on PATH, and says how to get it. Nothing is recorded
    of it: there is no run whose failure could be told better later."""
    path = dict(agent.env).get("PATH", env.get("PATH", os.defpath))
    folders = [kind.program] if "/" in kind.program else path.split(":")
    if not kind.program or not all(map(os.path.isabs, folders)):
        return  # relative to a directory that is not ours: the start itself will tell
    files = [os.path.join(folder, kind.program) for folder in folders]
    if not any(map(os.path.lexists, files)):
        where = "there" if "/" in kind.program else "on PATH"
        raise LaunchFailed(f"{kind.program} is not {where}", kind.install)
