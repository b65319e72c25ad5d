"""`spawn --worktree`: a worktree of its own for each agent, and none for one that never starts."""

from house import House
from repo import Repo


def spawn(house: House, repo: Repo, *words: str) -> int:
    command = ("--", "sleep", "100")
    done = house.run("spawn", "--in", "headless", *words, *command, cwd=repo.main)
    return done.returncode


def test_an_agent_works_on_a_branch_of_its_own(house: House) -> None:
    repo = Repo(house)
    assert spawn(house, repo, "--name", "luna", "--worktree", "fix/roof") == 0
    [agent] = house.json("list")["agents"]
    assert agent["cwd"] == str(repo.main / ".worktrees" / "fix-roof")
    assert "refs/heads/fix/roof" in repo.refs()
    assert repo.git("status", "--porcelain") == ""  # the main checkout does not show it
    told = house.json("kill", "luna", "--cleanup")["receipts"][0]["cleaning"]
    assert told["state"] == "removed"
    assert not (repo.main / ".worktrees" / "fix-roof").exists()


def test_several_get_one_each(house: House) -> None:
    repo = Repo(house)
    assert spawn(house, repo, "--count", "2", "--worktree", "many") == 0
    cwds = {agent["cwd"] for agent in house.json("list")["agents"]}
    assert cwds == {str(repo.main / ".worktrees" / f"many-{number}") for number in (1, 2)}


def test_what_is_refused_leaves_no_worktree(house: House) -> None:
    repo = Repo(house)
    assert spawn(house, repo, "--name", "luna") == 0
    assert spawn(house, repo, "--name", "luna", "--worktree", "late") == 1
    assert spawn(house, repo, "--name", "a b", "--worktree", "late") == 2
    assert spawn(house, repo, "--name", "nova", "--worktree", "..bad..") == 1
    assert not (repo.main / ".worktrees").exists()
    assert not [ref for ref in repo.refs() if "late" in ref]


def test_outside_of_a_repository_it_is_refused(house: House) -> None:
    done = house.run("spawn", "--in", "headless", "--worktree", "x", "--", "sleep", "100")
    assert done.returncode == 2
    assert "git repository" in done.stderr
