"""`doctor` says which layer is used, what it misses and what that means, wherever it runs."""

import json
import subprocess
import sys
from typing import Any

import pytest

import without_pidfds
from house import House, eventually
from knell.api.habits import HABITS, OBEDIENT
from knell.processes.abilities import NONE_FOUND, PROVEN
from unprivileged import NOBODY, READER, handed_over, unprivileged

NO_PIDFDS = (sys.executable, without_pidfds.__file__)
NO_CGROUP = ("unshare", "--mount", "sh", "-c", 'umount -a -t cgroup2; exec "$@"', "sh")


def told(house: House, *words: str, within: tuple[str, ...] = (), **env: str) -> dict[str, Any]:
    verb, *rest = words
    done = subprocess.run(
        [*within, sys.executable, "-m", "knell", verb, "--json", *rest],
        env=house.env | env, cwd=house.root, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def findings(document: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    return {one["what"]: (one["ok"], one["text"]) for one in document["findings"]}


def test_linux_proves(house: House) -> None:
    found = findings(told(house, "doctor"))
    assert found["layer"] == (True, "linux: /proc, pidfds, a keeper that adopts orphans")
    assert found["promise"] == (True, PROVEN)
    assert found["pidfd"][0]


def test_the_layer_that_was_asked_for_is_named_with_what_it_misses(house: House) -> None:
    found = findings(told(house, "doctor", KNELL_PROCESSES="portable"))
    assert found["layer"] == (
        False,
        "portable: POSIX and psutil, because KNELL_PROCESSES asks for it",
    )
    assert found["promise"] == (False, NONE_FOUND)
    assert [what for what in ("pidfd", "keeper", "cgroup") if found[what][0]] == []


def test_without_pidfds_the_portable_layer_is_taken_and_agents_still_end(house: House) -> None:
    """Some containers forbid the calls: an agent that lives must not be taken for gone."""
    found = findings(told(house, "doctor", within=NO_PIDFDS))
    assert found["layer"] == (
        False,
        "portable: POSIX and psutil, because this machine gives us no pidfds",
    )
    argv = ("spawn", "--in", "headless", "--name", "luna", "--", *house.script(OBEDIENT))
    done = subprocess.run(
        [*NO_PIDFDS, sys.executable, "-m", "knell", *argv],
        env=house.env, cwd=house.root, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [agent] = told(house, "list", within=NO_PIDFDS)["agents"]
    assert agent["state"] == "running"
    [receipt] = told(house, "kill", "luna", within=NO_PIDFDS)["receipts"]
    assert (receipt["result"], receipt["proof"]) == ("ended", "none_found")


@pytest.mark.usefixtures("unused")
def test_a_layer_that_does_not_exist_is_refused(house: House) -> None:
    house.env["KNELL_PROCESSES"] = "plan9"
    argv = [sys.executable, "-m", "knell", "list"]
    refused = subprocess.run(
        argv, env=house.env, capture_output=True, text=True, check=False, timeout=300
    )
    assert refused.returncode == 2
    assert "KNELL_PROCESSES=plan9: no such layer" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_an_ordinary_user_is_told_whose_stamps_can_be_read(house: House) -> None:
    done = unprivileged(handed_over(house), "doctor", "--json")
    ok, text = findings(json.loads(done.stdout))["stamps"]
    assert ok
    assert text.endswith("can be read, not those of other users")


def test_an_ordinary_user_who_may_look_into_no_others_ends_its_agents_all_the_same(
    house: House,
) -> None:
    """Most processes of a machine are other users': their environments are not to be read, which
    makes them neither the run's nor invisible."""
    house.env["KNELL_PROCESSES"] = "portable"
    agent = (*house.script(HABITS["daemon"]),)
    words = ("--in", "headless", "--name", "luna", "--env", f"KNELL_READY={house.root}/ready")
    done = unprivileged(handed_over(house), "spawn", *words, "--", *agent)
    assert done.returncode == 0, done.stderr
    eventually((house.root / "ready").exists)
    other = house.process(*house.script(OBEDIENT), start_new_session=True)
    [receipt] = json.loads(unprivileged(house, "kill", "luna", "--json").stdout)["receipts"]
    assert (receipt["result"], receipt["proof"]) == ("ended", "none_found")
    assert len(receipt["processes"]) == 2  # the agent and its daemon
    assert other.poll() is None
    other.kill()
    other.wait()


@pytest.mark.needs_root
@pytest.mark.needs_cgroup
def test_without_pidfds_cgroups_and_root_nothing_survives(house: House) -> None:
    """A locked-down container: all of it at once."""
    nobody = (
        *NO_CGROUP, *NO_PIDFDS, "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
        "--clear-groups", *READER,
    )  # fmt: skip
    handed_over(house)
    found = findings(told(house, "doctor", within=nobody))
    assert [
        what for what in ("layer", "pidfd", "keeper", "cgroup", "promise") if found[what][0]
    ] == []
    assert found["promise"][1] == NONE_FOUND
    assert found["stamps"][1].endswith("not those of other users")
    ready = house.root / "ready"
    words = ("--in", "headless", "--name", "luna", "--env", f"KNELL_READY={ready}", "--")
    told(house, "spawn", *words, *house.script(HABITS["daemon"]), within=nobody)
    eventually(ready.exists)
    [receipt] = told(house, "kill", "luna", within=nobody)["receipts"]
    assert (receipt["result"], receipt["proof"]) == ("ended", "none_found")
    assert len(receipt["processes"]) == 2


def test_for_people_doctor_says_the_same(house: House) -> None:
    text = " ".join(
        house.run("doctor", env=house.env | {"KNELL_PROCESSES": "portable"}).stdout.split()
    )
    for what, (_, said) in findings(told(house, "doctor", KNELL_PROCESSES="portable")).items():
        if what in ("layer", "pidfd", "keeper", "cgroup", "promise"):
            assert said in text, what


@pytest.mark.needs_root
@pytest.mark.needs_cgroup
def test_without_cgroups_the_keeper_still_proves(house: House) -> None:
    found = findings(told(house, "doctor", within=NO_CGROUP))
    assert found["cgroup"] == (True, "no cgroup v2 here; the keeper works without")
    assert found["promise"] == (True, PROVEN)
