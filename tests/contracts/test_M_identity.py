"""M1 to M5, M15, M54: what it is called, whom it ends, which file and tmux server it means."""

from pathlib import Path

import pytest

from contracts.m_scenes import AGY, NAME, Shop, configure, notes_of, reached, ready
from house import House, alive, eventually


@pytest.mark.parametrize("verb", ["stop", "delete"])
def test_M1_both_names_end_the_session_and_say_so_last(house: House, verb: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    done = shop.run(verb, "--session", NAME, "--mode", "hard")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"{verb} complete")
    assert not alive(claude.pid)


@pytest.mark.parametrize("verb", ["stop", "delete"])
def test_M1_nothing_is_complete_that_did_not_happen(house: House, verb: str) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    done = shop.run(verb, "--session", NAME, "--dry-run")
    assert (done.returncode, f"{verb} complete" in done.stdout) == (0, False)
    assert f"{claude.pid} [pane]" in done.stdout
    assert (alive(claude.pid), shop.row()["status"]) == (True, "running")
    assert house.json("list", "--all")["agents"] == []  # nor was anybody taken charge of


@pytest.mark.parametrize("name", [NAME, AGY])
def test_M2_claude_and_agy_leave_by_their_own_words(house: House, name: str) -> None:
    shop = Shop(house)
    agent = shop.session(name)
    shop.list(shop.row_text(name))
    receipt = shop.receipt("stop", "--session", name)
    assert (receipt["kind"], receipt["outcome"]) == (name.rsplit("-", 1)[1], "stopped")
    assert notes_of(house, agent.pid)[1:] == [["left", "exit"]]


@pytest.mark.parametrize("below", [".", "src/deep"])
def test_M3_the_file_of_this_directory_or_above_it_counts(house: House, below: str) -> None:
    shop = Shop(house)
    shop.list(shop.row_text())
    folder = shop.folder / below
    folder.mkdir(parents=True, exist_ok=True)
    done = house.run("delete", "--session", NAME, cwd=folder)
    assert (done.returncode, shop.row()["status"]) == (0, "terminated")


def test_M3_elsewhere_there_is_no_such_session(house: House) -> None:
    shop = Shop(house)
    before = shop.list(shop.row_text())
    done = house.run("delete", "--session", NAME)
    assert (done.returncode, shop.file.read_text()) == (1, before)
    assert "NOT in YAML" in done.stdout


@pytest.mark.parametrize("how", ["option", "setting"])
def test_M3_the_file_can_be_named(house: House, how: str) -> None:
    shop = Shop(house)
    shop.list(shop.row_text())
    named: tuple[str, ...] = ("--registry", str(shop.file))
    if how == "setting":
        configure(house, f'[registry]\nfile = "{shop.file}"\n')
        named = ()
    done = house.run("delete", "--session", NAME, *named)
    assert (done.returncode, shop.row()["status"]) == (0, "terminated")


def test_M3_a_file_that_was_named_must_be_there(house: House) -> None:
    missing = house.root / "nowhere.yaml"
    done = house.run("delete", "--session", NAME, "--registry", str(missing))
    assert (done.returncode, missing.exists()) == (1, False)
    assert str(missing) in done.stderr


@pytest.mark.parametrize("misleading", [None, "test"])
def test_M4_the_row_says_on_which_tmux_server(house: House, misleading: str | None) -> None:
    shop = Shop(house)
    here, there = shop.session(server="test"), shop.session(server="iso")
    shop.list(shop.row_text(server="iso"))
    env = house.env | ({"TMUX_SERVER_NAME": misleading} if misleading else {})
    assert shop.run("delete", "--session", NAME, env=env).returncode == 0
    assert (alive(here.pid), alive(there.pid)) == (True, False)
    assert notes_of(house, here.pid)[1:] == []


def test_M5_ending_one_session_and_going_on_with_another(house: House) -> None:
    shop = Shop(house)
    first, second = shop.session(), shop.session(AGY)
    shop.list(shop.row_text(), shop.row_text(AGY))
    assert shop.stop().returncode == 0
    assert (alive(first.pid), alive(second.pid)) == (False, True)
    assert (shop.row()["status"], shop.row(AGY)["status"]) == ("stopped", "running")


def test_M5_cleaning_up_before_a_fresh_start(house: House) -> None:
    shop = Shop(house)
    old = shop.session()
    shop.list(shop.row_text())
    assert shop.delete().returncode == 0
    new = shop.session()
    assert not alive(old.pid)
    assert alive(new.pid)


def test_M15_the_name_alone_tells_which_agent_it_is(house: House) -> None:
    shop = Shop(house)
    agy = shop.session(AGY)
    shop.list(f"- name: {AGY}\n  tmux_server: test\n")
    receipt = shop.receipt("stop", "--session", AGY)
    assert (receipt["kind"], reached(receipt)) == ("agy", ["exit_keys"])
    assert notes_of(house, agy.pid)[1:] == [["left", "exit"]]


def test_M15_a_session_may_have_a_longer_name_than_any_agent(house: House) -> None:
    """Two that differ only after the 64 characters that an agent's name may have."""
    shop = Shop(house)
    names = [f"{'w' * 70}-{word}-creator-claude" for word in ("one", "two")]
    agents = [shop.session(name) for name in names]
    shop.list(*map(shop.row_text, names))
    for name, agent in zip(names, agents, strict=True):
        assert shop.stop(name=name).returncode == 0
        assert not alive(agent.pid)
    told = [shop.resume(name) for name in names]
    assert [one["conversation"] for one in told] == [agent.conversation for agent in agents]
    assert [shop.row(name)["status"] for name in names] == ["running", "running"]


def test_M15_tmux_keeps_a_dot_as_an_underscore(house: House) -> None:
    shop = Shop(house)
    claude = shop.session("my.shop-creator-claude")
    shop.list(shop.row_text("my.shop-creator-claude"))
    assert shop.stop(name="my.shop-creator-claude").returncode == 0
    assert not alive(claude.pid)
    assert shop.row("my.shop-creator-claude")["status"] == "stopped"


def test_M54_create_status_monitor_stop_resume(house: House) -> None:
    """The companions, one after the other, on one session."""
    shop = Shop(house)
    shop.list(shop.row_text())
    where = ("--in", "tmux", "--tmux-server", "test", "--session", NAME)
    created = shop.run("spawn", *where, "--name", NAME, "claude", "--model", "opus")
    assert created.returncode == 0, created.stderr
    claude = eventually(lambda: ready(house))[0]
    assert NAME in shop.run("status").stdout
    shop.run("watch", "--once")
    assert shop.row()["claude_session_id_own"] == claude.conversation
    assert shop.stop().returncode == 0
    assert shop.resume(NAME)["verdict"] == "resumed"
    assert shop.row()["status"] == "running"
    assert Path(shop.folder).samefile(house.json("show", NAME)["cwd"])
