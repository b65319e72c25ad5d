"""M11 to M13, M21, M23, M25 to M30, C1, C9, C20, C35: the modes and the state machine."""

import pytest

from contracts.m_scenes import NAME, Shop, configure, notes_of, reached
from house import House, alive
from scenes import list_names

STOPPING = (
    pytest.param(("--capture-id",), id="capture-id"),
    pytest.param(("--reason", "api_error"), id="reason"),
    pytest.param(("--graceful",), id="graceful"),
    pytest.param(("--capture-id", "--reason", "timeout", "--graceful"), id="all"),
)


def played(house: House, habits: str = "") -> tuple[Shop, int]:
    shop = Shop(house)
    claude = shop.session(NAME, habits)
    shop.list(shop.row_text())
    return shop, claude.pid


def test_M11_soft_writes_the_file_and_leaves_the_agent_alone(house: House) -> None:
    shop, pid = played(house)
    before = shop.screen()
    done = shop.stop("--mode", "soft")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "stop complete")
    assert shop.row()["status"] == "archived"
    assert (alive(pid), shop.has_session(), shop.screen()) == (True, True, before)
    assert notes_of(house, pid)[1:] == []  # no key, no signal
    shop.say("still there")


def test_M11_C1_the_prose_makes_soft_the_default_and_a_setting_does(house: House) -> None:
    shop, pid = played(house)
    configure(house, '[stop]\ndefault_mode = "soft"\n')
    assert shop.stop().returncode == 0
    assert (alive(pid), shop.row()["status"]) == (True, "archived")


def test_M12_hard_ends_the_tmux_session(house: House) -> None:
    shop, pid = played(house)
    assert shop.stop("--mode", "hard").returncode == 0
    assert (alive(pid), shop.has_session(), shop.row()["status"]) == (False, False, "terminated")


def test_M12_hard_closes_a_pane_that_would_stay(house: House) -> None:
    """The session goes because knell ends it, not only because its last program left."""
    shop, pid = played(house)
    house.tmux("set-option", "-t", f"={NAME}:", "remain-on-exit", "on")
    assert shop.stop("--mode", "hard").returncode == 0
    assert (alive(pid), shop.has_session()) == (False, False)


def test_M12_C1_hard_is_the_default_of_delete_and_of_a_setting(house: House) -> None:
    shop, pid = played(house)
    assert shop.delete().returncode == 0
    assert (alive(pid), shop.row()["status"]) == (False, "terminated")
    shop.session("b-creator-claude")
    shop.list(shop.row_text("b-creator-claude"))
    configure(house, '[stop]\ndefault_mode = "hard"\n')
    assert shop.stop(name="b-creator-claude").returncode == 0
    assert shop.row("b-creator-claude")["status"] == "terminated"


@pytest.mark.parametrize("verb", ["stop", "delete"])
@pytest.mark.parametrize(("mode", "status"), [("soft", "archived"), ("hard", "terminated")])
def test_M13_the_mode_decides_the_status(house: House, verb: str, mode: str, status: str) -> None:
    shop, pid = played(house)
    lives = mode == "soft"
    assert shop.run(verb, "--session", NAME, "--mode", mode).returncode == 0
    assert (shop.row()["status"], alive(pid), shop.has_session()) == (status, lives, lives)


def test_M13_another_mode_is_a_mistake(house: House) -> None:
    shop, pid = played(house)
    done = shop.stop("--mode", "gentle")
    assert (done.returncode, alive(pid), shop.row()["status"]) == (2, True, "running")


@pytest.mark.parametrize("options", STOPPING)
def test_M21_M28_any_of_the_three_makes_it_stopped(house: House, options: tuple[str, ...]) -> None:
    shop, pid = played(house)
    assert shop.delete("--mode", "hard", *options).returncode == 0
    assert (shop.row()["status"], alive(pid), shop.has_session()) == ("stopped", False, False)
    assert "terminated_at" not in shop.row()


def test_M21_only_graceful_types_the_exit(house: House) -> None:
    shop, pid = played(house)
    shop.delete("--capture-id", "--reason", "crash")
    assert notes_of(house, pid)[1:] == [["SIGTERM"], ["left", "SIGTERM"]]


@pytest.mark.parametrize(
    "reason", ["user_request", "api_error", "timeout", "crash", "manual_stop", "tea: at five"]
)
def test_M23_the_reason_is_recorded(house: House, reason: str) -> None:
    shop = Shop(house)
    shop.list(shop.row_text())
    assert shop.stop("--reason", reason).returncode == 0
    assert shop.row()["stop_reason"] == reason


def test_M23_without_one_it_is_a_manual_stop(house: House) -> None:
    shop = Shop(house)
    shop.list(shop.row_text())
    assert shop.stop("--graceful").returncode == 0
    assert shop.row()["stop_reason"] == "manual_stop"


@pytest.mark.parametrize("options", [(), *STOPPING])
def test_M25_M30_a_stopped_row_is_left_alone(house: House, options: tuple[str, ...]) -> None:
    shop, _ = played(house)
    shop.stop("--reason", "user_request")
    before = shop.file.read_text()
    done = shop.stop(*options)
    stopped_at = shop.row()["stopped_at"]
    assert (done.returncode, done.stdout) == (0, f"already stopped ({stopped_at})\n")
    assert shop.file.read_text() == before


def test_M25_also_when_a_shell_lives_in_a_session_of_that_name(house: House) -> None:
    """If the agent itself lives there, it is ended: test_K_registry.py."""
    shop = Shop(house)
    shop.shell(NAME)
    before = shop.list(shop.row_text(status="stopped"))
    done = shop.stop("--graceful")
    assert (done.returncode, done.stdout) == (0, "already stopped (time unknown)\n")
    assert (shop.has_session(), shop.file.read_text()) == (True, before)


@pytest.mark.parametrize(("mode", "status"), [("hard", "terminated"), ("soft", "archived")])
def test_M26_without_the_three_it_is_as_it_was_before_them(
    house: House, mode: str, status: str
) -> None:
    shop, pid = played(house)
    shop.delete("--mode", mode)
    row = shop.row()
    assert row["status"] == status
    assert not {"stopped_at", "stop_reason", "resumable", "termination_mode"} & set(row)
    assert row["claude_session_id_own"] is None
    if mode == "hard":
        assert notes_of(house, pid)[1:] == [["SIGTERM"], ["left", "SIGTERM"]]


def test_M27_M29_the_ways_out_of_running(house: House) -> None:
    shop, pid = played(house)
    shop.stop("--mode", "soft")
    assert (shop.row()["status"], alive(pid)) == ("archived", True)
    shop.stop("--mode", "hard")
    assert (shop.row()["status"], alive(pid)) == ("terminated", False)


def test_M29_archived_once_is_archived(house: House) -> None:
    shop, pid = played(house)
    shop.stop("--mode", "soft")
    before = shop.file.read_text()
    done = shop.stop("--mode", "soft")
    assert (done.returncode, alive(pid), shop.file.read_text()) == (0, True, before)
    assert "already archived" in done.stdout


def test_M29_who_has_ended_cannot_be_let_go_of(house: House) -> None:
    shop, _ = played(house)
    shop.stop()
    before = shop.file.read_text()
    assert shop.stop("--mode", "soft").returncode == 0
    assert shop.file.read_text() == before


def test_M30_stopped_and_then_hard_is_terminated(house: House) -> None:
    shop, _ = played(house)
    shop.stop()
    assert shop.stop("--mode", "hard").returncode == 0
    assert shop.row()["status"] == "terminated"


def test_C1_a_plain_stop_is_graceful_and_captures_the_id(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    receipt = shop.receipt("stop", "--session", NAME)
    row = shop.row()
    assert reached(receipt) == ["exit_keys"]
    assert (row["status"], row["termination_mode"]) == ("stopped", "graceful")
    assert (row["claude_session_id_own"], row["resumable"]) == (claude.conversation, True)


def test_C9_asked_again_each_command_answers_in_its_own_words(house: House) -> None:
    shop, pid = played(house)
    shop.delete()
    assert f"Process group {pid} not found" in shop.run("kill", NAME).stdout
    assert "Already terminated at" in shop.delete().stdout
    assert shop.run("stop", NAME).returncode == 0


def test_C20_one_word_why_for_each_contract(house: House) -> None:
    shop, _ = played(house)
    assert shop.receipt("stop", "--session", NAME, "--reason", "timeout")["reason"] == "timeout"
    shop.resume(NAME)
    receipt = shop.receipt("kill", NAME, "--reason", "it hangs")
    assert (receipt["reason"], receipt["detail"]) == ("killed", "it hangs")
    assert shop.row()["status"] == "terminated"
    assert "stop_reason" not in shop.row()


@pytest.mark.parametrize("option", [("--disconnect",), ("--mode", "soft")])
def test_C35_a_disconnect_leaves_a_tracked_orphan(house: House, option: tuple[str, ...]) -> None:
    shop, pid = played(house)
    assert shop.run("stop", "--session", NAME, *option).returncode == 0
    assert (alive(pid), shop.has_session(), list_names(house)) == (True, True, [])
    assert [orphan["pid"] for orphan in house.json("status")["orphans"]] == [pid]
