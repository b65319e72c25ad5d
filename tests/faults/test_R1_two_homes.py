"""R1: two homes of one program on one machine: each agent's conversation is sought in its own."""

import shutil
from pathlib import Path

import pytest

from conversation_desk import KINDS, Desk
from house import House
from knell.core.conversation import TOLD, KnownConversation

# The variable that moves the home, and where of its files the desk writes them.
MOVED = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "gemini": ("GEMINI_CLI_HOME", "."),
    "opencode": ("XDG_DATA_HOME", ".local/share"),
}


class TwoHomes:
    """ada's program has the usual home; eve's has another, by a variable."""

    def __init__(self, house: House, name: str) -> None:
        self.house = house
        self.desk = Desk(house, name)
        self.variable, below = MOVED[name]
        self.usual, self.other = house.home / below, house.root / "other"

    def spawn_eve(self, *, by_option: bool) -> None:
        """With the variable in knell's own environment, or by `--env`."""
        moved = f"{self.variable}={self.other}"
        option = ("--env", moved) if by_option else ()
        env = self.house.env | ({} if by_option else {self.variable: str(self.other)})
        words = ("spawn", "--in", "tmux", "--tmux-server", "test", "--session", "eve", "--name")
        kind = self.desk.kind.name
        done = self.house.run(*words, "eve", *option, kind, cwd=self.desk.project, env=env)
        assert done.returncode == 0, done.stderr
        self.house.kill("eve")

    def file_in_other(self, id: str) -> Path:
        """A good file of that conversation in eve's home, and none in the usual one."""
        path = self.desk.good(id)
        if self.usual == self.house.home:  # gemini: the home above its folder
            self.other.mkdir()
            (self.usual / ".gemini").rename(self.other / ".gemini")
        else:
            self.usual.rename(self.other)
        return self.other / path.relative_to(self.usual)

    def is_in(self, name: str, id: str) -> None:
        known = KnownConversation(id, TOLD, self.house.knell.world.now())
        self.house.knell.world.store.runs.set_conversation(name, known)


@pytest.fixture(params=KINDS)
def homes(house: House, request: pytest.FixtureRequest) -> TwoHomes:
    return TwoHomes(house, request.param)


def test_R1_what_lies_in_the_other_home_is_not_ones_own(homes: TwoHomes) -> None:
    """ada is in a conversation whose only file is in eve's home."""
    path = homes.file_in_other(homes.desk.id())
    homes.spawn_eve(by_option=True)
    assert homes.desk.shown() == (False, "it was never written to disk")
    homes.desk.purge()
    refused = homes.house.run("resume", "ada", cwd=homes.desk.project)
    assert (refused.returncode, path.exists()) == (1, True), refused.stderr


@pytest.mark.parametrize("by_option", [True, False], ids=["env", "caller"])
def test_R1_each_finds_its_own_and_purges_no_others(homes: TwoHomes, *, by_option: bool) -> None:
    """The same file is in both homes, as where a person has copied one."""
    id = homes.desk.id()
    theirs = homes.file_in_other(id)
    shutil.copytree(homes.other, homes.usual, dirs_exist_ok=True)
    own = homes.usual / theirs.relative_to(homes.other)
    homes.spawn_eve(by_option=by_option)
    homes.is_in("eve", id)
    told = homes.house.json("show", "eve")
    assert told["why_not_resumable"] == ""
    own.unlink()
    assert homes.desk.shown() == (False, "it was never written to disk")
    assert homes.house.json("show", "eve")["why_not_resumable"] == ""
    homes.desk.purge()
    assert theirs.exists()


def test_R1_from_another_home_it_is_refused_with_the_variables_name(homes: TwoHomes) -> None:
    """eve was started with the variable set, and comes back only where it is set again."""
    theirs = homes.file_in_other(id := homes.desk.id())
    homes.spawn_eve(by_option=False)
    homes.is_in("eve", id)
    refused = homes.house.run("resume", "eve", cwd=homes.desk.project)
    assert (refused.returncode, homes.variable in refused.stderr) == (1, True), refused.stderr
    assert str(homes.other) in refused.stderr
    assert theirs.exists()
