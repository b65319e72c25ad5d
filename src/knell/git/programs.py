"""Programs that the settings of a repository name. An agent can write those settings, and what git
started for them would outlive the proof that the agent is gone: a look runs none of them."""

import os
import re
from collections.abc import Sequence

from knell.git.command import Runner, failed
from knell.git.raw_files import seen_file

_NAMED = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$"
_NONE = 1  # exit code of git config
# For `switched_off`: a merge driver that does nothing would count as a merge without conflicts.
OFF_ENV = {"OFF": "", "FAILING": "false"}
_STAT = re.compile(
    rb"([^\0]+)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n  dev: .*\n  uid: .*\n  size: (\d+)\t.*\n"
)
_NO_FILTER = (b"unspecified", b"unset")
NANO = 1_000_000_000


def switched_off(git: Runner, where: str) -> tuple[str, ...]:
    """Options with which git runs no filter and no merge driver. They need `OFF_ENV`."""
    words = ("config", "-z", "--name-only", "--get-regexp", _NAMED)
    output = git.run(where, *words)
    if output.code not in (0, _NONE):
        raise failed(words, output)
    names = dict.fromkeys(os.fsdecode(name) for name in output.out.split(b"\0") if name)
    return tuple(
        # Unlike -c, it takes names with an equals sign in them.
        f"--config-env={name}={'FAILING' if name.endswith('.driver') else 'OFF'}"
        for name in names
    )


def untouched(git: Runner, top: str, paths: Sequence[str]) -> frozenset[str]:
    """Those of the files with a filter that are as git wrote them: of the same time and size.

    Git looks at the bytes of a file that is as young as its index, and without the filter it calls
    them changed."""
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    found = git.must(top, "check-attr", "-z", "--stdin", "filter", given=given).out.split(b"\0")
    filtered = {path for path, what in zip(found[::3], found[2::3], strict=False)
                if what not in _NO_FILTER}  # fmt: skip
    if not filtered:
        return frozenset()
    known = _STAT.findall(git.must(top, "ls-files", "--debug", "-z").out)
    written = {
        os.fsdecode(path): (int(size), int(seconds) * NANO + int(nanos))
        for path, seconds, nanos, size in known
        if path in filtered
    }
    seen = {path: seen_file(os.path.join(top, path)) for path in written}
    return frozenset(path for path, found in seen.items() if found and found[1:] == written[path])
