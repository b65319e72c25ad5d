"""A reader of the pages: types their lines in a home of his own, inside a tmux session, with
stand-ins for the agent programs on PATH."""

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from house import House, eventually, pause
from pages import Block, Typed, typed, unlike

HERE = Path(__file__).resolve().parent
OTHERS = ("codex", "gemini", "agy", "opencode")  # for the pages, these only have to stay
STAYS = "#!/bin/sh\nexec sleep 600\n"
SHELL_SIGNS = set("|&;<>$`(){}*?~=")
# What only looks may be asked again until it shows what is still on its way.
LOOKS = {
    "list", "ls", "status", "show", "tree", "screen", "logs", "events", "stalled", "explain",
    "inbox", "verify",
}  # fmt: skip
LOOKS_AGAIN = 300
# On a busy machine an agent may need longer for its own exit than a person would give it.
PATIENT = (
    "[stop]\nexit_wait = 60\ngrace = 60\n[kill]\ngrace = 60\n"
    "[spawn]\ntimeout = 120\n[resume]\nwait = 120\n"
)
FULL_SCREEN = {"knell top": "q", "knell": "q"}  # the key that leaves it


class Reader:
    def __init__(self, house: House) -> None:
        self.house = house
        self.home = house.root / "project"
        self.home.mkdir()
        folder = house.root / "bin"
        folder.mkdir()
        knell = f'#!/bin/sh\nexec "{sys.executable}" -m knell "$@"\n'
        for name, script in {"knell": knell, **dict.fromkeys(OTHERS, STAYS)}.items():
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
        # By this interpreter: which python3 is found first, and what it costs to find it, is not
        # ours to say; a shim of pyenv takes longer than all the rest of an agent's start.
        claude = (HERE / "claude_program.py").read_text().partition("\n")[2]
        (folder / "claude").write_text(f"#!{sys.executable}\n{claude}")
        (folder / "claude").chmod(0o755)
        house.env["PATH"] = f"{folder}:{house.env['PATH']}"
        house.env |= {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "reader"), ("EMAIL", "reader@example.org"))
        }
        for words in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "x")):
            subprocess.run(["git", *words], cwd=self.home, env=house.env, check=True, timeout=300)
        self.tmux("new-session", "-d", "-s", "reader", "-x", "100", "-y", "30", "sleep 600")
        where = "#{socket_path},#{pid},0 #{pane_id}"
        tmux, pane = self.tmux("display-message", "-p", "-t", "reader", where).split()
        config = house.root / "patient.toml"
        config.write_text(PATIENT)
        self.env = house.env | {"TMUX": tmux, "TMUX_PANE": pane, "KNELL_CONFIG": str(config)}

    def tmux(self, *words: str) -> str:
        return self.house.tmux(*words, server="default")

    def read(self, blocks: Sequence[Block], *, compares: bool = True) -> int:
        """Types every line of these blocks, and gives how many there were."""
        count = 0
        for block in blocks:
            for line in block.first:
                self.answer(Typed(line, 0, ()))
            for one in typed(block.text):
                self.type(one if compares and not block.may_differ else one._replace(answer=()))
                count += 1
        return count

    def type(self, one: Typed) -> None:
        if one.line in FULL_SCREEN:
            self.look_at(one)
            return
        said = self.answer(one)
        eventually(self.is_quiet)
        words = one.line.split()
        for _ in range(LOOKS_AGAIN if words[0] == "knell" and words[1] in LOOKS else 0):
            if not unlike(one.answer, said):
                return
            pause(0.1)
            said = self.answer(one)
        if missing := unlike(one.answer, said):
            raise AssertionError(f"$ {one.line}\nnever said: {missing}\nbut:\n{said}")

    def is_quiet(self) -> bool:
        """Whether every claude that was started has come up, as a reader would wait for it."""
        runs = [one for one in self.house.knell.list() if one.kind == "claude" and one.pid]
        notes = self.house.home / ".claude" / "sessions"
        return all((notes / f"{one.pid}.json").exists() for one in runs)

    def answer(self, one: Typed) -> str:
        """What it says on both streams; fails if it exits with another code."""
        if one.line.startswith("knell ") and not SHELL_SIGNS & set(one.line):
            words = shlex.split(one.line)[1:]
            done = self.house.run(*words, env=self.env, cwd=str(self.home))
        else:
            done = subprocess.run(
                ["bash", "-c", one.line], env=self.env, cwd=self.home, capture_output=True,
                stdin=subprocess.DEVNULL, text=True, check=False, timeout=300,
            )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == one.code, f"$ {one.line}\n{done.returncode}\n{said}"
        assert "Traceback" not in said, one.line
        return said

    def look_at(self, one: Typed) -> None:
        """Opens what fills the screen, waits until it shows something, and leaves by its key."""
        envs = [
            word
            for name in ("PATH", "KNELL_HOME", "HOME", "KNELL_CONFIG")
            for word in ("-e", self.pair(name))
        ]
        words = ("new-window", "-P", "-F", "#{pane_id}", "-t", "reader:", "-c", str(self.home))
        pane = self.tmux(*words, *envs, one.line).strip()
        assert pane, one.line
        eventually(lambda: len(self.tmux("capture-pane", "-p", "-t", pane).split()) > 10)

        def left() -> bool:
            self.tmux("send-keys", "-t", pane, FULL_SCREEN[one.line])
            return pane not in self.tmux("list-panes", "-s", "-t", "reader", "-F", "#{pane_id}")

        eventually(left)

    def pair(self, name: str) -> str:
        return f"{name}={self.env[name]}"
