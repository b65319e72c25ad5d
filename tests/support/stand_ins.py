"""Brings a stand-in of an agent program to a house, and a pane to type into it."""

import json
import shutil
from pathlib import Path
from typing import Any

from house import House, eventually

HERE = Path(__file__).resolve().parent


class StandIn:
    """Agents of one kind in panes of the house's tmux; `program` replays the real one."""

    def __init__(self, house: House, kind: str) -> None:
        self.house = house
        self.kind = kind
        self.project = house.root.resolve() / "project"
        self.project.mkdir()
        folder = house.root / "bin"
        folder.mkdir()
        shutil.copy(HERE / f"{kind}_program.py", folder / kind)
        (folder / kind).chmod(0o755)
        house.env["PATH"] = f"{folder}:{house.env['PATH']}"

    def spawn(self, name: str, *args: str, shows: str = "") -> None:
        where = ("--in", "tmux", "--tmux-server", "test", "--session", "test")
        self.knell("spawn", *where, "--name", name, self.kind, *args)
        self.shows(name, shows)

    def resume(self, name: str, shows: str) -> None:
        self.knell("resume", name)
        self.shows(name, shows)

    def knell(self, *args: str, code: int = 0) -> str:
        done = self.house.run(*args, cwd=self.project)
        assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def shown(self, name: str) -> dict[str, Any]:
        return json.loads(self.house.run("show", name, "--json", cwd=self.project).stdout)

    def conversation(self, name: str) -> tuple[str, str]:
        """What `show` says: the id, and by whose word."""
        told = self.shown(name)
        return told.get("conversation") or "", told["conversation_source"]

    def receipt(self, *args: str) -> dict[str, Any]:
        done = self.house.run(*args, "--json", cwd=self.project)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["receipts"][0]

    def pane(self, name: str) -> str:
        runs = self.house.knell.world.store.runs.live()
        return next(run.place.pane for run in runs if run.agent == name)

    def screen(self, name: str) -> str:
        return self.house.tmux("capture-pane", "-p", "-t", self.pane(name))

    def shows(self, name: str, text: str) -> None:
        try:
            eventually(lambda: text in self.screen(name))
        except AssertionError:
            raise AssertionError(f"{text!r} is never shown:\n{self.screen(name)}") from None

    def type(self, name: str, text: str, shows: str) -> None:
        pane = self.pane(name)
        self.house.tmux("send-keys", "-t", pane, "-l", text)
        self.house.tmux("send-keys", "-t", pane, "Enter")
        self.shows(name, shows)
