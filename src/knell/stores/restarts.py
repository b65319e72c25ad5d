"""What was decided about starting the agents of ended runs again."""

from knell.core.errors import StillRunning
from knell.core.restart import PlanState, RestartPlan, supersedes
from knell.core.run import Run
from knell.stores import records
from knell.stores.sqlite import FULL, Part, Transactions

_PLANS = "SELECT run, agent, decision, why, attempt, due_at FROM restarts"


class SqliteRestarts(Part):
    def plans(self) -> list[RestartPlan]:
        """Every decision, the oldest first."""
        return self._file.all(_PLANS + " ORDER BY rowid", RestartPlan._make)

    def record(self, plan: RestartPlan) -> bool:
        """True if this changed what was decided, as core.restart allows it. Of any number of
        processes that record the same decision at once, one gets True."""
        with self._file.writing(FULL):
            known = _plan_of(self._file, plan.run)
            if known and not supersedes(plan, known):
                return False
            _put(self._file, plan, known)
            return True


def record_restart(file: Transactions, run: Run) -> None:
    """Inside the transaction that adds `run`: no other run may be started for the same ended run.

    The unique index enforces that too; this raises an error that the asker understands.
    """
    before = run.restarted_from
    if file.one("SELECT id FROM runs WHERE restarted_from = ?", records.first, before):
        raise StillRunning(run.agent, "start it again")
    known = _plan_of(file, before)
    why, due_at = (known.why, known.due_at) if known else ("asked for", "")
    _put(file, RestartPlan(before, run.agent, PlanState.STARTED, why, run.attempt, due_at), known)


def _plan_of(file: Transactions, run: str) -> RestartPlan | None:
    return file.one(_PLANS + " WHERE run = ?", RestartPlan._make, run)


def _put(file: Transactions, plan: RestartPlan, known: RestartPlan | None) -> None:
    columns = plan._asdict() | {"decided_at": file.now()}
    columns["attempt"] = max(plan.attempt, known.attempt if known else 0)
    file.put("restarts", {"run": columns.pop("run")}, **columns)
    told = {"why": plan.why, "attempt": plan.attempt, "due_at": plan.due_at}
    file.write_event(f"restart.{plan.decision}", plan.agent, plan.run, told)
