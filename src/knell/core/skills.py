"""Skills are folders of text that agent programs read: what stands in such a folder, and whose."""

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, cast

from knell.core.kind import Kind

DEEPEST = 3  # directories that an installation may have to make: ~/.config, opencode, skills
NOTE = ".knell.json"  # beside the files that knell wrote: which, and how they were


class Standing(StrEnum):
    """What stands where a skill belongs."""

    ABSENT = "absent"
    INSTALLED = "installed"
    OUTDATED = "outdated"  # of another version of knell, and unchanged
    EDITED = "edited"  # knell put it there, and it was changed since
    FOREIGN = "foreign"  # knell did not put it there


class FolderSeen(NamedTuple):
    """What a look at a path found. `what` is nothing, folder, link or other."""

    what: str
    # path below the folder → content; None for what is no plain file or cannot be read
    files: Mapping[str, bytes | None] = {}


class SkillNote(NamedTuple):
    """What knell wrote into a skill's folder."""

    files: dict[str, str]  # path below the folder → digest
    made: int = 0  # how many directories above the folder had to be made
    aside: bool = False  # whether what stood there before was put aside

    def dump(self) -> bytes:
        return json.dumps(self._asdict(), indent=2).encode() + b"\n"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def new_note(files: Mapping[str, bytes], *, made: int, aside: bool) -> SkillNote:
    return SkillNote({path: digest(files[path]) for path in sorted(files)}, made, aside)


def note_in(tree: FolderSeen) -> SkillNote | None:
    """None if there is none, or if it is none that knell could have written."""
    try:
        found = cast("dict[str, Any]", json.loads(tree.files.get(NOTE) or b""))
        files = cast("dict[str, str]", dict(found["files"]))
        note = SkillNote(files, int(found["made"]), bool(found["aside"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return note._replace(made=min(max(0, note.made), DEEPEST))


def standing(tree: FolderSeen, shipped: Mapping[str, bytes]) -> Standing:
    """`shipped`: the files of this version; empty if it no longer has the skill."""
    if tree.what == "nothing":
        return Standing.ABSENT
    note = note_in(tree) if tree.what == "folder" else None
    if note is None:
        return Standing.FOREIGN
    if changes(tree, note):
        return Standing.EDITED
    same = note.files == {path: digest(content) for path, content in shipped.items()}
    return Standing.INSTALLED if same else Standing.OUTDATED


def changes(tree: FolderSeen, note: SkillNote) -> list[str]:
    """The files that are not as knell wrote them: changed, gone or added."""
    now = {
        path: None if content is None else digest(content)
        for path, content in tree.files.items()
        if path != NOTE
    }
    there = now.keys() | note.files.keys()
    return sorted(path for path in there if now.get(path, "") != note.files.get(path, ""))


def directory(kind: Kind, env: Mapping[str, str]) -> str:
    """Where the program looks for its user's skills."""
    variable, below, home = kind.skills
    moved = env.get(variable)
    return f"{moved}/{below}" if moved else f"{env.get('HOME', '')}/{home}"
