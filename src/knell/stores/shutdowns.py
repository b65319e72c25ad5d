"""Requests that an agent shut down, and their answers. A run has at most one open request."""

from knell.core.errors import IllegalTransition
from knell.core.ports.store import NotLive
from knell.core.ports.teams import AskedShutdown, MovedShutdown, NoSuchRequest
from knell.core.run import Ending, Outcome, Run
from knell.core.shutdown import Move, Phase, ShutdownRequest, next_phase
from knell.stores import records
from knell.stores.sqlite import FULL, Part

_REQUESTS = """
    SELECT id, team, agent, run, asked_by, phase, reason, force, requested_at, responded_at,
           completed_at, answer, deadline_at, overdue
    FROM shutdowns"""
_OPEN = "phase IN ('requested', 'approved')"  # as the unique index says it
_ANSWERS = (Phase.APPROVED, Phase.REJECTED)


class SqliteShutdowns(Part):
    def ask(self, request: ShutdownRequest) -> AskedShutdown:
        """Of any number of requests at once, one becomes the run's; the other askers get that one.

        A request with force makes the open one forced. Its phase says so only when the run has
        ended: until then nothing was killed.
        """
        with self._file.writing(FULL):
            if self._file.live_run_of(request.agent) != request.run:
                raise NotLive(request.agent)
            known = self.open_of(request.run)
            if known:
                if request.force and not known.force:
                    known = self._put_request(known._replace(force=True), "shutdown.forced")
                return AskedShutdown(known, news=False)
            at = request.requested_at or self._file.now()
            none = {"responded_at": "", "completed_at": "", "answer": ""}
            columns = request._asdict() | none | {"phase": Phase.REQUESTED, "requested_at": at}
            self._file.insert("shutdowns", asked_by=columns.pop("by"), **columns)
            asked = self._known_request(request.id)
            self._tell_request(f"shutdown.{asked.phase}", asked)
            return AskedShutdown(asked, news=True)

    def request(self, id: str) -> ShutdownRequest | None:
        return self._file.one(_REQUESTS + " WHERE id = ?", _request_from, id)

    def open_of(self, run: str) -> ShutdownRequest | None:
        """The run's open request."""
        return self._file.one(f"{_REQUESTS} WHERE run = ? AND {_OPEN}", _request_from, run)

    def open_requests(self) -> list[ShutdownRequest]:
        """All open requests, the oldest first."""
        return self._file.all(f"{_REQUESTS} WHERE {_OPEN} ORDER BY seq", _request_from)

    def of(self, agent: str) -> list[ShutdownRequest]:
        """All requests that the agent ever got, the newest first."""
        query = _REQUESTS + " WHERE agent = ? ORDER BY seq DESC"
        return self._file.all(query, _request_from, agent)

    def move(self, id: str, move: Move, answer: str = "", deadline_at: str = "") -> MovedShutdown:
        """Along the table of core/shutdown.py. Of any number of equal moves at once, one
        counts; if the table does not allow the move, the request is returned unchanged."""
        with self._file.writing(FULL):
            known = self._known_request(id)
            try:
                return MovedShutdown(self._move(known, move, answer, deadline_at), moved=True)
            except IllegalTransition:
                return MovedShutdown(known, moved=False)

    # -- inside a transaction ----------------------------------------------------------------

    def _known_request(self, id: str) -> ShutdownRequest:
        known = self.request(id)
        if known is None:
            raise NoSuchRequest(id)
        return known

    def _move(
        self, known: ShutdownRequest, move: Move, answer: str = "", deadline_at: str = ""
    ) -> ShutdownRequest:
        phase, at = next_phase(Phase(known.phase), move), self._file.now()
        now = known._replace(phase=phase.value, answer=records.plain(answer) or known.answer)
        if move in (Move.APPROVE, Move.CONFIRM):
            now = now._replace(deadline_at=deadline_at)
        if move is Move.CONFIRM:
            return self._put_request(now, "shutdown.ready")
        times = {"responded_at" if phase in _ANSWERS else "completed_at": at}
        now = now._replace(**times, force=now.force or move is Move.FORCE)
        return self._put_request(now, f"shutdown.{phase}")

    def _put_request(self, request: ShutdownRequest, event: str) -> ShutdownRequest:
        changed = ("phase", "force", "responded_at", "completed_at", "answer", "deadline_at")
        columns = {key: getattr(request, key) for key in changed}
        self._file.update("shutdowns", {"id": request.id}, **columns)
        self._tell_request(event, request)
        return request

    def _tell_request(self, event: str, request: ShutdownRequest) -> None:
        told = {"request": request.id, "team": request.team, "by": request.by}
        told |= {"reason": request.reason, "answer": request.answer}
        self._file.write_event(event, request.agent, request.run, told | {"force": request.force})

    def close(self, run: Run, ending: Ending) -> None:
        """Inside the transaction that ends `run`."""
        known = self.open_of(run.id)
        if known is None:
            return
        if ending.outcome is Outcome.ARCHIVED:
            self._move(known, Move.LET_GO)
        else:
            self._move(known, Move.FORCE if known.force else Move.GONE)


def _request_from(row: records.Row) -> ShutdownRequest:
    request = ShutdownRequest(*row)
    return request._replace(force=bool(request.force))
