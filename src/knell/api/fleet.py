"""The part of the API for many hosts: joining, looking, orders. Needs the extra `fleet`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from knell.api.far import FarAnswer, FleetPicture, words_for
from knell.api.fleet_setup import FleetSetupVerbs
from knell.core.codes import Code
from knell.core.errors import BadRequest, FleetFailed, KnellError, NoSuchAgent, Refused
from knell.core.fleet.target import (
    EVERYWHERE,
    FarTarget,
    checked_far_agent,
    conditions,
    far_target,
    meant_far,
)
from knell.fleet.link import Link
from knell.fleet.postgres import OrderWish, PostgresFleet, Signer
from knell.fleet.private_files import read_credentials
from knell.fleet.wire import Wire, shown
from knell.life.base.caller import asker
from knell.life.look.far import far_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knell.api.results import AgentView
    from knell.core.fleet.order import FleetOrder
    from knell.core.ports.fleet import FleetEvent, HostView, LocalHost, OrderView

WAIT = 10.0  # seconds that a verb waits for the origin's answer
EXPIRES = 3600.0  # seconds after which an order that nobody took is never carried out


class FleetStatus(NamedTuple):
    """How this machine is in its fleet."""

    sentence: str
    host: str
    operator: str
    trouble: str  # why the database cannot be asked
    hosts: tuple[HostView, ...] = ()
    room: Mapping[str, Any] | None = None
    heard_s: float | None = None  # seconds since the link last heard the database

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "hosts": [host._asdict() for host in self.hosts]}


class FleetVerbs(FleetSetupVerbs):
    """Reached as `knell.fleet`."""

    _fleet: PostgresFleet | None = None

    # -- the link ------------------------------------------------------------------------------

    def link(self, host: LocalHost, pace: Mapping[str, float] | None = None) -> Link:
        """The link of this host, to be stepped; `host` is what it publishes and obeys through."""
        self._check_operator()  # it carries out orders in the names of operators
        return Link(read_credentials(self.files.link), self.files, host, pace or {})

    # -- looking -------------------------------------------------------------------------------

    @property
    def database(self) -> PostgresFleet:
        """The fleet's database, as the operator of this home; else as this host."""
        if self._fleet is None:
            files = self.files
            path = next((one for one in (files.operator, files.link) if os.path.exists(one)), "")
            if not path:
                hint = "knell fleet join URL joins one; knell fleet init URL makes one"
                raise FleetFailed("this machine is in no fleet", hint, code=Code.FLEET_OFF)
            self._fleet = PostgresFleet(read_credentials(path), self._known_hosts())
        return self._fleet

    def close(self) -> None:
        if self._fleet:
            self._fleet.close()

    def status(self) -> FleetStatus:
        """How this machine is in its fleet, and how the others are, as far as it may know."""
        files = self.files
        given = {"host": files.link, "operator": files.operator}
        mine = {what: read_credentials(at) for what, at in given.items() if os.path.exists(at)}
        if not mine:
            return FleetStatus("this machine is in no fleet", "", "", "")
        where = shown(next(iter(mine.values())).conninfo)
        what = " and ".join(f"{what} '{one.name}'" for what, one in mine.items())
        host, operator = (mine[what].name if what in mine else "" for what in given)
        heard = self._heard()
        said = f"{what} of the fleet in {where}"
        try:
            if not operator:
                self.database.call("SELECT knell.schema_of()")
                said += "; only operators see the other hosts"
                return FleetStatus(said, host, operator, "", heard_s=heard)
            room = self.database.room()
            return FleetStatus(said, host, operator, "", tuple(self.hosts()), room, heard)
        except FleetFailed as error:
            return FleetStatus(said, host, operator, error.whole, heard_s=heard)

    def _heard(self) -> float | None:
        link, clock = self.store.link(), self._world.clock()
        here = link is not None and link.contact_boot == clock.boot
        return round(clock.up - link.contact_up, 1) if link and here else None

    def hosts(self) -> list[HostView]:
        return self.database.hosts()

    def own_host(self) -> str:
        """The name of this machine in the fleet; empty if it is none of its hosts."""
        return read_credentials(self.files.link).name if os.path.exists(self.files.link) else ""

    def check_operator(self) -> None:
        """FleetFailed where this home may not look at other hosts; asks no database."""
        if not os.path.exists(self.files.operator):
            why = "this home has no operator's credentials for a fleet: it sees no other host"
            hint = "knell fleet init URL makes a fleet; knell fleet join URL --operator NAME"
            raise FleetFailed(why, hint, code=Code.FLEET_OFF)

    def picture(self, *targets: str) -> FleetPicture:
        """Every host, the agents of the others, and the orders that are open. Targets: only these
        agents; one without a host means every host."""
        found = [row for one in meant_far(targets) for row in self.agents(one)]
        own = self.own_host()
        agents = {(one.host, one.run): one for one in far_views(found) if one.host != own}
        return FleetPicture(tuple(self.hosts()), tuple(agents.values()), tuple(self.orders()))

    def recently_ended(self, *targets: str, limit: int = 30) -> list[AgentView]:
        """The agents of other hosts that ended last, the last one first. Targets as `picture`."""
        own, meant = self.own_host(), meant_far(targets)
        found = far_views(self.database.recently_ended(limit))
        return [one for one in found if one.host != own and any(means(t, one) for t in meant)]

    def agents(
        self, target: str | FarTarget = "", *, with_ended: bool = False
    ) -> list[dict[str, Any]]:
        """The rows of `list`, of all hosts, or of those that a target such as tag:X@* means."""
        return self.database.agents(**conditions(target), ended=with_ended)

    def agents_text(self, target: str = "", *, with_ended: bool = False) -> str:
        """The same as the text of a JSON array, with a line for each agent."""
        return self.database.agents_text(**conditions(target), ended=with_ended)

    def hosts_of(self, name: str, *, seconds: float) -> list[str]:
        """The hosts on which an agent of that name lives; FleetFailed if that takes longer."""
        wire = Wire(read_credentials(self.files.operator).conninfo, seconds, seconds)
        try:
            found = wire.call("SELECT knell.fleet_list($1)", {"name": name})
        finally:
            wire.close()
        return [one["host"] for one in found]

    def receipt(self, host: str, agent: str) -> dict[str, Any] | None:
        """The newest receipt that this host has published of an agent or a run."""
        return self.database.receipt(host, agent)

    def events(
        self, after: FleetEvent | None = None, *, limit: int = 50, agent: str = ""
    ) -> list[FleetEvent]:
        return self.database.events(after, limit, agent)

    def follow(self, after: FleetEvent | None, *, agent: str = "") -> Iterator[FleetEvent]:
        """Yields every event of the fleet behind that one, in the order of the database."""
        while True:
            found = self.database.events(after, 500, agent) if after else self.events(limit=1)
            for event in found:
                yield event
                after = event
            if not found:
                self._world.wait([], 0.5)

    # -- orders --------------------------------------------------------------------------------

    def order(
        self, verb: str, target: str | FarTarget, options: Mapping[str, Any], *,
        wait: float = WAIT, expires: float = EXPIRES,
    ) -> list[FarAnswer]:  # fmt: skip
        """Asks the hosts that the target means, and waits that long for their answers."""
        meant = far_target(target) if isinstance(target, str) else target
        who = self._signer()
        wish = OrderWish(verb, meant, dict(options), max(expires, wait))
        return self._answers(self.database.prepare(wish, who), who, wait)

    def order_runs(
        self, verb: str, agents: Sequence[AgentView], options: Mapping[str, Any], *,
        wait: float = WAIT, expires: float = EXPIRES,
    ) -> list[FarAnswer | KnellError]:  # fmt: skip
        """Asks the hosts of these agents of other hosts, each for exactly that run, and waits that
        long for all of them. What was said of each, or why it was not asked for."""
        who = self._signer()
        asked: list[FleetOrder | KnellError] = []
        for one in agents:
            try:
                checked_far_agent(f"{one.name}@{one.host}")
                target = FarTarget(one.name, one.host)
                wish = OrderWish(verb, target, dict(options), max(expires, wait))
                [order] = self.database.prepare(wish, who)
                asked.append(order if order.runs == (one.run,) else another_run(target))
            except (NoSuchAgent, Refused, BadRequest) as error:
                asked.append(error)
        orders = [one for one in asked if not isinstance(one, KnellError)]
        answers = iter(self._answers(orders, who, wait))
        return [one if isinstance(one, KnellError) else next(answers) for one in asked]

    def _answers(self, orders: Sequence[FleetOrder], who: Signer, wait: float) -> list[FarAnswer]:
        """Gives the orders to the database, and waits that long for what comes of them."""
        self.database.issue(orders, who)
        found = self.database.await_answers(orders, wait, lambda some: self._world.wait([], some))
        return [FarAnswer(one, found.get(one.id)) for one in orders]

    def _signer(self) -> Signer:
        """The operator of this home; inside an agent, this host in the name of that agent."""
        who, files = asker(self._world), self.files
        if who.agent:
            self._fleet = None
            host = read_credentials(files.link)
            self._fleet = PostgresFleet(host, self._known_hosts())
            return Signer(f"agent:{who.agent}:{who.run}", f"host:{host.name}", files.host_key)
        if not os.path.exists(files.operator):
            why = "this home has no operator's credentials for the fleet"
            hint = "knell fleet join URL --operator NAME"
            raise FleetFailed(why, hint, code=Code.FLEET_OFF)
        name = read_credentials(files.operator).name
        return Signer(f"operator:{name}", "operator", files.operator_key)

    def orders(self, *, with_closed: bool = False) -> list[OrderView]:
        return self.database.orders(with_closed=with_closed)

    def cancel(self, id: str) -> str:
        """Calls off the order whose id begins so; gives the whole id."""
        self._check_operator()  # or it would be called off in the operator's name
        found = [one.id for one in self.orders() if one.id.startswith(id)]
        whole = found[0] if len(found) == 1 and id else id
        self.database.cancel(whole)
        return whole


def means(target: str | FarTarget, view: AgentView) -> bool:
    if isinstance(target, str):
        return True
    return target.what in words_for(view) and target.host in (view.host, EVERYWHERE)


def far_views(rows: Iterable[object]) -> list[AgentView]:
    return [view for row in rows if (view := far_view(row))]


def another_run(target: FarTarget) -> Refused:
    why = f"'{target}' is another run by now: nothing was done to it"
    return Refused(why, "ask again", code=Code.RUN_OVER)
