"""P1: a /proc that is not there, or that tells of no boot or of a false one, ends nobody."""

import shutil
import subprocess
from collections.abc import Sequence

import pytest

import several
from house import House, alive
from scenes import DEAF, started

MOUNTS = {
    "no proc": "mount -t tmpfs none /proc",
    "no boot": "mount -t tmpfs none /proc/sys",
    "an empty boot": "mount --bind /dev/null /proc/sys/kernel/random/boot_id",
    "a false boot": "mount --bind boot /proc/sys/kernel/random/boot_id",
}
LOOKS = (
    *(("list",), ("status",), ("show", "luna"), ("tree", "luna"), ("reap", "--yes"), ("doctor",)),
    *(("watch", "--once", "--stalled", "kill", "--older-than", "1"), ("stop", "luna", "--yes")),
    *(("kill", "luna", "--yes", "--grace", "0"), ("kill", "all", "--yes", "--grace", "0")),
)
SANDBOX = ("unshare", "--user", "--map-root-user", "--mount")


def inside(house: House, mount: str, commands: Sequence[Sequence[str]]) -> list[several.Done]:
    script, out = f'{mount} || exit 99; exec "$@"', house.root / "ends"
    done = subprocess.run(
        [*SANDBOX, "sh", "-c", script, "sh", *several.argv(out, commands)],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if done.returncode == 99 or done.stderr.startswith("unshare:"):
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 0, done
    return several.ends(out)


@pytest.mark.parametrize("mount", MOUNTS.values(), ids=MOUNTS)
def test_P1_what_cannot_be_seen_is_not_gone(house: House, mount: str) -> None:
    (house.root / "boot").write_text("11111111-2222-3333-4444-555555555555\n")
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    luna = started(house, DEAF, restart=3)
    for done in inside(house, mount, LOOKS):
        assert "Traceback" not in done.stderr, done
        said = done.stdout + done.stderr
        assert "no agents" not in said, done
        assert "no live process" not in said, done
    assert alive(luna.pid)
    (view,) = house.json("list")["agents"]
    assert (view["name"], view["state"], view["run"]) == ("luna", "running", luna.run.id)
    house.run("watch", "--once")
    assert len(house.knell.world.store.runs.of("luna")) == 1, "no second one was started"
