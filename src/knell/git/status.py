"""What a checkout holds that no commit does: every path, also those that git was told to hide."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from knell.core.ports.git import GitFailed
from knell.git.command import Runner
from knell.git.programs import OFF_ENV, switched_off, untouched
from knell.git.raw_files import fingerprint, is_in_lfs, raise_unreadable

_GITLINK, _SKIPPED = "160000", "S"
_NO_BRANCH = ("(detached)", "(null)")  # the second: HEAD names a ref that is no branch
_FIELDS = {"1": 8, "u": 10}  # words of a line before the path
# Directories that a program makes again: by their name, or by a file that lies in them.
_CACHE_NAMES = frozenset({"node_modules", "__pycache__"})
_CACHE_SIGN, _VENV_SIGN = "CACHEDIR.TAG", "pyvenv.cfg"
# Of a Python environment: one may have been made around files of the agent.
_VENV_PARTS = frozenset({
    *("bin", "etc", "include", "lib", "lib64", "local", "man", "share", "Include", "Lib"),
    *("Scripts", "lib_pypy", "site-packages", ".gitignore", ".lock", _VENV_SIGN),
})  # fmt: skip
# More ignored files than this are build output, and would swell the repository.
MOST_IGNORED, MOST_IGNORED_BYTES = 2_000, 64_000_000


class Entry(NamedTuple):
    """One line of the index."""

    tag: str  # H as usual, S skip-worktree, lower case: assumed unchanged
    mode: str
    object: str
    stage: str
    path: str


class CheckoutStatus(NamedTuple):
    commit: str = ""
    branch: str = ""
    changed: tuple[str, ...] = ()  # tracked, in the index or on disk
    untracked: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    intended: frozenset[str] = frozenset()  # `git add -N`: in the index without content
    entries: tuple[Entry, ...] = ()
    nested: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()  # worth saving
    caches: int = 0
    bulky: int = 0
    left_out: tuple[str, ...] = ()  # ignored paths that are not saved; directories end with /
    # tracked, with other bytes than git was given by a filter, or with bytes that git has lost
    filtered: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        found = (self.changed, self.conflicts, self.untracked, self.ignored, self.filtered)
        return tuple(dict.fromkeys(path for paths in found for path in paths))


def read_status(git: Runner, top: str, *, common: str = "") -> CheckoutStatus:
    """A complete look, or GitFailed. Sees through assume-unchanged, skip-worktree and settings.

    Given the repository's folder as `common`, it compares the bytes of every tracked file."""
    # A submodule with anything in it counts as one, and its own settings are not trusted either.
    options = "--porcelain=v2 -z --branch --no-renames --ignore-submodules=dirty"
    everything = ("--untracked-files=all", "--ignored=traditional")
    off = switched_off(git, top)
    output = git.must(top, *off, "status", *options.split(), *everything, env=OFF_ENV)
    if "could not open directory" in output.err:
        raise GitFailed("git_error", f"git could not look everywhere: {output.complaint}")
    entries = read_index(git, top)
    status, on_disk = _parsed(output.out, top)
    same = untouched(git, top, on_disk) if off and on_disk else ()
    changed = tuple(path for path in status.changed if path not in same)
    status = status._replace(entries=entries, changed=changed)
    links = {entry.path for entry in entries if entry.mode == _GITLINK}
    filled = tuple(sorted(path for path in links if _filled(os.path.join(top, path))))
    hidden = [entry.path for entry in entries if _is_hidden_change(top, entry)]
    changed = dict.fromkeys((*status.changed, *hidden))
    status = status._replace(
        changed=tuple(path for path in changed if path not in filled),
        nested=(*filled, *(path for path in status.nested if path not in filled)),
    )
    if not common:
        return status
    known = links.union(status.changed, status.conflicts)
    # A sparse checkout leaves files out, and a partial clone has not even got them.
    rest = [one for one in entries if one.path not in known]
    rest = [one for one in rest if os.path.lexists(os.path.join(top, one.path))]
    lost = lost_objects(git, common, (entry.object for entry in rest))
    return status._replace(
        filtered=tuple(entry.path for entry in rest if _is_only_on_disk(top, entry, common, lost))
    )


def read_index(git: Runner, where: str, *options: str) -> tuple[Entry, ...]:
    listed = git.must(where, *options, "ls-files", "-v", "-s", "-z").out
    return tuple(Entry._make((*facts, path)) for path, facts in _listed(listed))


def read_commit(git: Runner, where: str, commit: str) -> dict[str, tuple[str, str]]:
    """Mode and object of every path in a commit."""
    if not commit:
        return {}
    listed = git.must(where, "ls-tree", "-r", "-z", "--full-tree", commit).out
    return {path: (mode, name) for path, (mode, _, name) in _listed(listed)}


def _listed(out: bytes) -> Iterator[tuple[str, list[str]]]:
    """Each path that git lists, and the words before it."""
    for line in filter(None, out.split(b"\0")):
        facts, path = line.split(b"\t", 1)
        yield os.fsdecode(path), facts.decode("ascii").split(" ")


def _parsed(out: bytes, top: str) -> tuple[CheckoutStatus, list[str]]:
    """What git printed; and the files that are changed on disk and not in the index."""
    facts: dict[str, list[str]] = {"1": [], "u": [], "?": [], "!": []}
    head: dict[str, str] = {}
    intended: set[str] = set()
    on_disk: list[str] = []
    for raw in filter(None, out.split(b"\0")):
        line = os.fsdecode(raw)
        kind, _, rest = line.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            head[name] = value
        elif kind in facts:
            path = line.split(" ", _FIELDS[kind])[-1] if kind in _FIELDS else rest
            facts[kind].append(path)
            if rest.startswith(".A"):
                intended.add(path)
            on_disk += [path] * rest.startswith(".M")
        else:
            raise GitFailed("git_error", f"git status printed an unknown line: {line[:80]!r}")
    ignored, inside_ignored = _files_below(top, facts["!"])
    untracked, inside_untracked = _files_below(top, facts["?"])
    commit, branch = head.get("branch.oid", ""), head.get("branch.head", "")
    status = CheckoutStatus(
        commit="" if commit == "(initial)" else commit,
        branch="" if branch in _NO_BRANCH else branch,
        changed=tuple(facts["1"]),
        untracked=tuple(untracked),
        conflicts=tuple(facts["u"]),
        intended=frozenset(intended),
        nested=(*inside_ignored, *inside_untracked, *_bare_among(top, (*ignored, *untracked))),
    )
    return _with_ignored(status, top, ignored), on_disk


def _files_below(top: str, paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """The files, also below directories outside of any repository there; and the repositories."""
    files: list[str] = []
    repositories: list[str] = []
    for path in paths:
        if not path.endswith("/"):
            files.append(path)
            continue
        for here, folders, names in os.walk(os.path.join(top, path), onerror=raise_unreadable):
            if ".git" in (*folders, *names):
                repositories.append(os.path.relpath(here, top))
                folders.clear()
                continue
            links = [name for name in folders if os.path.islink(os.path.join(here, name))]
            files += (os.path.relpath(os.path.join(here, name), top) for name in (*names, *links))
    return files, repositories


def _bare_among(top: str, paths: Iterable[str]) -> list[str]:
    """The directories with these files that are repositories without a checkout."""
    heads = (os.path.dirname(path) for path in paths if os.path.basename(path) == "HEAD")
    parts = ("objects", "refs")
    return [one for one in heads if all(os.path.isdir(os.path.join(top, one, p)) for p in parts)]


def _with_ignored(status: CheckoutStatus, top: str, paths: Sequence[str]) -> CheckoutStatus:
    """Sorts the files that git ignores: worth saving, made again by a program, or too much."""
    signs = (_CACHE_SIGN, _VENV_SIGN)
    signed = {os.path.split(path) for path in paths if path.endswith(signs)}
    caches = {path: _cache_of(path, signed) for path in paths}
    ignored = [path for path, cache in caches.items() if not cache]
    roots = sorted({cache for cache in caches.values() if cache})
    nested = dict.fromkeys((*status.nested, *_torn_below(top, roots)))
    status = status._replace(nested=tuple(nested), left_out=tuple(roots))
    status = status._replace(caches=len(paths) - len(ignored))
    size = sum(os.lstat(os.path.join(top, path)).st_size for path in ignored)
    if len(ignored) <= MOST_IGNORED and size <= MOST_IGNORED_BYTES:
        return status._replace(ignored=tuple(ignored))
    return status._replace(bulky=len(ignored), left_out=(*roots, *ignored))


def _cache_of(path: str, signed: set[tuple[str, str]]) -> str:
    """The outermost directory above `path` that is a cache, with a slash; empty if none is.

    A file of a Python environment that lies right in it is a cache of its own."""
    *parts, _ = path.split("/")
    for depth, name in enumerate(parts, 1):
        directory = "/".join(parts[:depth])
        if name in _CACHE_NAMES or (directory, _CACHE_SIGN) in signed:
            return directory + "/"
        part = path.split("/")[depth]
        if (directory, _VENV_SIGN) in signed and part in _VENV_PARTS:
            return f"{directory}/{part}{'/' if depth < len(parts) else ''}"
    return ""


def _torn_below(top: str, caches: Iterable[str]) -> Iterator[str]:
    """Repositories in caches, also those that git does not take for one: a crash empties HEAD."""
    for cache in (one for one in caches if one.endswith("/")):
        for here, folders, names in os.walk(os.path.join(top, cache), onerror=raise_unreadable):
            if ".git" in (*folders, *names):
                yield os.path.relpath(here, top)
                folders.clear()


def _filled(path: str) -> bool:
    """A submodule's directory with anything in it: git does not tell what."""
    try:
        return not os.path.islink(path) and bool(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        return raise_unreadable(error)


def _is_hidden_change(top: str, entry: Entry) -> bool:
    """Whether git was told to take this file for unchanged, and it is not."""
    if not entry.tag.islower() and entry.tag != _SKIPPED:
        return False
    found = fingerprint(os.path.join(top, entry.path), len(entry.object))
    if found is None:
        return entry.tag.upper() != _SKIPPED  # a sparse checkout leaves files out
    return found != (entry.mode, entry.object)


def lost_objects(git: Runner, common: str, blobs: Iterable[str]) -> frozenset[str]:
    """Those that the repository has not: after a crash, a lost alternate, or a `git prune`."""
    names = frozenset(blobs)
    kinds = git.kinds_of(common, names)
    return frozenset(name for name in names if kinds.get(name) != "blob")


def _is_only_on_disk(top: str, entry: Entry, common: str, lost: frozenset[str]) -> bool:
    """Whether the repository has not its bytes, though git calls it unchanged."""
    path = os.path.join(top, entry.path)
    found = fingerprint(path, len(entry.object))
    if found is None or (found == (entry.mode, entry.object) and entry.object not in lost):
        return False
    return not is_in_lfs(common, path)
