"""A look from another PID namespace sees nothing of an agent, and concludes nothing from that."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from house import House, alive, eventually
from knell.config import recognise_host
from knell.core.process import Alive, Gone, Unknown
from knell.processes.os import linux, proc
from scenes import DEAF, started
from watchers import ask, runs

SANDBOX = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
ELSEWHERE = "another PID namespace"


@pytest.fixture(autouse=True)
def sandbox() -> None:
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed")
    tried = subprocess.run([*SANDBOX, "--mount-proc", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip(f"no PID namespace here: {os_error(tried.stderr)}")


def os_error(text: bytes) -> str:
    return text.decode(errors="replace").strip()


def inside(house: House, *words: str, own_proc: bool = True) -> subprocess.CompletedProcess[str]:
    """`knell WORDS` in a PID namespace of its own, as agents' sandboxes make them."""
    flags = ("--mount-proc",) if own_proc else ()
    return subprocess.run(
        [*SANDBOX, *flags, sys.executable, "-m", "knell", *words],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


LOOKS = [
    ("list",),
    ("list", "--all"),
    ("status",),
    ("show", "luna"),
    ("tree",),
    ("reap", "--yes"),
    ("watch", "--once", "--stalled", "kill", "--older-than", "1"),
    ("doctor",),
    ("kill", "luna", "--yes", "--grace", "0"),
    ("kill", "all", "--yes", "--grace", "0"),
    ("stop", "luna", "--yes"),
]


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_P1_no_verb_inside_a_namespace_writes_a_living_agent_off(
    house: House, words: tuple[str, ...]
) -> None:
    luna = started(house, DEAF, restart=3)
    done = inside(house, *words)
    assert "Traceback" not in done.stderr
    assert alive(luna.pid)
    (view,) = house.json("list")["agents"]
    assert (view["name"], view["state"], view["run"]) == ("luna", "running", luna.run.id)
    house.run("watch", "--once")
    assert [run.id for run in runs(house)] == [luna.run.id]  # no second copy
    assert ask(house, "SELECT count(*) FROM restarts") == [(0,)]


def test_P1_the_reason_is_said(house: House) -> None:
    started(house, DEAF)
    (view,) = json.loads(inside(house, "list", "--json").stdout)["agents"]
    assert view["note_code"] == "could_not_look"
    assert ELSEWHERE in view["note"]
    killed = inside(house, "kill", "luna", "--yes", "--grace", "0")
    assert killed.returncode != 0
    assert ELSEWHERE in killed.stdout + killed.stderr


def test_P1_with_the_proc_of_another_namespace_nothing_is_misread(house: House) -> None:
    """Without --mount-proc, /proc shows numbers that mean other processes here."""
    luna = started(house, DEAF)
    (view,) = json.loads(inside(house, "list", "--json", own_proc=False).stdout)["agents"]
    assert ELSEWHERE in view["note"]
    refused = inside(house, "spawn", "--name", "nova", "--", "sleep", "99", own_proc=False)
    assert refused.returncode != 0
    assert "/proc shows another PID namespace" in refused.stderr
    assert alive(luna.pid)


def test_P1_an_agent_inside_is_seen_and_ended_from_outside(house: House) -> None:
    """The first namespace is around all others: there, what is not found has gone."""
    script = (
        f"{sys.executable} -m knell spawn --in headless --name luna -- sleep 99 "
        "&& echo up > up && exec sleep 99"
    )
    argv = (*SANDBOX, "--mount-proc", "sh", "-c", script)
    room = house.process(*argv)
    eventually((house.root / "up").exists)
    (luna,) = runs(house)
    assert luna.process
    assert luna.process.boot != linux.here()
    assert isinstance(linux.look(luna.process), Alive)
    if linux.here().endswith(f"/{proc.FIRST_PID_NAMESPACE}"):
        (result,) = house.kill("luna")
        assert result.receipts[0].proof == "proven"
        assert isinstance(linux.look(luna.process), Gone)
    else:
        assert isinstance(linux.look(luna.process._replace(start=1)), Unknown)
    room.kill()
    room.wait()


def test_P1_what_a_namespace_held_is_gone_with_it(house: House) -> None:
    script = (
        f"{sys.executable} -m knell spawn --in headless --name luna -- sleep 99 && echo up > up "
        "&& exec sleep 99"
    )
    room = house.process(*SANDBOX, "--mount-proc", "sh", "-c", script)
    eventually((house.root / "up").exists)
    (luna,) = runs(house)
    room.kill()
    room.wait()
    if not linux.here().endswith(f"/{proc.FIRST_PID_NAMESPACE}"):
        pytest.skip("only the first PID namespace can tell")
    keeper = luna.keeper
    assert keeper
    eventually(lambda: isinstance(linux.look(keeper), Gone))
    (view,) = house.json("list", "--all")["agents"]
    assert (view["state"], view["outcome"]) == ("ended", "lost")


# -- a /proc that hides processes -----------------------------------------------------------------

HIDING = 'mount -t proc -o hidepid=invisible,gid=65533 proc /proc && exec "$@"'


def hidden(house: House, *words: str) -> subprocess.CompletedProcess[str]:
    """`knell WORDS` in a user namespace, under a /proc that shows nothing of what is outside."""
    mounted = ("unshare", "--mount", "sh", "-c", HIDING, "sh")
    return subprocess.run(
        [*mounted, "unshare", "--user", "--map-root-user", sys.executable, "-m", "knell", *words],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.needs_root
@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_P24_no_verb_under_a_hiding_proc_writes_a_living_agent_off(
    house: House, words: tuple[str, ...]
) -> None:
    luna = started(house, DEAF, restart=3)
    done = hidden(house, *words)
    assert "Traceback" not in done.stderr
    assert alive(luna.pid)
    (view,) = house.json("list")["agents"]
    assert (view["name"], view["state"], view["run"]) == ("luna", "running", luna.run.id)


@pytest.mark.needs_root
@pytest.mark.parametrize("layer", ["", "portable"])
def test_P24_the_reason_is_said(house: House, layer: str) -> None:
    house.env["KNELL_PROCESSES"] = layer
    done = house.run("spawn", "--in", "headless", "--name", "luna", "--", "sleep", "99")
    assert done.returncode == 0, done.stderr
    (view,) = json.loads(hidden(house, "list", "--json").stdout)["agents"]
    assert (view["note_code"], "hidepid" in view["note"]) == ("could_not_look", True)


# -- which host ------------------------------------------------------------------------------------


def renamed(house: House, *words: str) -> subprocess.CompletedProcess[str]:
    """`knell WORDS` on this machine under another name, as DHCP gives one."""
    line = 'hostname renamed && exec "$@"'
    argv = ("unshare", "--user", "--map-root-user", "--uts", "sh", "-c", line, "sh")
    return subprocess.run(
        [*argv, sys.executable, "-m", "knell", *words],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_P3_a_host_that_is_renamed_is_the_same_host(house: House) -> None:
    luna = started(house, DEAF)
    done = renamed(house, "list", "--json")
    (view,) = json.loads(done.stdout)["agents"]
    assert (view["run"], view["note"]) == (luna.run.id, "")
    killed = renamed(house, "kill", "luna", "--yes", "--grace", "0")
    assert killed.returncode == 0, killed.stderr
    assert not alive(luna.pid)


NAME = os.uname().nodename


@pytest.mark.parametrize(
    ("lines", "label"),
    [
        ([], NAME),
        (["old\told\tboot\tmachine"], "old"),  # the same boot: only its name has changed
        ([f"{NAME}\t{NAME}\tbefore\tmachine"], NAME),  # rebooted
        ([f"{NAME}\t{NAME}\tbefore\tanother"], f"{NAME}-2"),  # another machine of that name
        ([f"{NAME}\t{NAME}\tx\ty", f"{NAME}-2\t{NAME}\tbefore\tmachine"], f"{NAME}-2"),
        (["clone\tclone\tbefore\tmachine"], NAME),  # it may be a clone, and up at this moment
        (["torn", "a\tb\tc"], NAME),
    ],
)
def test_P3_a_machine_is_known_by_boot_and_id(tmp_path: Path, lines: list[str], label: str) -> None:
    (tmp_path / "hosts").write_text("".join(line + "\n" for line in lines))
    assert recognise_host(str(tmp_path), "boot", "machine") == label
    assert recognise_host(str(tmp_path), "boot", "machine") == label  # and stays so
