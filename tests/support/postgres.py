"""A private PostgreSQL for each process that runs tests: begun when first asked for, gone with it.

Nobody else uses it, so a test may stop it, freeze it, kill it or put an old backup in its place.
As root it runs as nobody, because the server refuses to be root's. `setpriv --pdeathsig` ends it
even if this process is killed.
"""

import atexit
import contextlib
import fcntl
import glob
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from house import SERVERS, alive, eventually, state_and_parent

NOBODY = 65534
SUPERUSER, PASSWORD = "postgres", "of the super user"
HBA = """\
local   all all                 trust
hostssl all all 127.0.0.1/32    {how}
hostssl all all 10.0.0.0/8      {how}
host    all all 127.0.0.1/32    scram-sha-256
host    all all 10.0.0.0/8      scram-sha-256
"""
SETTINGS = """\
fsync = off
full_page_writes = off
max_connections = 100
shared_buffers = 32MB
min_wal_size = 2MB
max_wal_size = 64MB
wal_level = replica
max_wal_senders = 2
autovacuum_naptime = 5min
max_parallel_workers = 0
jit = off
logging_collector = off
log_connections = off
password_encryption = scram-sha-256
timezone = UTC
"""


def memory() -> str:
    """Where files cost no disk; what a test writes there need not outlive the machine."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def binary(name: str) -> str:
    """The newest of that name; Debian keeps the server's programs out of PATH."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=_version)
    path = found[-1] if found else shutil.which(name)
    assert path, f"{name} of PostgreSQL is not here: run scripts/setup-system test"
    return path


def _version(path: str) -> float:
    return float(Path(path).parts[-3])


def as_server(*argv: str) -> list[str]:
    """By a user who is not root, and ended with the process that starts it."""
    who = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    return ["setpriv", "--pdeathsig=QUIT", *who, *argv]


def handed_to_server(path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
        for below, folders, files in os.walk(path):
            for name in (*folders, *files):
                os.lchown(os.path.join(below, name), NOBODY, NOBODY)


def free_port(address: str = "127.0.0.1") -> int:
    with socket.socket() as one:
        one.bind((address, 0))
        return one.getsockname()[1]


# -- the empty cluster, made once ------------------------------------------------------------------


def template() -> Path:
    """An empty cluster that the workers of one test run copy; whoever is first makes it."""
    uid = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    place = Path(memory()) / f"knell-pg-{os.geteuid()}-{uid[:12]}"
    place.mkdir(mode=0o755, exist_ok=True)
    assert place.stat().st_uid == os.geteuid()
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "whole").exists():
            _initdb(place)
            (place / "whole").touch()
        (place / f"{os.getpid()}.user").touch()
    atexit.register(_leave_template, place)
    return place / "data"


def _initdb(place: Path) -> None:
    data = place / "data"
    data.mkdir(mode=0o700)
    handed_to_server(data)
    password = place / "password"
    password.write_text(PASSWORD)
    password.chmod(0o644)  # of a cluster that only tests reach
    subprocess.run(
        as_server(binary("initdb"), "-D", str(data), "-U", SUPERUSER, "-E", "UTF8", "--locale=C",
                  "--no-sync", "--no-instructions", "--wal-segsize=1", "-A", "scram-sha-256",
                  f"--pwfile={password}"),
        check=True, capture_output=True, cwd="/", env={"PATH": os.environ["PATH"], "LANG": "C"},
        timeout=300,
    )  # fmt: skip


def _leave_template(place: Path) -> None:
    """The last user of the template takes it away."""
    with contextlib.suppress(OSError), (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (place / f"{os.getpid()}.user").unlink(missing_ok=True)
        if not any(alive(int(one.stem)) for one in place.glob("*.user")):
            shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def small_disk(megabytes: int = 80) -> Iterator[str]:
    """A file system of its own that can be filled; needs root."""
    folder = tempfile.mkdtemp(prefix="knell-full-", dir=memory())
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", folder]
    subprocess.run(mount, check=True)
    try:
        Path(folder).chmod(0o755)
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        Path(folder).rmdir()


def _asked(conn: "psycopg.Connection[Any]", statement: str, values: tuple[Any, ...]) -> list[Any]:
    done = conn.execute(statement.encode(), values or None)
    return done.fetchall() if done.description else []


# -- a cluster -------------------------------------------------------------------------------------


class Cluster:
    """One server with its data in a directory of its own, and everything a test does to it."""

    def __init__(self, settings: str = "", net: int = 0, folder: str = "") -> None:
        """`net` is a process in whose network the server listens, instead of this one's. `folder`
        is where the data lie, instead of in memory."""
        self.net = net
        self.place = Path(tempfile.mkdtemp(prefix="knell-pg-", dir=folder or memory()))
        self.place.chmod(0o755)
        self.data, self.sockets = self.place / "data", self.place / "s"
        self.sockets.mkdir()
        shutil.copytree(template(), self.data)
        (self.data / "pg_hba.conf").write_text(HBA.format(how="scram-sha-256"))
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS + f"unix_socket_directories = '{self.sockets}'\n" + settings)
        self.address = "0.0.0.0" if net else "127.0.0.1"
        self.port = 5432 if net else free_port()
        handed_to_server(self.place)
        self.pid = 0
        self._kept: dict[str, psycopg.Connection[Any]] = {}  # the super user's, by database
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)
        self.start()

    # -- its life ---------------------------------------------------------------------------------

    def start(self) -> None:
        inside = ["nsenter", f"--net=/proc/{self.net}/ns/net"] if self.net else []
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        with (self.place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*inside, *as_server(binary("postgres"), "-D", str(self.data), "-p", str(self.port),
                                     "-h", self.address)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                env={"PATH": os.environ["PATH"], "LANG": "C"}, start_new_session=True,
            )  # fmt: skip
        self.pid = self._process.pid
        SERVERS.add(self.pid)
        eventually(self._is_ready)

    def _is_ready(self) -> bool:
        assert alive(self.pid), (self.place / "log").read_text()[-2000:]
        with contextlib.suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return len(lines) > 7 and lines[7].strip() == "ready"
        return False

    def stop(self, number: int = signal.SIGINT) -> None:
        """In good order; with SIGQUIT at once."""
        mine = self.processes()
        if self.pid and alive(self.pid):
            self.thaw()
            os.kill(self.pid, number)
        self._gone(mine)

    def crash(self) -> None:
        """Every process of it by -9, as the machine's own end would."""
        os.kill(self.pid, signal.SIGSTOP)  # from here on it starts no more of them
        eventually(lambda: state_and_parent(self.pid)[0] in "TXZ")
        mine = self.processes()
        for pid in reversed(mine):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._gone(mine)

    def _gone(self, mine: list[int]) -> None:
        for name in [*self._kept]:
            self.leave(name)
        eventually(lambda: not any(alive(pid) for pid in mine))
        _ = self._process and self._process.wait()
        SERVERS.discard(self.pid)
        self.pid = 0

    def processes(self) -> list[int]:
        """The postmaster, then its children."""
        if not self.pid:
            return []
        every = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
        return [self.pid, *(pid for pid in every if state_and_parent(pid)[1] == self.pid)]

    def freeze(self) -> None:
        """Nobody answers any more, and no connection ends."""
        os.kill(self.pid, signal.SIGSTOP)  # from here on it starts no more of them
        eventually(lambda: state_and_parent(self.pid)[0] in "TXZ")
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        eventually(lambda: all(state_and_parent(pid)[0] in "TXZ" for pid in self.processes()))

    def thaw(self) -> None:
        for pid in reversed(self.processes()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        atexit.unregister(self.close)
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.place, ignore_errors=True)

    def fill(self) -> None:
        """Takes all room that is left on the file system of its data."""
        for piece in (65536, 512):
            with contextlib.suppress(OSError), self._filler.open("ab", buffering=0) as file:
                while file.write(b"x" * piece):
                    pass

    def make_room(self) -> None:
        """There is room again. A server that gave up, as it does without room for its log, is
        started again, as whoever keeps it would."""
        self._filler.unlink()
        eventually(lambda: not alive(self.pid) or self._answers())
        if not alive(self.pid):
            self._gone([])
            self.start()

    @property
    def _filler(self) -> Path:
        return self.place / "filler"

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg.Error):
            return self.sql("SELECT 1") == [(1,)]
        return False

    # -- backups ----------------------------------------------------------------------------------

    def backup(self) -> Path:
        """All of it as it is now; the server is down for that moment."""
        kept = self.place / f"backup-{secrets.token_hex(4)}"
        self.stop()
        shutil.copytree(self.data, kept)
        self.start()
        return kept

    def restore(self, kept: Path) -> None:
        """As it was then: whatever came later is gone."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.data)
        shutil.copytree(kept, self.data)
        handed_to_server(self.data)
        self.start()

    # -- who talks to it --------------------------------------------------------------------------

    def connect(self, database: str = "postgres", **more: Any) -> "psycopg.Connection[Any]":
        """The super user by the socket, unless `user` and `password` say who by the network."""
        options: dict[str, Any] = {"user": SUPERUSER, "host": str(self.sockets)}
        if "user" in more and not self.net:
            options["host"] = "127.0.0.1"
        options |= {"connect_timeout": 60, "autocommit": True} | more
        return psycopg.connect(dbname=database, port=self.port, **options)

    def sql(
        self, statement: str, *values: Any, database: str = "postgres", **who: Any
    ) -> list[Any]:
        """The super user's connection is kept: to begin one costs the server ten times as much as
        most questions, and tests ask until something is so."""
        if not who:
            return _asked(self._kept_connection(database), statement, values)
        with contextlib.closing(self.connect(database, **who)) as conn:
            return _asked(conn, statement, values)

    def _kept_connection(self, database: str) -> "psycopg.Connection[Any]":
        """A kept one that the server has said something on was ended by it."""
        conn = self._kept.get(database)
        if conn and (conn.closed or select.select([conn.fileno()], [], [], 0)[0]):
            self.leave(database)
            conn = None
        if not conn:
            conn = self._kept[database] = self.connect(database, prepare_threshold=None)
        return conn

    def leave(self, database: str) -> None:
        """Closes the kept connection to it."""
        if conn := self._kept.pop(database, None):
            conn.close()

    def url(self, database: str, user: str = SUPERUSER, password: str = PASSWORD,
            address: str = "127.0.0.1", port: int = 0) -> str:  # fmt: skip
        return (
            f"postgresql://{quote(user)}:{quote(password)}@{address}:{port or self.port}/{database}"
        )

    # -- databases --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def database(self) -> "Iterator[Database]":
        """A fresh one; afterwards it is gone, and every role that was made meanwhile."""
        before = {row[0] for row in self.sql("SELECT rolname FROM pg_roles")}
        name = f"fleet{secrets.token_hex(3)}"
        # Half the work of the usual way since PostgreSQL 15; before, the only one.
        version = self._kept_connection("postgres").info.server_version
        self.sql(f"CREATE DATABASE {name}" + " STRATEGY file_copy" * (version >= 150_000))
        try:
            yield Database(self, name)
        finally:
            self._back_in_order()
            self.leave(name)
            self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            for (role,) in self.sql("SELECT rolname FROM pg_roles"):
                if role not in before:
                    self.sql(f'DROP OWNED BY "{role}"')
                    self.sql(f'DROP ROLE "{role}"')

    def _back_in_order(self) -> None:
        if self.pid and alive(self.pid):
            self.thaw()
        else:
            self.start()


class Database:
    """One database of a cluster."""

    def __init__(self, server: Cluster, name: str) -> None:
        self.server, self.name = server, name

    @property
    def url(self) -> str:
        """The super user's, by the network."""
        return self.server.url(self.name)

    def url_of(self, user: str, password: str, port: int = 0) -> str:
        return self.server.url(self.name, user, password, port=port)

    def sql(self, statement: str, *values: Any, **who: Any) -> list[Any]:
        return self.server.sql(statement, *values, database=self.name, **who)

    def connect(self, **who: Any) -> "psycopg.Connection[Any]":
        return self.server.connect(self.name, **who)


@cache
def cluster() -> Cluster:
    """The one of this process."""
    return Cluster()
