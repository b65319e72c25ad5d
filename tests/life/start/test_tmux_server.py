"""P12: an agent comes back in the tmux server that it was in, whoever asks and from wherever."""

import pytest

from house import House, eventually


def spawn_inside(house: House, server: str = "work") -> None:
    """Spawned by a person who sits in a session of that server, and does not name it."""
    house.tmux("new-session", "-d", "-s", "desk", "sleep", "600", server=server)
    socket = house.tmux("display-message", "-p", "#{socket_path},#{pid},0", server=server).strip()
    inside = {**house.env, "TMUX": socket}
    done = house.run("spawn", "--name", "luna", "--in", "tmux", "--", "sleep", "601", env=inside)
    assert done.returncode == 0, done.stderr
    assert len(house.panes("work")) == 2


def servers(house: House) -> list[str]:
    """The tmux servers that have panes."""
    names = sorted(path.name for path in house.tmux_dir.glob("tmux-*/*"))
    return [name for name in names if house.panes(name)]


@pytest.mark.parametrize("verb", ["resume", "restart"])
@pytest.mark.parametrize("lives", [True, False], ids=["server lives", "server ended"])
def test_P12_it_comes_back_in_the_server_that_it_was_in(
    house: House, verb: str, *, lives: bool
) -> None:
    spawn_inside(house)
    assert house.run("kill", "luna").returncode == 0
    if not lives:
        house.tmux("kill-server", server="work")
        eventually(lambda: not house.panes("work"))
    done = house.run(verb, "luna")
    assert done.returncode == 0, done.stderr
    assert servers(house) == ["work"]
    assert len(house.panes("work")) == 1 + lives


def test_P12_also_where_the_directory_of_the_sockets_is_gone(house: House) -> None:
    """A restart of the machine empties /tmp."""
    spawn_inside(house)
    house.run("kill", "luna")
    house.tmux("kill-server", server="work")
    eventually(lambda: not house.panes("work"))
    for path in house.tmux_dir.glob("tmux-*/*"):
        path.unlink()
    for path in house.tmux_dir.glob("tmux-*"):
        path.rmdir()
    done = house.run("resume", "luna")
    assert done.returncode == 0, done.stderr
    assert servers(house) == ["work"]


def test_P12_another_server_that_is_named_wins(house: House) -> None:
    spawn_inside(house)
    house.run("kill", "luna")
    assert house.run("resume", "luna", "--tmux-server", "other").returncode == 0
    assert servers(house) == ["other", "work"]
