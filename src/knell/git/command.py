"""Runs git: no shell, no prompt, no hooks, a deadline, and none of the caller's own git state."""

import os
import signal
import subprocess
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypedDict, Unpack

from knell.core.ports.git import GitFailed

SECONDS = 30.0
TERM_SECONDS = 2.0  # git removes its half-written files when it is asked to end
# What tells git who a person is and what to trust; every other GIT_ variable may belong to a
# hook or an alias that runs us inside another repository.
_KEPT = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
    *("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"),
)
_SETTINGS = (
    "core.hooksPath=/dev/null",  # an agent may have left one
    "core.fsmonitor=false",  # would start a daemon, and may answer from its memory
    "core.untrackedCache=false",
    "core.ignoreStat=false",
    "core.ignoreCase=false",  # would take A.txt for a.txt, also where both are there
    "core.splitIndex=false",  # would leave a part of our own index in the repository
    "log.showSignature=false",  # would run the program that gpg.program names
    "core.fsync=all",  # what was saved survives a power cut, for its original may be deleted next
    "core.commitGraph=false",  # an agent can write one: its commits would pass for held by main
    "core.quotePath=false",
    "i18n.commitEncoding=UTF-8",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "advice.graftFileDeprecated=false",
)
# Nothing is asked of a server, or of the program that a setting names in its place: for looks.
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_WHO = {"NAME": "knell", "EMAIL": "knell@localhost"}


class GitOutput(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def line(self) -> str:
        """Its only line, which is a path or a name."""
        return os.fsdecode(self.out.removesuffix(b"\n"))

    @property
    def complaint(self) -> str:
        output = self.err or self.out.decode("utf-8", "replace")
        return " ".join(output.split())[:300] or f"exit code {self.code}"


class RunOptions(TypedDict, total=False):
    given: bytes  # to its standard input
    env: Mapping[str, str]  # variables besides the usual ones
    seconds: float
    online: bool  # a new worktree of a partial clone needs what the clone has not


class Runner:
    """Git, with the caller's environment cleaned of what would mislead it."""

    def __init__(self, env: Mapping[str, str]) -> None:
        kept = {
            name: value
            for name, value in env.items()
            # A child with our stamp would pass for a member of the run that called us.
            if not name.startswith(("GIT_", "KNELL_")) or name.startswith(_KEPT)
        }
        self._env = kept | {
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            # An agent can write both: they would pass its commits off as merged.
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_GRAFT_FILE": os.devnull,
            "GIT_PAGER": "cat",
            "GIT_LITERAL_PATHSPECS": "1",
            **{f"GIT_AUTHOR_{key}": value for key, value in _WHO.items()},
            **{f"GIT_COMMITTER_{key}": value for key, value in _WHO.items()},
        }

    def run(self, where: str, *words: str, **options: Unpack[RunOptions]) -> GitOutput:
        """Git's exit code and output in `where`; GitFailed if it is missing or takes too long."""
        argv = ["git", "--no-pager", *settings(*_SETTINGS), *words]
        seconds = options.get("seconds", SECONDS)
        more = {} if options.get("online") else _OFFLINE
        try:
            process = subprocess.Popen(
                argv,
                cwd=where,
                env={**self._env, **more, **options.get("env", {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that what git starts ends with it
            )
        except (OSError, ValueError) as error:
            raise GitFailed("git_error", f"cannot run git in {where}: {error}") from error
        try:
            out, err = process.communicate(options.get("given", b""), timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            why = f"git {_verb(words)} did not end within {seconds:g} s"
            raise GitFailed("git_error", why) from None
        except BaseException:
            _end(process)
            raise
        return GitOutput(process.returncode, out, err.decode("utf-8", "replace"))

    def must(self, where: str, *words: str, **options: Unpack[RunOptions]) -> GitOutput:
        """The same, and GitFailed if git failed."""
        output = self.run(where, *words, **options)
        if output.code:
            raise failed(words, output)
        return output

    def run_bare(self, git_dir: str, *words: str, **options: Unpack[RunOptions]) -> GitOutput:
        """`run` on a repository, whatever is checked out from it."""
        return self.run(git_dir, f"--git-dir={git_dir}", *words, **options)

    def must_bare(self, git_dir: str, *words: str, **options: Unpack[RunOptions]) -> GitOutput:
        """`must` on a repository, whatever is checked out from it."""
        return self.must(git_dir, f"--git-dir={git_dir}", *words, **options)

    def kinds_of(self, git_dir: str, names: Collection[str]) -> dict[str, str]:
        """The type of each of these objects; `missing` if the repository has not got it."""
        given = "".join(f"{name}\n" for name in sorted(names)).encode()
        # Its type lies in the object itself, so that git must open it: a crash leaves empty files.
        look = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
        lines = self.must_bare(git_dir, *look, given=given).out.decode("ascii").splitlines()
        return {name: kind for name, _, kind in (line.partition(" ") for line in lines)}


def failed(words: Sequence[str], output: GitOutput) -> GitFailed:
    full = "No space left on device" in output.err or "Disk quota exceeded" in output.err
    code = "disk_full" if full else "git_error"
    return GitFailed(code, f"git {_verb(words)}: {output.complaint}")


def settings(*lines: str) -> tuple[str, ...]:
    """Options that add these lines to git's configuration for one command."""
    return tuple(word for line in lines for word in ("-c", line))


def _verb(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-") and "=" not in word), "")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends our child and its group, whose number cannot be reused before we reap the child."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass  # it has ended meanwhile
        try:
            process.communicate(timeout=TERM_SECONDS)
        except subprocess.TimeoutExpired:
            continue  # after KILL it is stuck in the kernel, and not worth waiting for
        return
