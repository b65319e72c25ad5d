"""M24, C3, C13, C14, C19: the exit is typed safely, and every wait ends when the agent does."""

import os
import signal

import pytest

from contracts.m_scenes import AGY, NAME, Shop, claude_file, hurry, notes_of, reached, texts
from house import House, alive, eventually
from knell import kinds
from knell.core import ladder
from knell.core.ladder import Rung
from scenes import state_letter


def at_ms(receipt: dict[str, object]) -> dict[str, int]:
    rungs: list[dict[str, int]] = receipt["rungs"]  # type: ignore[assignment]
    return {str(rung["rung"]): rung["at_ms"] for rung in rungs}


@pytest.mark.parametrize("name", [NAME, AGY])
@pytest.mark.parametrize("start", ["session", "typed"])
def test_M24_its_own_exit_is_typed_and_nothing_else_happens(
    house: House, name: str, start: str
) -> None:
    """Also where it was typed into a shell, which does not get the words."""
    shop = Shop(house)
    agent = shop.session(name) if start == "session" else shop.typed(name)
    shop.list(shop.row_text(name))
    receipt = shop.receipt("stop", "--session", name, "--graceful")
    assert notes_of(house, agent.pid)[1:] == [["left", "exit"]]
    assert reached(receipt) == ["exit_keys"]
    assert (shop.has_session(name), shop.row(name)["termination_mode"]) == (False, "graceful")


def test_M24_a_program_that_is_busy_saving_is_waited_for(house: House) -> None:
    shop = Shop(house)
    claude = shop.session(NAME, "slow")
    shop.list(shop.row_text())
    receipt = shop.receipt("stop", "--session", NAME)
    assert notes_of(house, claude.pid)[1:] == [["left", "exit"]]
    assert reached(receipt) == ["exit_keys"]


def test_M24_C3_three_seconds_then_term_five_then_kill(house: House) -> None:
    shop = Shop(house)
    claude = shop.session(NAME, "stays deaf")
    shop.list(shop.row_text())
    receipt = shop.receipt("stop", "--session", NAME)
    assert reached(receipt) == ["exit_keys", "term", "kill"]
    at = at_ms(receipt)
    assert at["term"] - at["exit_keys"] >= 2990
    assert at["kill"] - at["term"] >= 4990
    assert notes_of(house, claude.pid)[1:3] == [["heard", "/exit"], ["SIGTERM"]]
    assert (alive(claude.pid), shop.has_session()) == (False, False)
    assert shop.row()["status"] == "stopped"


def test_C3_the_waits_are_one_policy_that_each_call_may_change(house: House) -> None:
    waits = {step.rung: step.wait for step in ladder.STOP}
    assert (waits[Rung.EXIT_KEYS], waits[Rung.TERM]) == (3, 5)
    assert ladder.KILL[0].wait == 2
    shop = Shop(house)
    shop.session(NAME, "stays deaf")
    shop.list(shop.row_text())
    hurry(house)
    receipt = shop.receipt("stop", "--session", NAME, "--grace", "0")
    assert reached(receipt) == ["exit_keys", "term", "kill"]
    assert at_ms(receipt)["kill"] - at_ms(receipt)["term"] < 4990


def test_M24_a_half_typed_prompt_is_emptied_first(house: House) -> None:
    shop = Shop(house)
    claude = shop.session(NAME, "half")
    shop.list(shop.row_text())
    assert "half-typed words" in shop.screen()
    assert shop.stop().returncode == 0
    assert notes_of(house, claude.pid)[1:] == [["left", "exit"]]
    assert texts(claude_file(shop, claude.conversation)) == ["hello"]


def test_M24_G18_an_open_question_is_refused_and_never_answered_yes(house: House) -> None:
    shop = Shop(house)
    claude = shop.session(NAME, "wants")
    shop.list(shop.row_text())
    assert "[Enter: yes]" in shop.screen()
    assert shop.stop().returncode == 0
    assert notes_of(house, claude.pid)[1:] == [["refused"], ["left", "exit"]]


def test_M24_G18_a_question_that_comes_back_is_no_exit(house: House) -> None:
    """Claude may offer to go on in the background: then TERM follows, and nothing goes on."""
    shop = Shop(house)
    claude = shop.session(NAME, "asks")
    shop.list(shop.row_text())
    hurry(house, exit_wait=0.5, grace=5)
    receipt = shop.receipt("stop", "--session", NAME)
    assert reached(receipt) == ["exit_keys", "term"]
    assert notes_of(house, claude.pid)[1:] == [["SIGTERM"], ["left", "SIGTERM"]]
    assert (alive(claude.pid), shop.row()["status"]) == (False, "stopped")


def test_M24_nothing_is_typed_where_the_agent_has_gone(house: House) -> None:
    """The session lives, but what reads the keys now is another program."""
    shop = Shop(house)
    typed = house.root / "typed"
    reads = ("sh", "-c", f"touch {typed}; cat > {typed}")
    house.tmux("new-session", "-d", "-s", NAME, "-c", str(shop.folder), "--", *reads)
    eventually(typed.exists)
    shop.list(shop.row_text())
    hurry(house)
    done = shop.stop()
    assert (done.returncode, typed.read_text(), shop.has_session()) == (0, "", False)
    assert "its exit keys were not typed" in done.stderr


def test_K6_M24_nothing_is_typed_into_the_shell_of_a_suspended_agent(house: House) -> None:
    shop = Shop(house)
    claude = shop.typed(NAME)
    shell = int(house.tmux("display-message", "-p", "-t", f"={NAME}:", "#{pane_pid}"))
    os.kill(claude.pid, signal.SIGSTOP)
    eventually(lambda: state_letter(claude.pid) == "T" and "idle$" in shop.screen())
    shop.list(shop.row_text())
    hurry(house, grace=1)
    receipt = shop.receipt("stop", "--session", NAME)
    assert "exit" not in receipt["screen"]
    assert "exit_keys_not_typed" in [told["code"] for told in receipt["warnings"]]
    assert "exit_keys" not in reached(receipt)
    assert shop.row()["termination_mode"] != "graceful"
    assert not alive(claude.pid)
    eventually(lambda: not alive(shell))
    assert not any(words[0] == "heard" for words in notes_of(house, claude.pid))


def test_M24_nothing_is_typed_into_the_pane_of_another(house: House) -> None:
    """The agent of knell's own has lost its pane to somebody; both are named alike."""
    shop = Shop(house)
    luna = shop.spawn()
    assert luna.process
    house.tmux("set-option", "-p", "-t", luna.place.pane, "@knell_run", "somebody-elses")
    receipt = shop.receipt("stop", "luna")
    assert "exit_keys" not in reached(receipt)
    assert notes_of(house, luna.process.pid)[1:] == [["SIGTERM"], ["left", "SIGTERM"]]


def test_M24_a_pane_that_was_asked_for_in_vain_still_gets_the_words(house: House) -> None:
    """Somebody tried to adopt it, by pane and by session; it was refused, and nothing changed."""
    shop = Shop(house)
    luna = shop.spawn()
    for target in (luna.place.pane, "session:luna"):
        assert shop.run("adopt", target, "--tmux-server", "test").returncode == 1
    receipt = shop.receipt("stop", "luna")
    assert (reached(receipt), receipt["pane"]["closed"]) == (["exit_keys"], True)


def test_M24_a_pane_in_copy_mode_gets_the_words_too(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    house.tmux("copy-mode", "-t", f"={NAME}:")
    assert shop.stop().returncode == 0
    assert notes_of(house, claude.pid)[1:] == [["left", "exit"]]


def test_M24_an_idle_shell_goes_without_being_killed(house: House) -> None:
    """It ignores TERM, as every interactive shell; a hangup is how a terminal asks it."""
    shop = Shop(house)
    shop.shell(NAME)
    shop.list(shop.row_text())
    receipt = shop.receipt("delete", "--session", NAME)
    assert reached(receipt) == ["term"]
    assert [process["ended_by"] for process in receipt["processes"]] == ["hangup"]


@pytest.mark.parametrize("start", ["session", "typed"])
def test_M38_C13_hard_sends_term_itself_before_tmux_hangs_up(house: House, start: str) -> None:
    shop = Shop(house)
    claude = shop.session() if start == "session" else shop.typed(NAME)
    shop.list(shop.row_text())
    assert shop.delete().returncode == 0
    assert notes_of(house, claude.pid)[1:] == [["SIGTERM"], ["left", "SIGTERM"]]
    assert not shop.has_session()


def test_C14_the_pane_is_closed_when_the_agent_has_finished(house: House) -> None:
    """Closing first would hang up a program in the middle of a write."""
    shop = Shop(house)
    claude = shop.session(NAME, "slow")
    shop.list(shop.row_text())
    receipt = shop.receipt("delete", "--session", NAME)
    assert notes_of(house, claude.pid)[1:] == [["SIGTERM"], ["left", "SIGTERM"]]
    assert (receipt["pane"]["closed"], shop.has_session()) == (True, False)


def test_C19_each_kind_has_words_for_stop(house: House) -> None:
    claude, agy = kinds.kind("claude"), kinds.kind("agy")
    assert (claude.exit_keys, agy.exit_keys) == ("/exit", "Exit")


@pytest.mark.parametrize(("name", "keys"), [(NAME, ("C-c", "C-c")), (AGY, ("C-d",))])
def test_C19_M52_the_keys_end_the_agent_and_leave_its_session(
    house: House, name: str, keys: tuple[str, ...]
) -> None:
    """A person types them to leave the agent and keep its shell; knell itself never does."""
    shop = Shop(house)
    agent = shop.typed(name)
    house.tmux("send-keys", "-t", f"={name}:", *keys)
    eventually(lambda: not alive(agent.pid))
    assert shop.has_session(name)
