"""Members that cannot be ended: the answer says so by name, and the next command finishes it."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chaos.conftest import is_long
from chaos.report import Tally
from house import House, alive, eventually
from knell.api.habits import OBEDIENT
from needs import skip_without
from scenes import Played, adopted, end, frozen, list_names, started, state_letter
from unprivileged import NOBODY, handed_over, unprivileged

HERE = Path(__file__).resolve().parent
Begin = Callable[..., Played]
CHILD = "pid = os.fork()\nif not pid:\n    {}\n    os._exit(0)\ntell(pid)\nsleep()"
both = pytest.mark.parametrize("begin", [started, adopted])


def only_survivor(told: dict[str, Any]) -> dict[str, Any]:
    [receipt] = told["receipts"]
    assert not told["ok"]
    assert (receipt["proof"], receipt["outcome"]) == ("survivors", "")
    [survivor] = receipt["survivors"]
    return survivor


def finished_by_one_more(house: House) -> None:
    """The run is over, by this command or by what was already on its way."""
    done = house.json("kill", "luna", "--force")
    [receipt] = done["receipts"]
    assert receipt["result"] in ("ended", "already_ended"), receipt
    assert receipt["outcome"] == "killed"
    assert list_names(house) == []


# -- state D ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def hung_mount(house: House) -> Iterator[tuple[str, int]]:
    """A directory that hangs whoever looks into it, and who holds it, in whose namespace it is."""
    skip_without("needs_root")
    if not os.access("/dev/fuse", os.W_OK):
        pytest.skip("no /dev/fuse to mount a file system with that hangs")
    folder = house.root / "hung"
    folder.mkdir()
    server = house.process(
        "unshare", "--mount", "--propagation", "private",
        sys.executable, "-I", "-S", str(HERE / "hung_fuse.py"), str(folder),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert server.stdout
    try:
        said = server.stdout.readline()
        if said != "up\n":
            pytest.skip(f"no FUSE here: {said.strip()}")
        yield str(folder), server.pid
    finally:
        server.kill()
        server.communicate()


INTO_THE_MOUNT = """
import ctypes
space = os.open("/proc/{holder}/ns/mnt", os.O_RDONLY)
assert ctypes.CDLL(None).setns(space, 0) == 0
os.close(space)
"""


@both
def test_member_in_state_D(house: House, begin: Begin, tally: Tally) -> None:
    """A member that hangs in a dead file system is named as a survivor, until it can be ended"""
    with hung_mount(house) as (folder, holder):
        body = INTO_THE_MOUNT.format(holder=holder) + CHILD.format(f"os.stat({folder!r} + '/x')")
        luna = begin(house, body)
        child = int(luna.told[0])
        eventually(lambda: state_letter(child) == "S")
        eventually(lambda: "fuse" in Path(f"/proc/{child}/stack").read_text())
        survivor = only_survivor(house.json("kill", "luna", "--grace", "0.3"))
        assert (survivor["pid"], survivor["state"]) == (child, "D")
        assert survivor["why"]
        assert state_letter(child) == "D"
        assert list_names(house) == ["luna"]
        if is_long():  # asked again, it says the same again
            assert house.run("kill", "luna", "--force").returncode == 3
    eventually(lambda: not alive(child))
    finished_by_one_more(house)
    tally.broke("a member in state D")


@both
def test_frozen_member(house: House, begin: Begin, tally: Tally) -> None:
    """A frozen member is named as a survivor, and ended by one more command after the thaw"""
    luna = begin(house, CHILD.format("time.sleep(90)"))
    child = int(luna.told[0])
    with frozen(child):
        survivor = only_survivor(house.json("kill", "luna", "--grace", "0.3"))
        assert survivor["pid"] == child
        assert not alive(luna.pid)
    eventually(lambda: not alive(child))
    finished_by_one_more(house)
    tally.broke("a frozen member")


@both
def test_member_that_waits_for_its_vfork(house: House, begin: Begin, tally: Tally) -> None:
    """State D alone is no survivor: a parent in vfork takes no TERM there, but it takes KILL"""
    waits = "import ctypes\n    ctypes.CDLL(None).vfork() or time.sleep(60)"
    luna = begin(house, CHILD.format(waits))
    child = int(luna.told[0])
    eventually(lambda: state_letter(child) == "D")
    [receipt] = house.json("kill", "luna", "--grace", "0.3")["receipts"]
    assert (receipt["result"], receipt["survivors"]) == ("ended", [])
    assert child in {process["pid"] for process in receipt["processes"]}
    assert not alive(child)
    tally.broke("a member that waits for its vfork")


@pytest.mark.needs_cgroup
def test_frozen_run(house: House, tally: Tally) -> None:
    """A run whose whole cgroup was frozen is ended, and proven gone, all the same"""
    luna = started(house, CHILD.format("time.sleep(90)"))
    leaf = Path(luna.run.cgroup)
    (leaf / "cgroup.freeze").write_text("1")
    eventually(lambda: "frozen 1" in (leaf / "cgroup.events").read_text())
    [receipt] = house.json("kill", "luna", "--grace", "0.3")["receipts"]
    assert (receipt["result"], receipt["proof"]) == ("ended", "proven")
    assert len(receipt["processes"]) == 2
    assert not leaf.exists()
    tally.broke("a frozen run")


# -- another user's --------------------------------------------------------------------------------


@pytest.fixture
def became_root(house: House) -> tuple[House, str]:
    """A house without rights over root's processes, and a program that makes a child root's."""
    skip_without("needs_root")
    shared = handed_over(house)
    helper = shared.root / "become-root"
    shutil.copy(shutil.which("setpriv") or "", helper)
    helper.chmod(0o4755)
    return shared, f"{helper} --reuid=0 --regid=0 --clear-groups sleep 90"


def denied_body(words: str) -> str:
    argv = words.split()
    return CHILD.format(f"os.execv({argv[0]!r}, {argv!r})")


def uid_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("\nUid:")[2].split()[0])


@pytest.mark.parametrize("how", ["kept", "adopted"])
def test_member_of_another_user(became_root: tuple[House, str], how: str, tally: Tally) -> None:
    """A member that became root's is named as denied, the rest is ended, nobody is forgotten"""
    house, words = became_root
    note = house.root / "told"
    source = OBEDIENT.removesuffix("sleep()") + TELL + denied_body(words)
    if how == "kept":
        argv = ("spawn", "--name", "luna", "--in", "headless", "--env", f"KNELL_READY={note}")
        done = unprivileged(house, *argv, "--", *house.script(source))
        assert done.returncode == 0, done.stderr
    else:
        argv = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        env = house.env | {"KNELL_READY": str(note)}
        pid = os.posix_spawnp("setpriv", [*argv, *house.script(source)], env)
        eventually(note.exists)
        assert unprivileged(house, "adopt", str(pid), "--name", "luna").returncode == 0
    eventually(note.exists)
    child = int(note.read_text())
    eventually(lambda: uid_of(child) == 0 and Path(f"/proc/{child}/comm").read_text() == "sleep\n")
    done = unprivileged(house, "kill", "luna", "--grace", "0.3")
    assert alive(child)
    assert done.returncode in (1, 3)
    assert str(child) in done.stderr
    assert "ermission denied" in done.stderr
    assert "Ended" not in done.stdout
    assert unprivileged(house, "list", "--names").stdout == "luna\n"
    end(child)
    done = unprivileged(house, "kill", "luna")
    assert done.returncode == 0, done
    assert unprivileged(house, "list", "--names").stdout == ""
    tally.broke("a member of another user")


TELL = """
def tell(pid):
    with open(os.environ["KNELL_READY"] + ".new", "w") as file:
        file.write(str(pid))
    os.rename(os.environ["KNELL_READY"] + ".new", os.environ["KNELL_READY"])

def ready():
    pass

"""
