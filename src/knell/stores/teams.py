"""Teams and their members. A member's colour is free again when its row is deleted."""

import sqlite3

from knell.core.agent import Agent, checked_name
from knell.core.codes import Code, Notice
from knell.core.errors import BadRequest, StoreFailed
from knell.core.fleet.target import checked_far_agent
from knell.core.ports.store import NotLive
from knell.core.ports.teams import InAnotherTeam, TeamExists
from knell.core.run import Ending, Outcome, Run
from knell.core.teams import Role, Team, TeamMember, Topology, next_colour
from knell.stores import records
from knell.stores.shutdowns import SqliteShutdowns
from knell.stores.sqlite import FULL, Part, Transactions
from knell.stores.team_tasks import (
    TEAM,
    TEAMS,
    hand_over_tasks,
    live_team,
    reassign_tasks,
    release_tasks,
)

_MEMBERS = "SELECT team, agent, role, colour, joined_at, run FROM members"


class SqliteTeams(Part):
    def add(self, team: Team) -> Team:
        """Its leader becomes a member if it is running. A team that was dissolved exists again,
        with its tasks."""
        checked_name(team.name, "team")
        if team.leader:
            _check_agent(team.leader, "leader")
        if team.topology not in set(Topology):
            hint = f"use {' or '.join(Topology)}"
            raise BadRequest(f"'{team.topology}' is no topology", hint)
        with self._file.writing(FULL):
            known = self.team(team.name)
            if known and not known.dissolved_at:
                raise TeamExists(team.name)
            at = team.created_at or self._file.now()
            columns = team._replace(created_at=at, dissolved_at="")._asdict()
            self._file.put("teams", {"name": columns.pop("name")}, **columns)
            told = {"team": team.name, "leader": team.leader, "topology": team.topology}
            self._file.write_event("team.created", team.leader, "", told)
            made = live_team(self._file, team.name)
            run = self._file.live_run_of(made.leader) if made.leader else ""
            if run:
                self._join(made, made.leader, Role.LEADER.value, run)
            return made

    def team(self, name: str) -> Team | None:
        """A team that was dissolved is found too; its record says so."""
        return self._file.one(TEAM, Team._make, name)

    def teams(self) -> list[Team]:
        """All teams, also dissolved ones, the oldest first."""
        return self._file.all(TEAMS + " ORDER BY created_at, rowid", Team._make)

    def dissolve(self, team: str) -> list[TeamMember]:
        """Returns its former members. Their runs go on, in no team; tasks and messages are kept."""
        with self._file.writing(FULL):
            live_team(self._file, team)
            left = self.members(team)
            for member in left:
                self.remove(member, {"why": "dissolved"})
            self._file.update("teams", {"name": team}, dissolved_at=self._file.now())
            told = {"team": team, "members": [member.agent for member in left]}
            self._file.write_event("team.dissolved", "", "", told)
            return left

    def join(self, team: str, agent: str, role: str = "", run: str = "") -> TeamMember:
        """Joining twice changes at most the role. An agent may be added before it is started; an
        ended run may not be added."""
        _check_agent(agent)
        with self._file.writing(FULL):
            known = live_team(self._file, team)
            now = self._file.live_run_of(agent)
            if run and run != now:
                raise NotLive(agent)
            return self._join(known, agent, role, now)

    def leave(self, agent: str) -> TeamMember | None:
        """None if it is in no team. The tasks that it had claimed there are free again."""
        with self._file.writing(FULL):
            member = self.membership(agent)
            if member is None:
                return None
            self.remove(member, {"why": "asked for"})
            release_tasks(self._file, member.agent, member.team)
            # Else it would be a member again as soon as it is resumed.
            self._file.update("agents", {"name": agent}, team="")
            self._file.changed_runs |= {member.run: None} if member.run else {}
            return member

    def members(self, team: str) -> list[TeamMember]:
        """In the order in which they joined."""
        query = _MEMBERS + " WHERE team = ? ORDER BY seq"
        return self._file.all(query, TeamMember._make, team)

    def membership(self, agent: str) -> TeamMember | None:
        return self._file.one(_MEMBERS + " WHERE agent = ?", TeamMember._make, agent)

    # -- inside a transaction ----------------------------------------------------------------

    def _join(self, team: Team, agent: str, role: str, run: str) -> TeamMember:
        known = self.membership(agent)
        if known and known.team != team.name:
            raise InAnotherTeam(agent, known.team)
        role = _role(team, agent, role or (known.role if known else ""))
        if known:
            member = known._replace(role=role, run=run or known.run)
            self._file.update("members", {"agent": agent}, role=role, run=member.run)
        else:
            colour = next_colour([member.colour for member in self.members(team.name)])
            member = TeamMember(team.name, agent, role, colour, self._file.now(), run)
            self._file.insert("members", **member._asdict())
        self._file.update("agents", {"name": agent}, team=team.name, role=role)
        self._file.changed_runs |= {run: None} if run else {}
        if member != known:
            told = {"team": team.name, "role": role, "colour": member.colour}
            self._file.write_event("team.joined", agent, run, told)
        return member

    def join_at_birth(self, agent: Agent, run: Run) -> None:
        """The team that the agent names counts; if it names none, the one it was added to."""
        team = self.team(agent.team) if agent.team else None
        known = self.membership(agent.name)
        if team and not team.dissolved_at:
            if known and known.team != team.name:
                self.remove(known, {"why": "joined another team"})
            self._join(team, agent.name, agent.role, run.id)
        elif known:
            self._join(live_team(self._file, known.team), agent.name, agent.role, run.id)

    def remove(self, member: TeamMember, told: dict[str, object]) -> None:
        self._file.execute("DELETE FROM members WHERE agent = ?", member.agent)
        gone = {"team": member.team, "role": member.role, "colour": member.colour}
        self._file.write_event("team.left", member.agent, member.run, gone | told)


def _check_agent(name: str, what: str = "name") -> None:
    """Of this host, or of another one: name@host."""
    if "@" in name:
        checked_far_agent(name)
    else:
        checked_name(name, what)


def _role(team: Team, agent: str, role: str) -> str:
    """Only the agent that the team names is its leader, whatever role was asked for."""
    if agent == team.leader:
        return Role.LEADER.value
    return Role.WORKER.value if not role or role == Role.LEADER else records.plain(role)


# -- what the beginning and the end of a run change in its team ----------------------------------


def begin_in_team(file: Transactions, agent: Agent, run: Run) -> None:
    """Inside the transaction that adds `run`."""
    SqliteTeams(file).join_at_birth(agent, run)
    hand_over_tasks(file, run)


def end_in_team(
    file: Transactions, run: Run, ending: Ending
) -> tuple[list[dict[str, str]], tuple[Notice, ...]]:
    """Inside the transaction that ends `run`: its tasks that were handed back, and warnings.

    Its membership, its colour and the shutdown request that it had end too. Its use of shared
    servers ended when its instance was deleted.
    """
    tasks, warnings = _hand_back(file, run, ending)
    SqliteShutdowns(file).close(run, ending)
    teams = SqliteTeams(file)
    member = teams.membership(run.agent)
    if member:
        proven = ending.outcome != Outcome.ARCHIVED
        teams.remove(member, {"why": ending.reason, "proven": proven})
    return tasks, warnings


def _hand_back(
    file: Transactions, run: Run, ending: Ending
) -> tuple[list[dict[str, str]], tuple[Notice, ...]]:
    """All tasks or none: a failure here must not keep a dead run on record as alive."""
    db = file.db
    db.execute("SAVEPOINT given_back")
    try:
        tasks = [task._asdict() | {"kind": "team"} for task in reassign_tasks(file, run, ending)]
    except (sqlite3.IntegrityError, StoreFailed) as error:
        db.execute("ROLLBACK TO given_back")
        db.execute("RELEASE given_back")
        file.write_event("task.orphaned", run.agent, run.id, {"why": str(error)})
        why = f"its tasks could not be handed back ({error})"
        return [], (Notice(Code.TASKS_NOT_RETURNED, why),)
    db.execute("RELEASE given_back")
    return tasks, ()
