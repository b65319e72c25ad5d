"""The parts that agents play in a simulated day: what each does from round to round."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

if TYPE_CHECKING:
    from day import Day

BEAT, TOOL = 120.0, 900.0  # seconds of silence: of one that promised to beat, of an open turn
ROUND, SCREEN = 15.0, 30.0  # seconds between two rounds, and between two looks at a screen

QUESTION = """\
 Bash command

   rm -rf build
   Remove the build directory

 Do you want to proceed?
 \u276f 1. Yes
   2. Yes, and don't ask again for rm commands in /project
   3. No, and tell Claude what to do differently (esc)
"""
LIMIT = """\
● I have read the first two files.

  ⎿  You've hit your session limit · resets 3pm (UTC)

──────────────────────────────
\u276f\u0020
──────────────────────────────
  ? for shortcuts
"""


DONE = """\
● That is done.

──────────────────────────────
\u276f\u0020
──────────────────────────────
  ? for shortcuts
"""


class Part(NamedTuple):
    name: str
    kind: str
    place: str
    play: "Callable[[Player, float], None]"
    hangs: float | None = None  # after which share of the day
    patience: float = BEAT  # seconds after which a hang may be told
    seen: float = SCREEN  # and how much later at most, beside one round


class Player:
    """One agent on the stage."""

    def __init__(self, part: Part, pid: int, line: TextIO, day: "Day", hang: int | None) -> None:
        self.part = part
        self.pid = pid
        self.line = line
        self.day = day
        self.hang = hang
        self.last_sign = 0.0  # seconds, as the day counts what was watched
        self.words = 0
        self.held = False

    @property
    def hangs(self) -> bool:
        return self.hang is not None and self.day.at >= self.hang

    @property
    def bound(self) -> float:
        return self.part.patience + self.part.seen + ROUND

    def play(self) -> None:
        self.part.play(self, self.day.time)

    def at(self, share: float) -> bool:
        """Whether this is the round after that share of the day."""
        return self.day.is_round(share)

    def starts_to_hang(self) -> bool:
        return self.day.at == self.hang

    # -- deeds --------------------------------------------------------------------------------

    def do(self, deed: str, *given: Any) -> None:
        self.line.write(json.dumps([deed, *given]) + "\n")
        self.line.flush()
        assert self.line.readline() == "done\n", f"{self.part.name} did not {deed}"

    def sign(self, deed: str, *given: Any) -> None:
        """A deed by which it is seen to live."""
        self.last_sign = self.day.watched
        self.do(deed, *given)

    def beat(self) -> None:
        self.sign("beat", self.day.world.seconds())

    def say(self, role: str, stop: str | None, *blocks: dict[str, Any]) -> None:
        message: dict[str, Any] = {"role": role, "content": list(blocks)}
        if role == "assistant":
            message |= {"id": f"msg_{self.words}", "type": "message", "stop_reason": stop}
        record = {
            "type": role,
            "message": message,
            "uuid": f"{self.words:08x}-0000-4000-8000-000000000000",
            "timestamp": self.day.world.now(),
            "isSidechain": False,
        }
        self.words += 1
        self.sign("say", self.day.world.seconds(), record)

    def blink(self) -> None:
        """Its spinner, where it has a screen to draw it on; no sign of life."""
        if self.part.place == "tmux":
            self.do("blink")

    def ask_model(self) -> None:
        self.say("user", None, {"type": "text", "text": "go on"})
        self.blink()

    def call_tool(self) -> None:
        call = {"type": "tool_use", "id": f"toolu_{self.words}", "name": "Bash"}
        self.say("assistant", "tool_use", call | {"input": {"command": "make"}})
        self.blink()

    def answer_tool(self) -> None:
        call = f"toolu_{self.words - 1}"
        self.say("user", None, {"type": "tool_result", "tool_use_id": call, "content": "ok"})
        self.blink()

    def finish(self) -> None:
        self.say("assistant", "end_turn", {"type": "text", "text": "That is done."})
        self.sign("show", DONE)


# -- the healthy -----------------------------------------------------------------------------------


def beats(player: Player, now: float) -> None:
    """A command that beats every minute."""
    if not now % 60:
        player.beat()


def talks(player: Player, now: float) -> None:
    """A model and its tools in turns; now and then a tool takes more than two minutes."""
    if now % 90:
        return
    step = int(now // 90) % 4
    if step == 0:
        player.call_tool()
    elif step == 1:
        player.answer_tool()


def runs_a_tool(player: Player, now: float) -> None:
    """One call that takes the whole day; its process works."""
    if not now:
        player.call_tool()
    if not now % 60:
        player.sign("burn")


def prints(player: Player, now: float) -> None:
    """A command that never beats; something new stands on its screen every 90 s."""
    if not now % 90:
        player.sign("write", f"step number {'i' * int(now // 90)} is done")


def rests(player: Player, now: float) -> None:
    """Its turn is over, and nobody talks to it."""
    if not now:
        player.ask_model()
        player.finish()


def hooked(player: Player, now: float) -> None:
    """Its hooks beat while it works; then its turn is over and nobody talks to it."""
    if now < 200:
        player.call_tool()
        player.beat()
    elif now < 200 + ROUND:
        player.finish()


def asks(player: Player, now: float) -> None:
    """It asks for a permission that somebody gives half a day later."""
    if player.at(0.1):
        player.call_tool()
        player.sign("show", QUESTION)
        player.held = True
    elif player.at(0.62):
        player.held = False
        player.sign("show", "● Bash(rm -rf build)\r\n")
    elif player.at(0.66):
        player.answer_tool()
    elif not player.held:
        talks(player, now)


def asks_plainly(player: Player, now: float) -> None:
    """A command that beats, and does not while it waits for an answer."""
    if player.at(0.1):
        player.sign("show", "\r\nOverwrite the old backup? [y/N] ")
        player.held = True
    elif player.at(0.62):
        player.held = False
        player.sign("show", "\r\nthank you\r\n")
    elif not player.held:
        beats(player, now)


def is_limited(player: Player, now: float) -> None:
    """Its quota is spent in the middle of a turn; it says so."""
    if not now:
        player.ask_model()
        player.sign("show", LIMIT)


def thinks(player: Player, now: float) -> None:
    """Ten minutes without a word, ever again; only its spinner goes round, if it has one."""
    if not now % 600:
        player.call_tool()
        player.answer_tool()
    player.blink()


def keeps_a_pool(player: Player, now: float) -> None:
    """It thinks, hears from its model, and has not noticed that another has hung up."""
    if not now:
        player.do("dial", player.day.number)
        player.day.hang_up()
        player.do("dial", player.day.number)
        player.day.listen()
    thinks(player, now)


def has_a_job_aside(player: Player, now: float) -> None:
    """A job in its background is stopped, while the model thinks or a tool is silent for long."""
    if not now:
        player.ask_model()
        player.do("stop_child")
    elif not (now - ROUND) % 600:
        player.call_tool()
    elif not (now - ROUND) % 300:
        player.answer_tool()


def says_nothing(player: Player, now: float) -> None:
    """Nobody has talked to it yet: nothing tells whose turn it is. A job aside is stopped."""
    if not now:
        player.do("stop_child")


def awaits_a_tool(player: Player, now: float) -> None:
    """A tool that is silent for ten minutes; its model has long hung up."""
    if not now:
        player.do("dial", player.day.number)
        player.day.hang_up()
    if not now % 600:
        player.call_tool()
    elif not (now + ROUND) % 600:
        player.answer_tool()


def is_stopped(player: Player, now: float) -> None:
    """A command that beats, stopped by a person for a third of the day."""
    if player.at(0.2):
        player.held = True
        player.day.stop(player.pid)
    elif player.at(0.52):
        player.held = False
        player.day.go_on(player.pid)
    elif not player.held:
        beats(player, now)


def is_quiet(player: Player, now: float) -> None:
    """Never a word: nothing says that it should not be."""


# -- those who hang --------------------------------------------------------------------------------


def breaks_its_vow(player: Player, now: float) -> None:
    """A command that beat every minute, and no more."""
    if not player.hangs:
        beats(player, now)


def is_hung_up_on(player: Player, now: float) -> None:
    """Its turn is open, and the other side has closed the connection."""
    if player.starts_to_hang():
        player.ask_model()
        player.do("dial", player.day.number)
        player.day.hang_up()
    elif not player.hangs:
        talks(player, now)


def has_a_stopped_child(player: Player, now: float) -> None:
    """It waits for a tool whose process is stopped."""
    if player.starts_to_hang():
        player.call_tool()
        player.do("stop_child")
    elif not player.hangs:
        talks(player, now)


def falls_silent(player: Player, now: float) -> None:
    """Its turn is open, and nothing moves."""
    if player.starts_to_hang():
        player.ask_model()
    elif not player.hangs:
        talks(player, now)


def only_blinks(player: Player, now: float) -> None:
    """Its turn is open, and its spinner goes round for ever."""
    falls_silent(player, now)
    if player.hangs:
        player.blink()


PLACES = ("headless", "tmux")


def everywhere(part: Part) -> tuple[Part, ...]:
    return tuple(part._replace(name=f"{part.name}-{place}", place=place) for place in PLACES)


CAST: tuple[Part, ...] = (
    *everywhere(Part("beats", "command", "", beats)),
    *everywhere(Part("talks", "claude", "", talks)),
    *everywhere(Part("tool", "claude", "", runs_a_tool)),
    *everywhere(Part("prints", "command", "", prints)),
    *everywhere(Part("rests", "claude", "", rests)),
    *everywhere(Part("hooked", "claude", "", hooked)),
    *everywhere(Part("prompts", "command", "", asks_plainly)),
    Part("asks-tmux", "claude", "tmux", asks),
    *everywhere(Part("limited", "claude", "", is_limited)),
    *everywhere(Part("thinks", "claude", "", thinks)),
    *everywhere(Part("pool", "claude", "", keeps_a_pool)),
    *everywhere(Part("job", "claude", "", has_a_job_aside)),
    *everywhere(Part("mute", "claude", "", says_nothing)),
    *everywhere(Part("awaits", "claude", "", awaits_a_tool)),
    # In a pane its keeper goes on at once: nobody there could.
    Part("stopped-headless", "command", "headless", is_stopped),
    *everywhere(Part("quiet", "command", "", is_quiet)),
    *everywhere(Part("vow", "command", "", breaks_its_vow, 0.34, seen=0.0)),
    *everywhere(Part("hungup", "claude", "", is_hung_up_on, 0.7)),
    *everywhere(Part("child", "claude", "", has_a_stopped_child, 0.47)),
    *everywhere(Part("silent", "claude", "", falls_silent, 0.1, TOOL)),
    Part("spins-tmux", "claude", "tmux", only_blinks, 0.1, TOOL),
)
