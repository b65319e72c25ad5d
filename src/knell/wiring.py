"""The only module that knows every plug. Each is imported when it is first needed."""

from __future__ import annotations  # the types of the plugs are not worth their import time

import os
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from knell import config
from knell.core.errors import StoreFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knell.core.authority import Caller
    from knell.core.kind import Kind
    from knell.core.ports.archive import Archive
    from knell.core.ports.disk import Disk
    from knell.core.ports.endings import Enclosures, ProcessEndings
    from knell.core.ports.git import Worktrees
    from knell.core.ports.keepers import Keepers
    from knell.core.ports.kinds import Kinds
    from knell.core.ports.loopback import Loopback
    from knell.core.ports.processes import Processes
    from knell.core.ports.registry import Registry
    from knell.core.ports.steps import Steps
    from knell.core.ports.store import Restored, Store
    from knell.core.ports.terminal import Sessions, Terminal
    from knell.core.ports.trees import Trees
    from knell.core.ports.world import Locks, Wait
    from knell.core.receipt import Receipt
    from knell.core.run import Place
    from knell.core.settings import Settings
    from knell.core.stall.signs import Clock
    from knell.disk import RealDisk
    from knell.disk_trees import DiskTrees
    from knell.fleet.private_files import FleetFiles
    from knell.processes import enclose, keepers, loopback, queries, waiting
    from knell.processes.ending import loop

    cached_property = property  # a protocol takes no cached one for a property
else:
    from functools import cached_property

# Plugs that are modules, and those that are made of a class without arguments.
PLUGS = {
    "processes": "processes.queries",
    "keepers": "processes.keepers",
    "endings": "processes.ending.loop",
    "enclosures": "processes.enclose",
    "loopback": "processes.loopback",
    "locks": "processes.waiting",
    "wait": "processes.waiting:Waiter",
    "disk": "disk:RealDisk",
    "trees": "disk_trees:DiskTrees",
}


class RealWorld:
    """Everything a verb may touch, on this machine."""

    def __init__(self, env: Mapping[str, str] | None = None, home: str = "") -> None:
        self.env: Mapping[str, str] = dict(os.environ) if env is None else env
        self.home: str = home or config.state_home(self.env)
        self._store_path = os.path.join(self.home, "knell.db")
        self.registry_path = ""  # set by --registry
        self.acting_as: Caller | None = None  # the caller that a server acts for, once proven
        self.restored: Restored | None = None  # what a store that was lost got back
        self._terminals: dict[str, Terminal] = {}
        self._registries: dict[str, Registry] = {}
        if TYPE_CHECKING:  # so that each is checked against its port
            self.processes: Processes = queries
            self.keepers: Keepers = keepers
            self.endings: ProcessEndings = loop
            self.enclosures: Enclosures = enclose
            self.loopback: Loopback = loopback
            self.locks: Locks = waiting
            self.wait: Wait = waiting.Waiter()
            self.disk: Disk = RealDisk()
            self.trees: Trees = DiskTrees()

    def __getattr__(self, name: str) -> Any:
        if name not in PLUGS:
            raise AttributeError(name)
        module, _, made = PLUGS[name].partition(":")
        plug = import_module(f"knell.{module}")
        plug = getattr(plug, made)() if made else plug
        setattr(self, name, plug)
        return plug

    @cached_property
    def host(self) -> str:
        from knell.processes.os import system

        named = self.env.get("KNELL_HOST")
        return named or config.recognise_host(self.home, system.boot_id(), system.machine_id())

    @cached_property
    def settings(self) -> Settings:
        return config.load(self.env)

    @cached_property
    def store(self) -> Store:
        from knell.stores.sqlite import SqliteStore

        try:
            os.makedirs(self.home, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreFailed(
                f"cannot make {self.home}: {error.strerror}",
                "set KNELL_HOME to a directory that you may write to",
            ) from error
        if is_lost(self._store_path):
            self._rebuild_store()
        store = SqliteStore(self._store_path, now=self.now)
        if store.newer_runs:
            from knell.life.base.restore import catch_up

            self.restored = catch_up(self, store, store.newer_runs)
        return store

    def _rebuild_store(self) -> None:
        """A store that is gone knew of the runs that have directories or live: these come back."""
        from knell.life.base.restore import is_known_to_live, restore_runs
        from knell.stores.lost_file import has_backup, rebuild

        if has_backup(self._store_path) or is_known_to_live(self):
            self.restored = rebuild(self._store_path, self.now, lambda one: restore_runs(self, one))
            if self.restored:  # else another command has done it
                self.restored.tell(f"{self._store_path} was lost")

    def set_aside_store(self) -> None:
        """Moves a damaged store away, to be restored when it is used again."""
        from knell.stores.lost_file import set_aside

        with suppress(StoreFailed):
            self.close()
        self.__dict__.pop("store", None)
        set_aside(self._store_path, self.now, self.new_id())

    @property
    def fleet_files(self) -> FleetFiles:
        from knell.fleet.private_files import FleetFiles

        return FleetFiles(os.path.join(self.home, "fleet"))

    @cached_property
    def steps(self) -> Steps:
        from knell.start_end_steps import RoomSteps

        return RoomSteps(self)

    def reconnect(self) -> None:
        """A store that failed is opened anew at its next use. Where its file is gone, nothing is
        made in its place: it may be on its way back, and two logs beside one file would ruin it."""
        if os.path.exists(self._store_path):
            self.close()

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()
            del self.__dict__["store"]

    @property
    def cwd(self) -> str:
        with suppress(FileNotFoundError):
            return os.getcwd()
        return ""  # it was deleted under us; an ending needs none

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds")

    def seconds(self) -> float:
        return datetime.now(UTC).timestamp()

    def moment(self, seconds: float) -> str:
        """That many seconds after 1970, as `now` writes it; empty for what no calendar has."""
        with suppress(OverflowError, ValueError, OSError):
            return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
        return ""

    def clock(self) -> Clock:
        from knell.processes.waiting import clock

        return clock()

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

    @cached_property
    def archive(self) -> Archive:
        from knell.stores.archive import RunArchive

        return RunArchive(self.rundir(""))

    def registry(self, near: str, *, new: bool = False) -> Registry | None:
        """The registry file that was named or is found here or near; `new`: or could be made."""
        named = self.registry_path
        read = "settings" in self.__dict__
        if not named and (read or os.path.exists(config.config_path(self.env))):
            named = self.settings.registry_file
        upwards = tuple(path for path in dict.fromkeys((self.cwd, near)) if path)
        if not new and not named and not config.has_registry_above(*upwards):
            return None
        from knell.registry_file import agent_sessions

        found = next((file for path in upwards if (file := agent_sessions.find(path, named))), "")
        found = found or (os.path.join(near, agent_sessions.USUAL) if new else "")
        if found and found not in self._registries:  # parsing is slow, and kept by the object
            self._registries[found] = agent_sessions.AgentSessions(
                found, self.now, lambda: int(self.seconds()), self.kinds
            )
        return self._registries.get(found)

    def place(self, name: str, *, usable: bool = False) -> Terminal:
        from knell import places

        if name not in self._terminals:
            if name in places.BUILT_IN:
                module, made = places.BUILT_IN[name]
                make = getattr(import_module(f"knell.places.{module}"), made)
            else:
                make = places.outside_place(name)
            self._terminals[name] = make(self.env)
        return places.checked(self._terminals[name]) if usable else self._terminals[name]

    def place_names(self) -> tuple[str, ...]:
        from knell import places

        return places.names()

    def sessions(self) -> Sessions:
        from knell.places.tmux import Tmux

        return Tmux(self.env)

    def worktrees(self) -> Worktrees:
        from knell.git.worktrees import Git

        return Git(self.env)

    def default_place(self) -> str:
        from knell import places

        return self.settings.spawn_place or places.detect(self.env)

    def here(self) -> Place:
        """The pane that this process runs in, or headless."""
        from knell.places.this_terminal import here

        return here(self.env)

    @cached_property
    def kinds(self) -> Kinds:
        from knell.kinds import KnownKinds

        return KnownKinds(lambda: dict(self.settings.kinds))

    def kind(self, name: str) -> Kind:
        return self.kinds.kind(name)

    def leave_receipt(self, run: str, receipt: Receipt) -> bool:
        from knell.stores import receipt_file

        return receipt_file.write(self.rundir(run), receipt)

    def left_receipt(self, run: str) -> Receipt | None:
        from knell.stores import receipt_file

        path = os.path.join(self.rundir(run), receipt_file.NAME)
        left = receipt_file.parse(self.disk.tail(path, receipt_file.LARGEST), run)
        record = None if left else self.archive.record(run)
        # A store that was put back from an older copy does not know of an end that was recorded.
        return record.receipt if record and not record.run.live else left


def is_lost(path: str) -> bool:
    """Whether there is no store there, or an empty file in its place."""
    try:
        return os.stat(path).st_size == 0
    except OSError as error:
        return isinstance(error, FileNotFoundError)  # of another error, opening it will tell
