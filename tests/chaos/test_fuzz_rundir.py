"""Fuzzing the run directory: whatever an agent writes where its keeper writes."""

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaos.conftest import is_long
from chaos.fuzzing import Shell, fuzzed, json_values, shell_in
from chaos.report import Tally
from house import House, alive, eventually
from keepers import kept
from knell.core.ports.keepers import Journal
from knell.core.process import ProcessId
from knell.core.receipt import Proof, Receipt, Result
from knell.kinds import kind
from knell.life.base.conversation import is_whole
from knell.processes.journal import read_journal
from knell.wiring import RealWorld
from scenes import SLEEPS, started

pytestmark = pytest.mark.stress

FILES = ("journal", "end", "end.new", "heartbeat", "receipt.json", "record.json", "screen",
         "session-start", "environment", "launch", "ready", "output.log")  # fmt: skip
JOURNAL_WORDS = ["keeper", "born", "failed", "cause", "exit", "rung", "found", "reaped", "kept",
                 "stuck", "left", "saw", "usage", "ended", "journal", "init", "", "ENDED"
]  # fmt: skip
FIELDS = ["0", "-1", "1", "12", "4194304", "2147483648", "9223372036854775808", "9" * 400, "nan",
          "inf", "-inf", "1e999", "1_0", "٣", "", "boot", "signal", "exit", "echild", "kept: x",
          "S", "/sys/fs/cgroup", "\udcff", "\x00"
]  # fmt: skip


def journal_lines() -> st.SearchStrategy[bytes]:
    line = st.tuples(
        st.sampled_from(JOURNAL_WORDS), st.lists(st.sampled_from(FIELDS), max_size=7)
    ).map(lambda one: os.fsencode("\t".join((one[0], *one[1]))))
    return st.lists(st.one_of(line, st.binary(max_size=30)), max_size=8).map(b"\n".join)


# -- the journal alone -----------------------------------------------------------------------------


def check_plausible(journal: Journal) -> None:
    """Every number can be a pid, a time or a count, and goes into the store and into JSON."""
    for process in (journal.keeper, journal.process, *journal.kept_ids):
        assert process is None or _is_process(process), journal
    numbers = (journal.exit_code, journal.exit_signal, journal.max_rss_kb, journal.run_rss_kb)
    assert all(one is None or 0 <= one < 2**63 for one in numbers), journal
    times = (journal.began, journal.cpu_seconds or 0.0, journal.run_cpu_seconds or 0.0)
    assert all(-1e300 < one < 1e300 for one in times), journal
    assert all(0 <= rung.at_ms < 2**63 for rung in journal.rungs), journal


def _is_process(process: ProcessId) -> bool:
    return 0 <= process.pid < 2**31 and 0 <= process.start < 2**63 and 0 <= process.inode < 2**63


@fuzzed(300)
@given(text=journal_lines())
@example(text=b"cause\tasked\tnan\n")
@example(text=b"exit\tsignal\t9223372036854775808\t1\t0.1\n")
@example(text=b"exit\texit\t0\t1\tinf\n")
@example(text=b"keeper\t2147483648\t1\tboot\t0\n")
@example(text=b"born\t-1\t1\tboot\t0\t\n")
def test_a_journal_says_nothing_impossible(text: bytes) -> None:
    """Whatever stands in a keeper's journal, no number is believed that cannot be"""
    with tempfile.TemporaryDirectory() as rundir:
        Path(rundir, "journal").write_bytes(text + b"\n")
        check_plausible(read_journal(rundir))


# -- a receipt that was left -----------------------------------------------------------------------


@fuzzed(60)
@given(data=st.data())
def test_a_left_receipt_is_whole_or_nothing(data: st.DataObject) -> None:
    """A receipt that was left in the run directory is believed as a whole or not at all"""
    import json

    whole = Receipt("luna", "r1", "command", "headless", "x", "", "killed", Result.ENDED, 5, "", "",
                    1,
                    Proof.PROVEN).to_json()  # fmt: skip
    for key in data.draw(st.lists(st.sampled_from(sorted(whole)), max_size=3)):
        whole[key] = data.draw(json_values())
    text = json.dumps(whole).encode()
    if data.draw(st.integers(0, 4)) == 0:
        text = data.draw(st.binary(max_size=40)) or text[: len(text) // 2]
    with tempfile.TemporaryDirectory() as home:
        world = RealWorld({"HOME": home}, home)
        folder = Path(world.rundir("r1"))
        folder.mkdir(parents=True)
        (folder / "receipt.json").write_bytes(text)
        receipt = world.left_receipt("r1")
    assert receipt is None or (receipt.run == "r1" and isinstance(receipt.agent, str))
    if receipt:
        json.dumps(receipt.to_json(), allow_nan=True)


# -- a conversation --------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000, b"\xff", b"{"])
def test_a_senseless_conversation_is_not_whole(tmp_path: Path, line: bytes) -> None:
    """A conversation whose last record nobody can read is told as torn, and stops no ending"""
    path = tmp_path / "conversation.jsonl"
    path.write_bytes(b"{}\n" + line + b"\n")
    assert is_whole(RealWorld({"HOME": str(tmp_path)}), kind("claude"), str(path)) is False


# -- with real agents ------------------------------------------------------------------------------


@pytest.fixture
def shell(house: House) -> Iterator[Shell]:
    with shell_in(house) as one:
        yield one


def a_directory(path: Path, _: random.Random) -> None:
    path.mkdir()
    (path / "inside").touch()


def a_fifo(path: Path, _: random.Random) -> None:
    os.mkfifo(path)


def a_link_to_itself(path: Path, _: random.Random) -> None:
    path.symlink_to(path)


def a_link_to_treasure(path: Path, _: random.Random) -> None:
    path.symlink_to(path.parents[3] / "treasure")


def an_endless_device(path: Path, _: random.Random) -> None:
    path.symlink_to("/dev/zero")


def random_bytes(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(300))


def hostile_lines(path: Path, chance: random.Random) -> None:
    lines = [
        "\t".join([chance.choice(JOURNAL_WORDS), *chance.choices(FIELDS, k=chance.randrange(7))])
        for _ in range(12)
    ]
    path.write_bytes(os.fsencode("\n".join(lines) + "\n"))


def a_huge_number(path: Path, _: random.Random) -> None:
    path.write_text("9" * 5000)


def a_hole(path: Path, _: random.Random) -> None:
    """A file of one terabyte that takes no room."""
    with path.open("wb") as file:
        file.truncate(1 << 40)


Vandal = Callable[[Path, random.Random], None]
VANDALS: tuple[Vandal, ...] = (
    a_directory, a_fifo, a_link_to_itself, a_link_to_treasure, an_endless_device, random_bytes,
    hostile_lines, a_huge_number, a_hole,
)  # fmt: skip
each_vandal = pytest.mark.parametrize("vandal", VANDALS, ids=lambda one: one.__name__)


def vandalised(path: Path, vandal: Vandal, chance: random.Random) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    vandal(path, chance)


LOOKS = (("list",), ("status",), ("show", "luna"), ("tree", "luna"), ("explain", "luna"),
         ("doctor",), ("watch", "--once"), ("beat", "luna"))  # fmt: skip


@each_vandal
def test_a_vandalised_run_directory_saves_nobody(
    house: House, shell: Shell, chance: random.Random, vandal: Vandal, tally: Tally
) -> None:
    """An agent that spoils its own run directory is seen, ended and recorded all the same"""
    treasure = house.root / "treasure"
    treasure.write_text("treasure")
    spoilt = FILES if is_long() else ("journal", "end.new", *chance.sample(FILES, 3))
    for name in dict.fromkeys(spoilt):
        luna = started(house, SLEEPS)
        vandalised(house.state / "runs" / luna.run.id / name, vandal, chance)
        for look in chance.sample(LOOKS, 4 if is_long() else 2):
            shell.run(*look, "--json").check_json()
        assert alive(luna.pid), f"{name}: only looked at, and gone"
        killed = shell.run("kill", "--grace", "0.3", "--json", "luna")
        assert killed.check_json()["ok"], (name, killed)
        eventually(lambda pids=(luna.pid, luna.keeper): not any(map(alive, pids)))
        assert shell.run("receipt", "luna", "--json").check_json()["run"] == luna.run.id
        assert shell.run("list", "--json").check_json()["agents"] == []
        assert treasure.read_text() == "treasure", name
        tally.broke("run directory vandalised")


@each_vandal
def test_a_vandalised_directory_of_an_end_that_nobody_saw(
    house: House, shell: Shell, chance: random.Random, vandal: Vandal, tally: Tally
) -> None:
    """A run that ended while nobody looked is recorded, whatever its run directory has become"""
    for name in ("journal", "receipt.json", *chance.sample(FILES, 4 if is_long() else 0)):
        luna = started(house, SLEEPS)
        folder = house.state / "runs" / luna.run.id
        os.kill(luna.keeper, 15)
        eventually(lambda pids=(luna.pid, luna.keeper): not any(map(alive, pids)))
        vandalised(folder / name, vandal, chance)
        agents = shell.run("list", "--json").check_json()["agents"]
        assert agents == [], (name, agents)
        shell.run("receipt", "luna", "--json").check_json()
        shell.run("watch", "--once", "--json").check_json()
        tally.broke("run directory vandalised")


# -- the keeper itself -----------------------------------------------------------------------------

GRACES = ["", "nan", "inf", "-inf", "-5", "1e999", "9" * 400, "soon", "\0", "0x1", "1 1"]


@pytest.mark.parametrize("grace", GRACES)
def test_a_keeper_is_not_put_off_by_a_senseless_grace(house: House, grace: str) -> None:
    """A keeper that is told a senseless grace ends its run with its own"""
    run = kept(house, "signal.signal(15, signal.SIG_IGN)\nwait()")
    run.log.await_pid()
    Path(run.rundir, "end").write_text(grace)
    run.process.terminate()
    assert run.wait().proven


def test_a_keeper_does_not_wait_for_a_fifo(house: House) -> None:
    """A fifo where the keeper looks for the grace does not hold up the ending"""
    run = kept(house, "wait()")
    run.log.await_pid()
    os.mkfifo(Path(run.rundir, "end"))
    run.process.terminate()
    assert run.wait().proven
