"""P37: where something is mounted over /proc, the kernel's own word counts: nobody is gone whom it
knows, and a process that /proc hides is not called missing."""

import json
import os
import subprocess
import sys

import pytest

from house import House, alive
from knell.core.process import Gone, ProcessId, Unknown
from knell.processes.os import linux, linux_facts
from scenes import DEAF, started
from unprivileged import NOBODY, READER
from watchers import runs

ROOM = ("unshare", "--user", "--map-root-user", "--mount")
OVER = {
    "another process": "mount --bind /proc/1 /proc/{pid}",
    "another's numbers": "mount --bind /proc/1/stat /proc/{pid}/stat",
    "a false start": "mount --bind false-{pid} /proc/{pid}/stat",
    "nothing": "mount -t tmpfs none /proc/{pid}",
}
LOOKS = (
    ("list",),
    ("show", "luna"),
    ("watch", "--once"),
    ("kill", "luna", "--yes", "--grace", "0"),
)


def covered(house: House, mounts: str, *words: str) -> subprocess.CompletedProcess[str]:
    script = f'{mounts} || exit 99; exec "$@"'
    done = subprocess.run(
        [*ROOM, "sh", "-c", script, "sh", sys.executable, "-m", "knell", *words],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if done.returncode == 99 or done.stderr.startswith("unshare:"):
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    return done


def false_start(house: House, process: ProcessId) -> None:
    with open(f"/proc/{process.pid}/stat") as file:
        head, _, rest = file.read().rpartition(")")
    words = rest.split()
    words[19] = str(int(words[19]) - 1)
    (house.root / f"false-{process.pid}").write_text(f"{head}) {' '.join(words)}\n")


@pytest.mark.parametrize("mount", OVER.values(), ids=OVER)
def test_P37_what_lies_over_a_process_ends_nobody(house: House, mount: str) -> None:
    luna = started(house, DEAF, restart=3)
    assert luna.run.process
    if "false" in mount and not luna.run.process.inode:
        pytest.skip("pidfds have no numbers of their own here")
    for process in luna.run.processes:
        false_start(house, process)
    mounts = " && ".join(mount.format(pid=process.pid) for process in luna.run.processes)
    for words in LOOKS:
        done = covered(house, mounts, *words)
        assert "Traceback" not in done.stderr, done
        assert alive(luna.pid)
    (view,) = json.loads(covered(house, mounts, "list", "--json").stdout)["agents"]
    assert (view["state"], view["note_code"]) == ("running", "could_not_look"), view
    house.run("watch", "--once")
    assert [run.id for run in runs(house)] == [luna.run.id]


def test_P37_a_number_that_was_given_again_is_gone(house: House) -> None:
    other = linux.me()
    before = other._replace(start=other.start - 1, inode=other.inode - 1 if other.inode else 0)
    assert linux.look(before) == Gone("reused")
    assert linux_facts.reused_number(before, 1) == Unknown(linux_facts.COVERED)


@pytest.mark.needs_root
def test_P37_one_that_proc_hides_is_not_called_missing(house: House) -> None:
    """Under a /proc of its own with hidepid: the machine's own stays as it is."""
    script = 'mount -t proc -o hidepid=2 proc /proc || exit 99; exec "$@"'
    nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *READER)
    source = f"from knell.processes.os import linux; linux.identify({os.getpid()})"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *nobody, sys.executable, "-c", source],
        env=house.env, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if done.returncode == 99 or done.stderr.startswith(("unshare:", "setpriv:")):
        pytest.skip(f"no such /proc can be mounted here: {done.stderr.strip()}")
    assert f"WorldError: {linux.HIDDEN}" in done.stderr, done
