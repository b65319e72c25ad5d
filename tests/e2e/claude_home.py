"""A home where the real Claude Code starts without a question, and a pane to type into it."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from e2e.model import Server
from house import House, descendants, eventually, told

VERSION = "2.1.197"
PACKAGE = f"@anthropic-ai/claude-code@{VERSION}"
KEY = "sk-ant-stand-in-for-a-key-000000000000000000"  # nobody's
KEY_TAIL = 20  # by so many of its last characters Claude remembers a key that it may use
MCP_SERVER = Path(__file__).with_name("mcp_server.py")
READY = "? for shortcuts"  # below the prompt, while nothing is typed and nothing runs
DOCILE, STUBBORN = "docile", "stubborn"
PROCESSES = {DOCILE: 1, STUBBORN: 2}  # of the MCP server with that habit
PANE = "test:"
Told = dict[str, Any]


def install(where: Path) -> Path:
    """Claude Code from the registry that npm is told to use; the directory of its command."""
    npm = ("npm", "install", "--prefix", str(where), "--cache", str(where / "cache"))
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel", "error")
    subprocess.run([*npm, *quiet, PACKAGE], check=True, stdin=subprocess.DEVNULL, timeout=600)
    # npm may hold back install scripts; this one puts the native program in place.
    package = where / "node_modules/@anthropic-ai/claude-code"
    subprocess.run(["node", "install.cjs"], cwd=package, check=True, timeout=120)
    return where / "node_modules/.bin"


class ClaudeHome:
    """One person's home and project, the model on loopback, and the only pane of its tmux."""

    def __init__(self, house: House, model: Server, program: Path) -> None:
        self.house = house
        self.model = model
        self.project = house.root.resolve() / "project"
        self.project.mkdir()
        self._pids = house.root / "mcp.pids"
        self._servers = 0  # MCP processes that must have been there when all have started
        self.habit = DOCILE
        self.pane = PANE  # the one that is looked at and typed into
        house.env |= {
            "PATH": f"{program}:{house.env['PATH']}",
            "ANTHROPIC_BASE_URL": model.address,
            "ANTHROPIC_API_KEY": KEY,
            # Whatever it wants outside comes to the stand-in too, which refuses it.
            "HTTPS_PROXY": model.address,
            "HTTP_PROXY": model.address,
            "NO_PROXY": "127.0.0.1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "TMPDIR": str(house.root),
        }
        # The one thing that it writes outside of its home; the name is made from its directory.
        digest = hashlib.sha256(os.fsencode(house.home / ".claude")).hexdigest()
        self.daemon_sockets = Path(f"/tmp/cc-daemon-{os.getuid()}", digest[:8])
        self._settle_dialogs()
        self.serve_mcp(DOCILE)

    def _settle_dialogs(self) -> None:
        """Theme, key and trust, as if a person had answered long ago."""
        trusted = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["weather"]}
        settings = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": VERSION,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-KEY_TAIL:]], "rejected": []},
            "projects": {str(self.project): trusted},
        }
        (self.house.home / ".claude.json").write_text(json.dumps(settings))

    def serve_mcp(self, habit: str) -> None:
        """The project's MCP server: docile, or one that outlives its agent."""
        self.habit = habit
        argv = ["-S", str(MCP_SERVER), str(self._pids), habit]
        servers = {"weather": {"command": sys.executable, "args": argv}}
        (self.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))

    # -- starting -----------------------------------------------------------------------------

    def spawn(self, name: str = "luna", *options: str, args: tuple[str, ...] = ()) -> Told:
        """An agent under quell in the pane, ready to be typed to; what `spawn --json` says of it.

        `options` are quell's, `args` are Claude's.
        """
        where = ("--in", "tmux", "--tmux-server", "test", "--session", "test")
        told = self.quell("spawn", *where, "--name", name, *options, "--json", "claude", *args)
        agent = json.loads(told.stdout)["agents"][0]
        self.turn_to(agent)
        self.await_ready()
        return agent

    def spawn_plainly(self) -> int:
        """Claude in the same pane as a person would start it, without quell; its pid."""
        self.house.tmux("new-session", "-d", "-s", "test", "-c", str(self.project), "exec claude")
        self.await_ready()
        return int(self.house.tmux("list-panes", "-a", "-F", "#{pane_pid}"))

    def resume(self) -> Told:
        told = self.quell("resume", "luna", "--json")
        self.pane = PANE
        self.await_ready()
        return json.loads(told.stdout)

    def await_ready(self) -> None:
        """Its prompt is drawn and its MCP server with all that belongs to it is there."""
        self._servers += PROCESSES[self.habit]
        eventually(lambda: READY in self.screen())
        eventually(lambda: len(self.mcp_pids()) == self._servers)

    def run_plainly(self, *args: str) -> subprocess.CompletedProcess[str]:
        """`claude ARGS` as a person would start it in a script."""
        return subprocess.run(
            ["claude", *args],
            env=self.house.env, cwd=self.project, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def quell(self, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = self.house.run(*args, cwd=self.project)
        assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def end(self, *args: str) -> dict[str, Any]:
        """The receipt of a verb that ends luna, once nothing of anybody is left."""
        receipt = json.loads(self.quell(*args, "--json").stdout)["receipts"][0]
        self.assert_nothing_left()
        return receipt

    # -- the pane -----------------------------------------------------------------------------

    def turn_to(self, agent: Told) -> None:
        """That agent's pane, if there are several."""
        self.pane = agent["place"]["pane"]

    def screen(self) -> str:
        return self.house.tmux("capture-pane", "-p", "-t", self.pane).replace("\xa0", " ")

    def shows(self, text: str) -> None:
        eventually(lambda: text in self.screen())

    def press(self, *keys: str) -> None:
        self.house.tmux("send-keys", "-t", self.pane, *keys)

    def type(self, text: str) -> None:
        """Typed and seen, not sent."""
        self.house.tmux("send-keys", "-t", self.pane, "-l", text)
        self.shows(text)

    def say(self, prompt: str, answer: str) -> None:
        """One exchange."""
        self.type(prompt)
        self.press("Enter")
        self.shows(answer)

    # -- what is there ------------------------------------------------------------------------

    def processes(self) -> dict[int, str]:
        """Everything that lives because of the test, but for the tmux server."""
        everybody = {pid: told(pid) for pid in descendants()}
        # A command line that is empty belongs to a process on its way out.
        return {pid: line for pid, line in everybody.items() if line and "tmux " not in line}

    def members(self) -> list[int]:
        """Claude and all that it started."""
        return [pid for pid, command in self.processes().items() if "keeper.py" not in command]

    def mcp_pids(self) -> list[int]:
        """Of every MCP process that was ever there."""
        return [int(line) for line in self._pids.read_text().split()] if self._pids.exists() else []

    def assert_nothing_left(self) -> None:
        assert self.processes() == {}
        assert not any(os.path.exists(f"/proc/{pid}") for pid in self.mcp_pids())
        assert self.house.panes() == []

    def conversations(self) -> list[Path]:
        return sorted(self.house.home.glob(".claude/projects/*/*.jsonl"))

    def records(self) -> list[dict[str, Any]]:
        """Those of the only conversation; fails if the last is not whole."""
        [path] = self.conversations()
        text = path.read_text()
        assert text.endswith("\n")
        return [json.loads(line) for line in text.splitlines()]

    def written(self, text: str) -> bool:
        """Whether the conversation on disk holds it."""
        return any(text in path.read_text() for path in self.conversations())

    def session_of(self, pid: int) -> str:
        """The conversation that Claude itself says it is in."""
        note = self.house.home / f".claude/sessions/{pid}.json"
        eventually(note.exists)
        return json.loads(note.read_text())["sessionId"]

    def left_in_order(self) -> bool:
        """Whether Claude itself notes that the last session of the project was not cut short."""
        projects = json.loads((self.house.home / ".claude.json").read_text())["projects"]
        return projects[str(self.project)]["lastGracefulShutdown"]

    def prompts(self) -> list[str]:
        """Whatever reached the model as the last thing said."""
        asked = [request.prompts[-1] for request in self.model.asked if request.prompts]
        return [re.sub(r"\s+", " ", " ".join(prompt)) for prompt in asked]


def reached(receipt: dict[str, Any]) -> list[str]:
    return [rung["rung"] for rung in receipt["rungs"] if rung["reached"]]
