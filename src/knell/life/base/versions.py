"""Finds out which version of an agent program is installed, without running the program, and
whether a version that knell was not tried with writes files that knell cannot read."""

import json
import os
from typing import TYPE_CHECKING

from knell.core.json_lines import records_of
from knell.core.versions import VERSION, is_newer

if TYPE_CHECKING:
    from knell.core.kind import Kind
    from knell.core.ports.world import World

HIGHEST = 6  # folders above the program in which its package.json may lie


def installed_version(world: "World", kind: "Kind", path: str) -> str:
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


def _version_of_package(world: "World", kind: "Kind", path: str) -> str:
    try:
        package = json.loads(world.disk.head(path) or b"{}")
        version = str(package.get("version", "")) if package.get("name") in kind.packages else ""
    except (ValueError, AttributeError, RecursionError, TypeError):
        return ""
    return version if VERSION.fullmatch(version) else ""


def version_text(kind: "Kind", version: str) -> str:
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


def why_unreadable(world: "World", kind: "Kind") -> str:
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


def has_known_records(kind: "Kind", head: bytes | None) -> bool:
    """Whether the beginning of a conversation's file holds a record as this kind writes them. What
    could not be read, is empty, or has a first line that is longer than was read, may."""
    if not kind.record_keys or not head or b"\n" not in head:
        return True
    return any(key in record for record in records_of(head) for key in kind.record_keys)
