"""The registry's files by way of `knell.files`, with every refusal raised as RegistryFailed."""

import errno
from collections.abc import Generator
from contextlib import contextmanager

from knell import files
from knell.core.errors import RegistryFailed

LARGEST = 10_000_000  # bytes; a thousand sessions take half of one million
UNTOUCHED = "knell left it as it is"

_WRITABLE = f"{UNTOUCHED}; make it and its directory writable for you, then run the command again"
_HINTS = {
    errno.ENOSPC: f"{UNTOUCHED}; free some space and run the command again",
    errno.EDQUOT: f"{UNTOUCHED}; free some space and run the command again",
    errno.EACCES: _WRITABLE,
    errno.EPERM: _WRITABLE,
    errno.EROFS: _WRITABLE,
    errno.EBUSY: f"{UNTOUCHED}; run the command again when the other process is done",
}


@contextmanager
def translated(path: str) -> Generator[None]:
    """Whatever the system refuses inside is raised as RegistryFailed."""
    try:
        yield
    except OSError as error:
        hint = _HINTS.get(error.errno or 0, UNTOUCHED)
        why = error.strerror or str(error)
        raise RegistryFailed(f"{path} cannot be used: {why}", hint) from error


def content(path: str, *, follow: bool = True) -> bytes | None:
    """What is in the file, None if there is none."""
    with translated(path):
        try:
            return files.read(path, LARGEST, follow=follow)
        except FileNotFoundError:
            return None
