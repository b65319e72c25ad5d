"""What the other tests of the fleet rely on: that a cut is silent, and that a backup is old."""

import contextlib
import fcntl
import select
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator

import psycopg
import pytest

from hosts import Wires, inside
from house import eventually
from postgres import Cluster, Database
from relay import Mode, relaying

WRITER = """
import psycopg, sys
conn = psycopg.connect(sys.argv[1], autocommit=True)
conn.execute("CREATE TABLE said (word text)")
print("ready", flush=True)
sys.stdin.readline()
conn.execute("INSERT INTO said VALUES ('hello')")
print("done", flush=True)
"""


@pytest.fixture
def wires() -> Iterator[Wires]:
    one = Wires()
    yield one
    one.close()


@pytest.mark.needs_root
def test_a_cut_wire_is_silent_until_it_is_mended(wires: Wires) -> None:
    net = wires.host()
    server = Cluster(net=wires.database)
    url = server.url("postgres", address=wires.address(net))
    with subprocess.Popen(
        [*inside(net), sys.executable, "-c", WRITER, url],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as writer:  # fmt: skip
        assert writer.stdin
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
        wires.cut(net)
        writer.stdin.write("\n")
        writer.stdin.flush()
        assert not select.select([writer.stdout], [], [], 1.0)[0], "neither an answer nor an error"
        assert server.sql("SELECT word FROM said") == []
        wires.mend(net)
        assert writer.stdout.readline() == "done\n"
    assert server.sql("SELECT word FROM said") == [("hello",)]
    server.close()


def test_a_relay_that_swallows_acknowledges(database: Database) -> None:
    with relaying(database.server.port) as relay:
        url = database.url_of("postgres", "of the super user", relay.port)
        with contextlib.closing(psycopg.connect(url)) as conn:
            relay.become(Mode.SWALLOW)
            before = relay.passed
            end = socket.socket(fileno=conn.fileno())
            end.send(b"X" * 100)
            eventually(lambda: unacknowledged(end) == 0)
            end.detach()
            assert relay.passed == before
            relay.become(Mode.CLOSE)
            with pytest.raises(psycopg.OperationalError):
                conn.execute("SELECT 1")


def unacknowledged(end: socket.socket) -> int:
    """Bytes that the other side's kernel has not confirmed (SIOCOUTQ)."""
    return struct.unpack("i", fcntl.ioctl(end, termios.TIOCOUTQ, b"\0" * 4))[0]


def test_a_restored_backup_knows_nothing_of_what_came_later(database: Database) -> None:
    database.sql("CREATE TABLE early ()")
    kept = database.server.backup()
    database.sql("CREATE TABLE late ()")
    database.server.crash()
    database.server.start()
    names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    assert database.sql(names) == [("early",), ("late",)]
    database.server.restore(kept)
    assert database.sql(names) == [("early",)]
