"""P16: what a person was trusted with is deleted when it is not needed, and shown to no one."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from house import House, alive, eventually
from unpacked import plain_content

SECRET = "sk-ant-api03-" + os.urandom(20).hex()


@pytest.fixture
def keyed(house: House) -> House:
    house.env["ANTHROPIC_API_KEY"] = SECRET
    return house


def holders(house: House) -> list[Path]:
    """The files of the state directory that hold the key."""
    files = (path for path in house.state.rglob("*") if path.is_file())
    return [path for path in files if SECRET.encode() in plain_content(path)]


def spawn(house: House, *command: str) -> subprocess.CompletedProcess[str]:
    return house.run("spawn", "--name", "luna", "--in", "headless", "--restart", "--", *command)


@pytest.mark.parametrize("verb", ["kill", "stop"])
def test_P16_an_ending_on_purpose_leaves_no_key_though_no_watch_runs(
    keyed: House, verb: str
) -> None:
    spawn(keyed, "sleep", "600")
    assert [path.parent.name for path in holders(keyed)] == ["environments"]
    assert keyed.run(verb, "luna").returncode == 0
    assert holders(keyed) == []


def test_P16_a_start_that_failed_leaves_no_key(keyed: House) -> None:
    assert spawn(keyed, "/no/such/program").returncode == 1
    assert holders(keyed) == []


def test_P16_an_agent_that_finished_leaves_no_key(keyed: House) -> None:
    spawn(keyed, "sh", "-c", "sleep 0.5")
    eventually(lambda: keyed.json("list")["agents"] == [])
    assert holders(keyed) == []


def test_P16_a_lost_run_has_its_key_until_it_was_started_again(keyed: House) -> None:
    """It comes back with the key that it was started with; then the older copy is gone."""
    spawn(keyed, "sleep", "600")
    run = keyed.knell.world.store.runs.live()[0]
    assert run.keeper
    assert run.process
    pids = (run.keeper.pid, run.process.pid)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(map(alive, pids)))
    assert keyed.json("list")["agents"] == []
    assert [path.name for path in holders(keyed)] == [run.id]
    assert keyed.run("kill", "luna").returncode == 0  # the restart is called off
    assert holders(keyed) == []


def test_P16_a_secret_on_a_command_line_is_in_no_receipt(keyed: House) -> None:
    command = f"server --api-key {SECRET[13:]} --header 'x-token: {SECRET}'"
    script = f"sleep 600 & wait # {command}"
    keyed.run("spawn", "--name", "luna", "--in", "headless", "--", "sh", "-c", script)
    tree = keyed.run("tree", "luna", "--json").stdout + keyed.run("tree", "luna").stdout
    shown = keyed.run("show", "luna", "--json").stdout + keyed.run("show", "luna").stdout
    ended = keyed.run("kill", "luna", "--json").stdout
    page = keyed.root / "page.html"
    keyed.run("receipt", "luna", "--html", str(page))
    printed = keyed.run("receipt", "luna").stdout + keyed.run("receipt", "luna", "--json").stdout
    for text in (tree, shown, ended, printed, page.read_text() if page.exists() else ""):
        assert SECRET[13:] not in text
    assert "[redacted]" in tree
    assert "[redacted]" in printed


def test_P16_the_registry_file_with_a_last_screen_is_closed_to_others(keyed: House) -> None:
    file = keyed.root / ".hermes" / "agent-sessions.yaml"
    file.parent.mkdir()
    file.write_text("tmux_sessions:\n- name: luna\n  status: running\n  agent: command\n")
    file.chmod(0o644)
    script = f"echo token={SECRET}; echo all is well; sleep 600"
    where = ("--in", "tmux", "--tmux-server", "test", "--session", "luna")
    done = keyed.run("spawn", "--name", "luna", *where, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    eventually(lambda: "all is well" in keyed.tmux("capture-pane", "-p", "-t", "=luna:"))
    assert keyed.run("kill", "luna").returncode == 0
    assert "all is well" in file.read_text()
    assert SECRET not in file.read_text()
    assert [path.name for path in file.parent.iterdir() if path.stat().st_mode & 0o007] == []
