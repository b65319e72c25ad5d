"""Whole folders: put in place in one step, looked at without following links, taken away again."""

import os
import shutil
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress

from knell import files as safe
from knell.core.errors import FileFailed
from knell.core.skills import FolderSeen

LARGEST = 4_000_000  # bytes of a file of a skill
MOST = 1000  # files in the folder of a skill


class DiskTrees:
    def shipped(self) -> dict[str, dict[str, bytes]]:
        """The skills that this package brings: name → its files."""
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin", "skills")
        found = {name: self.look(os.path.join(root, name)) for name in self.names(root)}
        return {
            name: {path: content for path, content in tree.files.items() if content is not None}
            for name, tree in found.items()
            if tree.what == "folder"
        }

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(name for name in os.listdir(folder) if not name.startswith("."))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise FileFailed(f"{folder}: {error.strerror}") from error

    def look(self, path: str) -> FolderSeen:
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return FolderSeen("nothing")
        except OSError as error:
            raise FileFailed(f"{path}: {error.strerror}") from error
        if not stat.S_ISDIR(mode):
            return FolderSeen("link" if stat.S_ISLNK(mode) else "other")
        return FolderSeen("folder", dict(_contents(path)))

    def make_above(self, path: str) -> int:
        """Makes the directories that `path` lies in; returns how many were missing."""
        missing, above = 0, os.path.dirname(path)
        while above and not os.path.lexists(above):
            missing, above = missing + 1, os.path.dirname(above)
        with _failures(path):
            if missing:
                safe.refuse_read_only(os.path.join(above, "x"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
        return missing

    def put(
        self, path: str, files: Mapping[str, bytes], instead_of: FolderSeen | None = None
    ) -> None:
        """A folder with these files, there at once with all of them."""
        with _failures(path):
            safe.refuse_read_only(path)
            copy, away = _beside(path), ""
            try:
                for name, content in files.items():
                    _write(os.path.join(copy, name), content)
                away = self._take_away(path, instead_of) if instead_of else ""
                os.rename(copy, path)
            except BaseException:
                shutil.rmtree(copy, ignore_errors=True)
                if away:
                    os.rename(away, path)
                raise
            if away:
                shutil.rmtree(away)

    def remove(self, path: str, seen: FolderSeen) -> None:
        """A folder that is still as it was seen; else it stays."""
        with _failures(path):
            safe.refuse_read_only(path)
            shutil.rmtree(self._take_away(path, seen))

    def _take_away(self, path: str, seen: FolderSeen) -> str:
        """Renames it, so that no program changes it between this look and its deletion."""
        away = _beside(path)
        os.rename(path, away)
        if self.look(away) != seen:
            os.rename(away, path)
            raise FileFailed(f"{path}: another program changed it meanwhile", "try again")
        return away

    def unlink(self, path: str) -> None:
        with _failures(path):
            safe.refuse_read_only(path)
            os.unlink(path)

    def move(self, path: str, to: str) -> None:
        """As it is, a link as a link, to where nothing stands yet."""
        with _failures(path):
            safe.refuse_read_only(path)
            if os.path.lexists(to):
                raise FileFailed(f"{to} is there already", "move that away, then try again")
            os.makedirs(os.path.dirname(to), exist_ok=True)
            os.rename(path, to)

    def remove_empty(self, path: str, levels: int) -> None:
        """The directories above `path`, so many levels up, as far as they are empty."""
        for _ in range(levels):
            path = os.path.dirname(path)
            with suppress(OSError):
                os.rmdir(path)


def _contents(root: str) -> Generator[tuple[str, bytes | None]]:
    """Path below `root` → content, for at most MOST files; a link stands for itself."""
    count = 0
    for folder, folders, names in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        empty = [] if names or folders or folder == root else [""]  # it counts as something
        for name in sorted((*names, *links, *empty)):
            path = os.path.join(folder, name)
            count += 1
            if count > MOST:
                return
            yield os.path.relpath(path, root), _content(path)


def _content(path: str) -> bytes | None:
    try:
        return safe.read(path, LARGEST, follow=False)
    except OSError:
        return None


def _beside(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{os.urandom(4).hex()}.knell")


def _write(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = 0o777 if path.endswith(".sh") else 0o666  # less what the user's umask takes away
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, mode), "wb") as file:
        file.write(content)


@contextmanager
def _failures(path: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else path
        raise FileFailed(f"{where}: {error.strerror}") from error
