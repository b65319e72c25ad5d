"""What `top` and `web` do to agents of other hosts: by the orders that `kill luna@build-7` uses.

The plan is the dry run of the origin itself. Where the origin does not answer, the plan says so,
and the order would wait for it. An order without an answer is pending, and never called done."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from knell.api import Knell
from knell.api.far import FarAnswer
from knell.api.results import AgentView, Receipt
from knell.core.errors import KnellError
from knell.core.fleet.target import checked_far_agent
from knell.faces import deeds
from knell.faces.deeds import AgentDeed, Plan, PlanLine
from knell.faces.far import answers as far_answers
from knell.faces.far.look import FarScene
from knell.faces.text.fleet import seen_words

DRY_WAIT = 6.0  # seconds for a dry run: a host behind pgbouncer looks every five seconds
NOT_FAR = "what it prints and its pane stay on its host: no order carries them"
Told = list[PlanLine]


class FarDone(NamedTuple):
    """What came of a deed."""

    lines: list[str]
    pending: list[dict[str, Any]]  # orders that wait for their hosts


def make_plan(
    knell: Knell, deed: AgentDeed, views: Sequence[AgentView], far: Sequence[AgentView],
    scene: FarScene | None,
) -> Plan:  # fmt: skip
    """The plan of a deed to agents of this host, and to those of others."""
    here = deeds.make_plan(knell, deed, views)
    fit = deeds.fitting(deed, far)
    if not fit or scene is None:
        return here
    if not deed.order:
        return here._replace(told=(*here.told, PlanLine(f"not on other hosts: {deed.why_not_far}")))
    told: Told = []
    named = [view for view in fit if _is_named(view, told)]
    away = [view for view in named if scene.is_quiet(view.host)]
    told += [line for view in away for line in _waits_for(view, scene)]
    heard = _ask_for_plans(knell, deed, [view for view in named if view not in away], told)
    return here._replace(told=(*here.told, *told), far=(*away, *heard))


def name_of(view: AgentView) -> str:
    return f"{view.name}@{view.host}"


def _is_named(view: AgentView, told: Told) -> bool:
    """Whether an order can name it. Its host may have published any words as its name."""
    try:
        checked_far_agent(name_of(view))
    except KnellError as error:
        told.append(PlanLine(f"{name_of(view)}: nothing is done to it: {error}"))
        return False
    return True


def _waits_for(view: AgentView, scene: FarScene) -> Told:
    return [
        PlanLine(f"{name_of(view)}  {view.kind}"),
        PlanLine(f"  {view.host} is {seen_words(scene.host(view.host))}", passing=True),
        PlanLine("  what it runs now is not known: the order waits until the host is back"),
    ]


def _ask_for_plans(
    knell: Knell, deed: AgentDeed, views: Sequence[AgentView], told: Told
) -> list[AgentView]:
    """Has the hosts make dry runs, and adds their answers to `told`; returns whom to act on."""
    if not views:
        return []
    if deed.order not in ("kill", "stop"):
        how = "is resumed" if deed.order == "resume" else "is ended, and started afresh"
        told += [PlanLine(f"{name_of(view)}  {how} there, by its own host") for view in views]
        return [*views]
    options = {**deed.options, "dry_run": True}
    answers = knell.fleet.order_runs(deed.order, views, options, wait=DRY_WAIT)
    meant: list[AgentView] = []
    for view, answer in zip(views, answers, strict=True):
        if isinstance(answer, KnellError):
            told.append(PlanLine(f"{name_of(view)}: {answer}"))
        elif answer.order is None:
            with suppress(KnellError):  # it has just been taken, which does no harm
                knell.fleet.cancel(answer.asked.id)
            meant.append(view)
            told.append(PlanLine(f"{name_of(view)}  {view.kind}"))
            told.append(PlanLine("  its host has not answered: the order would wait for it"))
        else:
            found = far_answers.gathered([answer])
            meant += [view] if found.receipts else []
            for host, receipt in found.receipts:
                told += _would_do(deed, view, host, receipt)
            for host, said in found.failed:
                told += [PlanLine(line.text) for line in far_answers.failure_lines(host, said)]
    return meant


def _would_do(deed: AgentDeed, view: AgentView, host: str, receipt: Receipt) -> Told:
    named = receipt._replace(agent=f"{receipt.agent}@{host}")
    if deed.options.get("cleanup"):
        return deeds.would_clean_up(named)
    lines = deeds.would_end_one(named, view if receipt.run == view.run else None)
    return [
        one._replace(text=far_answers.with_host(one.text, receipt.agent, host)) for one in lines
    ]


# -- the deed ------------------------------------------------------------------------------------


def carry_out(knell: Knell, plan: Plan) -> FarDone:
    """Does it on this host, and has the others do it."""
    lines = deeds.carry_out(knell, plan) if plan.views else []
    if not plan.far:
        return FarDone(lines, [])
    deed = plan.deed
    answers: list[FarAnswer] = []
    for one in knell.fleet.order_runs(deed.order, plan.far, deed.options):
        if isinstance(one, KnellError):
            lines.append(f"{one} ({one.hint})" if one.hint else str(one))
        else:
            answers.append(one)
    if deed.order in ("kill", "stop"):
        ended = far_answers.gathered(answers)
        lines += [line.text for line in far_answers.ending_lines(ended)]
    else:
        lines += [line for one in answers for line in answer_lines(one)]
    return FarDone(lines, [far_answers.pending_json(one) for one in answers if one.order is None])


def answer_lines(one: FarAnswer) -> list[str]:
    """What a host said to an order that means one agent, as it wrote it."""
    host = one.asked.host
    if one.order is None:
        return [line.text for line in far_answers.pending_lines(one.asked)]
    try:
        if said := far_answers.failure_of(one.order):
            return [line.text for line in far_answers.failure_lines(host, said)]
        return [f"{host}: {line}" for line in str(one.order.answer["text"]).split("\n")]
    except (AttributeError, KeyError, TypeError, ValueError):
        return [f"{host}: {far_answers.UNREADABLE}"]


def ask_host(knell: Knell, verb: str, view: AgentView) -> list[str]:
    """What the agent's own host says: `explain` or `tree`. It is an order, which only looks."""
    [one] = knell.fleet.order_runs(verb, [view], {})
    if isinstance(one, KnellError):
        raise one
    return answer_lines(one)
