"""P28, P29: a boot that another file tells, and a look for which the kernel gives no means, end
nobody in another PID namespace."""

import json
import subprocess
import sys
import textwrap

import pytest

import several
from house import House, alive, eventually
from knell.core.process import Gone, Unknown
from knell.processes.os import linux, linux_facts, proc
from scenes import DEAF, started
from watchers import runs

ROOM = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child")
BOOT = "/proc/sys/kernel/random/boot_id"
FALSE = {
    "a file": f"mount --bind boot {BOOT}",
    "the kernel's source of ids": f"mount --bind /proc/sys/kernel/random/uuid {BOOT}",
    "a file system": f"mount -t tmpfs none {BOOT.removesuffix('/boot_id')} && cp boot {BOOT}",
}
LOOKS = (
    ("list",),
    ("show", "luna"),
    ("watch", "--once"),
    ("kill", "luna", "--yes", "--grace", "0"),
    ("kill", "all", "--yes", "--grace", "0"),
)


def inside(house: House, mount: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """A command in a PID namespace in which another file tells the boot."""
    script = f'{mount} || exit 99; exec "$@"'
    done = subprocess.run(
        [*ROOM, "--mount-proc", "sh", "-c", script, "sh", *argv],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if done.returncode == 99 or done.stderr.startswith("unshare:"):
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    return done


@pytest.fixture(autouse=True)
def boot(house: House) -> None:
    (house.root / "boot").write_text("11111111-2222-3333-4444-555555555555\n")


@pytest.mark.parametrize("layer", ["", "portable"])
@pytest.mark.parametrize("mount", FALSE.values(), ids=FALSE)
def test_P28_a_false_boot_in_another_namespace_ends_nobody(
    house: House, mount: str, layer: str
) -> None:
    house.env["KNELL_PROCESSES"] = layer
    luna = started(house, DEAF, restart=3)
    if not luna.run.process or not luna.run.process.boot.endswith(f"/{proc.FIRST_PID_NAMESPACE}"):
        pytest.skip("only of the first PID namespace it is known that it is around all others")
    out = house.root / "ends"
    whole = inside(house, mount, *several.argv(out, LOOKS))
    assert whole.returncode == 0, whole
    for done in several.ends(out):
        assert "Traceback" not in done.stderr, done
    assert alive(luna.pid)
    told = inside(house, mount, sys.executable, "-m", "knell", "list", "--json")
    (view,) = json.loads(told.stdout)["agents"]
    assert "another PID namespace" in view["note"]
    house.run("watch", "--once")
    assert [run.id for run in runs(house)] == [luna.run.id]


@pytest.mark.parametrize("mount", ["true", *FALSE.values()], ids=["nothing", *FALSE])
def test_P28_it_is_known_whether_the_kernel_tells_the_boot(house: House, mount: str) -> None:
    source = "from knell.processes.os.linux_facts import is_boot_told; print(is_boot_told())"
    done = inside(house, mount, sys.executable, "-c", source)
    assert done.stdout.strip() == str(mount == "true"), done


def test_P28_where_the_kernel_tells_it_another_boot_is_the_past(house: House) -> None:
    """Unless a process of its number and start is there: the id on record may be the false one."""
    luna = started(house, DEAF)
    if not linux_facts.is_boot_told():
        pytest.skip("another file tells the boot of this machine")
    assert luna.run.process
    before = luna.run.process._replace(boot=f"before/{proc.FIRST_PID_NAMESPACE}")
    assert linux.look(before) == Unknown(linux_facts.TWO_BOOTS)
    assert linux.look(before._replace(start=before.start - 1)) == Gone("rebooted")


def test_P28_a_false_boot_around_a_namespace_ends_nobody_in_it(house: House) -> None:
    spawn = f"{sys.executable} -m knell spawn --in headless --name luna -- sleep 99"
    script = f"{spawn} && echo up > up && exec sleep 99"
    room = house.process(*ROOM, "--mount-proc", "sh", "-c", script)
    eventually((house.root / "up").exists)
    listed = f'mount --bind boot {BOOT} || exit 99; exec "$@"'
    argv = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", listed, "sh")
    done = subprocess.run(
        [*argv, sys.executable, "-m", "knell", "list", "--json"],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    (view,) = json.loads(done.stdout)["agents"]
    assert (view["state"], view["note_code"]) == ("running", "could_not_look"), view
    room.kill()
    room.wait()


# -- no pidfd to be had ----------------------------------------------------------------------------

# After one look, the kernel refuses every further pidfd with the error that is given.
REFUSES = """
import ctypes, struct, sys
from knell.core.process import ProcessId
from knell.processes.os import linux
pid, start, boot, inode, number = sys.argv[1:]
process = ProcessId(int(pid), int(start), boot, int(inode))
print(type(linux.look(process)).__name__)
def step(code, yes, no, value):
    return struct.pack("HBBI", code, yes, no, value)
load, refuse, allow = step(0x20, 0, 0, 0), 0x50000 | int(number), 0x7FFF0000
program = load + step(0x15, 0, 1, 434) + step(6, 0, 0, refuse) + step(6, 0, 0, allow)
held = ctypes.create_string_buffer(program, len(program))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("at", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
asked = ctypes.byref(Filter(4, ctypes.addressof(held)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, asked, 0, 0):
    sys.exit(99)
print(type(linux.look(process)).__name__)
"""


@pytest.mark.parametrize("number", [1, 12, 23, 24], ids=["EPERM", "ENOMEM", "ENFILE", "EMFILE"])
def test_P29_a_look_without_means_is_not_gone(house: House, number: int) -> None:
    """From around its namespace, where what is not found counts as gone."""
    spawn = f"{sys.executable} -m knell spawn --in headless --name luna -- sleep 99"
    script = f"{spawn} && echo up > up && exec sleep 99"
    room = house.process(*ROOM, "--mount-proc", "sh", "-c", script)
    eventually((house.root / "up").exists)
    (luna,) = runs(house)
    assert luna.keeper
    words = [str(part) for part in (*luna.keeper, number)]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(REFUSES), *words],
        env=house.env, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    room.kill()
    room.wait()
    if done.returncode == 99:
        pytest.skip("no filter of system calls can be set here")
    assert done.stdout.split() == ["Alive", "Unknown"], done
