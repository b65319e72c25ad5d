"""Small lookups that several parts make inside their own transactions."""

from knell.core.ports.teams import NoSuchTeam
from knell.core.teams import Team
from knell.stores.sqlite import Transactions

TEAMS = "SELECT name, leader, created_at, topology, description, dissolved_at FROM teams"


def team_named(file: Transactions, name: str) -> Team | None:
    """A team that was dissolved is found too; its record says so."""
    return file.one(TEAMS + " WHERE name = ?", Team._make, name)


def live_team(file: Transactions, name: str) -> Team:
    """NoSuchTeam if it never existed or was dissolved."""
    team = team_named(file, name)
    if team is None or team.dissolved_at:
        raise NoSuchTeam(name)
    return team
