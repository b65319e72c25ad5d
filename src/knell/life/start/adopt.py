"""Takes charge of an agent that something else started."""

from typing import NamedTuple

from knell.core.agent import Agent, checked_name, checked_new_name, next_name
from knell.core.authority import Deed, Relation, Subject
from knell.core.codes import Code
from knell.core.conversation import given_conversation
from knell.core.errors import NoSuchAgent, Refused
from knell.core.ports.terminal import Present
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.core.run import Place
from knell.core.selector import is_number
from knell.life.base.authority import check, check_may_be_called, check_may_start_in
from knell.life.base.caller import Caller, caller
from knell.life.base.members import protected_now, target_of
from knell.life.base.take_in import take_in_journals
from knell.life.start.confirm import free_name
from knell.life.start.spawn import Spawned, new_run

EXEC_TAKES = 2.0  # seconds that a program may take to start; usually less than a millisecond
STEP = 0.01  # seconds between two looks
NAME_ONE = "name the PID, the tmux pane (%3) or the tmux session of an agent that runs"


class AdoptWish(NamedTuple):
    target: str  # a PID, %pane, or a tmux session
    name: str = ""
    kind: str = ""
    server: str = ""
    tag: str = ""
    team: str = ""
    conversation: str = ""


def adopt(world: World, wish: AdoptWish) -> Spawned:
    """Takes charge, and writes that into the registry file."""
    agent, run, _ = take_charge(world, wish)
    asked = wish.target.removeprefix("session:")
    session = asked if asked == run.place.session else ""
    return Spawned(agent, run, world.steps.note_started(agent, run, session=session))


def take_charge(world: World, wish: AdoptWish) -> Spawned:
    """Records a running process as an agent's. Without a keeper its end is found, not proven.

    Where the kernel allows it, a cgroup (`Run.cgroup`) holds whatever it starts from now on."""
    take_in_journals(world)
    free_name(world, wish.name)
    check_may_be_called(world, wish.name)
    if wish.team:
        check_may_start_in(world, wish.team)
    run_id = world.new_id()
    try:
        place, pid = find_and_tag(world, wish, run_id)
    except NoSuchAgent:  # the list of knell's own agents would not help here
        own = any(run.agent == wish.target for run in world.store.runs.live())
        hint = f"it is in knell's charge already: knell show {wish.target}" if own else NAME_ONE
        raise NoSuchAgent(wish.target, hint=hint) from None
    shown = shown_program(world, pid)
    try:
        check_adoptable(world, pid)
        check_adoptable(world, shown)
        who = caller(world)
        own = Relation.STARTED if is_below(world, who, shown) else Relation.STRANGE
        check(world, who, Deed.ADOPT, [Subject(f"PID {shown}", own)])
    except Refused:
        restore_tag(world, place)
        raise
    process = world.processes.identify(shown)
    if process is None or not is_still_shown(world, place, run_id, (pid, shown)):
        restore_tag(world, place)
        raise NoSuchAgent(wish.target, hint=NAME_ONE)
    agent = describe_agent(world, wish, place, shown)
    cgroup = world.enclosures.path_for(process, run_id)  # on record before it is made
    run = new_run(world, agent, place)._replace(id=run_id, process=process, cgroup=cgroup)
    world.store.runs.add(agent, run)
    if run.cgroup and not world.enclosures.enclose(target_of(world, run), protected_now(world)):
        run = run._replace(cgroup="")
    world.store.runs.mark_born(run)
    return Spawned(agent, world.store.runs.run(run.id) or run)


def describe_agent(world: World, wish: AdoptWish, place: Place, pid: int) -> Agent:
    """The agent that this process is, by its command line and by the wish."""
    argv = world.processes.argv(pid)
    kind = world.kind(wish.kind or world.kinds.recognise(argv))
    # A shell that is taken for a claude, because its row says so, has no arguments of claude's.
    args = kind.arguments(argv) if kind.runs_in(argv) else () if kind.program else argv
    if wish.conversation:
        kind.with_id((), wish.conversation)  # refused if it is no id of this program
    taken = frozenset(agent.name for agent in world.store.runs.agents())
    agent = Agent(
        name=checked_new_name(wish.name) if wish.name else next_name(kind.name, taken),
        kind=kind.name,
        cwd=world.processes.cwd(pid) or "/",
        args=args,
        place=place.name if place.name != "terminal" else "headless",
        server=place.server,
        tag=checked_name(wish.tag, "tag") if wish.tag else "",
        team=checked_name(wish.team, "team") if wish.team else "",
        created_at=world.now(),
    )
    return given_conversation(agent, wish.conversation or kind.picked(args)[1], world.now())


def find_and_tag(world: World, wish: AdoptWish, run_id: str) -> tuple[Place, int]:
    """Where the process is, and its PID; a tmux pane is tagged with the run that adopts it."""
    target = wish.target.removeprefix("pid:")
    if is_number(target):
        if int(target) <= 1:
            raise Refused(f"PID {target} is never an agent", NAME_ONE, code=Code.NEVER_AN_AGENT)
        return Place("terminal"), int(target)
    return world.place("tmux").adopt(target.removeprefix("session:"), wish.server, run_id)


def restore_tag(world: World, place: Place) -> None:
    """Puts the tag of the live run that owns the pane back on it, if there is one."""
    where = (place.server, place.server_pid, place.pane)
    for run in world.store.runs.live():
        if place.pane and where == (run.place.server, run.place.server_pid, run.place.pane):
            world.place(place.name).adopt(place.pane, place.server, run.id)


def shown_program(world: World, pid: int) -> int:
    """The agent itself, where the pane's own process is a shell that started it."""
    for front in world.processes.foreground(pid):
        own = pid in (front, *world.processes.ancestors_of(front))
        if own and world.kinds.recognise(world.processes.argv(front)) != "command":
            return front
    return pid


def is_still_shown(world: World, place: Place, run: str, pids: tuple[int, int]) -> bool:
    """Whether the pane's process and its program are these: they may have ended since
    their PIDs were read, and then those PIDs belong to strangers."""
    if not place.pane:
        return True
    seen = world.place(place.name).look(place, run)
    pid = seen.pid if isinstance(seen, Present) else 0
    return (pid, shown_program(world, pid)) == pids


def is_below(world: World, who: Caller, pid: int) -> bool:
    """Whether the process was started below the run that asks."""
    run = world.store.runs.run(who.run) if who.run else None
    own = {process.pid for process in run.processes} if run else set[int]()
    if who.elsewhere:
        from knell.life.base.caller_doubts import is_below_keeper

        return is_below_keeper(world, pid)
    return not own.isdisjoint(world.processes.ancestors_of(pid))


def check_adoptable(world: World, pid: int) -> None:
    """Refuses ourselves, what we run in, a kernel thread, and what another run owns."""
    if pid in (world.processes.me().pid, *world.processes.ancestors()):
        why = f"PID {pid} runs this command: ending it would end this command"
        raise Refused(why, NAME_ONE, code=Code.RUNS_THIS_COMMAND)
    if not has_command_line(world, pid):
        why = f"PID {pid} is a kernel thread or a zombie"
        raise Refused(why, NAME_ONE, code=Code.NEVER_AN_AGENT)
    stamp = world.processes.stamp(pid)
    for run in world.store.runs.live():
        owned = [process for process in run.processes if process.pid == pid]
        its = any(not isinstance(world.processes.look(process), Gone) for process in owned)
        if its or (stamp and stamp == run.id):
            why = f"PID {pid} already belongs to '{run.agent}'"
            raise Refused(why, f"knell show {run.agent}", code=Code.ALREADY_OURS)


def has_command_line(world: World, pid: int) -> bool:
    """False for kernel threads and zombies; True if the process has gone, which is told elsewhere.

    A program that is being started has none for a moment, after `Popen` has returned its PID."""
    for _ in range(round(EXEC_TAKES / STEP)):
        process = world.processes.identify(pid)
        if process is None or world.processes.argv(pid):
            return True
        if isinstance(world.processes.look(process), Gone):
            return False
        world.wait([process], STEP)
    return False
