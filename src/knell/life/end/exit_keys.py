"""Types what a person would type to leave: only into the agent's own pane, and with Enter only
where its screen shows that nothing else would be sent."""

import re
from collections.abc import Sequence
from itertools import repeat

from knell.core.codes import Code, Notice
from knell.core.ending_steps import Case
from knell.core.errors import PlaceFailed
from knell.core.kind import Kind
from knell.core.ports.terminal import Present
from knell.core.ports.world import World
from knell.core.process import Gone
from knell.core.run import Run

# What follows an Escape at once is read as Alt: the open question stays, and Enter answers yes.
# Text and Enter in one burst are taken for a paste, and the Enter for a line break in it.
BETWEEN_KEYS = 0.3
DRAWN_WITHIN = 2.0  # seconds that a busy program may take to draw what was typed
LOOK_EVERY = 0.05
TYPISTS = 32  # threads at most
LAST_LINES = 120  # of the screen, in which a prompt is looked for
PATIENCE = 5.0  # seconds: a program that reads late takes two keys for one, and is tried again

NO_PATTERN = "knell does not know how the screen of {kind} shows that they stand alone"
NO_PROMPT = "its screen shows no prompt to type them into"
NOT_ALONE = "they do not stand alone in its prompt"


def type_exits(world: World, cases: Sequence[Case]) -> dict[str, Notice | None]:
    """By run, why Enter was not pressed, or None. Typing takes a second, most of it pauses: for
    many runs it is done side by side."""
    if len(cases) <= 1:
        return {case.run.id: type_exit(world, case) for case in cases}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(cases), TYPISTS)) as typists:
        told = typists.map(type_exit, repeat(world), cases)
        return {case.run.id: notice for case, notice in zip(cases, told, strict=True)}


def type_exit(world: World, case: Case) -> Notice | None:
    """Returns why Enter was not pressed, or None. What was typed until then is not sent."""
    typing = ExitTyping(world, case.run, case.kind)
    try:
        trouble = typing.type_and_send()
    except PlaceFailed as error:  # its pane closes with it
        trouble = "" if typing.has_left() else str(error)
    if not trouble:
        return None
    return Notice(Code.EXIT_KEYS_NOT_TYPED, f"its exit keys were not typed: {trouble}")


class ExitTyping:
    """Types the exit keys of one agent, with a look at its screen before each step."""

    def __init__(self, world: World, run: Run, kind: Kind) -> None:
        self.world = world
        self.run = run
        self.kind = kind
        self.terminal = world.place(run.place.name)
        self.waited = 0.0

    def type_and_send(self) -> str:
        """Why the exit keys were not sent; empty if they were, or if the agent left before."""
        if not self.kind.exit_shown:
            return NO_PATTERN.format(kind=self.kind.name)
        while not (elsewhere := not_in_front(self.world, self.run, self.kind)):
            trouble = self.try_once()
            if self.has_left():
                return ""
            if trouble not in (NO_PROMPT, NOT_ALONE) or self.waited >= PATIENCE:
                return trouble
        return elsewhere

    def try_once(self) -> str:
        """Clears the prompt, types, compares, and only then presses Enter."""
        self.clear_prompt()
        if not self.shows(self.kind.prompt_shown, DRAWN_WITHIN):
            return NO_PROMPT
        trouble = not_in_front(self.world, self.run, self.kind)  # a C-c too many ends some programs
        if trouble:
            return trouble
        self.terminal.type_text(self.run.place, self.kind.exit_keys)
        self.wait(BETWEEN_KEYS)
        if not self.shows(self.kind.exit_shown, DRAWN_WITHIN):
            return NOT_ALONE
        trouble = not_in_front(self.world, self.run, self.kind)
        if not trouble:
            self.terminal.press(self.run.place, "Enter")
        return trouble

    def clear_prompt(self) -> None:
        """The first key always, because a question may come; the others while something is left:
        on an empty prompt they end some programs."""
        for key in self.kind.clear_keys:
            self.terminal.press(self.run.place, key)
            self.wait(BETWEEN_KEYS)
            if self.kind.prompt_empty and self.shows(self.kind.prompt_empty, BETWEEN_KEYS):
                return

    def shows(self, pattern: str, within: float) -> bool:
        """Whether the screen matches before the time is over, and the agent lives."""
        until = self.waited + within
        while not re.search(pattern, self.end_of_screen()):
            if self.waited >= until or self.has_left():
                return False
            self.wait(LOOK_EVERY)
        return True

    def end_of_screen(self) -> str:
        """An agent can print whatever it likes, and a search takes its time."""
        return "\n".join(self.terminal.screen(self.run.place).split("\n")[-LAST_LINES:])

    def has_left(self) -> bool:
        process = self.run.process
        return process is None or isinstance(self.world.processes.look(process), Gone)

    def wait(self, seconds: float) -> None:
        self.waited += seconds
        self.world.wait([self.run.process] if self.run.process else [], seconds)


def not_in_front(world: World, run: Run, kind: Kind) -> str:
    """Why keys typed now could reach another program; empty if they cannot."""
    seen = world.place(run.place.name).keyboard(run.place, run.id)
    if not isinstance(seen, Present):
        return seen.why if run.place.name == "terminal" else f"its pane is not its own: {seen.why}"
    if run.process is None or isinstance(world.processes.look(run.process), Gone):
        return "the agent is gone"
    owner = run.keeper or run.process
    if seen.pid not in (owner.pid, *world.processes.ancestors_of(owner.pid)):
        return f"the pane belongs to PID {seen.pid}"
    if not same_terminal(world, seen.pid, run.process.pid):
        return "the agent runs in another terminal, inside of that pane"
    front = world.processes.foreground(run.process.pid)
    # Of an adopted pane only its owner knows what it is: it may be a shell, which takes the line.
    own = run.keeper and run.process.pid in front
    if own or any(kind.runs_in(world.processes.argv(pid)) for pid in front):
        return ""
    return f"PID {front[0] if front else '?'} is in front in the pane, not the agent"


def same_terminal(world: World, pane: int, agent: int) -> bool:
    """Whether what is typed into the pane of one process is read by the other."""
    both = (world.processes.describe(pane), world.processes.describe(agent))
    terminals = {one.terminal for one in both if one}
    return len(terminals) == 1 and 0 not in terminals
