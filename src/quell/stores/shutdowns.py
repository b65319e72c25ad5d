"""Who was asked to leave, and what came of it. A run has at most one open request."""

from quell.core.errors import IllegalTransition
from quell.core.lifecycle import Outcome
from quell.core.run import Ending, Run
from quell.core.shutdown import Move, Phase, Request, moved
from quell.core.teamwork import Asked, Moved, NoSuchRequest, NotLive
from quell.stores import rows
from quell.stores.sharing import Sharing
from quell.stores.transactions import FULL

_REQUESTS = """
    SELECT id, team, agent, run, asked_by, phase, reason, force, requested_at, responded_at,
           completed_at, answer, deadline_at, overdue
    FROM shutdowns"""
_OPEN = "phase IN ('requested', 'approved')"  # as the unique index says it
_ADD = """
    INSERT INTO shutdowns (id, team, agent, run, asked_by, phase, reason, force, requested_at,
                           deadline_at, overdue)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_PUT = """
    UPDATE shutdowns SET phase = ?, force = ?, responded_at = ?, completed_at = ?, answer = ?
    WHERE id = ?"""
_ANSWERS = (Phase.APPROVED, Phase.REJECTED)


class Shutdowns(Sharing):
    def ask(self, request: Request) -> Asked:
        """Of any number who ask at once, one's request is the run's; the others get that one.

        Asked with force, the open one is forced from now on, and so it says when the run has
        ended: until then it is nobody's word that somebody was killed.
        """
        with self._file.writing(FULL) as db:
            if self._live_run_of(request.agent) != request.run:
                raise NotLive(request.agent)
            known = self.open_of(request.run)
            if known:
                if request.force and not known.force:
                    known = self._put_request(known._replace(force=True), "shutdown.forced")
                return Asked(known, news=False)
            at = request.requested_at or self._now()
            texts = (request.id, request.team, request.agent, request.run, request.by)
            more = (Phase.REQUESTED.value, request.reason)
            row = [*(rows.plain(text) for text in (*texts, *more)), int(request.force), at]
            db.execute(_ADD, [*row, request.deadline_at, request.overdue])
            asked = self._known_request(request.id)
            self._tell_request(f"shutdown.{asked.phase}", asked)
            return Asked(asked, news=True)

    def request(self, id: str) -> Request | None:
        with self._file.reading() as db:
            row = db.execute(_REQUESTS + " WHERE id = ?", [rows.plain(id)]).fetchone()
            return _request_from(row) if row else None

    def open_of(self, run: str) -> Request | None:
        """What the run was asked and is not yet done with."""
        with self._file.reading() as db:
            query = f"{_REQUESTS} WHERE run = ? AND {_OPEN}"
            row = db.execute(query, [rows.plain(run)]).fetchone()
            return _request_from(row) if row else None

    def open_ones(self) -> list[Request]:
        """The oldest first."""
        with self._file.reading() as db:
            found = db.execute(f"{_REQUESTS} WHERE {_OPEN} ORDER BY seq")
            return [_request_from(row) for row in found]

    def requests_of(self, agent: str) -> list[Request]:
        """All that it was ever asked, the newest first."""
        with self._file.reading() as db:
            query = _REQUESTS + " WHERE agent = ? ORDER BY seq DESC"
            return [_request_from(row) for row in db.execute(query, [rows.plain(agent)])]

    def move(self, id: str, move: Move, answer: str = "") -> Moved:
        """Along core.shutdown. Of any number who move it at once, one does; where it cannot
        move so, it is told as it is."""
        with self._file.writing(FULL):
            known = self._known_request(id)
            try:
                return Moved(self._move(known, move, answer), moved=True)
            except IllegalTransition:
                return Moved(known, moved=False)

    # -- inside a transaction ----------------------------------------------------------------

    def _known_request(self, id: str) -> Request:
        known = self.request(id)
        if known is None:
            raise NoSuchRequest(id)
        return known

    def _move(self, known: Request, move: Move, answer: str) -> Request:
        phase, at = moved(Phase(known.phase), move), self._now()
        now = known._replace(phase=phase.value, answer=rows.plain(answer) or known.answer)
        times = {"responded_at" if phase in _ANSWERS else "completed_at": at}
        now = now._replace(**times, force=now.force or move is Move.FORCE)
        return self._put_request(now, f"shutdown.{phase}")

    def _put_request(self, request: Request, event: str) -> Request:
        times = (request.responded_at, request.completed_at)
        row = [request.phase, int(request.force), *times, request.answer, request.id]
        self._file.db.execute(_PUT, row)
        self._tell_request(event, request)
        return request

    def _tell_request(self, event: str, request: Request) -> None:
        told = {"request": request.id, "team": request.team, "by": request.by}
        told |= {"reason": request.reason, "answer": request.answer}
        self._write_event(event, request.agent, request.run, told | {"force": request.force})

    def _close_request(self, run: Run, ending: Ending) -> None:
        """The run's end is proven, or nobody watches over it any more."""
        known = self.open_of(run.id)
        if known is None:
            return
        if ending.outcome is Outcome.ARCHIVED:
            self._move(known, Move.LET_GO, "")
        else:
            self._move(known, Move.FORCE if known.force else Move.GONE, "")


def _request_from(row: rows.Row) -> Request:
    request = Request(*row)
    return request._replace(force=bool(request.force))
