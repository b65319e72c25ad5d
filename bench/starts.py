"""Measures whole commands of knell for one agent, shuffled with the floor: all meet the same noise.

`resume` is measured on a command, which comes back as it was, and on a stand-in for Claude Code,
which knell watches until the program itself says that it found its conversation.
"""

import json
import random
import shutil
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from workshop import Bench, against, timed

from house import eventually
from knell.api.habits import OBEDIENT

FLOOR = "floor: python -c pass"
STAND_IN = Path(__file__).resolve().parent.parent / "tests" / "contracts" / "m_stand_in.py"


class Command(NamedTuple):
    """What is timed, with what has to be so before it and be tidied after it, which is not."""

    argv: Callable[[str], list[str]]  # for an agent of that name
    before: Callable[[str], object] = str
    after: Callable[[str], object] = str


def start_figures(bench: Bench, trials: int) -> dict[str, Any]:
    """`{"commands": name → spread with `floors`, "engine_ms": place → spread}`.

    The engine's time is that of the receipt, first signal to proof.
    """
    bench.spawn("one", OBEDIENT)
    commands = looks(bench) | lives(bench) | resumes(bench)
    engine: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {name: [] for name in commands}
    rounds = [name for name in commands for _ in range(trials * 3)]
    random.shuffle(rounds)
    for number, name in enumerate(rounds):
        command, agent = commands[name], f"start-{number}"
        command.before(agent)
        told: list[str] = []
        argv = command.argv(agent)
        times[name].append(timed(lambda argv=argv, told=told: told.append(bench.must(*argv))))
        if name.startswith("knell kill"):
            receipt = json.loads(told[0])["receipts"][0]
            engine.setdefault(receipt["place"], []).append(float(receipt["duration_ms"]))
        command.after(agent)
    bench.must(bench.knell, "kill", "all", "--force")
    floor = times[FLOOR]
    both = against({FLOOR: floor} | engine)
    return {
        "commands": against(times),
        "engine_ms": {place: both[place] for place in engine},
    }


def looks(bench: Bench) -> dict[str, Command]:
    knell = bench.knell
    return {
        FLOOR: Command(lambda _: [bench.python, "-c", "pass"]),
        "knell --help": Command(lambda _: [knell, "--help"]),
        "knell list, 1 agent": Command(lambda _: [knell, "list"]),
        "knell list --json, 1 agent": Command(lambda _: [knell, "list", "--json"]),
        "knell status, 1 agent": Command(lambda _: [knell, "status"]),
        "knell events": Command(lambda _: [knell, "events"]),
    }


def places() -> dict[str, list[str]]:
    """How to say each place that can be measured here."""
    tmux = {"tmux": ["--in", "tmux", "--tmux-server", "bench"]} if shutil.which("tmux") else {}
    return {"headless": ["--in", "headless"]} | tmux


def lives(bench: Bench) -> dict[str, Command]:
    """Spawn and kill in each place."""
    found: dict[str, Command] = {}
    for place, words in places().items():
        found[f"knell spawn, {place}"] = Command(
            lambda name, words=words: spawn(bench, name, words, "--", "sleep", "600"),
            after=lambda name: bench.must(bench.knell, "kill", name),
        )
        found[f"knell kill, obedient, {place}"] = Command(
            lambda name: [bench.knell, "kill", name, "--json"],
            before=lambda name, place=place: bench.spawn(name, OBEDIENT, place),
        )
    return found


def spawn(bench: Bench, name: str, place: list[str], *words: str) -> list[str]:
    return [bench.knell, "spawn", "--name", name, *place, *words]


# -- resume ----------------------------------------------------------------------------------------


def resumes(bench: Bench) -> dict[str, Command]:
    def resume(name: str) -> list[str]:
        return [bench.knell, "resume", name]

    def end(name: str) -> None:
        bench.must(bench.knell, "kill", name)

    def lived(name: str, *words: str) -> None:
        bench.must(*spawn(bench, name, ["--in", "headless"], *words))
        end(name)

    def talked(name: str) -> None:
        """The stand-in keeps its conversation as soon as it has one."""
        log = Path(bench.env["STAND_IN_LOG"])
        log.unlink(missing_ok=True)
        bench.must(*spawn(bench, name, ["--in", "headless"], "claude", "--session-id", new_id()))
        eventually(lambda: log.exists() and '"ready"' in log.read_text())
        end(name)

    install_stand_in(bench)
    return {
        "knell resume, a command": Command(
            resume, before=lambda name: lived(name, "--", "sleep", "600"), after=end
        ),
        "knell resume, a stand-in for claude": Command(resume, before=talked, after=end),
    }


def new_id() -> str:
    return str(uuid.uuid4())


def install_stand_in(bench: Bench) -> None:
    """`claude` on the bench's PATH."""
    programs = bench.root / "programs"
    programs.mkdir()
    script = programs / "claude"
    script.write_text(f"#!{sys.executable} -IS\n{STAND_IN.read_text()}")
    script.chmod(0o755)
    bench.env["PATH"] = f"{programs}:{bench.env['PATH']}"
    bench.env["STAND_IN_LOG"] = str(bench.root / "stand-in.log")
