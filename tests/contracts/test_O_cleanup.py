"""O15, O28-O32, O38, O45, C24, C25, G38, G40, G41: what is cleaned up after an agent has ended."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from house import House, alive
from knell.core.receipt import Cleaning, Result
from knell.core.worktree import Cleanup
from knell.life.end.cleanup import (
    KEPT_FOR,
    MARKER,
    clean_up,
    make_session_dir,
    preview_cleaning,
    sweep_sessions,
)
from knell.life.start.spawn import Spawned
from repo import Repo, bystander, on_disk

WAIT = "import signal; signal.pause()"
DAY = 86_400


def agent_in(house: House, cwd: Path, name: str = "luna", source: str = WAIT) -> Spawned:
    words = house.script(source)
    return house.knell.spawn(command=words, name=name, place="headless", cwd=str(cwd))


def ended(house: House, name: str = "luna", cleanup: str = "safe") -> Cleaning:
    """`knell kill --cleanup`: the kill stands, whatever the cleaning came to."""
    [receipt] = house.knell.kill(name, cleanup=cleanup)
    assert receipt.result is Result.ENDED
    return receipt.cleaning


def killed(house: House, spawned: Spawned, mode: Cleanup = Cleanup.SAFE) -> Cleaning:
    """Ended first and cleaned up after, as whoever finishes an interrupted ending does."""
    house.kill(spawned.agent.name)
    return clean_up(house.knell.world, spawned.run, spawned.agent, mode)


# -- worktrees ---------------------------------------------------------------------------------


def test_O31_O38_a_finished_worktree_goes_with_its_agent(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    agent_in(house, work)
    told = ended(house)
    assert (told.state, told.worktree, told.branch) == ("removed", str(work), "work")
    assert (told.rescue, told.failed, told.why) == ("", (), "clean and merged into main")
    assert not work.exists()


def test_O31_a_person_s_own_worktree_is_not_the_task_s(house: House) -> None:
    """What an orchestrator cleans by default is what knell made; a person's may hold an .env."""
    own = Repo(house).worktree("own")
    agent_in(house, own)
    done = house.run("invoke", "kill-stalled-agent", "AGENT_ID=luna", "GRACE_PERIOD_SECONDS=2")
    told = json.loads(done.stdout)
    assert (told["success"], told["message"]) == (True, "Agent terminated gracefully")
    assert own.is_dir()


def test_O15_nothing_is_touched_where_cleaning_was_not_asked_for(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    agent_in(house, work)
    assert ended(house, cleanup="") == Cleaning()
    assert (work / "new.txt").exists()
    assert not [ref for ref in repo.refs() if "knell" in ref]


def test_C24_uncommitted_work_is_saved_and_kept(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "a.txt").write_text("changed\n")
    (work / "new.txt").write_text("new\n")
    run = agent_in(house, work).run
    told = ended(house)
    assert (told.state, told.why) == ("kept", "uncommitted work: 1 changed and 1 untracked")
    assert told.rescue == f"refs/knell/rescue/luna/{run.id}"
    assert repo.saved(told.rescue) == on_disk(work)


def test_C24_G38_by_force_it_is_saved_before_it_goes(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "x.txt", "not merged\n")
    (work / "a.txt").write_text("changed\n")
    (work / "new.txt").write_text("new\n")
    before = on_disk(work)
    agent_in(house, work)
    told = ended(house, cleanup="force")
    assert (told.state, work.exists()) == ("removed", False)
    assert repo.saved(told.rescue) == before
    assert repo.git("show", "work:x.txt") == "not merged"


def test_G38_an_unmerged_branch_is_kept_and_a_squashed_one_is_done(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "x.txt", "x\n")
    agent_in(house, work)
    told = ended(house)
    assert (told.state, work.exists()) == ("kept", True)
    assert "not merged (1 commit" in told.why
    repo.git("merge", "-q", "--squash", "work")
    repo.git("commit", "-qm", "squashed")
    agent_in(house, work, "nova")
    assert (ended(house, "nova").state, work.exists()) == ("removed", False)
    assert "refs/heads/work" in repo.refs()


def test_G38_commits_of_a_detached_head_are_held_before_it_goes(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree("work", "--detach")
    tip = repo.commit(work, "x.txt", "x\n")
    agent_in(house, work)
    told = ended(house)
    assert (told.state, repo.git("rev-parse", told.rescue)) == ("kept", tip)
    newer = repo.commit(work, "x.txt", "xx\n")
    agent_in(house, work, "nova")
    told = ended(house, "nova", "force")
    assert (told.state, repo.git("rev-parse", told.rescue)) == ("removed", newer)


@pytest.mark.parametrize("mode", ["safe", "force"])
def test_C24_a_locked_one_stays_and_the_way_out_is_told(house: House, mode: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    repo.git("worktree", "lock", "--reason", "mine", str(work))
    agent_in(house, work)
    told = ended(house, cleanup=mode)
    assert (told.state, (work / "new.txt").exists()) == ("kept", True)
    assert told.why == f"it is locked (mine); git worktree unlock {work}"
    assert repo.saved(told.rescue) == on_disk(work)


@pytest.mark.parametrize("mode", ["safe", "force"])
def test_C24_in_the_middle_of_a_rebase_it_is_saved_and_stays(house: House, mode: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    repo.commit(work, "a.txt", "theirs\n")
    repo.commit(repo.main, "a.txt", "ours\n")
    repo.git("rebase", "main", cwd=work, check=False)
    agent_in(house, work)
    told = ended(house, cleanup=mode)
    assert (told.state, told.why) == ("kept", "it is in the middle of a rebase")
    assert repo.saved(told.rescue) == on_disk(work)
    repo.git("rebase", "--abort", cwd=work)


@pytest.mark.parametrize("mode", ["safe", "force"])
def test_C24_the_main_checkout_is_never_touched(house: House, mode: str) -> None:
    repo = Repo(house)
    (repo.main / "new.txt").write_text("new")
    agent_in(house, repo.main)
    told = ended(house, cleanup=mode)
    assert (told.state, told.rescue, told.failed) == ("kept", "", ())
    assert (repo.main / "new.txt").exists()


def test_O31_no_repository_is_no_worktree(house: House) -> None:
    plain = house.root / "plain"
    plain.mkdir()
    agent_in(house, plain)
    assert ended(house, cleanup="force") == Cleaning()
    assert plain.exists()


def test_O31_a_worktree_that_is_gone_already(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree("repo/.worktrees/one", "-b", "one")
    spawned = agent_in(house, work)
    house.kill("luna")
    for file in work.iterdir():
        file.unlink()
    work.rmdir()
    told = clean_up(house.knell.world, spawned.run, spawned.agent, Cleanup.SAFE)
    assert (told.state, told.worktree, told.failed) == ("gone", str(work), ())
    assert repo.git("worktree", "list").count("\n") == 0
    again = clean_up(house.knell.world, spawned.run, spawned.agent, Cleanup.SAFE)
    assert (again.state, again.failed) == ("gone", ())


# -- others are there --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["safe", "force"])
@pytest.mark.parametrize("habit", ["import os; os.chdir({!r})", "file = open({!r} + '/a.txt')"])
def test_G40_a_live_process_inside_keeps_it(house: House, habit: str, mode: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    agent_in(house, work)
    with bystander(house, habit.format(str(work))) as pid:
        told = ended(house, cleanup=mode)
        assert (told.state, work.exists(), alive(pid)) == ("kept", True, True)
    assert f"pid {pid}" in told.why


def test_G40_whoever_asks_from_inside_does_not_lose_the_ground(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = Repo(house)
    work = repo.worktree()
    agent_in(house, work)
    with monkeypatch.context() as here:
        here.chdir(work)
        told = ended(house, cleanup="force")
    assert (told.state, told.why) == ("kept", "in use by the command that asked for this")


@pytest.mark.parametrize("mode", ["safe", "force"])
def test_C24_another_live_agent_keeps_it_and_its_work_is_its_own(house: House, mode: str) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "deep").mkdir()
    (work / "new.txt").write_text("whose?")
    agent_in(house, work)
    agent_in(house, work / "deep", "nova")
    told = ended(house, cleanup=mode)
    assert (told.state, told.why, told.rescue) == ("kept", "nova works there too", "")
    assert ended(house, "nova", "force").state == "removed"


def test_O38_two_agents_of_one_worktree_ended_at_once(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    before = on_disk(work)
    for name in ("luna", "nova"):
        agent_in(house, work, name)
    ended = house.knell.kill("luna", "nova", cleanup="force")
    told = [receipt.cleaning for receipt in ended]
    assert [one.state for one in told] == ["kept", "removed"]
    assert repo.saved(told[1].rescue) == before


def test_G40_nothing_of_the_agent_itself_holds_it_back(house: House) -> None:
    """A child that left its group, with a file open, ends before the cleaning looks."""
    repo = Repo(house)
    work = repo.worktree()
    source = (
        "import os, signal\nif not os.fork():\n os.setsid()\n f = open('a.txt')\nsignal.pause()"
    )
    agent_in(house, work, source=source)
    assert ended(house).state == "removed"


# -- what could not be done --------------------------------------------------------------------


def test_C25_O45_a_look_that_failed_is_told_and_the_kill_stands(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    (Path(repo.tree(work).git_dir) / "index").write_bytes(b"")
    spawned = agent_in(house, work)
    told = ended(house, cleanup="force")
    assert (told.state, len(told.failed), (work / "new.txt").exists()) == ("kept", 1, True)
    assert "could not be looked at" in told.failed[0]
    assert not house.knell.world.store.runs.run(spawned.run.id).live  # type: ignore[union-attr]


def test_C25_O45_what_cannot_be_saved_is_not_removed(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    agent_in(house, work)
    repo.git("update-ref", "refs/knell/rescue", "main")  # no folder of that name can be made
    told = ended(house, cleanup="force")
    assert (told.state, told.rescue, (work / "new.txt").exists()) == ("kept", "", True)
    assert "could not be saved" in told.failed[0]


def test_O38_ignored_files_are_counted_before_they_go(house: House) -> None:
    repo = Repo(house)
    repo.commit(repo.main, ".gitignore", "node_modules/\n.env\n")
    work = repo.worktree()
    (work / "node_modules").mkdir()
    (work / "node_modules" / "x").touch()
    (work / ".env").write_text("KEY=1")
    agent_in(house, work)
    cleaning = ended(house)
    assert f"1 files that git ignores went with {work}" in [w.text for w in cleaning.warnings]
    assert repo.saved(cleaning.rescue)[b".env"] == ("100644", b"KEY=1")


def test_O15_a_preview_changes_nothing(house: House) -> None:
    repo = Repo(house)
    work = repo.worktree()
    (work / "new.txt").write_text("new")
    spawned = agent_in(house, work)
    world = house.knell.world
    make_session_dir(world, spawned.run.id)
    refs = repo.refs()
    told = preview_cleaning(world, spawned.run, spawned.agent, Cleanup.FORCE)
    assert (told.would, told.state, told.session_dir) == (True, "removed", "removed")
    assert told.rescue == f"refs/knell/rescue/luna/{spawned.run.id}"
    assert (repo.refs(), (work / "new.txt").exists()) == (refs, True)
    assert (house.state / "sessions" / spawned.run.id).is_dir()
    assert ended(house, cleanup="force")._replace(would=True, unseen=told.unseen) == told


# -- stale locks -------------------------------------------------------------------------------


def locked_in(repo: Repo, path: Path) -> Path:
    lock = Path(repo.tree(path).git_dir) / "index.lock"
    lock.touch()
    return lock


@pytest.mark.parametrize("where", ["work", "main"])
def test_O38_a_lock_that_the_dead_left_is_removed(house: House, where: str) -> None:
    repo = Repo(house)
    path = repo.main if where == "main" else repo.worktree()
    spawned = agent_in(house, path)
    lock = locked_in(repo, path)
    told = killed(house, spawned)
    assert (told.lock_removed, lock.exists(), told.warnings) == (str(lock), False, ())


def test_O38_a_lock_from_before_the_run_or_from_the_future_is_not_ours(house: House) -> None:
    repo = Repo(house)
    spawned = agent_in(house, repo.main)
    lock = locked_in(repo, repo.main)
    house.kill("luna")
    for shift in (-DAY, DAY):
        moment = house.knell.world.seconds() + shift
        os.utime(lock, (moment, moment))
        told = clean_up(house.knell.world, spawned.run, spawned.agent, Cleanup.FORCE)
        assert (told.lock_removed, lock.exists()) == ("", True)
        assert "not made while the run lived" in told.warnings[0].text


def test_O38_a_lock_that_somebody_holds_stays(house: House) -> None:
    repo = Repo(house)
    spawned = agent_in(house, repo.main)
    lock = locked_in(repo, repo.main)
    with bystander(house, f"f = open({str(lock)!r})") as pid:
        told = killed(house, spawned, Cleanup.FORCE)
    assert (told.lock_removed, lock.exists()) == ("", True)
    assert f"pid {pid}" in told.warnings[0].text


@pytest.mark.parametrize("where", ["repo", "beside", ""])
def test_O38_a_lock_stays_while_any_git_works_in_that_repository(house: House, where: str) -> None:
    """Git closes the lock while an editor or a hook runs; it is its own all the same."""
    repo = Repo(house)
    repo.worktree("beside")
    spawned = agent_in(house, repo.main)
    lock = locked_in(repo, repo.main)
    named = () if where else ("--git-dir", str(repo.main / ".git"))
    with subprocess.Popen(
        ("git", *named, "cat-file", "--batch"),
        cwd=house.root / where,
        env=house.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as git:
        assert git.stdin is not None
        assert git.stdout is not None
        git.stdin.write(b"main\n")
        git.stdin.flush()
        git.stdout.readline()
        told = killed(house, spawned, Cleanup.FORCE)
        git.kill()
    assert (told.lock_removed, lock.exists()) == ("", True)
    assert f"git works in that repository (pid {git.pid})" in told.warnings[0].text


# -- session directories -----------------------------------------------------------------------


def with_session(house: House) -> tuple[Spawned, Path]:
    plain = house.root / "plain"
    plain.mkdir(exist_ok=True)
    spawned = agent_in(house, plain)
    return spawned, Path(make_session_dir(house.knell.world, spawned.run.id))


def test_O29_the_session_directory_goes(house: House) -> None:
    spawned, path = with_session(house)
    assert path == house.state / "sessions" / spawned.run.id
    assert (path.stat().st_mode & 0o777, (path / MARKER).read_text()) == (0o700, spawned.run.id)
    (path / "deep").mkdir()
    (path / "deep" / "file").write_text("x")
    (path / "deep").chmod(0o500)
    told = killed(house, spawned)
    assert (told.session_dir, told.failed, path.exists()) == ("removed", (), False)


def test_O29_what_nobody_asked_to_clean_goes_a_day_later(house: House) -> None:
    spawned, path = with_session(house)
    house.kill("luna")
    assert path.is_dir()
    world = house.knell.world
    sweep_sessions(world)
    assert path.is_dir()
    today = world.seconds()
    world.seconds = lambda: today + KEPT_FOR + 1  # type: ignore[method-assign]
    sweep_sessions(world)
    assert not path.exists()
    assert spawned.run.id == path.name


def test_O29_no_session_directory_is_nothing_to_say(house: House) -> None:
    spawned, path = with_session(house)
    for expected in ("removed", ""):
        assert killed(house, spawned).session_dir == expected
    assert not path.exists()


def test_G41_links_out_of_a_session_directory_are_not_followed(house: House) -> None:
    outside = house.root / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    spawned, path = with_session(house)
    (path / "folder").symlink_to(outside)
    (path / "file").symlink_to(outside / "precious")
    (path / "loop").symlink_to(path)
    assert (killed(house, spawned).session_dir, path.exists()) == ("removed", False)
    assert (outside / "precious").read_text() == "precious"


def unmarked(path: Path) -> None:
    (path / MARKER).unlink()


def marked_for_another(path: Path) -> None:
    (path / MARKER).write_text("another run")


def marked_by_a_link(path: Path) -> None:
    (path / MARKER).rename(path.parent / "mark")
    (path / MARKER).symlink_to(path.parent / "mark")


def a_link_itself(path: Path) -> None:
    path.rename(path.parent / "real")
    path.symlink_to(path.parent / "real")


def below_a_linked_root(path: Path) -> None:
    real = path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.symlink_to(real)


@pytest.mark.parametrize(
    "change",
    [unmarked, marked_for_another, marked_by_a_link, a_link_itself, below_a_linked_root],
)
def test_G41_what_is_not_surely_ours_stays(house: House, change: object) -> None:
    spawned, path = with_session(house)
    (path / "file").write_text("precious")
    change(path)  # type: ignore[operator]
    told = killed(house, spawned, Cleanup.FORCE)
    assert told.session_dir.startswith("kept: ")
    assert len(told.failed) == 1
    assert (path / "file").read_text() == "precious"


def test_O28_G40_a_session_directory_in_use_stays_and_the_user_is_named(house: House) -> None:
    spawned, path = with_session(house)
    with bystander(house, f"f = open({str(path / MARKER)!r})") as pid:
        told = killed(house, spawned, Cleanup.FORCE)
    assert (told.session_dir.startswith("kept: in use by"), path.exists()) == (True, True)
    assert f"pid {pid}" in told.failed[0]
    assert (
        clean_up(house.knell.world, spawned.run, spawned.agent, Cleanup.SAFE).session_dir
        == "removed"
    )


def test_O30_no_connection_to_the_store_is_left_open_by_an_ended_agent(house: House) -> None:
    """G40: of another process nothing can be closed; that none is left to hold one can be seen."""
    repo = Repo(house)
    source = f"import sqlite3\nc = sqlite3.connect({str(house.state / 'knell.db')!r})\n{WAIT}"
    agent_in(house, repo.main, source=source)
    ended(house)
    held = house.knell.world.processes.open_files([str(house.state / "knell.db")])
    assert held.files == ()
