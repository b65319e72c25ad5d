"""`kill --cleanup` of an agent that has ended before, and the mark of a worktree that stays."""

import sys
from pathlib import Path

from contracts.o_scenes import ask, sql
from house import House, eventually
from repo import Repo


def ended_agent(house: House, repo: Repo, *words: str) -> Path:
    command = ("--", "sleep", "100")
    house.run("spawn", "--in", "headless", "--name", "luna", *words, *command, cwd=repo.main)
    house.run("kill", "luna")
    return repo.main / ".worktrees" / "fix-login"


def test_P14_cleanup_of_an_ended_agent_removes_its_worktree(house: House) -> None:
    repo = Repo(house)
    work = ended_agent(house, repo, "--worktree", "fix-login")
    would = house.json("kill", "luna", "--cleanup", "--dry-run")["receipts"][0]["cleaning"]
    assert (would["state"], would["would"], work.exists()) == ("removed", True, True)
    told = house.json("kill", "luna", "--cleanup")["receipts"][0]
    assert (told["result"], told["cleaning"]["state"]) == ("already_ended", "removed")
    assert not work.exists()
    assert house.json("receipt", "luna")["cleaning"]["state"] == "removed"
    again = house.run("kill", "luna", "--cleanup")
    assert (again.returncode, "gone" in again.stdout) == (0, True)


def test_P14_or_says_why_not(house: House) -> None:
    repo = Repo(house)
    work = ended_agent(house, repo, "--worktree", "fix-login")
    (work / "new.txt").write_text("new")
    done = house.run("kill", "luna", "--cleanup")
    assert f"worktree {work}: kept, uncommitted work: 1 untracked" in done.stdout
    assert work.exists()


def test_P14_an_agent_cleans_up_only_after_those_that_it_may_end(house: House) -> None:
    repo = Repo(house)
    work = ended_agent(house, repo, "--worktree", "fix-login")
    told = house.root / "told"
    kill = f"{sys.executable} -m knell kill luna --cleanup"
    script = f"{kill} 2> {told}.new; mv {told}.new {told}; sleep 100"
    house.run("spawn", "--in", "headless", "--name", "nova", "--", "sh", "-c", script)
    eventually(told.exists)
    assert "'nova' neither started 'luna' nor leads its team" in told.read_text()
    assert work.exists()


def test_P14_the_second_night_says_what_to_do_about_the_branch(house: House) -> None:
    repo = Repo(house)
    work = ended_agent(house, repo, "--worktree", "fix-login")
    spawn = ("spawn", "--in", "headless", "--worktree", "fix-login", "--", "sleep", "100")
    first = house.run(*spawn, cwd=repo.main)
    assert first.returncode == 1
    assert f"--cwd {work}" in first.stderr
    house.run("kill", "luna", "--cleanup")
    second = house.run(*spawn, cwd=repo.main)
    assert second.returncode == 1
    assert "git branch -d fix-login" in second.stderr
    repo.git("branch", "-d", "fix-login")
    assert house.run(*spawn, cwd=repo.main).returncode == 0


def test_C24_a_worktree_that_stays_is_marked_quarantined(house: House) -> None:
    repo = Repo(house)
    work = ended_agent(house, repo, "--worktree", "fix-login")
    (work / "new.txt").write_text("new")
    told = house.json("kill", "luna", "--cleanup")["receipts"][0]["cleaning"]
    assert (told["state"], told["quarantined"]) == ("kept", True)
    status = "SELECT status FROM orchestrator_state WHERE worktree_path = ?"
    assert sql(house, status, str(work)) == [("quarantined",)]
    [one] = ask(house, "cleanup-worktrees", ACTION="list_candidates")["candidates"]
    assert (one["status"], one["ready_for_cleanup"]) == ("quarantined", False)
    told = house.json("kill", "luna", "--cleanup=force")["receipts"][0]["cleaning"]
    assert (told["state"], told["quarantined"]) == ("removed", False)
    assert sql(house, status, str(work)) == [("cleaned",)]
