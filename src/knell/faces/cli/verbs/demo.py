"""`knell demo` ends the same agents by tmux, then by knell, and lets `ps` count what is left."""

import contextlib
import os
import secrets
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

import click

from knell.api import Knell
from knell.api.habits import ESCAPES, habits
from knell.core.errors import KnellError, WorldError
from knell.core.receipt import Proof
from knell.faces.cli import options, output
from knell.faces.text import endings as endings_text
from knell.faces.text.agents import agents_table
from knell.faces.text.columns import table

# habit → its processes once it shows
SHOWN = {
    "plain": 2, "daemon": 2, "scrubbed-daemon": 2, "ignores-term": 2, "own-group": 2,
    "stopped": 2, "forker": 151,
}  # fmt: skip
SERVER = "demo"
PS = ("ps", "-ww", "-e", "-o", "pid=,ppid=,stat=,args=")
FIRST_LINE = "import os, signal, sys, time"  # of every habit's program, and of what it starts
CEILING = 120.0  # seconds that the agents have to show their habits
SETTLED = 1.0  # seconds without a change, after which what is left counts as left;
LOOKS = 10  # and so many looks: on a busy machine a second is one look
STEP = 0.02


class Listed(NamedTuple):
    """A process, as `ps` lists it."""

    pid: str
    parent: str
    state: str
    agent: str


@click.command("demo")
@options.flag("--keep", help="Keep the state directory, to look at afterwards.")
def command(*, keep: bool) -> int:
    """End the same seven agents twice, by tmux and by knell, and count what is left.

    They have bad habits, live in a private tmux server, and are gone when the demo ends. ps counts
    their processes before and after, so that you need not take knell's word for it.

    \b
    knell demo
    """
    home = tempfile.mkdtemp(prefix="knell-demo-")
    env = {**os.environ, "KNELL_HOME": home, "TMUX_TMPDIR": home}
    env.pop("TMUX", None)
    try:
        with Knell(env=env) as knell:
            try:
                left = play(knell, env)
            finally:  # of an interrupted demo
                knell.kill("all", force=True, yes=True)
    finally:
        if keep:
            click.echo(f"state kept: KNELL_HOME={home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
    return 3 if left else 0


def play(knell: Knell, env: dict[str, str]) -> int:
    """Both rounds; gives how many processes knell left."""
    missing = [name for name in ("tmux", "ps") if shutil.which(name, path=env.get("PATH")) is None]
    if "ps" in missing:  # the count must not be knell's own
        raise WorldError(
            "the demo needs ps, and it is not on PATH", "Debian: apt-get install procps"
        )
    known = habits()
    click.echo("Seven agents with bad habits:")
    for name in SHOWN:
        click.echo(f"  {name:<16} {known[name].meaning}")
    rounds: list[tuple[str, dict[str, int], dict[str, int]]] = []
    if not missing:
        rounds.append(("tmux kill-session", *try_tmux(knell, new_mark(), env)))
    place = "headless" if missing else "tmux"
    before, left, proven = try_knell(knell, new_mark(), place)
    rounds.append(("knell kill", before, left))
    click.echo("\nAs ps counts them, before and after:")
    click.echo(summary(rounds))
    if not proven:
        click.echo(f"\nHere an end is 'none found', never 'proven'. May escape: {ESCAPES[0]}.")
    return sum(count for name, count in left.items() if proven or name not in ESCAPES)


# -- the two ways --------------------------------------------------------------------------------


def try_tmux(knell: Knell, mark: str, env: dict[str, str]) -> tuple[dict[str, int], dict[str, int]]:
    """What `ps` counted before and after the session was killed."""

    def tmux(*words: str) -> bool:
        done = subprocess.run(
            ["tmux", "-L", SERVER, *words], env=env, capture_output=True, check=False
        )
        return done.returncode == 0

    click.echo("\n1. Each in a window of a private tmux server, as you may run agents today:")
    # A keeper above the server ends what tmux leaves, when the round is over.
    start = f"tmux -L {SERVER} -f /dev/null new-session -d -s agents sleep 600; exec sleep 600"
    knell.spawn(command=("sh", "-c", start), name="by-hand", place="headless")
    try:
        await_fact(lambda: tmux("has-session", "-t", "agents"))
        for name in SHOWN:
            tmux("new-window", "-d", "-t", "agents:", *marked(mark, name))
        before = await_habits(mark)
        click.echo(f"   {sum(before.values())} processes.")
        click.echo("\n$ tmux kill-session -t agents")
        tmux("kill-session", "-t", "agents")
        left = await_stillness(mark)
        click.echo(f"\n$ ps -e -o pid,ppid,stat,args | grep {mark}")
        click.echo(left_table(left))
        return before, counted(left)
    finally:
        knell.kill("by-hand", force=True)
        end_the_rest(knell, mark)


def try_knell(knell: Knell, mark: str, place: str) -> tuple[dict[str, int], dict[str, int], bool]:
    """What `ps` counted before and after `knell kill all`, and whether that end is proven."""
    click.echo(f"\n2. The same seven, each started by knell, {place}:")
    for name in SHOWN:
        server = SERVER if place == "tmux" else ""
        knell.spawn(command=marked(mark, name), name=name, place=place, server=server)
    before = await_habits(mark)
    click.echo(f"   {sum(before.values())} processes.")
    click.echo("\n$ knell list")
    click.echo(agents_table(knell.list()))
    click.echo("\n$ knell kill all")
    receipts = knell.kill("all")
    output.print_lines(endings_text.target_lines(receipts.targets, "Killed"))
    left = processes(mark)
    proven = sum(receipt.proof is Proof.PROVEN for receipt in receipts)
    ended = sum(len(receipt.processes) for receipt in receipts)
    click.echo(f"\n{ended} processes ended; {proven} of {len(receipts)} endings proven.")
    click.echo(f"\n$ ps -e -o pid,ppid,stat,args | grep {mark}")
    click.echo(left_table(left))
    end_the_rest(knell, mark)
    return before, counted(left), proven == len(receipts)


def end_the_rest(knell: Knell, mark: str) -> None:
    """Where nothing can be proven, something may have escaped: it is the demo's all the same."""
    for number, one in enumerate(processes(mark)):
        name = f"left-{number}-{mark[-8:]}"
        with contextlib.suppress(KnellError):  # it has gone meanwhile
            knell.adopt(one.pid, name=name)
            knell.kill(name, force=True)


# -- what ps sees --------------------------------------------------------------------------------


def new_mark() -> str:
    """It stands in the command line of every process of one round."""
    return f"knell-demo-{secrets.token_hex(4)}"


def marked(mark: str, name: str) -> tuple[str, ...]:
    """The program with that habit: each of its processes bears the mark in its command line."""
    *words, source = habits()[name].command
    return (*words, source.replace(FIRST_LINE, f"{FIRST_LINE}  # {mark} {name}."))


def processes(mark: str) -> list[Listed]:
    """By `ps` alone; a zombie has no command line, so that it is none of them."""
    told = subprocess.run(PS, capture_output=True, text=True, errors="replace", check=True).stdout
    lines = [line for line in told.splitlines() if mark in line]
    found = [(line.split(None, 3), line.split(mark)[1].split(".")[0]) for line in lines]
    return [Listed(*words[:3], agent=name.strip()) for words, name in found]


def counted(found: list[Listed]) -> dict[str, int]:
    return {name: sum(one.agent == name for one in found) for name in SHOWN}


def await_fact(fact: Callable[[], bool]) -> None:
    until = time.monotonic() + CEILING
    while not fact() and time.monotonic() < until:
        select.select([], [], [], STEP)


def await_habits(mark: str) -> dict[str, int]:
    """What there is once every habit shows."""
    await_fact(lambda: counted(processes(mark)) == SHOWN)
    return counted(processes(mark))


def await_stillness(mark: str) -> list[Listed]:
    """What is still there when nothing has gone for a while."""
    found, since, looks = processes(mark), time.monotonic(), 0
    while looks < LOOKS or time.monotonic() < since + SETTLED:
        select.select([], [], [], STEP)
        now, looks = processes(mark), looks + 1
        if now != found:
            found, since, looks = now, time.monotonic(), 0
    return found


def left_table(left: list[Listed]) -> str:
    """One line an agent, and how many more there are of it."""
    if not left:
        return "(nothing)"
    rows: list[tuple[str, ...]] = []
    for name, count in counted(left).items():
        first = next((one for one in left if one.agent == name), None)
        if first:
            more = f"and {count - 1} more" if count > 1 else ""
            rows.append((*first[:3], f"python … {name}", more))
    return table(("PID", "PPID", "STAT", "COMMAND", " "), rows)


def summary(rounds: list[tuple[str, dict[str, int], dict[str, int]]]) -> str:
    """A line an agent and their sums: what was there, and what each way left."""
    counts = [(name, [(before[name], left[name]) for _, before, left in rounds]) for name in SHOWN]
    sums = [(sum(before.values()), sum(left.values())) for _, before, left in rounds]
    rows = [
        (name, *(f"{left} of {before}" for before, left in pairs))
        for name, pairs in (*counts, ("together", sums))
    ]
    return table(("AGENT", *(f"left by {way}" for way, _, _ in rounds)), rows)
