"""Other hosts in `web --fleet`: what the stream tells of them, and what is asked about one."""

import threading
import time
from collections.abc import Callable
from typing import Any

from knell.api import Knell
from knell.api.results import AgentView
from knell.core.errors import BadRequest, NoSuchAgent
from knell.core.fleet.target import far_target
from knell.core.ports.fleet import HostView
from knell.faces.far.deeds import ask_host
from knell.faces.far.look import UNSEEN, FarLook, FarScene, far_key, published_receipt

DRIFT = 2.0  # seconds by which a browser may be wrong about when a host was heard
FRESH = 15.0  # seconds for which a picture is good enough to plan by
WHATS = ("explain", "tree")  # what only an agent's own host can say
Json = dict[str, Any]


class FarNews:
    """Tells the browsers what is new of other hosts."""

    def __init__(self, open_knell: Callable[[], Knell], publish: Callable[[Json], None]) -> None:
        self.look = FarLook(open_knell, self.tell, resting=True)
        self._publish = publish
        self._lock = threading.Lock()  # a timer tells too, that no answer came
        self._scene = UNSEEN
        self._rows: dict[str, Json] = {}
        self._told: Json = {}

    def tell(self) -> None:
        with self._lock:
            news = self._news()
            if news:
                self._publish({"fleet": news})

    def _news(self) -> Json:
        scene, before = self.look.scene, self._scene
        news: Json = {}
        if scene is not before:
            self._scene, known = scene, self._rows
            views = (*scene.picture.agents, *scene.ended)
            self._rows = {far_key(view): row_json(view, scene) for view in views}
            if rows := [row for key, row in self._rows.items() if known.get(key) != row]:
                news["rows"] = rows
            if gone := [key for key in known if key not in self._rows]:
                news["gone"] = gone
            if hosts := changed_hosts(before, scene):
                news["hosts"] = [host_json(one) for one in hosts]
        state = self._state()
        if state != self._told:
            self._told = state
            news |= state
        return news

    def _state(self) -> Json:
        """Whether the fleet answers; and since when it does not, by a clock."""
        return {"host": self.look.own, "trouble": self.look.trouble, "since": self.look.since}

    def whole(self) -> Json:
        """Everything, for a browser that has just come."""
        with self._lock:
            scene = self._scene
            return {
                "full": True, "looked": scene is not UNSEEN, "rows": [*self._rows.values()],
                "hosts": [host_json(scene.host(name)) for name in scene.known], **self._state(),
            }  # fmt: skip

    def scene(self, knell: Knell) -> FarScene:
        """A picture that is new enough to act by. The database is asked if there is none, and its
        error is the caller's."""
        found = self.look.scene
        return found if time.monotonic() - found.taken < FRESH else self.look.take(knell)

    def view(self, knell: Knell, key: str) -> AgentView:
        found = self.scene(knell).find(key)
        if found is None:
            raise NoSuchAgent(key)
        return found

    def named(self, knell: Knell, name: str) -> AgentView:
        """The agent that `luna@build-7` is: the one that lives, else the one that ended last."""
        target, scene = far_target(name), self.scene(knell)
        for view in (*scene.picture.agents, *scene.ended):
            if (view.name, view.host) == (target.what, target.host):
                return view
        raise NoSuchAgent(name)


def row_json(view: AgentView, scene: FarScene) -> Json:
    """A row as `list --fleet --json` has it; `id` is what deeds mean it by, and `order` is one to
    it that is open."""
    order = scene.order_of(view)
    told = {"id": order.id, "verb": order.verb, "state": order.state} if order else None
    return {**view.to_json(), "id": far_key(view), "order": told}


def host_json(host: HostView) -> Json:
    names = ("name", "state", "seen", "live", "version", "skew")
    return {name: getattr(host, name) for name in names}


def changed_hosts(before: FarScene, now: FarScene) -> list[HostView]:
    """Those of which a browser, whose clock goes on, would say something else."""
    found: list[HostView] = []
    for host in now.picture.hosts:
        past = before.host(host.name) if host.name in before.known else None
        same = past and past._replace(seen=None, live=0) == host._replace(seen=None, live=0)
        drift = abs((past.seen or 0.0) - (host.seen or 0.0)) if past else 0.0
        if not same or drift > DRIFT or (past and past.live != host.live):
            found.append(host)
    return found


# -- what is asked -----------------------------------------------------------------------------


def picture(knell: Knell) -> Json:
    """As `status --fleet --json`. It waits for the database; nothing else of the page does."""
    found = knell.fleet.picture()
    return {
        "hosts": [host_json(one) for one in found.hosts],
        "agents": [view.to_json() | {"id": far_key(view)} for view in found.agents],
        "orders": [one._asdict() for one in found.orders],
    }


def agent(knell: Knell, name: str, news: FarNews) -> Json:
    """One agent of another host, as far as it is known without asking that host."""
    view, scene = news.named(knell, name), news.scene(knell)
    host = scene.host(view.host)
    receipt, unproven = published_receipt(knell, view)
    known = {"host_state": host.state, "host_seen_s": host.seen}
    return {**row_json(view, scene), **known, "receipt": receipt, "receipt_unproven": unproven}


def receipt(knell: Knell, name: str) -> Json:
    target = far_target(name)
    found = knell.fleet.receipt(target.host, target.what)
    if found is None:
        raise NoSuchAgent(name)
    return {**found, "host": target.host}


def ask_its_host(knell: Knell, values: Json, news: FarNews | None) -> Json:
    """What an agent's own host says: an order, which looks and changes nothing."""
    if news is None:
        raise BadRequest("this server shows one host", "knell web --fleet")
    return {"lines": ask_host(knell, values["what"], news.view(knell, values["run"]))}
