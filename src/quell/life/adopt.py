"""Takes charge of an agent that something else started."""

from typing import NamedTuple

from quell.core.agent import Agent, checked_name, next_name
from quell.core.errors import BadRequest, NoSuchAgent, Refused
from quell.core.lifecycle import State
from quell.core.panes import Present
from quell.core.ports import World
from quell.core.process import Gone
from quell.core.run import Place, Run
from quell.core.selector import is_number
from quell.life.before import others_alive, target_of
from quell.life.birth import free_name
from quell.life.caller import caller
from quell.life.settle import settle
from quell.life.spawn import Spawned

NAME_ONE = "name the PID or the tmux pane of an agent"


class AdoptWish(NamedTuple):
    target: str  # a PID, %pane, or a tmux session
    name: str = ""
    kind: str = ""
    server: str = ""
    tag: str = ""
    team: str = ""
    conversation: str = ""


def adopt(world: World, wish: AdoptWish) -> Spawned:
    """Records a running process as an agent's. Without a keeper its end is found, not proven.

    Where the kernel allows it, a cgroup (`Run.cgroup`) holds whatever it starts from now on."""
    settle(world)
    free_name(world, wish.name)
    run_id = world.new_id()
    place, pid = found(world, wish, run_id)
    shown = shown_program(world, pid)
    try:
        check_adoptable(world, pid)
        check_adoptable(world, shown)
    except Refused:
        give_back(world, place)
        raise
    process = world.kernel.identify(shown)
    if process is None or not still_shown(world, place, run_id, (pid, shown)):
        give_back(world, place)
        raise NoSuchAgent(wish.target)
    agent = described(world, wish, place, shown)
    run = Run(
        id=run_id,
        agent=agent.name,
        host=world.host,
        state=State.SPAWNING,
        place=place,
        started_at=world.now(),
        parent=caller(world).run,
        process=process,
        cgroup=world.kernel.leaf_for(process, run_id),  # on record before it is made
        owner=world.kernel.me(),
    )
    world.store.add_run(agent, run)
    if run.cgroup and not world.kernel.hold(target_of(world, run), others_alive(world)):
        run = run._replace(cgroup="")
    world.store.born(run)
    return Spawned(agent, world.store.run(run.id) or run)


def described(world: World, wish: AdoptWish, place: Place, pid: int) -> Agent:
    """The agent that this process is, as far as it and the wish tell."""
    argv = world.kernel.argv(pid)
    kind = wish.kind or world.recognise(argv)
    known = world.recognise(argv) == kind
    if kind not in world.kind_names():
        raise BadRequest(
            f"'{kind}' is no kind of agent", f"use one of {', '.join(world.kind_names())}"
        )
    # A shell that is taken for a claude, because its row says so, has no arguments of claude's.
    args = argv if kind == "command" else world.arguments(argv) if known else ()
    taken = frozenset(agent.name for agent in world.store.agents())
    return Agent(
        name=checked_name(wish.name) if wish.name else next_name(kind, taken),
        kind=kind,
        cwd=world.kernel.cwd(pid) or "/",
        args=args,
        place=place.name if place.name != "terminal" else "headless",
        server=place.server,
        tag=checked_name(wish.tag, "tag") if wish.tag else "",
        team=checked_name(wish.team, "team") if wish.team else "",
        conversation=wish.conversation or world.kind(kind).picked(args)[1],
        created_at=world.now(),
    )


def found(world: World, wish: AdoptWish, run_id: str) -> tuple[Place, int]:
    target = wish.target.removeprefix("pid:")
    if is_number(target):
        if int(target) <= 1:
            raise Refused(f"PID {target} is never an agent", NAME_ONE)
        return Place("terminal"), int(target)
    return world.place("tmux").adopt(target.removeprefix("session:"), wish.server, run_id)


def give_back(world: World, place: Place) -> None:
    """The pane bears the tag of its own run again, if a live one has it."""
    where = (place.server, place.server_pid, place.pane)
    for run in world.store.live_runs():
        if place.pane and where == (run.place.server, run.place.server_pid, run.place.pane):
            world.place(place.name).adopt(place.pane, place.server, run.id)


def shown_program(world: World, pid: int) -> int:
    """The agent itself, where the pane's own process is a shell that started it."""
    for front in world.kernel.front(pid):
        own = pid in (front, *world.kernel.above(front))
        if own and world.recognise(world.kernel.argv(front)) != "command":
            return front
    return pid


def still_shown(world: World, place: Place, run: str, pids: tuple[int, int]) -> bool:
    """Whether the pane's process and its program are these: since we asked for their numbers they
    may have ended, and then those who were identified by them are strangers."""
    if not place.pane:
        return True
    seen = world.place(place.name).look(place, run)
    pid = seen.pid if isinstance(seen, Present) else 0
    return (pid, shown_program(world, pid)) == pids


def check_adoptable(world: World, pid: int) -> None:
    """Never ourselves, what we run in, a kernel thread, or what another run owns."""
    if pid in (world.kernel.me().pid, *world.kernel.ancestors()):
        raise Refused(f"PID {pid} runs this command: ending it would end us", NAME_ONE)
    if world.kernel.identify(pid) is not None and not world.kernel.argv(pid):
        raise Refused(f"PID {pid} is a kernel thread or a zombie", NAME_ONE)
    stamp = world.kernel.stamp(pid)
    for run in world.store.live_runs():
        owned = [process for process in (run.keeper, run.process) if process and process.pid == pid]
        its = any(not isinstance(world.kernel.look(process), Gone) for process in owned)
        if its or (stamp and stamp == run.id):
            raise Refused(f"PID {pid} already belongs to '{run.agent}'", f"quell show {run.agent}")
