"""The team that several parts look up inside their own transactions."""

from knell.core.ports.teams import NoSuchTeam
from knell.core.teams import Team
from knell.stores.sqlite import Transactions

TEAMS = "SELECT name, leader, created_at, topology, description, dissolved_at FROM teams"
TEAM = TEAMS + " WHERE name = ?"


def live_team(file: Transactions, name: str) -> Team:
    """NoSuchTeam if it never existed or was dissolved."""
    team = file.one(TEAM, Team._make, name)
    if team is None or team.dissolved_at:
        raise NoSuchTeam(name)
    return team
