"""A home where a real program starts without a question, and a pane to type into it."""

import contextlib
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from e2e.model import HELD, Server
from e2e.programs import Program, Setting, python
from house import GONE, House, descendants, eventually, pause, told

MCP_SERVER = Path(__file__).with_name("mcp_server.py")
NO_SERVER, DOCILE, STUBBORN = "none", "docile", "stubborn"
PROCESSES = {NO_SERVER: 0, DOCILE: 1, STUBBORN: 2}  # of the MCP server with that habit
PANE = "test:"
ANSWER = "answer 1:"  # of the model, to whatever is said first
PASTE = 0.3  # seconds after which a key is a key of its own, and not the end of a paste
PATIENCE = 20.0  # seconds in which a program on a busy machine has read what was typed
# Where several programs share two cores each takes a minute to come up, and many seconds to leave.
UNHURRIED = "[spawn]\ntimeout = 100\n[stop]\nexit_wait = 60\n[resume]\nwait = 150\n"
Told = dict[str, Any]


class Home:
    """One person's home and project, the model on loopback, and the panes of its tmux."""

    def __init__(
        self, house: House, model: Server, commands: Path, program: Program, habit: str = NO_SERVER
    ) -> None:
        self.house = house
        self.model = model
        self.program = program
        self.project = house.root.resolve() / "project"
        self.project.mkdir(exist_ok=True)
        self._pids = house.root / "mcp.pids"
        self._servers = 0  # MCP processes that must have been there when all have started
        self.pane = PANE  # the one that is looked at and typed into
        # The one thing that Claude writes outside of its home; its name is made from its directory.
        digest = hashlib.sha256(os.fsencode(house.home / ".claude")).hexdigest()
        self.daemon_sockets = Path(f"/tmp/cc-daemon-{os.getuid()}", digest[:8])
        settings = house.root / "settings.toml"
        settings.write_text(UNHURRIED)
        house.env |= {
            "KNELL_CONFIG": str(settings),
            "PATH": f"{commands}:{house.env['PATH']}",
            # Whatever it wants outside comes to the stand-in too, which refuses it.
            "HTTPS_PROXY": model.address,
            "HTTP_PROXY": model.address,
            "NO_PROXY": "127.0.0.1",
            "TMPDIR": str(house.root),
            "COLORTERM": "truecolor",
            **program.env(model.address),
        }
        self.serve_mcp(habit)

    def serve_mcp(self, habit: str) -> None:
        """The program's MCP server: none, a docile one, or one that outlives its agent."""
        self.habit = habit
        argv = () if habit == NO_SERVER else python(MCP_SERVER, str(self._pids), habit)
        self.program.settle(Setting(self.house.home, self.project, self.model.address, argv))

    # -- starting -----------------------------------------------------------------------------

    def spawn(self, name: str = "luna", *options: str, args: tuple[str, ...] = ()) -> Told:
        """An agent under knell in the pane, ready to be typed to; what `spawn --json` says of it.

        `options` are knell's, `args` are the program's.
        """
        kind = self.program.name
        told = self.knell("spawn", *IN_TMUX, "--name", name, *options, "--json", kind, *args)
        agent = json.loads(told.stdout)["agents"][0]
        self.turn_to(agent)
        self.await_ready()
        return agent

    def spawn_plainly(self) -> int:
        """The program in a new pane as a person would start it, without knell; its pid."""
        pid = self.open_pane(self.program.name)
        self.await_ready()
        return pid

    def open_pane(self, command: str = "") -> int:
        """A new window that runs the command, or a shell, and nothing else; its pid."""
        where = ("-c", str(self.project), "-P", "-F", "#{pane_id} #{pane_pid}")
        new = ("new-window", "-t", "test:") if self.house.panes() else NEW_SESSION
        self.pane, pid = self.house.tmux(*new, *where, f"exec {command or SHELL}").split()
        return int(pid)

    def type_knell(self, *words: str) -> None:
        """`knell WORDS` typed into the shell of the pane; the program starts, or it refuses."""
        self.shows(PROMPT.strip())
        self.press("-l", shlex.join([sys.executable, "-m", "knell", *words]))
        self.press("Enter")
        eventually(lambda: self.is_ready() or "error: " in self.screen())

    def resume(self, name: str = "luna", *options: str) -> Told:
        """The agent is back in a pane of its own, ready to be typed to."""
        told = json.loads(self.knell("resume", name, *options, "--json").stdout)
        self.pane = self.pane_of(name)
        self.await_ready()
        return told

    def pane_of(self, name: str) -> str:
        [run] = [run for run in self.house.knell.world.store.runs.live() if run.agent == name]
        return getattr(run.place, "pane", "") or PANE

    def await_ready(self) -> None:
        """Its prompt is drawn and its MCP server with all that belongs to it is there."""
        self._servers += PROCESSES[self.habit]
        self.becomes_ready()
        eventually(lambda: len(self.mcp_pids()) >= self._servers)

    def becomes_ready(self) -> None:
        """Once is enough: a moment later it may be at a hook."""
        with contextlib.suppress(AssertionError):
            if eventually(lambda: self.is_ready() or self.is_closed()) and not self.is_closed():
                return
        seen = self.house.run("list", "--all").stdout
        raise AssertionError(f"it is never ready: {self.screen()}\n{seen}")

    def is_closed(self) -> bool:
        return self.pane not in (*self.house.panes(), PANE)

    def is_ready(self) -> bool:
        screen = self.screen()
        return self.program.ready in screen and self.program.busy not in screen

    def run_plainly(self, *args: str) -> subprocess.CompletedProcess[str]:
        """The program with these arguments, as a person would start it in a script."""
        return subprocess.run(
            [self.program.name, *args],
            env=self.house.env, cwd=self.project, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip

    def knell(self, *args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = self.house.run(*args, cwd=self.project)
        assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def end(self, *args: str) -> dict[str, Any]:
        """The receipt of a verb that ends luna, once nothing of anybody is left."""
        receipt = self.receipt(*args)
        self.assert_nothing_left()
        return receipt

    def receipt(self, *args: str) -> dict[str, Any]:
        """The receipt of a verb that ends one agent."""
        return json.loads(self.knell(*args, "--json").stdout)["receipts"][0]

    # -- the pane -----------------------------------------------------------------------------

    def turn_to(self, agent: Told) -> None:
        """That agent's pane, if there are several."""
        self.pane = agent["place"]["pane"]

    def screen(self) -> str:
        return self.house.tmux("capture-pane", "-p", "-t", self.pane).replace("\xa0", " ")

    def shows(self, text: str) -> None:
        try:
            eventually(lambda: text in self.screen())
        except AssertionError:
            raise AssertionError(f"{text!r} is never shown:\n{self.screen()}") from None

    def press(self, *keys: str) -> None:
        self.house.tmux("send-keys", "-t", self.pane, *keys)

    def type(self, text: str) -> None:
        """Typed and seen, not sent."""
        self.house.tmux("send-keys", "-t", self.pane, "-l", text)
        self.shows(text)

    def enter(self, text: str) -> None:
        """Typed, seen and sent."""
        self.type(text)
        pause(PASTE)
        self.press("Enter")

    def begin_anew(self, command: str) -> None:
        """The person begins a new conversation by a command of the program's own. Gemini sends the
        command to its model, as a prompt, as long as it has not loaded its commands."""
        self.type(command)
        while self.program.menu not in self.screen():
            self.press("C-u")
            pause(1.0)
            self.type(command)
            pause(1.0)
        for _ in range(2):  # one may be taken for the end of a paste; on an empty prompt it is none
            pause(PASTE * 5)
            self.press("Enter")
        with contextlib.suppress(AssertionError):  # codex leaves the old words on the screen
            eventually(lambda: self.is_ready() and ANSWER not in self.screen(), PATIENCE)
        self.becomes_ready()
        pause(1.0)

    def say(self, prompt: str, answer: str) -> None:
        """One exchange."""
        self.enter(prompt)
        self.shows(answer)

    def ask(self, word: str) -> list[str]:
        """One exchange; the words of the earlier ones, as the model is told of them."""
        self.enter(f"say {word}")

        def told() -> list[list[str]]:
            asked = [one.prompts for one in self.model.asked if one.tools]
            return [[rest for _, rest in one] for one in asked if one[-1:] == (("say", word),)]

        try:
            eventually(told, PATIENCE)
        except AssertionError:  # a program that reads late takes an Enter for the end of a paste
            self.press("Enter")
        [*_, words] = eventually(told)
        self.shows(f": {word}")
        self.becomes_ready()
        return words[:-1]

    def hold(self, word: str) -> None:
        """A turn that is not over: the model has begun to answer, and does not end. What is drawn
        then is the program's affair: claude draws whole lines only, and says that it is busy; codex
        draws the beginning of the answer, and takes its word for busy away."""
        self.model.holding.clear()
        self.model.hung_up.clear()
        self.enter(f"hold {word}")
        try:
            eventually(self.model.holding.is_set, PATIENCE)
        except AssertionError:  # as in `ask`
            self.press("Enter")
        eventually(self.model.holding.is_set)
        signs = (self.program.busy, f"{HELD}{word}")
        eventually(lambda: any(sign in self.screen() for sign in signs))

    # -- what is there ------------------------------------------------------------------------

    def processes(self) -> dict[int, str]:
        """Everything that lives because of the test, but for the tmux server."""
        everybody = {pid: told(pid) for pid in descendants()}
        # A command line that is empty belongs to a process on its way out; GONE is one that left.
        gone = ("", GONE)
        return {
            p: line for p, line in everybody.items() if line not in gone and "tmux " not in line
        }

    def members(self) -> list[int]:
        """The program and all that it started."""
        return [pid for pid, command in self.processes().items() if "keeper.py" not in command]

    def mcp_pids(self) -> list[int]:
        """Of every MCP process that was ever there."""
        return [int(line) for line in self._pids.read_text().split()] if self._pids.exists() else []

    def assert_nothing_left(self) -> None:
        assert self.processes() == {}
        assert not any(os.path.exists(f"/proc/{pid}") for pid in self.mcp_pids())
        assert self.house.panes() == []

    def conversations(self) -> list[Path]:
        return sorted(self.house.home.glob(self.program.conversations))

    def prompts(self) -> set[str]:
        """Whatever reached the model as the last thing said. How often says nothing: codex asks for
        a title when it likes, with the same words."""
        asked = [request.prompts[-1] for request in self.model.asked if request.prompts]
        return {re.sub(r"\s+", " ", " ".join(prompt)) for prompt in asked}


IN_TMUX = ("--in", "tmux", "--tmux-server", "test", "--session", "test")
PROMPT = "here$ "
SHELL = f"env PS1={shlex.quote(PROMPT)} sh"
NEW_SESSION = ("new-session", "-d", "-s", "test", "-x", "120", "-y", "50")


def reached(receipt: dict[str, Any]) -> list[str]:
    return [rung["rung"] for rung in receipt["rungs"] if rung["reached"]]
