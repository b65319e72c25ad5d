"""M54: resume, after every way to end and into every place that is left."""

import json
import os
import signal

import pytest

from contracts.m_scenes import AGY, NAME, Shop, claude_file, notes, ready
from house import House, alive, eventually
from scenes import started

WROTE = ("stopped_at", "stopped_at_epoch", "stop_reason", "termination_mode", "resumable")


def panes(shop: Shop, name: str) -> list[str]:
    return shop.house.tmux("list-panes", "-s", "-t", f"={name}:", "-F", "#{pane_id}").split()


@pytest.mark.parametrize("end", ["stop", "delete", "kill", "crash", "lost"])
@pytest.mark.parametrize("kind", ["claude", "agy"])
def test_M54_whatever_ended_comes_back_as_it_was(house: House, kind: str, end: str) -> None:
    shop = Shop(house)
    luna = shop.spawn(kind)
    first = ready(house)[0]
    assert luna.process
    assert luna.keeper
    if end in ("crash", "lost"):
        os.kill(luna.process.pid, signal.SIGKILL)
        if end == "lost":
            os.kill(luna.keeper.pid, signal.SIGKILL)
        eventually(lambda: not alive(first.pid) and not shop.has_session("luna"))
    else:
        assert shop.run(end, "luna").returncode == 0
    chosen = ()
    if kind == "agy" and end in ("crash", "lost"):
        # Nobody looked while agy had its conversation open: what a search finds is only offered.
        refused = shop.run("resume", "luna")
        assert (refused.returncode, first.conversation in refused.stderr) == (1, True)
        assert len(ready(house)) == 1
        chosen = ("--conversation", first.conversation)
    told = shop.resume("luna", *chosen)
    second = eventually(lambda: ready(house)[1:])[0]
    assert second.conversation == first.conversation == told["conversation"]
    assert told["verdict"] == "resumed"
    assert house.json("show", "luna")["pid"] == second.pid
    assert [words[3] for _, words in notes(house) if words[0] == "ready"][1] == str(shop.folder)


def test_M8_M54_the_row_is_running_again_and_its_end_is_gone_from_it(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text(pid=claude.pid))
    shop.stop("--reason", "user_request")
    assert set(WROTE) <= set(shop.row())
    told = shop.resume(NAME)
    row = shop.row()
    assert (row["status"], row["claude_session_id_own"]) == ("running", claude.conversation)
    assert not set(WROTE) & set(row)
    assert (row["pane"]["pid"], row["pane"]["cmd"]) == (told["pid"], "claude")
    assert "start_command: 'claude --model   opus'   # as it was typed" in shop.file.read_text()
    assert (shop.has_session(), alive(told["pid"])) == (True, True)


def test_M54_place_dead_on_its_own_server(house: House) -> None:
    shop = Shop(house)
    shop.session(server="iso")
    shop.list(shop.row_text(server="iso"))
    shop.stop()
    house.tmux("kill-server", server="iso")
    shop.resume(NAME)
    assert (shop.has_session(server="iso"), shop.has_session(server="test")) == (True, False)


def test_M54_place_alive_but_empty(house: House) -> None:
    """An idle shell is in the session: the agent gets a pane beside it, the shell stays."""
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    shop.stop()
    shop.shell(NAME)
    shell = panes(shop, NAME)
    assert shop.resume(NAME)["conversation"] == claude.conversation
    assert (len(panes(shop, NAME)), panes(shop, NAME)[:1]) == (2, shell)
    assert "claude" not in shop.house.tmux("capture-pane", "-p", "-t", shell[0])


def test_M54_directory_gone(house: House) -> None:
    """A program that needs none starts where one is, and says so."""
    shop = Shop(house)
    started(house, "tell(os.getcwd())\nsleep()", name="luna")
    gone = shop.folder / "gone"
    gone.mkdir()
    nova = house.run(
        "spawn", "--in", "headless", "--name", "nova", "--cwd", str(gone), "--", "sleep", "99"
    )
    assert nova.returncode == 0
    house.run("kill", "nova")
    gone.rmdir()
    done = shop.run("resume", "nova")
    assert (done.returncode, f"its directory {gone} is gone" in done.stderr) == (0, True)
    assert os.readlink(f"/proc/{house.json('show', 'nova')['pid']}/cwd") == str(shop.folder)


def test_M54_directory_gone_and_the_conversation_with_it(house: House) -> None:
    """Claude resumes only where it was: that it could not is said, not that it was resumed."""
    shop, other = Shop(house), Shop(house, "other")
    shop.spawn()
    shop.run("stop", "luna")
    shop.file.parent.rmdir()
    shop.folder.rmdir()
    done = other.run("resume", "luna")
    assert (done.returncode, "resumed" in done.stdout) == (1, False)
    assert "'luna' did not come back" in done.stderr
    assert house.json("list")["agents"] == []


def test_M54_what_still_runs_is_refused(house: House) -> None:
    shop = Shop(house)
    shop.spawn()
    done = shop.run("resume", "luna")
    assert (done.returncode, len(ready(house))) == (1, 1)
    assert "'luna' is still running" in done.stderr


def test_M54_so_is_what_was_let_go_of_and_runs_on(house: House) -> None:
    """Two programs in one conversation would each lose what the other writes."""
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    shop.stop("--mode", "soft")
    done = shop.run("resume", NAME)
    assert (done.returncode, len(ready(house)), alive(claude.pid)) == (1, 1, True)
    assert "still running" in done.stderr
    assert shop.row()["status"] == "archived"


def test_M54_so_is_a_session_of_others_that_shows_its_agent(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text(status="stopped").replace("null", claude.conversation))
    done = shop.run("resume", NAME)
    assert (done.returncode, len(ready(house))) == (1, 1)
    assert "still shows its claude" in done.stderr


def test_M54_one_that_starts_afresh_is_reported_as_such(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    shop.stop()
    house.env["STAND_IN"] = "strays"
    strayed = shop.run("resume", NAME, "--json")
    told = json.loads(strayed.stdout)
    assert (strayed.returncode, told["verdict"], len(told["warnings"])) == (1, "fresh", 1)
    assert eventually(lambda: ready(house)[1:])[0].conversation != claude.conversation
    shop.run("stop", NAME)
    done = shop.run("resume", NAME)
    assert (done.returncode, "NOT resumed" in done.stdout) == (1, True)
    assert "another conversation than the one on record" in done.stderr


def test_M54_a_crash_in_a_later_conversation_comes_back_to_that(house: House) -> None:
    """/clear had begun another since the spawn; nobody looked before it died."""
    shop = Shop(house)
    luna = shop.spawn()
    assert luna.process
    new = "00000000-0000-4000-8000-000000000000"
    claude_file(shop, new).write_text('{"text": "anew"}\n')
    note = house.home / ".claude" / "sessions" / f"{luna.process.pid}.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "sessionId": new}))
    os.kill(luna.process.pid, signal.SIGKILL)
    eventually(lambda: not shop.has_session("luna"))
    assert shop.resume("luna")["conversation"] == new


def test_M54_conversation_not_found_is_no_resume(house: House) -> None:
    """It was there when knell looked, for another directory: the program itself refuses."""
    shop, other = Shop(house), Shop(house, "other")
    claude = shop.session()
    shop.list(shop.row_text())
    shop.stop()
    file = claude_file(shop, claude.conversation)
    claude_file(other, "x").parent.mkdir(parents=True)
    file.rename(claude_file(other, claude.conversation))
    before = shop.file.read_text()
    done = shop.run("resume", NAME)
    assert (done.returncode, "resumed" in done.stdout) == (1, False)
    assert f"'{NAME}' did not come back" in done.stderr
    assert eventually(lambda: ["lost", claude.conversation] in [words for _, words in notes(house)])
    assert (shop.file.read_text(), house.json("list")["agents"]) == (before, [])


def test_M54_a_conversation_that_is_not_on_disk_is_not_tried(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    shop.stop()
    claude_file(shop, claude.conversation).unlink()
    done = shop.run("resume", NAME)
    assert (done.returncode, len(ready(house))) == (1, 1)
    assert f"conversation {claude.conversation}" in done.stderr


@pytest.mark.parametrize("name", [NAME, AGY])
def test_M54_a_row_that_others_stopped_before_knell_came(house: House, name: str) -> None:
    shop = Shop(house)
    agent = shop.session(name)
    house.tmux("kill-server")
    eventually(lambda: not alive(agent.pid))
    shop.list(shop.row_text(name, status="stopped").replace("null", agent.conversation))
    told = shop.resume(name)
    second = eventually(lambda: ready(house)[1:])[0]
    assert second.conversation == told["conversation"] == agent.conversation
    assert (shop.has_session(name), shop.row(name)["status"]) == (True, "running")
    args = [words[2] for _, words in notes(house) if words[0] == "ready"][1]
    assert args[-2:] == ["--model", "opus"]
    assert shop.stop(name=name).returncode == 0


def test_M54_who_is_unknown_cannot_be_resumed(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text("another"))
    done = shop.run("resume", NAME)
    assert (done.returncode, f"'{NAME}' not found" in done.stderr) == (1, True)


def test_M54_a_row_without_a_conversation_cannot_either(house: House) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text(status="terminated"))
    done = shop.run("resume", NAME)
    assert (done.returncode, shop.file.read_text()) == (1, before)
    assert "is not known" in done.stderr
