"""What the parts of the teams' store have in common: the file of all others, and which team."""

from collections.abc import Callable

from quell.core.team import Team
from quell.core.teamwork import NoSuchTeam
from quell.stores import rows
from quell.stores.trail import Trail
from quell.stores.transactions import Transactions

TEAMS = "SELECT name, leader, created_at, topology, description, dissolved_at FROM teams"


class Sharing(Trail):
    def __init__(self, file: Transactions, now: Callable[[], str]) -> None:
        self._file, self._now = file, now

    def team(self, name: str) -> Team | None:
        """Also one that was dissolved, which says so."""
        with self._file.reading() as db:
            row = db.execute(TEAMS + " WHERE name = ?", [rows.plain(name)]).fetchone()
            return Team(*row) if row else None

    # -- inside a transaction ----------------------------------------------------------------

    def _live_team(self, name: str) -> Team:
        team = self.team(name)
        if team is None or team.dissolved_at:
            raise NoSuchTeam(name)
        return team

    def _live_run_of(self, agent: str) -> str:
        """Empty if it is not running."""
        row = self._file.db.execute(
            "SELECT run FROM instances WHERE agent = ?", [rows.plain(agent)]
        ).fetchone()
        return row[0] if row else ""
