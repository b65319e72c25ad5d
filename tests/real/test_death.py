"""Death certificates of real deaths: what it died of, who sent it, what it showed and left."""

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from house import House, alive, eventually
from keepers import kept
from knell.core.agent import Agent
from knell.core.kind import Helper, Kind
from knell.core.ports.ending_store import ClaimRequest
from knell.core.run import Ending, Outcome, Place, Run, State
from knell.processes.journal import read_journal
from needs import skip_without
from scenes import SLEEPS, Played, end, removed, started

IN_TMUX: dict[str, Any] = {"place": "tmux", "server": "test"}
MEGABYTES_64 = 64 << 20


def gone(house: House, played: Played) -> dict[str, Any]:
    """The receipt, once the keeper has gone; taken in by whoever asks first."""
    eventually(lambda: not alive(played.keeper))
    return house.json("receipt", "luna")


def certificate(house: House, *command: str) -> dict[str, Any]:
    house.run("run", "--name", "luna", "--", *command)
    return house.json("receipt", "luna")["death"]


# -- by itself -------------------------------------------------------------------------------------


def test_a_clean_exit(house: House) -> None:
    death = certificate(house, "true")
    assert (death["how"], death["exit_code"], death["signal"]) == ("clean exit", 0, "")
    assert (death["sent_by"], death["suspects"], death["left"]) == ("", [], [])
    assert death["sentence"].startswith("clean exit, after ")
    assert death["seconds"] >= 0
    assert death["max_rss_kb"] > 0
    assert death["run_max_rss_kb"] >= death["max_rss_kb"]
    assert death["run_cpu_seconds"] >= death["cpu_seconds"]


def test_an_exit_code_is_a_crash(house: House) -> None:
    death = certificate(house, "sh", "-c", "exit 3")
    assert (death["how"], death["exit_code"]) == ("crash", 3)
    assert death["sentence"].startswith("crash: exit code 3, after ")
    assert death["evidence"][0] == "its keeper saw exit code 3"


def test_a_fault_of_its_own(house: House) -> None:
    death = certificate(house, "sh", "-c", "kill -SEGV $$")
    assert (death["how"], death["signal"], death["exit_code"]) == ("crash", "SIGSEGV", None)
    assert death["sentence"].startswith("crash: SIGSEGV, after ")


def test_what_could_not_be_started(house: House) -> None:
    death = certificate(house, "no-such-program")
    assert death["how"] == "never started"
    assert "cannot start no-such-program: No such file" in death["sentence"]
    assert death["evidence"] == []


def test_what_was_written_down_and_never_seen(house: House) -> None:
    world = house.knell.world
    dead = world.processes.me()._replace(start=1, inode=0)
    place = Place("headless")
    run = Run(world.new_id(), "ghost", world.host, State.SPAWNING, place, world.now(), owner=dead)
    world.store.runs.add(Agent("ghost", "command", "/"), run)
    assert house.run("stop", "ghost").returncode == 0
    death = house.json("receipt", "ghost")["death"]
    assert death["sentence"] == "never started: no process of it is on record"


def test_what_the_children_used_is_counted_with_the_run(house: House) -> None:
    """Its child outlived it, so the agent never waited for it: only the keeper did."""
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    child = f"{sys.executable} -S -c {shlex.quote(burn)}"
    house.run(
        "run", "--name", "luna", "--grace", "20", "--", "sh", "-c", f"trap '' TERM; {child} &"
    )
    death = house.json("receipt", "luna")["death"]
    assert death["cpu_seconds"] < 0.3 <= death["run_cpu_seconds"]
    assert [left["ended_by"] for left in death["left"]] == ["exit 0"]


# -- by others -------------------------------------------------------------------------------------


def test_a_kill_by_a_stranger_is_not_ours_and_not_for_memory(house: House) -> None:
    luna = started(house, SLEEPS)
    os.kill(luna.pid, signal.SIGKILL)
    receipt = gone(house, luna)
    death = receipt["death"]
    assert (death["how"], death["signal"], death["sent_by"]) == (
        "signal",
        "SIGKILL",
        "not by knell",
    )
    assert death["evidence"][0] == "its keeper saw SIGKILL"
    assert any(told.startswith("/proc/vmstat: ") for told in death["evidence"])
    assert any(told.startswith("kernel log: ") for told in death["evidence"])
    assert receipt["proof"] == "proven"


def test_a_signal_to_the_keeper_is_a_strangers_too(house: House) -> None:
    luna = started(house, SLEEPS)
    os.kill(luna.keeper, signal.SIGTERM)
    death = gone(house, luna)["death"]
    assert (death["how"], death["sent_by"]) == ("signal", "not by knell")
    assert "to its keeper" in death["sentence"]


def test_killed_by_knell_says_for_whom_and_why(house: House) -> None:
    started(house, SLEEPS)
    assert house.run("kill", "--reason", "too slow", "luna").returncode == 0
    death = house.json("receipt", "luna")["death"]
    assert (death["how"], death["signal"]) == ("ended by knell", "SIGTERM")
    assert death["sent_by"] == "knell, for operator (killed: too slow)"
    assert death["suspects"] == []
    assert death["sentence"].startswith(
        "ended by knell: operator asked (killed: too slow), SIGTERM, after "
    )


def claimed_by_the_dead(house: House, played: Played) -> None:
    """Somebody set out to kill it and did not live to tell."""
    world = house.knell.world
    killer = world.processes.me()._replace(start=1, inode=0)
    ending = Ending(Outcome.KILLED, "operator", "killed")
    world.store.endings.claim([ClaimRequest(played.run.id, ending)], killer)


@pytest.mark.parametrize(("rung", "how"), [("kill", "ended by knell"), ("", "lost")])
def test_a_killer_that_died_with_everybody_gets_no_more_credit_than_its_rungs(
    house: House, rung: str, how: str
) -> None:
    luna = started(house, SLEEPS)
    claimed_by_the_dead(house, luna)
    if rung:
        house.knell.world.store.endings.record_rungs([(luna.run, rung)])
    end(luna.keeper)
    end(luna.pid)
    assert house.json("receipt", "luna")["death"]["how"] == how


def test_a_kill_whose_killer_died_is_still_ours(house: House) -> None:
    """The keeper finishes what was asked; whoever comes next writes it down."""
    luna = started(house, SLEEPS)
    claimed_by_the_dead(house, luna)
    house.knell.world.keepers.cancel(house.knell.world.rundir(luna.run.id))
    os.kill(luna.keeper, signal.SIGTERM)
    death = gone(house, luna)["death"]
    assert (death["how"], death["sent_by"]) == ("ended by knell", "knell, for operator (killed)")


def test_without_a_keeper_it_was_ended_by_us_all_the_same(house: House) -> None:
    luna = started(house, SLEEPS)
    end(luna.keeper)
    house.kill("luna")
    death = house.json("receipt", "luna")["death"]
    assert (death["how"], death["exit_code"], death["signal"]) == ("ended by knell", None, "")
    assert death["evidence"] == ["no process saw it exit"]


def test_a_pane_closed_by_hand(house: House) -> None:
    luna = started(house, SLEEPS, **IN_TMUX)
    house.tmux("kill-pane", "-t", luna.run.place.pane)
    receipt = gone(house, luna)
    death = receipt["death"]
    assert (death["how"], death["sent_by"]) == ("pane closed", "the terminal")
    assert death["evidence"][0] == "its keeper saw the terminal hang up"
    assert receipt["screen"] == ""


def test_ctrl_c(house: House) -> None:
    luna = started(house, "signal.signal(2, signal.SIG_DFL)\n" + SLEEPS, **IN_TMUX)
    house.tmux("send-keys", "-t", luna.run.place.pane, "C-c")
    death = gone(house, luna)["death"]
    assert (death["how"], death["signal"]) == ("signal", "SIGINT")
    assert "SIGINT: Ctrl-C in its terminal sends that" in death["suspects"]


def test_gone_with_its_keeper_is_lost(house: House) -> None:
    luna = started(house, SLEEPS)
    end(luna.keeper)
    end(luna.pid)
    death = house.json("receipt", "luna")["death"]
    assert (death["how"], death["sent_by"]) == ("lost", "unknown")
    assert death["evidence"] == ["no process saw it exit"]


def test_a_supervisor_of_the_vendor_is_suspected(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = house.root / f"vendor-{os.urandom(4).hex()}"
    program.write_text(f"#!{sys.executable} -S\nimport time\ntime.sleep(99)\n")
    program.chmod(0o755)
    helper = house.process(str(program), "serve")
    kind = Kind("command", helpers=(Helper(f"*{program.name} serve", (), "vendor stop"),))
    luna = started(house, SLEEPS)
    monkeypatch.setattr(house.knell.world.kinds, "kind_or_command", lambda _: kind)
    os.kill(luna.pid, signal.SIGTERM)
    eventually(lambda: not alive(luna.keeper))
    eventually(lambda: b"serve" in Path(f"/proc/{helper.pid}/cmdline").read_bytes())
    suspects = house.knell.receipt("luna").death.suspects
    helper.kill()
    helper.wait()
    told = f"a supervisor of the vendor is alive: *{program.name} serve (ended by: vendor stop)"
    assert told in suspects


# -- what it left ----------------------------------------------------------------------------------


def test_what_it_left_behind_is_named_with_how_it_was_swept(house: House) -> None:
    """Two go at TERM; the third is deaf and takes the KILL."""
    daemons = "child(SLEEP, session=True, orphan=True)\n" * 2
    deaf = "child(DEAF.replace('time.sleep', 'print(1, file=sys.stderr); time.sleep'), orphan=True)"
    body = f"{daemons}{deaf}\ntell()\nwhile not os.path.exists('go'): time.sleep(0.01)\nos._exit(0)"
    luna = started(house, body)
    log = Path(luna.run.place.log)
    eventually(lambda: "1" in log.read_text())  # it is deaf by now
    (house.root / "go").touch()
    receipt = gone(house, luna)
    death = receipt["death"]
    assert death["how"] == "clean exit"
    assert sorted(left["ended_by"] for left in death["left"]) == ["kill", "term", "term"]
    assert all("time.sleep" in left["command"] for left in death["left"])
    assert {left["pid"] for left in death["left"]} == {p["pid"] for p in receipt["processes"]}
    assert not any(alive(left["pid"]) for left in death["left"])
    shown = house.run("receipt", "luna").stdout
    assert "  left behind   3, swept by: " in shown


def test_whoever_was_killed_with_it_was_not_left(house: House) -> None:
    luna = started(house, "child(SLEEP)\n" + SLEEPS)
    house.kill("luna", force=True)
    assert house.json("receipt", "luna")["death"]["left"] == []
    assert read_journal(house.knell.world.rundir(luna.run.id)).left == ()


# -- its last screen -------------------------------------------------------------------------------

LAST_WORDS = "print('last words, API_KEY=abcdef123456', flush=True)\n"


@pytest.mark.parametrize("place", ["tmux", "headless"])
def test_the_last_screen_of_an_unasked_end_is_kept_without_its_secrets(
    house: House, place: str
) -> None:
    wish = IN_TMUX if place == "tmux" else {}
    luna = started(house, LAST_WORDS + SLEEPS, **wish)
    if place == "tmux":
        pane = ("capture-pane", "-p", "-t", luna.run.place.pane)
        eventually(lambda: "last words" in house.tmux(*pane))
    os.kill(luna.pid, signal.SIGKILL)
    receipt = gone(house, luna)
    assert "last words" in receipt["screen"]
    assert "abcdef123456" not in receipt["screen"]
    assert [p["command"] for p in receipt["processes"]] == []  # whoever looked is no member
    assert (receipt["proof"], receipt["survivors"]) == ("proven", [])
    assert not Path(house.knell.world.rundir(luna.run.id), "screen").exists()


def test_the_raw_screen_is_nobody_elses_to_read(house: House) -> None:
    luna = started(house, LAST_WORDS + SLEEPS, **IN_TMUX)
    os.kill(luna.pid, signal.SIGKILL)
    eventually(lambda: not alive(luna.keeper))
    screen = Path(house.knell.world.rundir(luna.run.id), "screen")
    assert screen.stat().st_mode & 0o777 == 0o600


def test_a_frozen_tmux_holds_up_no_end(house: House) -> None:
    luna = started(house, LAST_WORDS + SLEEPS, **IN_TMUX)
    os.kill(luna.run.place.server_pid, signal.SIGSTOP)
    try:
        os.kill(luna.pid, signal.SIGKILL)
        rundir = house.knell.world.rundir(luna.run.id)
        eventually(lambda: read_journal(rundir).ended)
        eventually(lambda: not alive(luna.keeper))
    finally:
        os.kill(luna.run.place.server_pid, signal.SIGCONT)
    receipt = gone(house, luna)
    assert (receipt["proof"], receipt["death"]["how"]) == ("proven", "signal")


def test_whoever_asks_meanwhile_does_not_wait_for_the_screen(house: House) -> None:
    """TERM while tmux hangs: the keeper gives up the screen, not the proof."""
    luna = started(house, LAST_WORDS + SLEEPS, **IN_TMUX)
    os.kill(luna.run.place.server_pid, signal.SIGSTOP)
    try:
        os.kill(luna.pid, signal.SIGKILL)
        rundir = house.knell.world.rundir(luna.run.id)
        eventually(lambda: read_journal(rundir).run_rss_kb is not None)
        os.kill(luna.keeper, signal.SIGTERM)
        eventually(lambda: not alive(luna.keeper))
    finally:
        os.kill(luna.run.place.server_pid, signal.SIGCONT)
    receipt = gone(house, luna)
    assert (receipt["proof"], receipt["death"]["signal"]) == ("proven", "SIGKILL")


def test_anothers_pane_is_not_taken_for_ours(house: House) -> None:
    """A terminal that was started from inside tmux passes on variables of a pane it is not in."""
    other = started(house, LAST_WORDS + SLEEPS, name="other", **IN_TMUX)
    place = other.run.place
    house.env |= {"TMUX": f"{place.server},{place.server_pid},0", "TMUX_PANE": place.pane}
    run = kept(house, "raise SystemExit(3)")
    del house.env["TMUX"], house.env["TMUX_PANE"]
    assert run.wait().exit_code == 3
    assert not Path(run.rundir, "screen").exists()


# -- out of memory ---------------------------------------------------------------------------------

HUNGRY = """
open(GROUP + "/cgroup.procs", "w").write("0")
hoard = [bytearray(b"x" * 1_000_000) for _ in range(256)]
"""


@contextlib.contextmanager
def little_memory() -> Iterator[str]:
    """A group of cgroup v1 below our own that may hold 64 MB; whoever enters is killed alone."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    place = [m[4] for m in mounts if m[-3] == "cgroup" and "memory" in m[-1].split(",")]
    own = [line.split(":") for line in Path("/proc/self/cgroup").read_text().splitlines()]
    path = [name for _, controllers, name in own if "memory" in controllers.split(",")]
    if not place or not path:
        pytest.skip("no memory controller of cgroup v1 to set a limit with")
    group = Path(place[0] + path[0].rstrip("/"), f"knell-test-{os.urandom(4).hex()}")
    try:
        group.mkdir()
    except OSError as error:
        skip_without("needs_root")
        pytest.skip(f"no memory limit can be set here: {error.strerror}")
    try:
        (group / "memory.limit_in_bytes").write_text(str(MEGABYTES_64))
        yield str(group)
    finally:
        eventually(lambda: removed(group))


def log_is_readable() -> bool:
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def test_killed_for_memory(house: House) -> None:
    with little_memory() as group:
        luna = started(house, "tell()\n" + HUNGRY.replace("GROUP", repr(group)))
        death = gone(house, luna)["death"]
    assert death["signal"] == "SIGKILL"
    assert any("oom_kill rose by" in told for told in death["evidence"])
    if log_is_readable():
        assert (death["how"], death["sent_by"]) == ("out of memory", "the kernel")
        assert f"Killed process {luna.pid} (" in death["sentence"]
    else:
        assert death["how"] == "signal"
        assert any("for memory" in told for told in death["suspects"])


def test_a_child_killed_for_memory_makes_a_suspect_not_a_verdict(house: House) -> None:
    """Its shell reports 137; the kernel names the child, and nobody saw whose child that was."""
    with little_memory() as group:
        hungry = shlex.join([sys.executable, "-S", "-c", HUNGRY.replace("GROUP", repr(group))])
        death = certificate(house, "sh", "-c", f"{hungry}; exit $?")
    assert (death["how"], death["exit_code"]) == ("signal", 137)
    assert "exit code 137, as after SIGKILL" in death["sentence"]
    assert any("killed something on this machine for memory" in told for told in death["suspects"])
