"""M42, M51 to M53, M55: what a stop leaves alone, and what to do instead of one."""

import os
import pty
import subprocess

import pytest

from contracts.m_scenes import NAME, Shop, notes, notes_of, ready
from house import House, alive, eventually


def attached(house: House) -> tuple[subprocess.Popen[bytes], int]:
    """Somebody who looks at the session in a terminal, and that terminal's other end."""
    screen, keyboard = pty.openpty()
    client = subprocess.Popen(
        ["tmux", "-L", "test", "attach", "-t", f"={NAME}"],
        env=house.env, stdin=keyboard, stdout=keyboard, stderr=keyboard, start_new_session=True,
    )  # fmt: skip
    os.close(keyboard)
    eventually(lambda: house.tmux("list-clients", "-t", f"={NAME}"))
    return client, screen


def test_M42_tmux_itself_only_hangs_up_and_soft_does_not_even_that(house: House) -> None:
    shop = Shop(house)
    kept, hung_up = shop.session(), shop.session("b-creator-claude")
    shop.list(shop.row_text())
    shop.stop("--mode", "soft")
    house.tmux("kill-session", "-t", "=b-creator-claude")
    eventually(lambda: not alive(hung_up.pid))
    assert notes_of(house, hung_up.pid)[1:] == [["SIGHUP"], ["left", "SIGHUP"]]
    assert (alive(kept.pid), notes_of(house, kept.pid)[1:]) == (True, [])


@pytest.mark.parametrize("way", ["hard", "graceful"])
def test_M42_what_the_agent_started_does_not_outlive_it(house: House, way: str) -> None:
    """A child that took itself out of the pane's session: kill-session would not reach it."""
    shop = Shop(house)
    claude = shop.session(NAME, "breeds")
    child = eventually(lambda: [pid for pid, words in notes(house) if words == ["child"]])[0]
    shop.list(shop.row_text())
    assert shop.stop("--mode", way).returncode == 0
    assert (alive(claude.pid), alive(child)) == (False, False)


def test_M51_detaching_ends_nothing(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    before = shop.list(shop.row_text())
    client, screen = attached(house)
    house.tmux("detach-client", "-s", f"={NAME}")
    assert client.wait(timeout=300) == 0
    os.close(screen)
    assert (alive(claude.pid), shop.has_session(), shop.file.read_text()) == (True, True, before)
    assert shop.row()["status"] == "running"


def test_M51_a_session_that_somebody_looks_at_can_be_stopped(house: House) -> None:
    shop = Shop(house)
    claude = shop.session()
    shop.list(shop.row_text())
    client, screen = attached(house)
    assert shop.stop().returncode == 0
    client.wait(timeout=300)
    os.close(screen)
    assert notes_of(house, claude.pid)[1:] == [["left", "exit"]]


def test_M52_a_fresh_agent_in_the_session_that_was_left(house: House) -> None:
    shop = Shop(house)
    claude = shop.typed(NAME)
    house.tmux("send-keys", "-t", f"={NAME}:", "C-c", "C-c")
    eventually(lambda: not alive(claude.pid))
    assert shop.has_session()
    where = ("--in", "tmux", "--tmux-server", "test", "--session", NAME)
    assert shop.run("spawn", *where, "--name", "fresh", "claude").returncode == 0
    fresh = eventually(lambda: ready(house)[1:])[0]
    panes = house.tmux("list-panes", "-s", "-t", f"={NAME}:", "-F", "#{pane_id}").split()
    assert len(panes) == 2
    assert (alive(fresh.pid), fresh.conversation != claude.conversation) == (True, True)


def test_M52_the_session_of_an_agent_that_left_can_still_be_stopped(house: House) -> None:
    shop = Shop(house)
    claude = shop.typed(NAME)
    shop.list(shop.row_text())
    house.tmux("send-keys", "-t", f"={NAME}:", "C-c", "C-c")
    eventually(lambda: not alive(claude.pid))
    assert shop.delete().returncode == 0
    assert (shop.has_session(), shop.row()["status"]) == (False, "terminated")


def test_M53_replaced_by_a_new_one_of_the_same_name(house: House) -> None:
    shop = Shop(house)
    old = shop.session()
    shop.list(shop.row_text())
    assert shop.stop("--mode", "hard").returncode == 0
    where = ("--in", "tmux", "--tmux-server", "test", "--session", NAME)
    assert shop.run("spawn", *where, "--name", NAME, "claude").returncode == 0
    new = eventually(lambda: ready(house)[1:])[0]
    panes = house.tmux("list-panes", "-s", "-t", f"={NAME}:", "-F", "#{pane_id}").split()
    assert (alive(old.pid), alive(new.pid), len(panes)) == (False, True, 1)
    assert new.conversation != old.conversation


@pytest.mark.parametrize("mode", ["hard", "graceful", "soft"])
def test_M55_other_servers_other_files_and_other_sessions_are_untouched(
    house: House, mode: str
) -> None:
    shop, other = Shop(house), Shop(house, "other")
    mine = shop.session(server="iso")
    others = [shop.session(server="test"), shop.session(server="default")]
    others.append(shop.session("beside", server="iso"))
    shop.list(shop.row_text(server="iso"))
    before = other.list(other.row_text())
    assert shop.stop("--mode", mode).returncode == 0
    assert alive(mine.pid) == (mode == "soft")
    assert all(alive(agent.pid) for agent in others)
    assert [notes_of(house, agent.pid)[1:] for agent in others] == [[], [], []]
    assert other.file.read_text() == before


def test_M55_an_agent_of_knells_on_another_server_is_another(house: House) -> None:
    shop = Shop(house)
    luna = shop.spawn(name=NAME)
    assert luna.process
    before = shop.list(shop.row_text(server="iso"), shop.row_text("beside"))
    assert shop.delete().returncode == 0
    assert alive(luna.process.pid)
    shop.file.write_text(before)
    assert shop.run("stop", NAME).returncode == 0
    assert (alive(luna.process.pid), shop.file.read_text()) == (False, before)


def test_M55_a_row_of_a_server_that_is_gone_means_nobody_else(house: House) -> None:
    shop = Shop(house)
    here = shop.session(server="test")
    shop.list(shop.row_text(server="iso"))
    done = shop.delete()
    assert (done.returncode, alive(here.pid)) == (0, True)
    assert "tmux already dead" in done.stdout


@pytest.mark.parametrize("server", ["", "null", "default"])
def test_M4_M55_without_a_server_it_is_the_usual_one(house: House, server: str) -> None:
    shop = Shop(house)
    usual, named = shop.session(server="default"), shop.session(server="test")
    shop.list(shop.row_text(server=server))
    assert shop.delete().returncode == 0
    assert (alive(usual.pid), alive(named.pid)) == (False, True)
