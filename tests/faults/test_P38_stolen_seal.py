"""P38: an agent gets neither its keeper's seal nor its keeper's leash; a seal that was stolen all
the same proves nothing while something of the run lives."""

import os
import shutil
import subprocess
import sys

import pytest

from house import House, alive, eventually
from knell.core.receipt import Proof
from scenes import DEAF, end, list_names, started

# Without the capabilities by which root may look at everybody.
PLAIN = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
THIEF = """
import ctypes, os, sys, time
keeper = os.getppid()
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
def tried(deed):
    try:
        return str(deed())
    except OSError as error:
        return type(error).__name__
def traced(request):
    if libc.ptrace(request, keeper, 0, 0):
        raise PermissionError(ctypes.get_errno())
    return "traced"
ways = {
    "mem": lambda: open(f"/proc/{keeper}/mem", "rb").close(),
    "environ": lambda: open(f"/proc/{keeper}/environ", "rb").close(),
    "fd": lambda: [os.readlink(f"/proc/{keeper}/fd/{n}") for n in range(9)],
    "attach": lambda: traced(16),
    "seize": lambda: traced(0x4206),
}
with open("tried.new", "w") as file:
    file.write("".join(f"{name} {tried(deed)}\\n" for name, deed in ways.items()))
os.rename("tried.new", "tried")
time.sleep(99)
"""


def test_P38_the_agent_can_neither_read_nor_trace_its_keeper(house: House) -> None:
    before = PLAIN if os.geteuid() == 0 else ()
    if before and not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    (house.root / "thief.py").write_text(THIEF)
    words = ("spawn", "--name", "luna", "--in", "headless", "--", sys.executable, "thief.py")
    done = subprocess.run(
        [*before, sys.executable, "-m", "knell", *words],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done
    eventually((house.root / "tried").exists)
    tried = dict(line.split(" ", 1) for line in (house.root / "tried").read_text().splitlines())
    assert tried == dict.fromkeys(("mem", "environ", "fd", "attach", "seize"), "PermissionError")
    killed = house.kill("luna", grace=1)[0].receipts[0]
    assert killed.proof is Proof.PROVEN


# The seal as an agent of root's reads it out of the keeper's memory, and what it makes of it.
FORGER = """
import re, base64, hashlib
keeper = os.getppid()
rundir = os.path.dirname(os.environ["KNELL_HEARTBEAT"])
def makes(word):
    digest = base64.urlsafe_b64encode(hashlib.sha256(word).digest())
    return digest.rstrip(b"=").decode() == os.environ["KNELL_TOKEN"]
def seal():
    with open(f"/proc/{keeper}/mem", "rb", 0) as memory, open(f"/proc/{keeper}/maps") as maps:
        for line in maps:
            if "[v" in line or not line.split()[1].startswith("rw"):
                continue
            first, last = (int(word, 16) for word in line.split()[0].split("-"))
            memory.seek(first)
            for word in re.findall(rb"[A-Za-z0-9_-]{43}", memory.read(last - first)):
                if makes(word):
                    return word.decode()
    return ""
found = seal()
with open("found", "w") as file:
    file.write(found)
with open(rundir + "/journal", "a") as file:
    file.write(f"ended\\techild\\t{time.time():.3f}\\t{found}\\n")
os.kill(keeper, signal.SIGKILL)
"""


@pytest.mark.needs_root
def test_P38_a_stolen_seal_writes_no_living_agent_off(house: House) -> None:
    luna = started(house, FORGER + DEAF)
    if not (house.root / "found").read_text():
        pytest.skip("not even root may read a keeper's memory here")
    eventually(lambda: not alive(luna.keeper))
    assert list_names(house) == ["luna"]
    house.run("watch", "--once")
    assert list_names(house) == ["luna"]
    receipt = house.kill("luna", grace=0)[0].receipts[0]
    assert (receipt.result, receipt.proof) == ("ended", "none_found")
    assert not alive(luna.pid)
    end(luna.pid)
