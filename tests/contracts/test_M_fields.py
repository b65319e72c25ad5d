"""M32 to M34, M37, M40, M48, M49, M56, C18, C22: what is in the row afterwards."""

import json
import re
import subprocess
from datetime import datetime

import pytest

from contracts.m_scenes import AGY, NAME, OWN, Shop, notes_of
from house import House, alive

ISO_Z = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def test_M32_stopped_is_a_status_that_every_reader_takes(house: House) -> None:
    """Written, read back, and the session beside it can still be worked with."""
    shop = Shop(house)
    shop.list(shop.row_text(), shop.row_text(AGY))
    assert shop.stop().returncode == 0
    assert shop.row()["status"] == "stopped"
    assert shop.delete(name=AGY).returncode == 0
    assert [row["status"] for row in shop.data()["tmux_sessions"]] == ["stopped", "terminated"]


@pytest.mark.parametrize("name", [NAME, AGY])
@pytest.mark.parametrize(
    ("options", "mode"), [(("--graceful", "--capture-id"), "graceful"), (("--capture-id",), "stop")]
)
def test_M33_the_fields_of_a_stop(
    house: House, name: str, options: tuple[str, ...], mode: str
) -> None:
    shop = Shop(house)
    agent = shop.session(name)
    shop.list(shop.row_text(name))
    assert shop.delete(*options, "--reason", "api_error", name=name).returncode == 0
    row = shop.row(name)
    assert ISO_Z.fullmatch(row["stopped_at"])
    assert row["stopped_at_epoch"] == datetime.fromisoformat(row["stopped_at"]).timestamp()
    own = OWN[name.rsplit("-", 1)[1]]
    fields = ("status", "stop_reason", "termination_mode", "resumable", own)
    values = ["stopped", "api_error", mode, True, agent.conversation]
    assert [row[field] for field in fields] == values
    assert "terminated_at" not in row


def test_M33_without_capture_id_no_id_is_written(house: House) -> None:
    shop = Shop(house)
    shop.session()
    shop.list(shop.row_text())
    shop.delete("--reason", "timeout")
    row = shop.row()
    assert (row["status"], row["claude_session_id_own"]) == ("stopped", None)
    assert "resumable" not in row


def test_M34_the_fields_of_a_hard_stop(house: House) -> None:
    shop = Shop(house)
    shop.session()
    shop.list(shop.row_text())
    shop.delete()
    row = shop.row()
    assert row["status"] == "terminated"
    assert ISO_Z.fullmatch(row["terminated_at"])
    assert row["terminated_at_epoch"] == datetime.fromisoformat(row["terminated_at"]).timestamp()


@pytest.mark.parametrize("way", [("--mode", "hard"), ("--mode", "soft"), ()])
def test_M37_the_last_screen_is_kept_for_the_audit(house: House, way: tuple[str, ...]) -> None:
    shop = Shop(house)
    shop.session()
    shop.say("two plus two")
    shop.list(shop.row_text())
    shop.stop(*way)
    assert "You said: two plus two" in shop.row()["last_visible_status"].splitlines()


def test_M37_without_its_secrets_and_not_all_of_it(house: House) -> None:
    shop = Shop(house)
    shop.session()
    shop.say("export ANTHROPIC_API_KEY=sk-ant-api03-0123456789abcdefghijklmnop")
    shop.list(shop.row_text())
    shop.stop()
    shown = shop.row()["last_visible_status"]
    assert "ANTHROPIC_API_KEY" in shown
    assert "0123456789abcdef" not in shown
    assert len(shown.splitlines()) <= 20


def test_M40_the_row_is_written_whichever_name_was_used(house: House) -> None:
    """By its session, and by the agent that knell knows it as."""
    shop = Shop(house)
    shop.spawn(name="luna")
    shop.list(shop.row_text("luna"))
    assert shop.run("stop", "luna", "--reason", "user_request").returncode == 0
    row = shop.row("luna")
    assert (row["status"], row["stop_reason"]) == ("stopped", "user_request")


def test_M40_a_kill_is_written_too(house: House) -> None:
    shop = Shop(house)
    shop.spawn(name="luna")
    shop.list(shop.row_text("luna"))
    assert house.run("kill", "luna").returncode == 0  # from elsewhere: the agent's directory tells
    assert shop.row("luna")["status"] == "terminated"


def test_M48_M49_the_documented_verification_after_hard(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text(pid=claude.pid))
    house.tmux("set-option", "-t", f"={NAME}:", "remain-on-exit", "on")  # else tmux closes it
    assert shop.delete().returncode == 0
    assert not shop.has_session()
    rows = [x for x in shop.data()["tmux_sessions"] if x["name"] == NAME]
    assert rows[0]["status"] == "terminated"
    assert rows[0].get("terminated_at")
    preserved = [rows[0]["pane"][key] for key in ("pid", "cmd", "cwd")]
    assert preserved == [claude.pid, "claude", str(shop.folder)]


@pytest.mark.parametrize(
    ("way", "status"), [("hard", "terminated"), ("graceful", "stopped"), ("soft", "archived")]
)
def test_C18_each_mode_is_verified_by_its_own_end(house: House, way: str, status: str) -> None:
    shop = Shop(house)
    shop.session()
    shop.list(shop.row_text())
    shop.stop("--mode", way)
    assert shop.row()["status"] == status
    assert house.json("receipt", NAME)["outcome"] == status
    assert shop.has_session() == (way == "soft")


def facts(shop: Shop, *args: str) -> tuple[int, dict[str, bool]]:
    """The exit code of `knell verify`, and its facts."""
    done = shop.run("verify", *args, "--json")
    document = json.loads(done.stdout)
    assert document["verified"] == (done.returncode == 0)
    return done.returncode, {one["what"]: one["good"] for one in document["facts"]}


@pytest.mark.parametrize(
    ("way", "status"), [("hard", "terminated"), ("graceful", "stopped"), ("soft", "archived")]
)
def test_K5_C18_verify_accepts_the_end_of_each_mode(house: House, way: str, status: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text(pid=claude.pid))
    before, said = facts(shop, "--session", NAME)
    assert before == 1, "it runs"
    assert said[f"the tmux session {NAME} is there"] is False
    shop.stop("--mode", way)
    for target in (("--session", NAME), (NAME,)):
        after, said = facts(shop, *target)
        assert (after, all(said.values())) == (0, True), said
        assert f"its row says {status}" in said
    assert any("still knows the pane" in one for one in said)


@pytest.mark.parametrize(
    ("wrong", "fact"),
    [
        ("status: running", "its row says running, not stopped"),
        ("status: terminated", "its row says terminated, not stopped"),
        ("stopped_at: null", "its row has stopped_at missing"),
    ],
)
def test_K5_C18_M49_verify_says_what_is_not_as_the_ending_left_it(
    house: House, wrong: str, fact: str
) -> None:
    shop = Shop(house)
    shop.session()
    shop.list(shop.row_text())
    shop.stop("--mode", "graceful")
    text = shop.file.read_text()
    key = wrong.partition(":")[0]
    shop.file.write_text(re.sub(rf"(?m)^  {key}: .*$", f"  {wrong}", text, count=1))
    code, said = facts(shop, "--session", NAME)
    assert (code, said[fact]) == (1, False), said


def test_C18_verify_finds_what_outlived_an_agent(house: House) -> None:
    """Also what nothing on record knows of: by its stamp."""
    run = house.spawn(name="luna").run
    assert house.run("verify", "luna").returncode == 1
    house.kill("luna")
    done = house.run("verify", "luna")
    assert done.returncode == 0, done.stdout
    assert "ok  no process of it is left" in done.stdout
    env = {**house.env, "KNELL_RUN": run.id}
    stray = subprocess.Popen(["sleep", "600"], env=env, start_new_session=True)
    try:
        done = house.run("verify", "luna")
        assert (done.returncode, f"NO  processes are left: {stray.pid}" in done.stdout) == (1, True)
    finally:
        stray.kill()
        stray.wait()


@pytest.mark.parametrize("args", [(), ("luna", "--session", "x")])
def test_C18_verify_wants_one_target(house: House, args: tuple[str, ...]) -> None:
    assert house.run("verify", *args).returncode == 2


@pytest.mark.parametrize("args", [("nobody",), ("--session", "nobody")])
def test_C18_verify_of_what_is_unknown_fails(house: House, args: tuple[str, ...]) -> None:
    assert house.run("verify", *args).returncode == 1


def test_M56_an_end_that_cannot_be_written_is_said_aloud(house: House) -> None:
    """What the row says is used elsewhere in the file too: changing it would change both."""
    shop = Shop(house)
    claude = shop.session()
    shop.list(f"- &shop\n  name: {NAME}\n  status: running\n  tmux_server: test\n")
    shop.file.write_text(shop.file.read_text() + "copy: *shop\n")
    before = shop.file.read_text()
    done = shop.delete()
    assert (done.returncode, shop.file.read_text()) == (1, before)
    assert f"the row '{NAME}' was not written" in done.stderr
    assert "delete complete" not in done.stdout
    assert not alive(claude.pid)


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        ("  status: paused\n", "line 6, column 11"),
        ("  status: running\n  pane: 7\n", "line 7, column 9"),
        ("  status: 'running\n", "line"),
        ("\tstatus: running\n", "line 6"),
    ],
)
def test_M56_what_the_validator_rejects_is_named_with_its_place(
    house: House, broken: str, place: str
) -> None:
    shop = Shop(house)
    claude = shop.session()
    before = shop.list(f"- name: {NAME}\n{broken}")
    done = shop.delete()
    assert (done.returncode, shop.file.read_text()) == (1, before)
    assert place in done.stderr
    assert (alive(claude.pid), notes_of(house, claude.pid)[1:]) == (True, [])


def test_M56_a_broken_file_saves_nobody_from_a_kill(house: House) -> None:
    shop = Shop(house)
    luna = shop.spawn()
    shop.file.write_text("tmux_sessions: {")
    done = shop.run("kill", "luna")
    assert done.returncode == 0
    assert luna.process
    assert not alive(luna.process.pid)
    assert "the registry file was left as it is" in done.stderr
    assert shop.file.read_text() == "tmux_sessions: {"


def test_C22_a_hand_edit_is_taken_in(house: House) -> None:
    """A person moves the session to another server and says so in the file."""
    shop = Shop(house)
    here, there = shop.session(server="test"), shop.session(server="iso")
    shop.list(shop.row_text(server="test"))
    assert shop.stop("--dry-run").returncode == 0
    shop.file.write_text(shop.file.read_text().replace("tmux_server: test", "tmux_server: iso"))
    assert shop.stop().returncode == 0
    assert (alive(here.pid), alive(there.pid)) == (True, False)


def test_C22_the_store_is_the_truth_and_the_file_may_be_lost(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    shop.stop()
    shop.file.unlink()
    assert house.json("receipt", NAME)["outcome"] == "stopped"
    assert shop.resume(NAME)["conversation"] == claude.conversation
    assert not shop.file.exists()
