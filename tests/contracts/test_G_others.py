"""G17, G24, G44: faults of the originals that nothing else here happens to name."""

import subprocess
import sys

import pytest

from contracts.m_scenes import JOB, NAME, Shop, job, job_events
from house import House, alive, eventually


def test_G17_not_only_the_shell_of_a_pane_is_ended(house: House) -> None:
    """The agent runs below a shell that somebody opened, in a session of its own."""
    pid = house.root / "pid"
    house.tmux("new-session", "-d", "-s", "ws", "sh")
    line = f"setsid -w sh -c 'echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 100' &"
    house.tmux("send-keys", "-t", "=ws:", line, "Enter")
    eventually(pid.exists)
    agent = int(pid.read_text())
    assert alive(agent)
    adopted = house.run("adopt", "ws", "--name", "luna", "-L", "test", "--kind", "command")
    assert adopted.returncode == 0, adopted.stderr
    assert house.run("stop", "luna", "--grace", "1").returncode == 0
    assert not alive(agent)
    assert house.panes() == []


HOLDS = """
import sys
from knell.processes import waiting
print(waiting.take(sys.argv[1]), flush=True)
open(sys.argv[1]).close()  # would give a POSIX lock back
sys.stdin.read()
"""


def test_G24_a_lock_is_not_lost_with_another_handle(house: House) -> None:
    lock = str(house.root / "lock")

    def holder() -> subprocess.Popen[str]:
        argv = [sys.executable, "-c", HOLDS, lock]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, env=house.env, text=True, stdin=pipe, stdout=pipe)

    def said(process: subprocess.Popen[str]) -> str:
        assert process.stdout
        return process.stdout.readline().strip()

    first, second = holder(), None
    try:
        assert said(first) == "True"
        second = holder()
        assert said(second) == "False"
        first.kill()
        first.wait()
        third = holder()
        assert said(third) == "True"  # and given back by its holder's death
        third.communicate(timeout=300)
    finally:
        for process in (first, second):
            if process:
                process.communicate(timeout=300)


@pytest.mark.parametrize("way", ["--mode=hard", "--graceful"])
def test_G44_a_job_is_told_without_any_network(house: House, way: str) -> None:
    """The originals publish to a broker in the world; here nothing leaves the machine."""
    alone = ["unshare", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets us make no network namespace")
    shop = Shop(house)
    shop.session()
    job(shop)
    shop.list(shop.row_text(more=f"  delegate_job_id: {JOB}\n"))
    argv = [*alone, sys.executable, "-m", "knell", "stop", "--session", NAME, way]
    done = subprocess.run(
        argv,
        cwd=shop.folder,
        env=house.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert [event["event"] for event in job_events(shop)] == ["progress", "completed"]
