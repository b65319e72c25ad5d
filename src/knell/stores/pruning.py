"""Forgets ended runs that are older than people want to keep them."""

from collections.abc import Sequence

from knell.stores import records
from knell.stores.sqlite import FULL, Part

# The newest run of an agent stays: without it, the agent could not be resumed.
_OLD = """
    SELECT id FROM runs r WHERE outcome IS NOT NULL AND ended_at != '' AND ended_at < ?
    AND seq < (SELECT max(seq) FROM runs WHERE agent = r.agent) ORDER BY seq"""
_OF_A_RUN = ("receipts", "restarts", "shutdowns", "events")  # each has the column `run`


class SqlitePruning(Part):
    def old_runs(self, before: str) -> list[str]:
        """The runs that ended before that time, oldest first; never an agent's newest one."""
        return self._file.all(_OLD, records.first, before)

    def forget(self, runs: Sequence[str], before: str) -> None:
        """These runs with their receipts and events, and older events that belong to no run."""
        with self._file.writing(FULL):
            for run in runs:
                for table in _OF_A_RUN:
                    self._file.execute(f"DELETE FROM {table} WHERE run = ?", run)
                self._file.execute("DELETE FROM runs WHERE id = ?", run)
            self._file.execute("DELETE FROM events WHERE run = '' AND at < ?", before)
