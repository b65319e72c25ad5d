"""quell list: who is there, for people and for pipes."""

import pytest

from house import House


@pytest.fixture
def peopled(house: House) -> House:
    """Luna and nova live, kira was killed."""
    for name in ("kira", "luna", "nova"):
        house.spawn(name=name, tag="dev")
    house.kill("kira")
    return house


@pytest.mark.parametrize("verb", ["list", "ls", "ps"])
@pytest.mark.parametrize("flag", ["--names", "-q"])
def test_names_only(peopled: House, verb: str, flag: str) -> None:
    done = peopled.run(verb, flag)
    assert (done.returncode, done.stdout, done.stderr) == (0, "luna\nnova\n", "")


def test_names_of_everybody(peopled: House) -> None:
    assert set(peopled.run("list", "--names", "--all").stdout.split()) == {"kira", "luna", "nova"}


def test_nobody_is_no_name_and_no_error(house: House) -> None:
    done = house.run("list", "--names")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_names_are_made_for_kill(peopled: House) -> None:
    names = peopled.run("list", "--names").stdout
    done = peopled.run("kill", "-", input=names)
    assert done.returncode == 0
    assert peopled.run("list", "--names").stdout == ""


def test_H53_the_table_shows_who_lives(peopled: House) -> None:
    head, *rows = peopled.run("list").stdout.splitlines()
    assert head.split()[:5] == ["NAME", "KIND", "STATE", "PID", "PLACE"]
    assert [row.split()[:3] for row in rows] == [
        ["luna", "command", "running"],
        ["nova", "command", "running"],
    ]


def test_the_table_of_everybody_shows_how_they_ended(peopled: House) -> None:
    rows = peopled.run("list", "--all").stdout.splitlines()[1:]
    [kira] = [row for row in rows if row.startswith("kira")]
    assert "ended: killed" in kira
    assert "by operator: killed" in kira


def test_an_agent_that_exited_by_itself_is_listed_no_more(house: House) -> None:
    house.run("spawn", "--name", "luna", "--", "false")
    assert house.run("list", "--names").stdout == ""
    [luna] = house.json("list", "--all")["agents"]
    assert (luna["outcome"], luna["by"]) == ("failed", "agent")
