"""Looks at real processes, logs, panes and heartbeats: what each of them shows of life."""

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from house import House, eventually, pause, told
from knell.core.ports.terminal import Terminal
from knell.core.process import ProcessId
from knell.core.run import Place, Run
from knell.core.stall.memory import Memory, remembered
from knell.core.stall.signs import Clock, Look, StartTime, Turn, start_time
from knell.core.stall.verdict import Activity, StallLimits, judge
from knell.kinds.claude import cwd_key
from knell.life.watch.signs import collect as looks
from knell.life.watch.signs import conversation as reading
from knell.life.watch.signs import screen as showing
from knell.life.watch.signs.collect import SignCollector
from knell.places.tmux import Tmux
from knell.processes.vitals import traffic, vitals
from knell.wiring import RealWorld
from scenes import Played, adopted, end, number, started, state_letter

# -- the scene ---------------------------------------------------------------------------------


class Watch:
    """Somebody who looks again and again, and whose clock a test winds."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.world = WoundWorld(house.env)
        self.collector = SignCollector(self.world)
        self.past: dict[str, Memory] = {}

    def collect(self, runs: Sequence[Run], past: Mapping[str, Memory]) -> dict[str, Look]:
        agents = {agent.name: agent for agent in self.world.store.runs.agents()}
        return self.collector.collect(runs, {run.id: agents[run.agent] for run in runs}, past)

    def look(self, seconds: float = 0.0) -> dict[str, Look]:
        """What is seen after so many more seconds, awake and watched."""
        self.world.wound += seconds
        runs = self.world.store.runs.live()
        seen = self.collect(runs, self.past)
        for run in runs:
            self.past[run.id] = remembered(self.past.get(run.id), seen[run.id], start_time(run))
        return seen

    def one(self, played: Played, seconds: float = 0.0) -> Look:
        return self.look(seconds)[played.run.id]

    def memory(self, played: Played) -> Memory:
        return self.past[played.run.id]


class TornTmux(Tmux):
    """tmux, asked in the very moment in which a program has cleared its screen."""

    torn = 0  # times that only the first words will be there

    def screen(self, place: Place) -> str:
        whole = super().screen(place)
        self.torn -= 1
        return whole[:20] if self.torn >= 0 else whole


class WoundWorld(RealWorld):
    wound = 0.0
    tmux: TornTmux | None = None

    def place(self, name: str, *, usable: bool = False) -> Terminal:
        return self.tmux if self.tmux and name == "tmux" else super().place(name, usable=usable)

    def clock(self) -> Clock:
        now = super().clock()
        return Clock(now.wall + self.wound, now.awake + self.wound, now.up + self.wound, now.boot)


@pytest.fixture
def watch(house: House) -> Iterator[Watch]:
    one = Watch(house)
    yield one
    one.world.close()


def rundir(house: House, played: Played) -> Path:
    return house.state / "runs" / played.run.id


def in_tmux(house: House, body: str, name: str = "luna") -> Played:
    return started(house, body, name=name, place="tmux", server="test", session="test")


# -- the kernel --------------------------------------------------------------------------------

BURNS = """
tell()
while True:
    sum(range(1000))
"""


def test_a_worker_that_burns_is_seen_to(house: House, watch: Watch) -> None:
    burner = started(house, BURNS)
    idle = started(house, "tell()\nsleep()", name="idle")
    before = watch.look()
    used = before[burner.run.id].cpu
    assert used is not None
    eventually(lambda: (watch.one(burner).cpu or 0) > used + 0.3)
    spent = (watch.one(idle).cpu or 0) - (before[idle.run.id].cpu or 0)
    assert spent < 0.3


def test_the_time_of_a_reaped_child_is_not_lost(house: House, watch: Watch) -> None:
    """Two dead generations: the keeper reaps the second, whose parent is gone."""
    body = """
go = os.environ["KNELL_READY"] + ".go"
if not os.fork():
    if not os.fork():
        until = time.process_time() + 0.4
        while time.process_time() < until: pass
        while not os.path.exists(go): time.sleep(0.01)
        os._exit(0)
    os._exit(0)
os.wait()
tell()
sleep()
"""
    played = started(house, body)
    eventually(lambda: (watch.one(played).cpu or 0) >= 0.4)
    before = watch.one(played).cpu or 0
    note = next(house.root.glob("*.told"))
    Path(f"{note}.go").touch()
    eventually(lambda: len(list_children(played.keeper)) == 1)
    assert (watch.one(played).cpu or 0) >= before


def list_children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_stopped_child_is_a_trouble(house: House, watch: Watch) -> None:
    played = started(
        house,
        "child(SLEEP)\nimport pathlib\n"
        "tell(pathlib.Path(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read_text())\n"
        "sleep()",
    )
    child = int(played.told[0])
    assert watch.one(played).stopped == ()
    os.kill(child, signal.SIGSTOP)
    eventually(lambda: state_letter(child) == "T")
    [told] = watch.one(played).stopped
    assert told.startswith(f"PID {child} (")
    assert told.endswith("is stopped")
    assert watch.one(played).state in "SR"
    os.kill(child, signal.SIGCONT)
    eventually(lambda: watch.one(played).stopped == ())


def test_an_agent_that_somebody_stopped_shows_it(house: House, watch: Watch) -> None:
    played = started(house, "tell()\nsleep()")
    os.kill(played.pid, signal.SIGSTOP)
    eventually(lambda: watch.one(played).state == "T")
    look = watch.one(played)
    assert look.alive
    assert not look.stopped  # the agent itself is no child of its own
    os.kill(played.pid, signal.SIGCONT)


def test_a_zombie_is_a_note_and_no_trouble(house: House, watch: Watch) -> None:
    played = started(house, "if not os.fork(): os._exit(0)\ntell()\nsleep()")
    eventually(lambda: watch.one(played).notes)
    [note] = watch.one(played).notes
    assert "was not reaped" in note
    assert watch.one(played).stopped == ()


HOLDS = """
import socket
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
ours = socket.create_connection(server.getsockname())
theirs, _ = server.accept()
if sys.argv[1] == "hung": theirs.close()
tell()
sleep()
"""


HOLDS_ITSELF = """
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
ours = socket.create_connection(server.getsockname())
theirs, _ = server.accept()
theirs.sendall(b"news")
tell()
sleep()
"""


def test_a_connection_that_the_other_side_closed_is_counted(house: House, watch: Watch) -> None:
    hung = started(house, "sys.argv.append('hung')\n" + HOLDS, name="hung")
    fine = started(house, "sys.argv.append('fine')\n" + HOLDS, name="fine")
    eventually(lambda: watch.one(hung).hung_up == 1)
    assert watch.one(fine).hung_up == 0


RESTS = "import time\ntime.sleep(60)"
TOILS = "import time\nwhile time.process_time() < 0.9: sum(range(1000))\ntime.sleep(60)"
# A program that draws for a while, and has a tool.
DRAWS_AND_HAS_A_TOOL = """
import subprocess
tool = subprocess.Popen([sys.executable, "-S", "-c", TOOL])
tell()
while time.process_time() < 0.5: sum(range(1000))
sleep()
"""


def is_no_program(_argv: Sequence[str]) -> bool:
    """None but the agent's own process is the program here."""
    return False


def test_R6_what_a_program_burns_by_drawing_is_no_sign_of_life(house: House) -> None:
    """Its tools are counted, and so is the same program once more below one of them."""
    drawing = started(house, f"TOOL={RESTS!r}" + DRAWS_AND_HAS_A_TOOL).run
    toiling = started(house, f"TOOL={TOILS!r}" + DRAWS_AND_HAS_A_TOOL, name="b").run
    runs, programs = [drawing, toiling], {one.id: is_no_program for one in (drawing, toiling)}

    def spent(programs: Mapping[str, Callable[[Sequence[str]], bool]], run: Run) -> float:
        return vitals(runs, programs)[run.id].cpu or 0

    eventually(lambda: spent(programs, toiling) > spent(programs, drawing) + 0.5)
    eventually(lambda: spent({}, drawing) > spent(programs, drawing) + 0.2)


def test_R6_the_bytes_of_a_connection_to_another_are_counted(house: House) -> None:
    """A connection to itself is not: a program and its own server talk as long as they run."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        talks = f"import socket\nmodel = socket.create_connection(('127.0.0.1', {port}))\n"
        played = started(house, talks + "model.sendall(b'x' * 700)\n" + HOLDS_ITSELF)
        model, _ = server.accept()
        with model:
            eventually(lambda: carried(played.run) == [(0, 700)])
            model.sendall(b"y" * 1_300)
            eventually(lambda: carried(played.run) == [(1_300, 700)])


def carried(run: Run) -> list[tuple[int, int]]:
    connections = traffic([run], {})[run.id].connections
    assert connections is not None
    # The kernel counts the bytes that were acknowledged, and the one that opens a connection.
    return [(one.received, one.sent - 1) for one in connections]


def test_R6_what_a_tool_writes_is_counted_and_what_its_program_draws_is_not(house: House) -> None:
    tool = "TOOL='import time, os\\nwhile True: os.write(2, b\"1\"); time.sleep(0.05)'"
    played = started(house, tool + DRAWS_AND_HAS_A_TOOL).run

    def moved() -> int:
        return traffic([played], {played.id: is_no_program})[played.id].tools or 0

    before = moved()
    eventually(lambda: moved() > before)


def test_a_run_below_a_run_is_not_its_elders(house: House) -> None:
    """A keeper that was started below another's: its time and troubles are its own."""
    outer = started(house, "tell()\nsleep()").run
    inner = started(house, BURNS, name="inner").run
    above = outer._replace(keeper=identity_of(house, os.getpid()))  # who reaps them all
    eventually(lambda: (vitals([inner], {})[inner.id].cpu or 0) > 0.3)
    together, alone = vitals([above], {}), vitals([above, inner], {})
    assert (together[above.id].cpu or 0) > (alone[above.id].cpu or 0) + 0.2


def identity_of(house: House, pid: int) -> ProcessId:
    found = house.knell.world.processes.identify(pid)
    assert found
    return found


def test_a_run_that_ended_meanwhile_is_gone_and_nothing_breaks(house: House, watch: Watch) -> None:
    played = in_tmux(house, "tell()\nsleep()")
    other = started(house, "tell()\nsleep()", name="other")
    watch.look()
    house.kill("luna")
    look = watch.collect([played.run, other.run], watch.past)[played.run.id]
    assert look.alive is False
    memory = remembered(watch.past[played.run.id], look, start_time(played.run))
    verdict = judge(look, memory, promised=True, limits=StallLimits())
    assert verdict.activity is Activity.UNKNOWN


def test_a_pid_that_is_anothers_by_now_is_not_taken_for_it(house: House, watch: Watch) -> None:
    played = started(house, "tell()\nsleep()")
    assert played.run.process
    now = played.run.process
    earlier = now._replace(start=now.start - 1, inode=now.inode and now.inode - 1)
    [vital] = vitals([played.run._replace(process=earlier, keeper=None)], {}).values()
    assert (vital.alive, vital.cpu) == (False, None)


def test_two_hundred_runs_in_one_call(house: House, watch: Watch) -> None:
    """Cheap processes; each is seen as itself."""
    pids = [os.posix_spawn("/bin/sleep", ["sleep", "60"], {}) for _ in range(200)]
    try:
        place = started(house, "tell()\nsleep()").run
        runs = [
            place._replace(id=f"r{pid}", process=identity_of(house, pid), keeper=None)
            for pid in pids
        ]
        os.kill(pids[7], signal.SIGSTOP)
        eventually(lambda: state_letter(pids[7]) == "T")
        seen = watch.collect(runs, {})
        assert len(seen) == 200
        assert {run for run, look in seen.items() if look.state == "T"} == {f"r{pids[7]}"}
        assert all(look.alive and look.cpu is not None for look in seen.values())
    finally:
        end(*pids)


# -- heartbeats --------------------------------------------------------------------------------


def test_a_touch_is_a_beat_and_another_touch_another(house: House, watch: Watch) -> None:
    played = started(house, "tell()\nsleep()")
    heart = rundir(house, played) / "heartbeat"
    assert watch.one(played).beat is None
    heart.touch()
    first = watch.one(played).beat
    assert first
    assert first.wall
    watch.look(60)
    beat = watch.memory(played).beat
    assert beat
    assert beat.quiet >= 60
    os.utime(heart, (first.wall + 1, first.wall + 1))
    watch.look(60)
    beat = watch.memory(played).beat
    assert beat
    assert beat.quiet == 0


@pytest.mark.parametrize("what", ["directory", "link", "fifo"])
def test_what_is_no_file_is_no_heartbeat(house: House, watch: Watch, what: str) -> None:
    played = started(house, "tell()\nsleep()")
    heart = rundir(house, played) / "heartbeat"
    if what == "directory":
        heart.mkdir()
    elif what == "fifo":
        os.mkfifo(heart)
    else:
        (house.root / "elsewhere").touch()
        heart.symlink_to(house.root / "elsewhere")
    look = watch.one(played)
    assert look.beat is None
    assert ["not believed" in odd for odd in look.odd] == [True]


def test_a_heartbeat_in_the_future_counts_only_when_it_changes(house: House, watch: Watch) -> None:
    played = started(house, "tell()\nsleep()")
    heart = rundir(house, played) / "heartbeat"
    heart.touch()
    ahead = heart.stat().st_mtime + 3600
    os.utime(heart, (ahead, ahead))
    look = watch.one(played)
    assert look.beat
    assert look.beat.wall == 0
    assert any("future" in odd for odd in look.odd)
    watch.look(200)
    beat = watch.memory(played).beat
    assert beat
    assert beat.quiet >= 200
    os.utime(heart, (ahead + 1, ahead + 1))
    watch.look(15)
    beat = watch.memory(played).beat
    assert beat
    assert beat.quiet == 0


def test_a_heartbeat_of_long_ago_ages_nobody_at_first_sight(house: House, watch: Watch) -> None:
    played = started(house, "tell()\nsleep()")
    heart = rundir(house, played) / "heartbeat"
    heart.touch()
    os.utime(heart, (1, 1))
    look = watch.one(played)
    assert any("before its start" in odd for odd in look.odd)
    beat = watch.memory(played).beat
    assert beat
    assert beat.quiet == 0


def test_a_beat_in_the_store_counts_and_its_echo_does_not(house: House, watch: Watch) -> None:
    played = started(house, "tell()\nsleep()")
    store = watch.world.store
    heart = rundir(house, played) / "heartbeat"
    heart.touch()
    first = watch.one(played).beat
    assert first
    store.watch.remember(
        {}, {played.run.id: watch.world.moment(first.wall)}
    )  # what the watch took in
    watch.look(30)
    beat = watch.memory(played).beat
    assert beat
    assert beat.quiet >= 30
    store.watch.remember({}, {played.run.id: watch.world.moment(first.wall + 25)})  # somebody's SQL
    watch.look(1)
    beat = watch.memory(played).beat
    assert beat
    assert beat.quiet == 0


# -- logs and panes ----------------------------------------------------------------------------


def test_a_log_that_grows_is_output(house: House, watch: Watch) -> None:
    played = started(house, "print('one', flush=True)\ntell()\nsleep()")
    first = watch.one(played).output
    assert first
    assert watch.one(played).output == first
    with open(played.run.place.log, "a") as log:
        log.write("two\n")
    assert watch.one(played).output != first


DRAWS = """
import itertools, threading
tell()
start = time.time()
while not os.path.exists(os.environ["KNELL_READY"] + ".go"):
    for glyph in "⠋⠙⠹·✢✳✶✻✽":
        word = "Quantumizing" if int(time.time() * 5) % 2 else "Herding"
        seconds, tokens = int((time.time() - start) * 60), int(time.time() * 1000) % 90000
        took = f"{seconds // 60}m {seconds % 60}s · ↓ {tokens / 1000:.1f}k tokens"
        sys.stdout.write(f"\\r{glyph} {word}… ({took})\\x1b[K")
        sys.stdout.flush()
        time.sleep(0.02)
time.sleep(1.1)  # tmux tells activity in whole seconds, and the clock that looks is wound
print("\\nall tests pass", flush=True)
sleep()
"""


def test_a_pane_that_only_blinks_is_still(house: House, watch: Watch) -> None:
    played = in_tmux(house, DRAWS)
    eventually(lambda: "tokens" in house.tmux("capture-pane", "-p", "-t", "test:"))
    first = house.tmux("capture-pane", "-p", "-t", "test:")
    watch.look()
    for _ in range(6):
        pause(0.05)
        watch.look(showing.AGAIN + 1)
    assert house.tmux("capture-pane", "-p", "-t", "test:") != first
    output = watch.memory(played).output
    assert output
    assert output.quiet > 6 * showing.AGAIN
    Path(f"{next(house.root.glob('*.told'))}.go").touch()
    eventually(lambda: "all tests pass" in house.tmux("capture-pane", "-p", "-t", "test:"))
    watch.look(showing.AGAIN + 1)
    output = watch.memory(played).output
    assert output
    assert output.quiet == 0


def test_the_screen_of_one_who_beats_is_not_read(house: House, watch: Watch) -> None:
    """And what was not looked at does not age."""
    played = in_tmux(house, "print('Continue? [y/N]', flush=True)\ntell()\nsleep()")
    heart = rundir(house, played) / "heartbeat"
    heart.touch()
    watch.look()
    later = heart.stat().st_mtime + 1
    os.utime(heart, (later, later))
    look = watch.one(played, 60)
    assert (look.output, look.unseen, look.asks) == (None, ("output",), "")
    assert watch.one(played, looks.CALM / 2).unseen == ("output",)
    look = watch.one(played, looks.CALM)
    assert look.asks == "Continue? [y/N]"
    memory = watch.memory(played)
    verdict = judge(look, memory, promised=True, limits=StallLimits())
    assert verdict.activity is Activity.WAITING


def test_a_frozen_tmux_server_ages_nobody(house: House, watch: Watch) -> None:
    frozen = in_tmux(house, "tell()\nsleep()")
    other = started(house, "tell()\nsleep()", name="other")
    watch.look()
    before = watch.memory(frozen).output
    server = frozen.run.place.server_pid
    os.kill(server, signal.SIGSTOP)
    try:
        seen = watch.look(1000)
    finally:
        os.kill(server, signal.SIGCONT)
    look = seen[frozen.run.id]
    assert look.unseen == ("output",)
    assert any("did not answer" in odd for odd in look.odd)
    assert watch.memory(frozen).output == before
    assert seen[other.run.id].odd == ()
    verdict = judge(look, watch.memory(frozen), promised=True, limits=StallLimits())
    assert verdict.activity is not Activity.STALLED


def test_a_closed_pane_is_said_and_the_agent_is_judged_by_the_rest(
    house: House, watch: Watch
) -> None:
    played = in_tmux(house, "signal.signal(1, signal.SIG_IGN)\ntell()\nsleep()")
    gone = played.run._replace(place=played.run.place._replace(pane="%999"))
    look = watch.collect([gone], {})[gone.id]
    assert look.alive
    assert look.output is None
    assert look.odd == ("its tmux pane %999 is gone",)


# -- where a run began -------------------------------------------------------------------------


def test_the_start_is_known_by_both_clocks(house: House, watch: Watch) -> None:
    played = started(house, "tell()\nsleep()")
    born, now = start_time(played.run), watch.world.clock()
    assert abs((now.wall - now.up) - (born.wall - born.up)) < 5


def test_of_an_adopted_run_no_first_age_is_believed(house: House, watch: Watch) -> None:
    played = adopted(house, "tell()\nsleep()")
    assert start_time(played.run) == StartTime(0.0, 0.0)
    heart = rundir(house, played) / "heartbeat"
    heart.parent.mkdir(parents=True, exist_ok=True)
    heart.touch()
    ago = heart.stat().st_mtime - 5000
    os.utime(heart, (ago, ago))
    watch.look()
    beat = watch.memory(played).beat
    assert beat
    assert beat.quiet == 0
    house.kill("luna")


# -- conversations -----------------------------------------------------------------------------

PLAYS_CLAUDE = """#!/bin/sh
[ -z "$SHOWS" ] || cat "$SHOWS"
exec sleep 90
"""
CONVERSATION = "00000000-0000-4000-8000-000000000001"


class Claude:
    """A stand-in that shows what it is given, and the files that a claude would write."""

    def __init__(self, house: House, place: str, shows: str = "") -> None:
        self.house = house
        program = house.root / "bin/claude"
        program.parent.mkdir()
        program.write_text(PLAYS_CLAUDE)
        program.chmod(0o755)
        screen = house.root / "screen"
        screen.write_text(shows)
        house.env["PATH"] = f"{program.parent}:{house.env['PATH']}"
        spawned = house.knell.spawn(
            "claude",
            args=("--session-id", CONVERSATION),
            name="luna",
            cwd=str(house.root),
            place=place,
            env={"SHOWS": str(screen), "PATH": house.env["PATH"]},
            server="test" if place == "tmux" else "",
        )
        self.run = spawned.run
        if shows:
            last = shows.rsplit(maxsplit=1)[-1]
            eventually(lambda: last in house.knell.world.place(place).screen(self.run.place))
        self.folder = house.home / ".claude/projects" / cwd_key(os.path.realpath(house.root))
        self.file = self.folder / f"{CONVERSATION}.jsonl"
        self.folder.mkdir(parents=True)

    def write(self, at: str = "2999-01-01T00:00:00.000Z", **record: object) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps({"timestamp": at, **record}) + "\n")

    def call(self, **more: str) -> None:
        tool = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
        message = {"id": "m1", "content": [tool], "stop_reason": "tool_use"}
        self.write(type="assistant", message=message, **more)

    def prompt(self, **more: str) -> None:
        self.write(type="user", message={"role": "user", "content": "go on"}, **more)


def test_a_conversation_is_found_read_and_seen_to_grow(house: House, watch: Watch) -> None:
    claude = Claude(house, "headless")
    assert watch.look()[claude.run.id].conversation is None
    claude.prompt()
    look = watch.look(reading.AGAIN)[claude.run.id]
    assert look.conversation
    assert look.turn is Turn.OPEN
    watch.look(50)
    claude.call()
    look = watch.look(50)[claude.run.id]
    assert look.turn is Turn.TOOL
    grown = watch.past[claude.run.id].conversation
    assert grown
    assert grown.quiet == 0
    claude.write(type="system", subtype="turn_duration")
    claude.prompt()
    claude.write(type="system", subtype="turn_duration")
    assert watch.look(50)[claude.run.id].turn is Turn.DONE


def test_what_a_subagent_writes_is_growth(house: House, watch: Watch) -> None:
    claude = Claude(house, "headless")
    claude.call()
    first = watch.look()[claude.run.id].conversation
    below = claude.folder / CONVERSATION / "subagents"
    below.mkdir(parents=True)
    (below / "agent-1.jsonl").write_text("{}\n")
    assert watch.look()[claude.run.id].conversation != first


def test_a_turn_that_an_earlier_run_left_open_is_not_open(house: House, watch: Watch) -> None:
    claude = Claude(house, "headless")
    claude.call(at="2020-01-01T00:00:00.000Z")
    assert watch.look()[claude.run.id].turn is Turn.UNKNOWN


PROMPT = "─" * 40 + "\n❯\u00a0\n" + "─" * 40 + "\n"  # noqa: RUF001 - the sign itself
RUNNING = "● Bash(make)\n  ⎿  Running… (3s)\n\n" + PROMPT + "  esc to interrupt · ← for agents"
RESTING = "● Bash(make)\n  ⎿  Done\n\n" + PROMPT + "  ? for shortcuts · ← for agents"
ASKING = "● Bash(make)\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"  # noqa: RUF001


@pytest.mark.parametrize(
    ("screen", "turn", "asks"),
    [
        (RUNNING, Turn.TOOL, ""),
        (RESTING, Turn.UNKNOWN, ""),
        (ASKING, Turn.TOOL, "Do you want to proceed?"),
    ],
    ids=["running", "resting", "asking"],
)
def test_a_tool_that_runs_is_seen_to(
    house: House, watch: Watch, screen: str, turn: Turn, asks: str
) -> None:
    claude = Claude(house, "tmux", screen)
    claude.call()
    look = watch.look()[claude.run.id]
    assert (look.turn, look.asks) == (turn, asks)


@pytest.mark.parametrize(("torn", "changed"), [(1, False), (2, True)])
def test_R6_a_program_that_is_caught_while_it_draws_says_nothing_new(
    house: House, watch: Watch, torn: int, changed: object
) -> None:
    """What is still so a moment later has changed."""
    claude = Claude(house, "tmux", RUNNING)
    claude.call()
    watch.look()
    watch.world.tmux = TornTmux(house.env)
    watch.world.tmux.torn = torn
    watch.look(showing.AGAIN + 60)
    output = watch.past[claude.run.id].output
    assert output
    assert output.changed is changed


def test_a_call_behind_a_screen_that_nobody_can_read_may_be_a_question(
    house: House, watch: Watch
) -> None:
    claude = Claude(house, "headless")
    claude.call()
    elsewhere = claude.run._replace(place=Place("terminal"))
    assert watch.collect([elsewhere], {})[elsewhere.id].turn is Turn.UNKNOWN


class Codex:
    """A stand-in that holds its conversation open, if it is to, and the file itself."""

    def __init__(self, house: House, name: str, conversation: str, *, holds: bool = True) -> None:
        program = house.root / "bin/codex"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            '#!/bin/sh\nexec 9>>"$ROLLOUT"\n[ "$HOLDS" ] || exec 9>&-\nexec sleep 90\n'
        )
        program.chmod(0o755)
        folder = house.home / ".codex/sessions/2026/11/15"
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"rollout-2026-11-15T22-54-28-{conversation}.jsonl"
        self.cwd = os.path.realpath(house.root)
        house.env["PATH"] = path = f"{program.parent}:{house.env['PATH']}"
        env = {"ROLLOUT": str(self.file), "HOLDS": "yes" * holds, "PATH": path}
        spawned = house.knell.spawn("codex", name=name, cwd=self.cwd, place="headless", env=env)
        self.run = spawned.run
        eventually(lambda: told(number(self.run.process)).startswith("sleep"))
        self.write("session_meta", cwd=self.cwd)

    def write(self, what: str, **payload: str) -> None:
        record = {"timestamp": "2999-01-01T00:00:00Z", "type": what, "payload": payload}
        with self.file.open("a") as file:
            file.write(json.dumps(record) + "\n")


@pytest.mark.parametrize(("holds", "turn"), [(True, Turn.OPEN), (False, Turn.UNKNOWN)])
def test_R6_a_file_that_was_only_found_is_its_own_if_it_holds_it(
    house: House, watch: Watch, *, holds: bool, turn: Turn
) -> None:
    """A codex cannot be told its id; the newest file of a directory may be a neighbour's. What a
    neighbour writes is then no sign of life."""
    codex = Codex(house, "luna", CONVERSATION, holds=holds)
    codex.write("event_msg", type="task_started")
    look = watch.look()[codex.run.id]
    assert bool(look.conversation) is holds
    assert look.turn is turn


def test_R6_of_two_codexes_in_one_directory_each_is_judged_by_its_own(
    house: House, watch: Watch
) -> None:
    hung = Codex(house, "hung", CONVERSATION)
    busy = Codex(house, "busy", CONVERSATION.replace("0", "1"))
    hung.write("event_msg", type="task_started")
    looks = watch.look()
    for _ in range(3):
        busy.write("event_msg", type="task_started")
        busy.write("event_msg", type="task_complete")
        looks = watch.look(60)
    assert [looks[one.run.id].turn for one in (hung, busy)] == [Turn.OPEN, Turn.DONE]
    quiet = [watch.past[one.run.id].conversation for one in (hung, busy)]
    assert [one and one.quiet >= 180 for one in quiet] == [True, False]
