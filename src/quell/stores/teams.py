"""Teams and who belongs to them. A membership is a row, and its colour is free when that goes."""

from quell.core.agent import Agent, checked_name
from quell.core.errors import BadRequest
from quell.core.run import Run
from quell.core.team import Member, Role, Team, Topology, next_colour
from quell.core.teamwork import InAnotherTeam, NotLive, TeamExists
from quell.stores import rows
from quell.stores.sharing import TEAMS
from quell.stores.teamtasks import TeamTasks
from quell.stores.transactions import FULL

_PUT_TEAM = """
    INSERT INTO teams (name, leader, created_at, topology, description) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET
        leader = excluded.leader, created_at = excluded.created_at, dissolved_at = '',
        topology = excluded.topology, description = excluded.description"""
_MEMBERS = "SELECT team, agent, role, colour, joined_at, run FROM members"
_ADD_MEMBER = """
    INSERT INTO members (team, agent, role, colour, joined_at, run) VALUES (?, ?, ?, ?, ?, ?)"""


class Teams(TeamTasks):
    def add_team(self, team: Team) -> Team:
        """With its leader as a member, if that lives. One that was dissolved is taken up again,
        with its tasks."""
        checked_name(team.name, "team")
        if team.leader:
            checked_name(team.leader, "leader")
        if team.topology not in set(Topology):
            known = ", ".join(Topology)
            raise BadRequest(f"'{team.topology}' is no topology", f"use one of {known}")
        with self._file.writing(FULL) as db:
            known = self.team(team.name)
            if known and not known.dissolved_at:
                raise TeamExists(team.name)
            at = team.created_at or self._now()
            row = (team.name, team.leader, at, team.topology, rows.plain(team.description))
            db.execute(_PUT_TEAM, row)
            told = {"team": team.name, "leader": team.leader, "topology": team.topology}
            self._write_event("team.created", team.leader, "", told)
            made = self._live_team(team.name)
            self._seat_leader(made)
            return made

    def teams(self) -> list[Team]:
        """The oldest first, and those that were dissolved too."""
        with self._file.reading() as db:
            return [Team(*row) for row in db.execute(TEAMS + " ORDER BY created_at, rowid")]

    def set_leader(self, team: str, leader: str) -> Team:
        """Who led before is a worker from now on. An empty name: only the operator leads."""
        if leader:
            checked_name(leader, "leader")
        with self._file.writing(FULL) as db:
            known = self._live_team(team)
            db.execute("UPDATE teams SET leader = ? WHERE name = ?", [leader, team])
            db.execute(
                "UPDATE members SET role = ? WHERE team = ? AND role = ? AND agent != ?",
                [Role.WORKER.value, team, Role.LEADER.value, leader],
            )
            led = known._replace(leader=leader)
            self._seat_leader(led)
            told = {"team": team, "leader": leader, "was": known.leader}
            self._write_event("team.led", leader, "", told)
            return led

    def dissolve(self, team: str) -> list[Member]:
        """Who belonged to it. They live on, in no team; its tasks and letters stay on record."""
        with self._file.writing(FULL) as db:
            self._live_team(team)
            left = self.members(team)
            for member in left:
                self._part(member, {"why": "dissolved"})
            db.execute("UPDATE teams SET dissolved_at = ? WHERE name = ?", [self._now(), team])
            told = {"team": team, "members": [member.agent for member in left]}
            self._write_event("team.dissolved", "", "", told)
            return left

    def join(self, team: str, agent: str, role: str = "", run: str = "") -> Member:
        """Joining twice changes at most the role. Who is not running may be added beforehand;
        an ended run may not."""
        checked_name(agent)
        with self._file.writing(FULL):
            known = self._live_team(team)
            now = self._live_run_of(agent)
            if run and run != now:
                raise NotLive(agent)
            return self._join(known, agent, role, now)

    def leave(self, agent: str) -> Member | None:
        """None if it is in no team. What it had claimed there waits for somebody else again."""
        with self._file.writing(FULL) as db:
            member = self.membership(agent)
            if member is None:
                return None
            self._part(member, {"why": "asked for"})
            self._release(member.agent, member.team)
            # Else it would be a member again as soon as it is resumed.
            db.execute("UPDATE agents SET team = '' WHERE name = ?", [agent])
            return member

    def members(self, team: str) -> list[Member]:
        """Who joined first comes first."""
        with self._file.reading() as db:
            found = db.execute(_MEMBERS + " WHERE team = ? ORDER BY seq", [rows.plain(team)])
            return [Member(*row) for row in found]

    def membership(self, agent: str) -> Member | None:
        with self._file.reading() as db:
            row = db.execute(_MEMBERS + " WHERE agent = ?", [rows.plain(agent)]).fetchone()
            return Member(*row) if row else None

    # -- inside a transaction ----------------------------------------------------------------

    def _seat_leader(self, team: Team) -> None:
        run = self._live_run_of(team.leader) if team.leader else ""
        if run:
            self._join(team, team.leader, Role.LEADER.value, run)

    def _join(self, team: Team, agent: str, role: str, run: str) -> Member:
        db, known = self._file.db, self.membership(agent)
        if known and known.team != team.name:
            raise InAnotherTeam(agent, known.team)
        role = _role(team, agent, role or (known.role if known else ""))
        if known:
            member = known._replace(role=role, run=run or known.run)
            db.execute(
                "UPDATE members SET role = ?, run = ? WHERE agent = ?", [role, member.run, agent]
            )
        else:
            colour = next_colour([member.colour for member in self.members(team.name)])
            member = Member(team.name, agent, role, colour, self._now(), run)
            db.execute(_ADD_MEMBER, member)
        db.execute("UPDATE agents SET team = ?, role = ? WHERE name = ?", [team.name, role, agent])
        if member != known:
            told = {"team": team.name, "role": role, "colour": member.colour}
            self._write_event("team.joined", agent, run, told)
        return member

    def _join_at_birth(self, agent: Agent, run: Run) -> None:
        """Whom somebody added beforehand is that member; who says another team, is of that."""
        team = self.team(agent.team) if agent.team else None
        known = self.membership(agent.name)
        if team and not team.dissolved_at:
            if known and known.team != team.name:
                self._part(known, {"why": "joined another team"})
            self._join(team, agent.name, agent.role, run.id)
        elif known:
            self._join(self._live_team(known.team), agent.name, agent.role, run.id)

    def _part(self, member: Member, told: dict[str, object]) -> None:
        self._file.db.execute("DELETE FROM members WHERE agent = ?", [member.agent])
        gone = {"team": member.team, "role": member.role, "colour": member.colour}
        self._write_event("team.left", member.agent, member.run, gone | told)


def _role(team: Team, agent: str, role: str) -> str:
    """Only the one whom the team names leads it, whatever it says of itself."""
    if agent == team.leader:
        return Role.LEADER.value
    return Role.WORKER.value if not role or role == Role.LEADER else rows.plain(role)
