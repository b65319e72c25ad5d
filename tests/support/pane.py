"""Commands typed into a real terminal: a tmux pane of some width, and what it shows afterwards."""

import shlex
import sys
from collections.abc import Sequence

from house import House, eventually

SERVER = "eyes"  # a server of its own: the agents' panes are on another one
KNELL = f"{shlex.quote(sys.executable)} -m knell"


class Pane:
    """One pane with a shell in it. Its screen is read by tmux, as a person would see it."""

    def __init__(
        self,
        house: House,
        columns: int = 80,
        lines: int = 50,
        program: Sequence[str] = ("sh",),
        **env: str,
    ) -> None:
        self.house = house
        self.columns = columns
        self.marks = 0
        size = ("-x", str(columns), "-y", str(lines))
        more = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
        folder = ("-c", str(house.root))
        self.name = f"eyes-{columns}-{len(house.tmux('list-sessions', server=SERVER).split())}"
        house.tmux(
            "new-session", "-d", "-s", self.name, *size, *folder, *more,
            "env", "PS1=$ ", "HISTFILE=/dev/null", *program, server=SERVER,
        )  # fmt: skip
        eventually(self.text)

    def type(self, text: str, *keys: str) -> None:
        self.house.tmux("send-keys", "-t", self.name, "-l", "--", text, server=SERVER)
        for key in keys:
            self.press(key)

    def press(self, key: str) -> None:
        self.house.tmux("send-keys", "-t", self.name, key, server=SERVER)

    def text(self, *, colours: bool = False, joined: bool = False) -> str:
        """The screen; `colours`: with its escape sequences; `joined`: wrapped lines are one."""
        how = [*(["-e"] if colours else []), *(["-J"] if joined else [])]
        shown = self.house.tmux("capture-pane", "-p", *how, "-t", self.name, server=SERVER)
        return shown.rstrip("\n")

    def run(self, command: str, *, colours: bool = False) -> list[str]:
        """What the command printed, line by line as the terminal shows it, once it has ended.

        `knell` stands for this knell. The screen is cleared first."""
        done = self.start(command)
        eventually(lambda: done in self.text().splitlines())
        shown = self.text(colours=colours).splitlines()
        return shown[: next(i for i, text in enumerate(shown) if done in text)]

    def start(self, command: str) -> str:
        """Starts it and does not wait; the word that is printed once it has ended.

        tmux empties the screen before anything is typed: what an earlier command printed is
        never taken for this one's."""
        self.house.tmux("send-keys", "-R", "-t", self.name, server=SERVER)
        self.marks += 1
        done = f"done-{self.marks}"
        script = self.house.root / f"{self.name}.{self.marks}"
        script.write_text(f"clear\n{command.replace('knell ', f'{KNELL} ')}\necho {done}\n")
        self.type(f". {script}", "Enter")
        return done

    def wrapped(self) -> bool:
        """Whether a line of the screen goes on in the next one."""
        return len(self.text().splitlines()) != len(self.text(joined=True).splitlines())
