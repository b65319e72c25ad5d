"""Carries out one order of another host, by the rules of this one, and makes its answer.

The order was proven and checked before. Here the verbs are the same as for everybody who asks on
this host, in the name of the asker. An order that was begun and interrupted is carried out again:
every branch finds out what was done already."""

from collections.abc import Callable
from typing import Any

from knell import Knell  # not of knell.api: an order's options are checked as a program's are
from knell.core.authority import Caller
from knell.core.codes import Code
from knell.core.errors import BadRequest, KnellError, Refused
from knell.core.fleet.order import FleetOrder
from knell.core.ports.fleet import Finished
from knell.core.receipt import Endings
from knell.faces.exits import of_error
from knell.faces.text import tables
from knell.faces.text.agents import whereabouts

Answer = dict[str, Any]
# What an order may say, by verb; anything else in it is refused.
OPTIONS: dict[str, frozenset[str]] = {
    "kill": frozenset(
        {"grace", "force", "reason", "yes", "children", "dry_run", "dissolve", "tasks", "cleanup"}
    ),
    "stop": frozenset(
        {"mode", "graceful", "capture_id", "reason", "grace", "purge", "yes", "children", "dry_run"}
    ),
    "resume": frozenset({"place", "server", "session", "cwd", "args", "conversation"}),
    "restart": frozenset({"resume", "grace", "yes"}),
    "spawn": frozenset(
        {"kind", "command", "args", "name", "place", "server", "session", "cwd", "env", "team",
         "tag", "role", "task", "keep", "grace", "restart", "worktree", "shared", "mcp", "stay",
         "cut_off_after"}
    ),
    "task": frozenset({"do", "token"}),
    "show": frozenset(), "tree": frozenset(), "explain": frozenset(), "receipt": frozenset(),
}  # fmt: skip
GROUPS = ("kill", "stop")  # what may be done to tag:X, team:X and all


def asker_of(order: FleetOrder) -> Caller:
    """Who asks, as the signer says: an operator, or an agent of the host that signs."""
    kind, _, host = order.signer.partition(":")
    if kind == "operator":
        return Caller(order.by if order.by.startswith("operator:") else "operator:fleet")
    agent, _, run = order.by.removeprefix("agent:").partition(":")
    name = f"{agent}@{host}"
    return Caller(f"agent:{name}", (f"{run}@{host}",), name, outside=True)


def carry_out(knell: Knell, order: FleetOrder) -> Finished:
    """What came of it. Whatever goes wrong is an answer too."""
    try:
        _check(order)
        do = _DEEDS[order.verb]
        return Finished(order.id, "done", do(knell, order))
    except KnellError as error:
        said = {"code": str(error.code), "message": str(error), "hint": error.hint}
        answer = {"error": {**said, "type": type(error).__name__}, "exit": int(of_error(error))}
        refused = isinstance(error, Refused | BadRequest)
        return Finished(order.id, "refused" if refused else "done", answer)


def _check(order: FleetOrder) -> None:
    if order.verb not in _DEEDS:
        raise BadRequest(f"this host knows no order '{order.verb}'", "upgrade knell there")
    unknown = set(order.options) - OPTIONS[order.verb]
    if unknown:
        why = f"{order.verb} over the fleet takes no {', '.join(sorted(unknown))}"
        raise BadRequest(why, "upgrade knell there")
    one = order.verb in ("spawn", "task") or (not _is_group(order) and len(order.runs) == 1)
    if order.verb not in GROUPS and not one:
        raise BadRequest(f"{order.verb} over the fleet means one agent", "name it")


def _is_group(order: FleetOrder) -> bool:
    return order.target == "all" or ":" in order.target


def _begun_at(knell: Knell, order: FleetOrder) -> str:
    """When this host wrote the order down: what is younger may have come of it."""
    known = knell.fleet.store.order(order.id)
    return known.at if known else ""


# -- ending ----------------------------------------------------------------------------------------


def _end(knell: Knell, order: FleetOrder) -> Answer:
    """Ends the runs that the order names, and no other that has the name or the tag by now."""
    end: Callable[..., Endings] = getattr(knell, order.verb)
    before = _ended_by_it(knell, order)
    if _is_group(order):
        live = {view.run for view in knell.list()}
        left = [f"id:{run}" for run in order.runs if run in live]
        options = {"yes": True} if order.target == "all" else {}
        ended = end(*left, **{**order.options, **options}) if left else Endings(())
    else:
        newest = knell.server.recorded_run(order.target)
        if before:
            ended = Endings(())
        elif newest is None or newest.id not in order.runs:
            why = f"the run of '{order.target}' that was meant is over; another one was left alone"
            raise Refused(why, "ask again", code=Code.RUN_OVER)
        else:
            ended = end(order.target, **order.options)
    receipts = [*before, *(receipt.to_json() for receipt in ended)]
    orphaned = [name for one in ended.targets for name in one.orphaned]
    label = order.target if _is_group(order) else ""
    return {"targets": [{"label": label, "orphaned": orphaned, "receipts": receipts}]}


def _ended_by_it(knell: Knell, order: FleetOrder) -> list[dict[str, Any]]:
    """The receipts of what this very order ended before it was interrupted."""
    at, by = _begun_at(knell, order), asker_of(order).by
    found: list[dict[str, Any]] = []
    for run in order.runs if at else ():
        try:
            receipt = knell.receipt(run)
        except KnellError:
            continue  # it lives
        if receipt.by == by and receipt.started_at >= at and receipt.run == run:
            found.append(receipt.to_json())
    return found


# -- starting --------------------------------------------------------------------------------------


def _spawn(knell: Knell, order: FleetOrder) -> Answer:
    """The name is decided and written down first, so that an interrupted order starts one agent."""
    if order.signer != "operator" and not order.options.get("team"):
        why = "an agent of another host starts agents only in a team that it leads"
        raise Refused(why, "give it a team: --team NAME", code=Code.NOT_ALLOWED)
    known = knell.fleet.store.order(order.id)
    name = known.plan.get("name", "") if known else ""
    if not name:
        name = str(order.options.get("name") or knell.server.free_name(str(order.options["kind"])))
        knell.fleet.store.plan_order(order.id, {"name": name})
    elif (there := knell.server.recorded_run(name)) and there.started_at >= _begun_at(knell, order):
        return _started(knell, name)
    given: dict[str, Any] = {**order.options, "name": name}
    _, _, warnings = knell.spawn(**given)
    return _started(knell, name) | {"warnings": [one._asdict() for one in warnings]}


def _start_again(knell: Knell, order: FleetOrder) -> Answer:
    """`resume` and `restart`."""
    if not _is_back(knell, order):
        getattr(knell, order.verb)(order.target, **order.options)
    return _started(knell, order.target)


def _is_back(knell: Knell, order: FleetOrder) -> bool:
    """Whether this very order has started it before it was interrupted."""
    newest = knell.server.recorded_run(order.target)
    if newest is None or newest.id in order.runs:
        return False
    if newest.live and newest.started_at >= _begun_at(knell, order):
        return True
    why = f"'{order.target}' was started again since; that run was left alone"
    raise Refused(why, "ask again", code=Code.RUN_OVER)


def _started(knell: Knell, name: str) -> Answer:
    [view] = knell.views_of(name)
    document = {key: getattr(view, key) for key in ("name", "kind", "run", "pid", "conversation")}
    text = f"{name}: {view.kind} runs as PID {view.pid}{whereabouts(view.place, view.pane)}"
    return _said(document, text)


# -- looking ---------------------------------------------------------------------------------------


def _show(knell: Knell, order: FleetOrder) -> Answer:
    story = knell.show(order.target)
    return _said(tables.story_json(story), tables.story_text(story))


def _tree(knell: Knell, order: FleetOrder) -> Answer:
    story = knell.show(order.target)
    processes = tables.processes_json(story.members)
    text = tables.tree_text(story.members) or tables.no_processes_text(story)
    return _said({"agent": order.target, "processes": processes}, text)


def _explain(knell: Knell, order: FleetOrder) -> Answer:
    one = knell.explain(order.target)
    return _said(tables.verdict_json(one), tables.verdict_text(one))


def _receipt(knell: Knell, order: FleetOrder) -> Answer:
    from knell.faces.text import receipt as receipt_text

    found = knell.receipt(order.target)
    return _said(found.to_json(), receipt_text.text(found))


def _task(knell: Knell, order: FleetOrder) -> Answer:
    """A task of a team of this host, for a member on another one. What its claim holds is proven by
    the number of the claim; carried out twice, an order finds its own claim."""
    task, token = knell.task(order.target), order.options.get("token")
    do, who = order.options.get("do"), asker_of(order)
    if do == "claim":
        known = task.show()
        holder = (known.owner, known.owner_run)
        mine = known.status == "in_progress" and holder == (who.agent, who.run)
        found = known if mine else task.claim().task
    elif do in ("complete", "release"):
        found = getattr(task, do)(token)
    elif do == "show":
        found = task.show()
    else:
        raise BadRequest(f"'{do}' cannot be done to a task", "use claim, complete, release or show")
    text = f"{found.id}: {found.status}, number of the claim: {found.token}"
    return _said(found._asdict(), text)


def _said(document: dict[str, Any], text: str) -> Answer:
    return {"document": document, "text": text, "exit": 0}


_DEEDS: dict[str, Callable[[Knell, FleetOrder], Answer]] = {
    "kill": _end, "stop": _end, "show": _show, "tree": _tree, "explain": _explain,
    "receipt": _receipt, "task": _task, "spawn": _spawn, "resume": _start_again,
    "restart": _start_again,
}  # fmt: skip
