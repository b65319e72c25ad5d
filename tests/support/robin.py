"""Brings robin, a made-up kind of agent, to a house: as a file, by a package, in the settings."""

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import knell
from house import House, eventually

HERE = Path(__file__).resolve().parent
SETTINGS = """
[kinds.robin]
program = "robin"
choose_id = ["--talk", "{id}"]
resume = ["--again", "{id}"]
picks = ["--talk", "--again"]
strip_env = ["ROBIN_CHILD"]
exit_keys = "/bye"
clear_keys = ["Escape", "C-u"]
exit_shown = 'robin> /bye *$'
root = "{home}/.robin"
root_env = { ROBIN_HOME = "" }
conversation = ["talks/{id}.jsonl"]
extras = ["notes/{id}"]
lost = ["robin: there is no such talk"]
asks = ['(?m)^\\[1\\] yes  \\[2\\] no$(?![\\s\\S]*robin>)']
registry_id = "robin_talk_id_own"
child_env = ['ROBIN_SESSION']
session_env = 'ROBIN_SESSION'
"""


def install_program(house: House) -> None:
    """The program itself, on the PATH of this house."""
    folder = house.root / "bin"
    folder.mkdir()
    shutil.copy(HERE / "robin_program.py", folder / "robin")
    house.env["PATH"] = f"{folder}:{house.env['PATH']}"


@cache
def copy_with_robin() -> Path:
    """A copy of knell with one more file in `kinds/`, and nothing else changed.

    All houses of this process share it, and what Python has compiled of it."""
    folder = Path(tempfile.mkdtemp(prefix="knell-copy-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copytree(Path(knell.__file__).parent, folder / "knell")
    shutil.copy(HERE / "robin_kind.py", folder / "knell" / "kinds" / "robin.py")
    return folder


def as_file(house: House) -> None:
    house.env["PYTHONPATH"] = str(copy_with_robin())


def as_package(house: House) -> None:
    """An installed distribution with an entry point."""
    offer(house, "robin-agent", {"knell.kinds": {"robin": "robin_kind:KIND"}})
    shutil.copy(HERE / "robin_kind.py", site(house))


def in_settings(house: House) -> None:
    configure(house, SETTINGS)


BRINGS: dict[str, Callable[[House], None]] = {
    "file": as_file,
    "package": as_package,
    "settings": in_settings,
}


def site(house: House) -> Path:
    """A folder of installed packages that only this house has."""
    folder = house.root / "site"
    folder.mkdir(exist_ok=True)
    house.env["PYTHONPATH"] = str(folder)
    return folder


def offer(house: House, package: str, groups: dict[str, dict[str, str]]) -> None:
    """Installs the metadata of a package with these entry points."""
    info = site(house) / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines: list[str] = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def configure(house: House, text: str) -> Path:
    file = house.root / "config.toml"
    file.write_text(text)
    house.env["KNELL_CONFIG"] = str(file)
    return file


class Aviary:
    """A house with robin."""

    def __init__(self, house: House, bring: Callable[[House], None]) -> None:
        self.house = house
        install_program(house)
        bring(house)

    @property
    def home(self) -> Path:
        return self.house.home / ".robin"

    def spawn(self, *options: str, name: str = "ada") -> dict[str, Any]:
        """One in a tmux pane, once it waits for a line."""
        done = self.house.run(*spawn_words(name, "--json", *options))
        assert done.returncode == 0, done.stderr
        self.await_prompt()
        return json.loads(done.stdout)["agents"][0]

    def await_prompt(self) -> None:
        eventually(lambda: self.screen().rstrip().endswith("robin>"))

    def screen(self) -> str:
        panes = self.house.panes()
        return self.house.tmux("capture-pane", "-p", "-t", panes[-1]) if panes else ""

    def say(self, line: str) -> None:
        self.house.tmux("send-keys", "-t", self.house.panes()[-1], line, "Enter")

    def started(self) -> dict[str, Any]:
        """What the program was last started with."""
        return json.loads((self.home / "started.json").read_text())

    def talks(self) -> list[str]:
        return sorted(path.stem for path in (self.home / "talks").glob("*.jsonl"))

    def register(self, **fields: object) -> Path:
        """A registry file with one session, which is that of the newest pane."""
        file = self.house.root / ".hermes" / "agent-sessions.yaml"
        file.parent.mkdir()
        session = self.house.tmux("display-message", "-p", "-t", self.house.panes()[-1], "#S")
        row = {"name": session.strip(), "status": "running", "tmux_server": "test", **fields}
        file.write_text(json.dumps({"tmux_sessions": [row]}))
        return file


def spawn_words(name: str, *options: str) -> tuple[str, ...]:
    return ("spawn", "--in", "tmux", "-L", "test", "--name", name, *options, "robin")
