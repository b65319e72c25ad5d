"""The only module that knows every plug. Each is imported when it is first needed."""

from __future__ import annotations  # the types of the plugs are not worth their import time

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from quell import config
from quell.core.errors import BadRequest, StoreFailed
from quell.disk import Disk as RealDisk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from quell.core.kind import Kind
    from quell.core.ports import Disk, Kernel, Registry, Sessions, Terminal
    from quell.core.receipt import Receipt
    from quell.core.settings import Settings
    from quell.core.signs import Clock
    from quell.core.store import Store
    from quell.core.worktree import Worktrees

NEWBORN = 1.0  # seconds in which a new store gets its tables
LARGEST_RECEIPT = 16 * 1024 * 1024  # bytes
LARGEST_CODE = 2**32  # of an exit


class RealWorld:
    """Everything a verb may touch, on this machine."""

    def __init__(self, env: Mapping[str, str] | None = None, home: str = "") -> None:
        self.env: Mapping[str, str] = dict(os.environ) if env is None else env
        self.home = home or config.state_home(self.env)
        self.host = self.env.get("QUELL_HOST") or os.uname().nodename
        self.registry_path = ""  # set by --registry
        self._settings: Settings | None = None
        self._store: Store | None = None
        self._kernel: Kernel | None = None
        self._terminals: dict[str, Terminal] = {}
        self._registries: dict[str, Registry] = {}

    @property
    def settings(self) -> Settings:
        if self._settings is None:
            self._settings = config.load(self.env)
        return self._settings

    def impose(self, settings: Settings) -> None:
        """These count from now on, whatever the files say: for one who asks for something else."""
        self._settings = settings

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def _open_store(self) -> Store:
        from quell.stores.sqlite import SqliteStore

        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreFailed(
                f"cannot make {self.home}: {error.strerror}", "set QUELL_HOME to a writable place"
            ) from error
        self._refuse_emptied()
        return SqliteStore(self._store_path, now=self.now)

    def _refuse_emptied(self) -> None:
        """An empty file is a new store, but not beside the directories of runs: then it was one
        that knew of them. Whoever is just making it needs a moment."""
        path, runs = self._store_path, os.path.dirname(self.rundir(""))
        if not _is_empty(path) or not os.path.isdir(runs) or not os.listdir(runs):
            return
        self.kernel.wait([], NEWBORN)
        if _is_empty(path):
            import shlex

            raise StoreFailed(
                f"{path} is empty, though {runs} holds runs: its records are lost",
                f"restore it from a copy, or begin anew: rm {shlex.quote(path)}",
            )

    @property
    def _store_path(self) -> str:
        return os.path.join(self.home, "quell.db")

    def reconnect(self) -> None:
        """A store that failed is opened anew at its next use. Where its file is gone, nothing is
        made in its place: it may be on its way back, and two logs beside one file would ruin it."""
        if os.path.exists(self._store_path):
            self.close()

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    @property
    def kernel(self) -> Kernel:
        if self._kernel is None:
            from quell.processes.kernel import LinuxKernel

            self._kernel = LinuxKernel()
        return self._kernel

    @property
    def disk(self) -> Disk:
        return RealDisk()

    @property
    def cwd(self) -> str:
        try:
            return os.getcwd()
        except FileNotFoundError:
            return ""  # it was deleted under us; an ending needs none

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds")

    def seconds(self) -> float:
        return datetime.now(UTC).timestamp()

    def moment(self, seconds: float) -> str:
        """That many seconds after 1970, as `now` writes it; empty for what no calendar has."""
        try:
            return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
        except (OverflowError, ValueError, OSError):
            return ""

    def clock(self) -> Clock:
        """This moment by every clock that matters; a test may wind it."""
        import time

        from quell.processes.identity import boot_id

        up = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        awake = time.clock_gettime(time.CLOCK_MONOTONIC)
        from quell.core.signs import Clock

        return Clock(time.time(), awake, time.clock_gettime(up), boot_id())

    def new_id(self) -> str:
        """Sorts by time, so that runs and their directories do too."""
        return f"{datetime.now(UTC):%Y%m%d%H%M%S}-{os.urandom(4).hex()}"

    def new_uuid(self) -> str:
        import uuid

        return str(uuid.uuid4())

    def new_token(self) -> str:
        """32 random bytes, in letters that every shell, header and URL can carry."""
        import base64

        return base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")

    def rundir(self, run: str) -> str:
        return os.path.join(self.home, "runs", run)

    def registry(self, near: str) -> Registry | None:
        """The registry file that was named, or is found here or near that directory; else None."""
        named = self.registry_path or self.settings.registry
        upwards = tuple(path for path in (self.cwd, near) if path)
        if not named and not any(_hermes_above(path) for path in upwards):
            return None
        from quell.mirrors import agent_sessions

        found = next((file for path in upwards if (file := agent_sessions.find(path, named))), "")
        if found and found not in self._registries:  # parsing is slow, and kept by the object
            self._registries[found] = agent_sessions.AgentSessions(
                found, now=self.now, epoch=lambda: int(self.seconds())
            )
        return self._registries.get(found)

    def place(self, name: str) -> Terminal:
        if name not in self._terminals:
            from quell import places

            self._terminals[name] = places.named(name, self.env)
        return self._terminals[name]

    def sessions(self) -> Sessions:
        from quell.places.tmux import Tmux

        return Tmux(self.env)

    def worktrees(self) -> Worktrees:
        from quell.worktrees.git import Git

        return Git(self.env)

    def default_place(self) -> str:
        if self.settings.place:
            return self.settings.place
        from quell import places

        return places.detect(self.env)

    def kind(self, name: str) -> Kind:
        from quell import kinds

        try:
            return kinds.kind(name)
        except KeyError:
            raise BadRequest(
                f"'{name}' is no kind of agent", f"use one of {', '.join(kinds.NAMES)}"
            ) from None

    def kind_names(self) -> tuple[str, ...]:
        from quell import kinds

        return kinds.NAMES

    def recognise(self, argv: Sequence[str]) -> str:
        from quell import kinds

        return kinds.recognise(argv)

    def arguments(self, argv: Sequence[str]) -> tuple[str, ...]:
        from quell import kinds

        return kinds.arguments(argv)

    def programs(self) -> list[tuple[str, bool, str, str]]:
        """Terminals and agent programs on PATH: (name, there, where, hint)."""
        import shutil

        path = self.env.get("PATH")
        wanted = {"tmux": "", "kitty": "", "wezterm": "", "git": ""}
        wanted |= {self.kind(name).program: "" for name in self.kind_names()}
        found = {name: shutil.which(name, path=path) for name in wanted if name}
        return [(name, bool(where), where or "not on PATH", "") for name, where in found.items()]

    # -- the record that is left when the store cannot be written -----------------------------

    def leave_receipt(self, run: str, receipt: Receipt) -> bool:
        import json

        # Whatever else stands there: it is neither followed elsewhere nor waited for.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            fd = os.open(self._receipt_path(run), flags, 0o600)
            with os.fdopen(fd, "w") as file:
                json.dump(receipt.to_json(), file)
        except OSError:
            return False  # the keeper's journal beside it says the same, in other words
        return True

    def left_receipt(self, run: str) -> Receipt | None:
        """None without one, and for one that is torn or not of this run: the journal is read."""
        text = self.disk.tail(self._receipt_path(run), LARGEST_RECEIPT)
        if text is None:
            return None
        import json

        from quell.core.lifecycle import Outcome
        from quell.core.receipt import receipt_from_json

        try:
            receipt = receipt_from_json(json.loads(text))
            Outcome(receipt.outcome or Outcome.LOST)  # ValueError for any other word
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        codes = (receipt.exit_code or 0, receipt.exit_signal or 0)
        possible = receipt.run == run and all(abs(code) < LARGEST_CODE for code in codes)
        return receipt if possible else None

    def _receipt_path(self, run: str) -> str:
        return os.path.join(self.rundir(run), "receipt.json")


def _is_empty(path: str) -> bool:
    try:
        return os.stat(path).st_size == 0
    except OSError:
        return False  # there is none, or opening it will say why


def _hermes_above(path: str) -> bool:
    """A look that imports nothing: almost nobody has a registry file."""
    while True:
        if os.path.exists(os.path.join(path, ".hermes", "agent-sessions.yaml")):
            return True
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
