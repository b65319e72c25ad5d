"""A pgbouncer of its own between the hosts of a test and their database, in transaction mode."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from house import alive, eventually
from postgres import Database, as_server, free_port, handed_to_server

INI = """\
[databases]
{name} = host=127.0.0.1 port={to} dbname={name}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {place}/users
pool_mode = transaction
max_client_conn = 200
default_pool_size = 5
logfile = {place}/log
"""


@contextlib.contextmanager
def pooled(database: Database) -> Iterator[int]:
    """The port behind which pgbouncer lends connections by the transaction.

    It knows the roles that the database has now, with what PostgreSQL itself keeps of their
    passwords.
    """
    with tempfile.TemporaryDirectory(prefix="knell-pgb-") as folder:
        place, port = Path(folder), free_port()
        place.chmod(0o755)
        roles = database.sql("SELECT rolname, rolpassword FROM pg_authid WHERE rolpassword <> ''")
        (place / "users").write_text("".join(f'"{name}" "{kept}"\n' for name, kept in roles))
        ini = INI.format(name=database.name, to=database.server.port, port=port, place=place)
        (place / "ini").write_text(ini)
        handed_to_server(place)
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        assert program, "pgbouncer is not here: run scripts/setup-system test"
        process = subprocess.Popen(
            as_server(program, "-q", str(place / "ini")), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        try:
            eventually(lambda: _listens(port, process.pid, place))
            yield port
        finally:
            process.kill()
            process.wait()


def _listens(port: int, pid: int, place: Path) -> bool:
    assert alive(pid), (place / "log").read_text()
    return f":{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text()
