"""What `top` and `web` do to agents: the plan that their question shows, and the deed itself."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from knell.api import Knell
from knell.api.results import AgentView, Receipt, TargetResult
from knell.core.errors import KnellError
from knell.core.ladder import VERIFY
from knell.core.receipt import Result
from knell.core.settings import Settings
from knell.faces.text.endings import receipt_lines, target_lines
from knell.faces.text.terminal import printable

TYPED_ABOVE = 5  # targets: for more, their number is typed


class PlanLine(NamedTuple):
    text: str
    # it changes by itself, as a number of processes does: nobody agrees to it
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


class AgentDeed(NamedTuple):
    name: str
    key: str  # of top
    word: str
    to: str  # what it is done to: "live" agents, "ended" ones, or "all"
    describe: Callable[[Knell, Sequence[AgentView]], Sequence[str | PlanLine]]
    carry_out: Callable[[Knell, Sequence[AgentView]], list[str]]
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


def _would_end(results: Iterable[TargetResult], views: Sequence[AgentView]) -> list[str | PlanLine]:
    by_run = {view.run: view for view in views}
    lines: list[str | PlanLine] = []
    for receipt in (receipt for one in results for receipt in one.receipts):
        lines += would_end_one(receipt, by_run.get(receipt.run))
    return lines


def would_end_one(receipt: Receipt, view: AgentView | None) -> list[str | PlanLine]:
    if receipt.result is not Result.WOULD_END:
        return [line.text for line in receipt_lines(receipt)]
    count = len(receipt.processes)
    head = f"{receipt.agent}  {receipt.kind}"
    if view is None:
        head += "  (started by one of these)"
    processes = f"  {count} {'process' if count == 1 else 'processes'}"
    lines: list[str | PlanLine] = [head, PlanLine(processes, passing=True)]
    talk = receipt.conversation
    lines.append(f"  resumable: {talk.resume}" if talk.resume else f"  not resumable: {talk.why}")
    if view and "*" in view.worktree:
        lines.append(f"  uncommitted work in {view.worktree}: it stays where it is")
    if view and view.task:
        lines.append(f"  task {view.task} is handed back")
    return lines


def _told(results: Iterable[TargetResult], verb: str) -> list[str]:
    return [line.text for line in target_lines(results, verb)]


def _describe_stop(knell: Knell, views: Sequence[AgentView]) -> list[str | PlanLine]:
    return _would_end(knell.stop(*_targets(views), dry_run=True, yes=True).targets, views)


def _stop(knell: Knell, views: Sequence[AgentView]) -> list[str]:
    return _told(knell.stop(*_targets(views), yes=True).targets, "Stopped")


def _describe_kill(knell: Knell, views: Sequence[AgentView]) -> list[str | PlanLine]:
    return _would_end(knell.kill(*_targets(views), dry_run=True, yes=True).targets, views)


def _kill(knell: Knell, views: Sequence[AgentView]) -> list[str]:
    return _told(knell.kill(*_targets(views), yes=True).targets, "Killed")


def _describe_clean_up(knell: Knell, views: Sequence[AgentView]) -> list[str]:
    endings = knell.kill(*_targets(views), cleanup="safe", dry_run=True, yes=True)
    return [would_clean_up(receipt) for receipt in endings]


def would_clean_up(receipt: Receipt) -> str:
    cleaning = receipt.cleaning
    told = f"{cleaning.worktree}: {cleaning.state}, {cleaning.why}" if cleaning.worktree else ""
    return f"{receipt.agent}  {told or 'it has no worktree'}"


def _clean_up(knell: Knell, views: Sequence[AgentView]) -> list[str]:
    return _told(knell.kill(*_targets(views), cleanup="safe", yes=True).targets, "Cleaned up")


# -- starting and asking -----------------------------------------------------------------------


def _each(
    views: Sequence[AgentView], deed: Callable[[AgentView], str]
) -> list[str]:  # one failure does not stop the others
    lines: list[str] = []
    for view in views:
        try:
            lines.append(deed(view))
        except KnellError as error:
            hint = f" ({error.hint})" if error.hint else ""
            lines.append(f"'{view.name}': {error}{hint}")
    return lines


def _describe_resume(knell: Knell, views: Sequence[AgentView]) -> list[str]:
    def told(view: AgentView) -> str:
        known = knell.show(view.name).conversation
        return f"{view.name}  {known.resume or known.why}"

    return _each(views, told)


def _resume(knell: Knell, views: Sequence[AgentView]) -> list[str]:
    return _each(views, lambda view: f"'{view.name}' {knell.resume(view.name).verdict}")


def _describe_restart(_: Knell, views: Sequence[AgentView]) -> list[str]:
    return [f"{view.name}  a fresh run; what runs now is ended first" for view in views]


def _restart(knell: Knell, views: Sequence[AgentView]) -> list[str]:
    def restart(view: AgentView) -> str:
        knell.restart(view.name)
        return f"'{view.name}' runs again"

    return _each(views, restart)


def _describe_ask(_: Knell, views: Sequence[AgentView]) -> list[str]:
    return [f"{view.name}  is asked to leave, and may say no" for view in views]


def _ask(knell: Knell, views: Sequence[AgentView]) -> list[str]:
    def ask(view: AgentView) -> str:
        request = knell.shutdowns.ask(view.name)
        until = f", answer by {request.deadline_at[11:19]}Z" if request.deadline_at else ""
        return f"'{view.name}' was asked to leave{until}"

    return _each(views, ask)


YES: dict[str, Any] = {"yes": True}  # it was asked here
DEEDS = (
    AgentDeed("stop", "s", "stop", "live", _describe_stop, _stop, "stop", YES),
    AgentDeed("kill", "X", "kill", "live", _describe_kill, _kill, "kill", YES),
    AgentDeed("resume", "r", "resume", "ended", _describe_resume, _resume, "resume"),
    AgentDeed("restart", "R", "restart", "all", _describe_restart, _restart, "restart", YES),
    AgentDeed(
        "ask", "a", "ask to leave", "live", _describe_ask, _ask,
        why_not_far="an answer to the question would find no way back: stop is as polite",
    ),
    AgentDeed(
        "cleanup", "c", "clean up after", "ended", _describe_clean_up, _clean_up,
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
