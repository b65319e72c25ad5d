"""Runs git: no shell, no prompt, no hooks, a deadline, and none of the caller's own git state."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quell.core.worktree import GitFailed

SECONDS = 30.0
TERM_SECONDS = 2.0  # git removes its half-written files when it is asked to end
# What tells git who a person is and what to trust; every other GIT_ variable may belong to a
# hook or an alias that runs us inside another repository.
_KEPT = (
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_KEY_",
    "GIT_CONFIG_VALUE_",
    "GIT_EXEC_PATH",
)
_SETTINGS = (
    "core.hooksPath=/dev/null",  # an agent may have left one
    "core.fsmonitor=false",  # would start a daemon, and may answer from its memory
    "core.untrackedCache=false",
    "core.ignoreStat=false",
    "core.fsync=all",  # what was saved survives a power cut, for its original may be deleted next
    "core.quotePath=false",
    "i18n.commitEncoding=UTF-8",
    "submodule.recurse=false",
    "advice.detachedHead=false",
)
_WHO = {"NAME": "quell", "EMAIL": "quell@localhost"}


class Said(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def line(self) -> str:
        """Its only line, as a path or a name."""
        return os.fsdecode(self.out.removesuffix(b"\n"))

    @property
    def complaint(self) -> str:
        said = self.err or self.out.decode("utf-8", "replace")
        return " ".join(said.split())[:300] or f"exit code {self.code}"


class Runner:
    """Git with the environment of whoever asked, cleaned."""

    def __init__(self, env: Mapping[str, str]) -> None:
        kept = {
            name: value
            for name, value in env.items()
            # A child with our stamp would pass for a member of the run that called us.
            if not name.startswith(("GIT_", "QUELL_")) or name.startswith(_KEPT)
        }
        self._env = kept | {
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_PAGER": "cat",
            "GIT_LITERAL_PATHSPECS": "1",
            **{f"GIT_AUTHOR_{key}": value for key, value in _WHO.items()},
            **{f"GIT_COMMITTER_{key}": value for key, value in _WHO.items()},
        }

    def run(
        self,
        where: str,
        *words: str,
        given: bytes = b"",
        index: str = "",
        seconds: float = SECONDS,
    ) -> Said:
        """What git said in `where`; GitFailed if it is missing or does not end in time."""
        argv = ["git", "--no-pager", *settings(*_SETTINGS), *words]
        env = self._env | {"GIT_INDEX_FILE": index} if index else self._env
        try:
            process = subprocess.Popen(
                argv,
                cwd=where,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that what git starts ends with it
            )
        except (OSError, ValueError) as error:
            raise GitFailed("git_error", f"cannot run git in {where}: {error}") from error
        try:
            out, err = process.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            told = f"git {_verb(words)} did not end within {seconds:g} s"
            raise GitFailed("git_error", told) from None
        except BaseException:
            _end(process)
            raise
        return Said(process.returncode, out, err.decode("utf-8", "replace"))

    def must(
        self,
        where: str,
        *words: str,
        given: bytes = b"",
        index: str = "",
        seconds: float = SECONDS,
    ) -> Said:
        """The same, and GitFailed unless git was content."""
        said = self.run(where, *words, given=given, index=index, seconds=seconds)
        if said.code:
            raise failed(words, said)
        return said

    def ask(self, git_dir: str, *words: str) -> Said:
        """`run`, of a repository whatever is checked out where."""
        return self.run(git_dir, f"--git-dir={git_dir}", *words)

    def tell(self, git_dir: str, *words: str) -> Said:
        """`must`, of a repository whatever is checked out where."""
        return self.must(git_dir, f"--git-dir={git_dir}", *words)


def failed(words: Sequence[str], said: Said, code: str = "git_error") -> GitFailed:
    if "No space left on device" in said.err or "Disk quota exceeded" in said.err:
        code = "disk_full"
    return GitFailed(code, f"git {_verb(words)}: {said.complaint}")


def settings(*lines: str) -> tuple[str, ...]:
    """Words that make git believe these lines to be in its configuration."""
    return tuple(word for line in lines for word in ("-c", line))


def _verb(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-") and "=" not in word), "")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Our own child and its group: unreaped, so the number is still theirs."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass  # over in the meantime
        try:
            process.communicate(timeout=TERM_SECONDS)
        except subprocess.TimeoutExpired:
            continue  # after KILL: stuck in the kernel, and not worth waiting for
        return
