"""What `top` and `web` do to agents: the plan that their question shows, and the deed itself."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from knell.api import Knell
from knell.api.results import AgentView, Endings, Receipt
from knell.core.errors import KnellError
from knell.core.ladder import VERIFY
from knell.core.receipt import Result
from knell.core.settings import Settings
from knell.faces.text.endings import processes_words, receipt_lines, target_lines
from knell.faces.text.terminal import printable

TYPED_ABOVE = 5  # targets: for more, their number is typed


class PlanLine(NamedTuple):
    text: str
    # it changes by itself, as a number of processes does: no part of what a person agrees to
    passing: bool = False


class Plan(NamedTuple):
    """What a deed would do: frozen when its question opens, checked again when it is answered."""

    deed: "AgentDeed"
    views: tuple[AgentView, ...]
    told: tuple[PlanLine, ...]
    far: tuple[AgentView, ...] = ()  # agents of other hosts

    @property
    def names(self) -> tuple[str, ...]:
        """Of all that are meant."""
        return (*(v.name for v in self.views), *(f"{v.name}@{v.host}" for v in self.far))

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(one.text for one in self.told)

    @property
    def hash(self) -> str:
        """What the person agrees to: the deed, the runs and whether they live, what is told."""
        runs: list[tuple[object, ...]] = [(v.name, v.run, v.state == "ended") for v in self.views]
        runs += [(v.name, v.run, v.state == "ended", v.host) for v in self.far]
        lasting = [one.text for one in self.told if not one.passing]
        return hashlib.sha256(json.dumps([self.deed.name, runs, lasting]).encode()).hexdigest()


Describe = Callable[[Knell, Sequence[AgentView]], Sequence[str | PlanLine]]
CarryOut = Callable[[Knell, Sequence[AgentView]], list[str]]


class AgentDeed(NamedTuple):
    name: str
    key: str  # of top
    word: str
    to: str  # what it is done to: "live" agents, "ended" ones, or "all"
    describe: Describe
    carry_out: CarryOut
    order: str = ""  # the verb that another host is asked for; empty: there is none
    options: Mapping[str, Any] = {}  # of that order
    why_not_far: str = ""  # why there is none


def make_plan(knell: Knell, deed: AgentDeed, views: Sequence[AgentView]) -> Plan:
    fit = fitting(deed, views)
    told = deed.describe(knell, fit) if fit else ()
    return Plan(deed, fit, tuple(PlanLine(one) if isinstance(one, str) else one for one in told))


def fitting(deed: AgentDeed, views: Iterable[AgentView]) -> tuple[AgentView, ...]:
    return tuple(v for v in views if deed.to in ("all", "ended" if v.state == "ended" else "live"))


def carry_out(knell: Knell, plan: Plan) -> list[str]:
    """Does it to those of the plan that are still as they were; says which are not."""
    now = {view.name: view for view in knell.views_of(*(view.name for view in plan.views))}
    same: list[AgentView] = []
    lines: list[str] = []
    for view in plan.views:
        found = now.get(view.name)
        if found is None or found.run != view.run:
            lines.append(f"'{view.name}' is another run by now: nothing was done to it")
        elif (found.state == "ended") != (view.state == "ended"):
            lines.append(f"'{view.name}' has ended meanwhile: nothing was done to it")
        else:
            same.append(view)
    return lines + (plan.deed.carry_out(knell, same) if same else [])


# -- ending ------------------------------------------------------------------------------------


def _targets(views: Iterable[AgentView]) -> list[str]:
    """Runs and not names: a name may belong to another run when the question is answered."""
    return [f"id:{view.run}" if view.run else view.name for view in views]


def would_end_one(receipt: Receipt, view: AgentView | None) -> list[PlanLine]:
    if receipt.result is not Result.WOULD_END:
        return [PlanLine(line.text) for line in receipt_lines(receipt)]
    head = f"{receipt.agent}  {receipt.kind}" + ("" if view else "  (started by one of these)")
    keeper = any(one.via == "keeper" for one in receipt.processes)
    processes = f"  {processes_words(receipt)}{', with its keeper' if keeper else ''}"
    talk = receipt.conversation
    lines = [f"  resumable: {talk.resume}" if talk.resume else f"  not resumable: {talk.why}"]
    if view and "*" in view.worktree:
        lines.append(f"  uncommitted work in {view.worktree}: it stays where it is")
    if view and view.task:
        lines.append(f"  task {view.task} is handed back")
    return [PlanLine(head), PlanLine(processes, passing=True), *map(PlanLine, lines)]


def would_clean_up(receipt: Receipt, _: AgentView | None = None) -> list[PlanLine]:
    cleaning = receipt.cleaning
    found = f"{cleaning.worktree}: {cleaning.state}, {cleaning.why}" if cleaning.worktree else ""
    return [PlanLine(f"{receipt.agent}  {found or 'it has no worktree'}")]


def _ending(
    verb: str,
    done: str,
    would: Callable[[Receipt, AgentView | None], list[PlanLine]],
    **options: Any,
) -> tuple[Describe, CarryOut]:
    """What an ending of all of them would do, and the ending itself."""

    def describe(knell: Knell, views: Sequence[AgentView]) -> list[PlanLine]:
        by_run = {view.run: view for view in views}
        found: Endings = getattr(knell, verb)(*_targets(views), **options, dry_run=True, yes=True)
        return [line for one in found for line in would(one, by_run.get(one.run))]

    def end(knell: Knell, views: Sequence[AgentView]) -> list[str]:
        found: Endings = getattr(knell, verb)(*_targets(views), **options, yes=True)
        return [line.text for line in target_lines(found.targets, done)]

    return describe, end


# -- starting and asking -----------------------------------------------------------------------


def _each(deed: Callable[[Knell, AgentView], str]) -> CarryOut:
    """Does it to each agent by itself: one failure does not stop the others."""

    def do(knell: Knell, views: Sequence[AgentView]) -> list[str]:
        lines: list[str] = []
        for view in views:
            try:
                lines.append(deed(knell, view))
            except KnellError as error:
                hint = f" ({error.hint})" if error.hint else ""
                lines.append(f"'{view.name}': {error}{hint}")
        return lines

    return do


def _describe_resume(knell: Knell, view: AgentView) -> str:
    known = knell.show(view.name).conversation
    return f"{view.name}  {known.resume or known.why}"


def _resume(knell: Knell, view: AgentView) -> str:
    return f"'{view.name}' {knell.resume(view.name).verdict}"


def _restart(knell: Knell, view: AgentView) -> str:
    knell.restart(view.name)
    return f"'{view.name}' runs again"


def _ask(knell: Knell, view: AgentView) -> str:
    request = knell.shutdowns.ask(view.name)
    until = f", answer by {request.deadline_at[11:19]}Z" if request.deadline_at else ""
    return f"'{view.name}' was asked to leave{until}"


YES: dict[str, Any] = {"yes": True}  # it was asked here
DEEDS = (
    AgentDeed(
        "stop", "s", "stop", "live", *_ending("stop", "Stopped", would_end_one), "stop", YES
    ),
    AgentDeed("kill", "X", "kill", "live", *_ending("kill", "Killed", would_end_one), "kill", YES),
    AgentDeed("resume", "r", "resume", "ended", _each(_describe_resume), _each(_resume), "resume"),
    AgentDeed(
        "restart", "R", "restart", "all",
        _each(lambda _, view: f"{view.name}  a fresh run; what runs now is ended first"),
        _each(_restart), "restart", YES,
    ),
    AgentDeed(
        "ask", "a", "ask to leave", "live",
        _each(lambda _, view: f"{view.name}  is asked to leave, and may say no"), _each(_ask),
        why_not_far="an answer to the question would find no way back: stop is as polite",
    ),
    AgentDeed(
        "cleanup", "c", "clean up after", "ended",
        *_ending("kill", "Cleaned up", would_clean_up, cleanup="safe"),
        "kill", {**YES, "cleanup": "safe"},
    ),
)  # fmt: skip


def rung_limits(settings: Settings, deed: AgentDeed) -> dict[str, float]:
    """Seconds that each rung of the deed's ending may take."""
    if deed.key not in ("s", "X"):
        return {}
    grace = settings.kill_grace if deed.key == "X" else settings.stop_grace
    return {"exit_keys": settings.stop_exit_wait, "term": grace, "kill": VERIFY}


def shown(lines: Iterable[str]) -> list[str]:
    """Lines that cannot move the cursor: they hold names and commands from outside."""
    return [printable(line) for line in lines]
