"""Who is there and how they are. Looks; ends nothing."""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from knell.core.agent import Agent
from knell.core.codes import Code, Notice
from knell.core.errors import BadConfig, RegistryFailed
from knell.core.process import Gone, Unknown
from knell.core.run import Place, Run, State
from knell.life.base.take_in import Seen, take_in_journals

if TYPE_CHECKING:
    from knell.core.ports.registry import ListedRow, Row
    from knell.core.ports.world import World

UNKNOWN = "unknown"
FRESH = 120.0  # seconds for which the last verdict is worth showing
NOW = 20.0  # seconds for which teams go by it: the watch looks again every 15 s

INTERRUPTED_ENDING = Notice(
    Code.ENDING_INTERRUPTED, "its ending was interrupted; knell kill finishes it"
)
INTERRUPTED_START = Notice(
    Code.START_INTERRUPTED, "its start was interrupted; knell stop clears it"
)
INTERRUPTED = (Code.ENDING_INTERRUPTED, Code.START_INTERRUPTED)


class LastVerdict(NamedTuple):
    """What the watch, or another look, last found an agent to be doing, and what it uses.

    What the store remembers of a look says nothing of CPU, memory and processes."""

    activity: str = UNKNOWN
    age: float = 0.0  # seconds since that look
    why: str = ""
    quiet_s: float | None = None  # seconds without a sign of life at that look
    cpu_percent: float | None = None
    memory_mb: float | None = None
    processes: int | None = None

    @property
    def now(self) -> str:
        return self.activity if self.age <= NOW else UNKNOWN


class AgentView(NamedTuple):
    """One line of `list`: an agent and its newest run."""

    name: str
    kind: str
    state: str
    outcome: str
    activity: str
    activity_age_s: float | None  # seconds since that was found; None: it was not
    pid: int | None
    place: str
    pane: str
    team: str
    tag: str
    role: str
    task: str
    heartbeat_age_s: float | None  # seconds since it touched its heartbeat file; None: it never did
    cwd: str
    conversation: str
    run: str
    parent: str
    host: str
    started_at: str
    ended_at: str
    by: str
    reason: str
    note: str  # what is odd about it: an interrupted ending, a lost keeper
    note_code: str
    team_status: str  # in the words that team tools use
    why: str = ""  # the reason for its activity
    quiet_s: float | None = None  # seconds without a sign of life; None: none was ever seen
    server: str = ""  # its tmux server, where that is not the default one
    cpu_percent: float | None = None  # of one processor; None, as the next two: not looked at
    memory_mb: float | None = None
    processes: int | None = None  # its keeper not counted
    worktree: str = ""  # its git worktree: branch, then what it holds; empty: none, or not looked

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


# Fields that a row takes over from the agent, from its run, and from the last verdict.
OF_AGENT = ("kind", "team", "tag", "role", "task", "cwd", "conversation")
OF_RUN = ("parent", "host", "started_at", "ended_at")
OF_VERDICT = ("activity", "why", "quiet_s", "cpu_percent", "memory_mb", "processes")


def list_agents(
    world: "World", *, with_ended: bool = False, verdicts: Mapping[str, LastVerdict] | None = None
) -> list[AgentView]:
    """The agents that live, or `with_ended` also those that have ended, oldest first.

    `verdicts`: what was found of each run; without them, what the store remembers."""
    seen: Seen = {}
    live = {run.agent: run for run in take_in_journals(world, seen)}
    known = world.store.runs.agents() if with_ended else world.store.runs.live_agents()
    held = claimed_tasks(world, known)
    agents = {one.name: one._replace(task=one.task or held.get(one.name, "")) for one in known}
    runs = world.store.runs.newest() | live if with_ended else live
    nobody, unseen = Agent("?", "?", "?"), LastVerdict()
    ordered = sorted(runs.values(), key=lambda run: run.started_at)
    judged = last_activity(world) if verdicts is None else verdicts
    leaving = world.store.runs.leaving()
    rows = listed_rows(world, ordered, with_ended=with_ended)
    return [view_of_row(world, row) for row in rows] + [
        view_of(world, agent, run, judged.get(run.id, unseen), leaving=leaving, seen=seen)
        for run in ordered
        if (agent := agents.get(run.agent, nobody))
    ]


def claimed_tasks(world: "World", agents: Sequence[Agent]) -> dict[str, str]:
    """Agent → the most urgent task of its team that it has claimed."""
    if not any(agent.team for agent in agents):
        return {}
    tasks = world.store.team_tasks.tasks(status="in_progress")
    return {task.owner: task.id for task in reversed(tasks)}


def listed_rows(
    world: "World", runs: Collection[Run], *, with_ended: bool
) -> "Sequence[ListedRow]":
    """The rows of the registry file that none of these runs speaks of; usually there is no file."""
    try:
        registry = world.registry(world.cwd)
    except (RegistryFailed, BadConfig):
        return ()  # the verbs that need them say what is wrong with the file or the settings
    return world.steps.listed_rows(runs, with_ended=with_ended) if registry else ()


def team_status(run: Run, activity: str, leaving: Collection[str]) -> str:
    """spawning, active, idle, inactive, shutting_down (exactly while it is asked to leave), or
    terminated."""
    if not run.live:
        return "terminated"
    if run.id in leaving:
        return "shutting_down"
    if run.state is State.SPAWNING:
        return "spawning"
    words = {"idle": "idle", "unresponsive": "inactive", "stalled": "inactive"}
    return words.get(activity, "active")


def last_activity(world: "World") -> dict[str, LastVerdict]:
    """Run → what was last found, unless that was long ago; listing itself does not look."""
    texts = world.store.watch.memories()
    if not texts:
        return {}
    import json

    now = world.clock()
    found: dict[str, LastVerdict] = {}
    for run, text in texts.items():
        try:
            memory = json.loads(text)
            _, awake, _, boot = memory["at"]
            age = round(max(0.0, now.awake - awake), 1)
            if boot == now.boot and age <= FRESH:
                why, quiet = str(memory.get("why", "")), memory.get("quiet")
                quiet = None if quiet is None else round(float(quiet) + age, 1)
                found[run] = LastVerdict(str(memory["activity"]), age, why, quiet)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # not ours to explain here: knell explain looks afresh
    return found


def view_of(
    world: "World",
    agent: Agent,
    run: Run,
    last: LastVerdict,
    *,
    leaving: Collection[str] = (),
    seen: "Seen | None" = None,
) -> AgentView:
    """`seen`: looks that were just taken, and need not be again."""
    heartbeat = os.path.join(world.rundir(run.id), "heartbeat")
    beat = world.disk.touched_at(heartbeat) if run.live else None
    last = last if run.live else LastVerdict(activity="")
    odd = oddity(world, run, seen or {}) if run.live else None
    outcome, by, reason = run.ending[:3] if run.ending else ("", "", "")
    return AgentView(
        **{name: getattr(agent, name) for name in OF_AGENT},
        **{name: getattr(run, name) for name in OF_RUN},
        **{name: getattr(last, name) for name in OF_VERDICT},
        name=run.agent,
        state=run.state.value,
        activity_age_s=last.age if last.activity not in ("", UNKNOWN) else None,
        pid=run.pid,
        place=run.place.name,
        pane=run.place.pane,
        heartbeat_age_s=None if beat is None else round(max(0.0, world.seconds() - beat), 1),
        run=run.id,
        outcome="" if run.live else str(outcome),  # while it is under way, only who asked and why
        by=by,
        reason=reason,
        note=odd.text if odd else "",
        note_code=str(odd.code) if odd else "",
        team_status=team_status(run, last.now, leaving),
        server=other_server(world, run.place),
    )


def other_server(world: "World", place: Place) -> str:
    """The tmux server of a place as `tmux -L` or `-S` takes it; empty for the default one."""
    if place.name != "tmux" or not place.server:
        return ""
    folder, name = os.path.split(place.server)
    usual = os.path.join(world.env.get("TMUX_TMPDIR") or "/tmp", f"tmux-{os.getuid()}")  # noqa: S108 - tmux's own
    if folder not in (usual, os.path.realpath(usual)):
        return place.server
    return "" if name == "default" else name


def view_of_row(world: "World", listed: "ListedRow") -> AgentView:
    """An agent that other tools or people wrote into the registry file."""
    row, pane, pid = listed
    note = f"only in the registry file; knell stop --session {row.name} ends it" if pid else ""
    if not pid and row.status in ("running", UNKNOWN):
        note = f"only in the registry file, where its status is {row.status}"
    agent = agent_of_row(row)
    state = State.RUNNING if pid else State.ENDED
    run = Run("", row.name, world.host, state, Place("tmux", pane or row.pane_id), "")
    return view_of(world, agent, run, LastVerdict())._replace(
        outcome="" if pid else row.status,
        pid=pid or None,
        ended_at="" if pid else row.stopped_at or row.terminated_at,
        note=note,
        note_code=str(Code.ONLY_IN_REGISTRY),
    )


def agent_of_row(row: "Row") -> Agent:
    return Agent(
        row.name, row.agent or "command", row.cwd, row.start_words, place="tmux",
        server=row.tmux_server, role=row.role, conversation=row.conversation,
    )  # fmt: skip


def oddity(world: "World", run: Run, looks: "Seen") -> Notice | None:
    """What a person should know about a live run; usually nothing."""
    if run.host != world.host:
        return Notice(Code.ON_ANOTHER_HOST, f"on host {run.host}")
    if run.state is State.STOPPING and run.owner:
        interrupted = isinstance(world.processes.look(run.owner), Gone)
        return INTERRUPTED_ENDING if interrupted else None
    if run.process is None and run.keeper is None:
        from knell.life.base.members import never_came  # usually it has a process

        return INTERRUPTED_START if never_came(world, run) else None
    watched = run.keeper or run.process
    seen = (looks.get(watched) or world.processes.look(watched)) if watched else None
    if isinstance(seen, Gone):
        return _without_it(world, run)
    if isinstance(seen, Unknown):
        return Notice(Code.COULD_NOT_LOOK, f"could not look: {seen.why}")
    return None


def _without_it(world: "World", run: Run) -> Notice:
    """What is odd about a live run whose keeper, or whose agent if it was adopted, has gone."""
    if world.keepers.journal(world.rundir(run.id)).ended:  # or it would not stand here
        return Notice(Code.STORE_NOT_WRITTEN, "it has ended, but that could not be written down")
    whose = "its keeper is gone" if run.keeper else "it has left"
    return Notice(Code.KEEPER_GONE, f"{whose}; knell kill ends what is left")
