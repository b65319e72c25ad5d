"""One connection to PostgreSQL on which every statement has a deadline of our own.

A dead peer looks alive for minutes, and a proxy that acknowledges and drops defeats every
keepalive, so nothing here waits in libpq: it waits on the socket, with the time that is left."""

import json
import math
import re
import select
import time
from typing import Any

import psycopg
from psycopg import conninfo, pq

from knell.core.codes import Code
from knell.core.errors import FleetFailed

CONNECT = 10.0  # seconds for a connection
STATEMENT = 10.0  # seconds for a statement
KEEPALIVES = {
    "keepalives_idle": "2", "keepalives_interval": "1", "keepalives_count": "3",
    "tcp_user_timeout": "5000", "application_name": "knell", "client_encoding": "UTF8",
}  # fmt: skip
ALONE = "this host goes on alone; knell fleet status looks again"


class WireFailed(FleetFailed):
    """The connection or the statement failed. `state` is PostgreSQL's, empty if it said nothing."""

    code = Code.FLEET_FAILED

    def __init__(self, message: str, state: str = "", code: Code | None = None) -> None:
        super().__init__(message, ALONE, code=code)
        self.state = state


class Wire:
    def __init__(self, where: str, seconds: float = CONNECT, patience: float = STATEMENT) -> None:
        """Connects, or raises WireFailed within about that time. What it raises shows no secret.

        `patience`: seconds for a statement that is given no other time."""
        self._patience = patience
        self._name = shown(where)
        self._pg = self._connect(where, time.monotonic() + seconds)
        self._heard: list[str] = []

    # -- the connection -----------------------------------------------------------------------

    def _connect(self, where: str, deadline: float) -> pq.abc.PGconn:
        try:
            words = conninfo.make_conninfo("", **KEEPALIVES | conninfo.conninfo_to_dict(where))
        except psycopg.Error as error:
            raise WireFailed(f"cannot connect to {self._name}: {tidy(error, where)}") from None
        pg = pq.PGconn.connect_start(words.encode())
        while True:
            status = pg.connect_poll()
            if status == pq.PollingStatus.OK:
                pg.nonblocking = 1
                return pg
            if status == pq.PollingStatus.FAILED or pg.status == pq.ConnStatus.BAD:
                said = tidy(pg.error_message.decode(errors="replace"), where)
                pg.finish()
                raise WireFailed(f"cannot connect to {self._name}: {said}")
            writing = status == pq.PollingStatus.WRITING
            if not _wait(pg.socket, deadline, writing=writing):
                pg.finish()
                raise WireFailed(f"{self._name} did not answer in time")

    def there(self) -> dict[str, str]:
        """Where the connection went, whoever said so."""
        found = {"host": self._pg.host, "port": self._pg.port}
        return {key: value.decode() for key, value in found.items() if value}

    def fileno(self) -> int:
        return self._pg.socket

    def close(self) -> None:
        self._pg.finish()

    # -- statements ---------------------------------------------------------------------------

    def call(self, statement: str, *values: Any, seconds: float | None = None) -> Any:
        """The first column of the first row, read as JSON; None if there is no row."""
        rows = self.rows(statement, *values, seconds=seconds)
        return json.loads(rows[0][0]) if rows and rows[0][0] is not None else None

    def rows(
        self, statement: str, *values: Any, seconds: float | None = None
    ) -> list[tuple[str | None, ...]]:
        """All rows as text. After a WireFailed without a `state` the connection is of no use."""
        deadline = time.monotonic() + (self._patience if seconds is None else seconds)
        given = [_as_bytes(value) for value in values]
        try:
            if given:
                self._pg.send_query_params(statement.encode(), given)
            else:
                self._pg.send_query(statement.encode())  # may be several
            self._flush(deadline)
            return self._results(deadline)
        except psycopg.Error as error:
            raise WireFailed(f"{self._name}: {tidy(error, '')}") from None

    def _flush(self, deadline: float) -> None:
        while self._pg.flush():
            if not _wait(self._pg.socket, deadline, writing=True):
                raise WireFailed(f"{self._name} did not take a statement in time")
            self._pg.consume_input()

    def _results(self, deadline: float) -> list[tuple[str | None, ...]]:
        rows: list[tuple[str | None, ...]] = []
        failure: WireFailed | None = None
        while True:
            while self._pg.is_busy():
                if not _wait(self._pg.socket, deadline):
                    raise WireFailed(f"{self._name} did not answer in time")
                self._pg.consume_input()
            result = self._pg.get_result()
            if result is None:
                break
            if result.status == pq.ExecStatus.FATAL_ERROR:
                failure = failure or self._failure(result)
            elif result.status == pq.ExecStatus.TUPLES_OK:
                rows = _rows_of(result)
        self._note_heard()
        if failure:
            raise failure
        return rows

    def _failure(self, result: Any) -> WireFailed:
        state = result.error_field(pq.DiagnosticField.SQLSTATE)
        said = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY)
        if self._pg.status == pq.ConnStatus.BAD:
            state = b""
        text = (said or result.error_message or b"").decode(errors="replace")
        return WireFailed(f"{self._name}: {tidy(text, '')}", (state or b"").decode())

    def verifier(self, password: str, role: str) -> str:
        """What the server keeps of a password, made here: the password itself never goes there."""
        algorithm = b"scram-sha-256"
        return self._pg.encrypt_password(password.encode(), role.encode(), algorithm).decode()

    # -- notifications ------------------------------------------------------------------------

    def _note_heard(self) -> None:
        while notice := self._pg.notifies():
            self._heard.append(notice.extra.decode(errors="replace"))

    def heard(self) -> list[str]:
        """The notifications that have come, without waiting; WireFailed if the peer has left."""
        try:
            self._pg.consume_input()
        except psycopg.Error as error:
            raise WireFailed(f"{self._name}: {tidy(error, '')}") from None
        self._note_heard()
        found, self._heard = self._heard, []
        return found


def _wait(fd: int, deadline: float, *, writing: bool = False) -> bool:
    """Whether the socket was ready before the deadline. poll, because a program with a thousand
    connections has numbers that select does not take."""
    left = deadline - time.monotonic()
    if left <= 0:
        return False
    ready = select.poll()
    ready.register(fd, select.POLLOUT if writing else select.POLLIN)
    return bool(ready.poll(left * 1000))


def _rows_of(result: Any) -> list[tuple[str | None, ...]]:
    def text(value: bytes | None) -> str | None:
        return None if value is None else value.decode()

    columns = range(result.nfields)
    return [tuple(text(result.get_value(row, n)) for n in columns) for row in range(result.ntuples)]


def _as_bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").replace(b"\0", b"")
    if isinstance(value, bool | int | float):
        return str(value).lower().encode()
    try:
        text = json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:  # a number that JSON has not
        text = json.dumps(_with_numbers(value), ensure_ascii=False, default=str)
    if "\\u0000" in text:  # a character that JSON may hold and PostgreSQL's JSON may not
        text = re.sub(r"(?<!\\)((?:\\\\)*)\\u0000", r"\1", text)
    return text.encode("utf-8", "replace")  # half a character, as in a file's name, is one too


def storable(value: Any) -> Any:
    """The same as the database will give it back, but for how it writes a number."""
    return json.loads(_as_bytes(value) or b"null")


def _with_numbers(value: Any) -> Any:
    """The same, with text in the place of what is no number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _with_numbers(part) for key, part in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [_with_numbers(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    return value


_SECRET = re.compile(r"(://[^:/@\s]*):[^@\s]*@|(password\s*=\s*)('[^']*'|\S+)", re.IGNORECASE)


def tidy(said: object, where: str) -> str:
    """One line of what PostgreSQL said, without a secret."""
    text = _SECRET.sub(lambda m: f"{m[1]}@" if m[1] else f"{m[2]}…", " ".join(str(said).split()))
    try:
        secret = conninfo.conninfo_to_dict(where).get("password") if where else ""
    except psycopg.Error:
        return "it is no connection string of PostgreSQL"
    return (text.replace(str(secret), "…") if secret else text)[:500] or "no reason given"


def shown(where: str) -> str:
    """What a person may see of it: where it is, and as whom."""
    try:
        given = conninfo.conninfo_to_dict(where)
    except psycopg.Error:
        return "the database"
    name = f"{given.get('host') or given.get('hostaddr') or 'localhost'}"
    port, database = given.get("port"), given.get("dbname")
    service = given.get("service")
    if service and not given.get("host"):
        return f"service {service}"
    return f"{name}{f':{port}' if port else ''}{f'/{database}' if database else ''}"
