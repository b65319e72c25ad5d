"""Names that would hurt a path, a tmux target or a shell: refused before anything exists."""

import pytest

from complaints import USAGE, complaint
from house import House

BAD = {
    "blank": "a b",
    "newline": "a\nb",
    "shell": "a;touch pwned",
    "substitution": "$(touch pwned)",
    "backquotes": "`touch pwned`",
    "up": "..",
    "path": "../../x",
    "slash": "a/b",
    "dot": "a.b",
    "colon": "a:b",
    "glob": "*",
    "pane": "%1",
    "number": "123",
    "300 letters": "x" * 300,
    "emoji": "🦊",
    "escape": "\x1b[31mred",
    "half a character": "\udcff",
    "reserved": "all",
}


def nothing_began(house: House) -> bool:
    runs = house.state / "runs"
    return not house.knell.events() and not (runs.exists() and list(runs.iterdir()))


@pytest.mark.parametrize("name", BAD.values(), ids=BAD)
def test_a_bad_name_is_a_bad_request_that_proposes_a_good_one(house: House, name: str) -> None:
    what, hint = complaint(house.run("spawn", "--name", name, "--", "sleep", "100"), USAGE)
    assert what.startswith("the name ")
    assert nothing_began(house)
    assert not list(house.root.rglob("pwned"))
    proposed = hint.removeprefix("try ")
    accepted = house.run("spawn", "--name", proposed, "--", "true")
    assert accepted.returncode == 0, accepted.stderr
    assert accepted.stdout.startswith(f"{proposed}: command runs as PID ")


@pytest.mark.parametrize("option", ["--tag", "--team", "--role"])
@pytest.mark.parametrize("word", ["a b", "a\nb", "x" * 300, "..", "all"])
def test_so_is_a_bad_tag_team_or_role(house: House, option: str, word: str) -> None:
    what, _ = complaint(house.run("spawn", option, word, "--", "sleep", "100"), USAGE)
    assert what.startswith(f"the {option[2:]} ")
    assert nothing_began(house)


def test_adopt_minds_the_name_too(house: House) -> None:
    process = house.process("sleep", "100")
    what, _ = complaint(house.run("adopt", "--name", "a b", str(process.pid)), USAGE)
    assert what.startswith("the name ")
    assert nothing_began(house)
    process.kill()
    process.wait()


def test_a_name_that_runs_is_refused_and_the_first_lives_on(house: House) -> None:
    first = house.run("spawn", "--name", "luna", "--", "sleep", "100")
    assert first.returncode == 0
    what, hint = complaint(house.run("spawn", "--name", "luna", "--", "sleep", "100"), 1)
    assert what == "'luna' is still running"
    assert "knell kill luna" in hint
    assert [agent["name"] for agent in house.json("list")["agents"]] == ["luna"]
    assert len(house.json("show", "luna")["runs"]) == 1


def test_an_ended_name_may_be_used_again(house: House) -> None:
    for _ in range(2):
        assert house.run("spawn", "--name", "luna", "--", "sleep", "100").returncode == 0
        assert house.run("kill", "luna").returncode == 0
    assert len(house.json("show", "luna")["runs"]) == 2
