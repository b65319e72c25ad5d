"""What the watch knows of live runs, and which process watches over a host."""

from collections.abc import Mapping

from knell.core.ports.store import Watcher
from knell.core.process import ProcessId
from knell.stores import records
from knell.stores.sqlite import NORMAL, Part

# An older heartbeat than the recorded one changes nothing, unless the recorded one lies in the
# future because a clock was wrong.
_BEAT = """
    UPDATE runs SET last_heartbeat = :beat
    WHERE id = :run AND outcome IS NULL AND julianday(:beat) IS NOT NULL
        AND (last_heartbeat = '' OR julianday(last_heartbeat) < julianday(:beat)
             OR julianday(last_heartbeat) > julianday(:now))"""


class SqliteWatch(Part):
    def memories(self) -> dict[str, str]:
        """What the watch last remembered of each live run, as it was given."""
        query = "SELECT run, memory FROM instances WHERE memory != ''"
        return dict(self._file.all(query, tuple[str, str]))

    def remember(self, memories: Mapping[str, str], beats: Mapping[str, str]) -> None:
        """Writes all that a round found out. A run that has ended meanwhile is skipped."""
        if not memories and not beats:
            return
        with self._file.writing(NORMAL):
            for run, memory in memories.items():
                self._file.update("instances", {"run": run}, memory=memory)
            for run, beat in beats.items():
                self._file.execute(_BEAT, run=run, beat=beat, now=self._file.now())

    def record_round(self, host: str, process: ProcessId | None) -> None:
        """A round has just been made; None says that no process stays to make the next."""
        with self._file.writing(NORMAL):
            now = {"process": records.process_text(process), "round_at": self._file.now()}
            self._file.put("watchers", {"host": host}, **now)

    def watcher(self, host: str) -> Watcher | None:
        query = "SELECT process, round_at FROM watchers WHERE host = ?"
        return self._file.one(query, _watcher_from, host)


def _watcher_from(row: records.Row) -> Watcher:
    return Watcher(records.process_from_text(row[0]), row[1])
