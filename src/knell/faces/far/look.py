"""The thread that looks at other hosts, for `top` and `web`.

It asks the fleet's database, and no other thread waits for it: this machine's own agents are shown
while the database hangs, refuses or is gone, with the time since when it has not answered."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from knell.api import Knell
from knell.api.far import FleetPicture, words_for
from knell.api.results import AgentView, Receipt
from knell.core.codes import Code
from knell.core.errors import FleetFailed, KnellError
from knell.core.ports.fleet import HostView, OrderView
from knell.core.receipt import receipt_from_json
from knell.faces.look_thread import LookThread

LOOK = 2.0  # seconds between two looks
SHARE = 100  # a look that took a second of processor time here is made again after so many
DATABASE_SHARE = 20  # the same for a second that the database took: 20,000 agents are half of one
LATE = 4.0  # seconds after which a look without an answer is reported
ENDED_SHOWN = 20
HERE = "(here)"  # this machine, where it is no host of the fleet: no host can be called so
NOBODY = HostView("", "never", None, 0, "", 0.0, "", "")


def far_key(view: AgentView) -> str:
    """By which an agent of another host is known: another host may give its run the same id."""
    return f"{view.run}@{view.host}"


class FarScene(NamedTuple):
    """What the database said at one moment."""

    picture: FleetPicture
    ended: tuple[AgentView, ...] = ()
    receipts: Mapping[str, Receipt] = {}  # by far_key, of those that ended
    taken: float = float("-inf")  # by time.monotonic
    known: Mapping[str, HostView] = {}  # hosts by their names

    def host(self, name: str) -> HostView:
        """With its age as of now: it grows while the database does not answer."""
        host = self.known.get(name) or NOBODY._replace(name=name)
        if host.seen is None:
            return host
        return host._replace(seen=host.seen + time.monotonic() - self.taken)

    def is_quiet(self, name: str) -> bool:
        """Whether its agents are only known from before: never that they are gone."""
        return (self.known.get(name) or NOBODY).state != "heard"

    def order_of(self, view: AgentView) -> OrderView | None:
        """The order to this agent that is open, if one is that changes anything."""
        for one in self.picture.orders:
            changes = one.verb in CHANGING and not one.dry_run
            if changes and one.host == view.host and one.target in words_for(view):
                return one
        return None

    def find(self, key: str) -> AgentView | None:
        views = (*self.picture.agents, *self.ended)
        return next((view for view in views if far_key(view) == key), None)


CHANGING = ("kill", "stop", "resume", "restart")
UNSEEN = FarScene(FleetPicture((), (), ()))  # until the database has answered


class FarLook(LookThread):
    """Looks until it is told to stop. `told` is called from this thread, or from a timer's."""

    def __init__(
        self, open_knell: Callable[[], Knell], told: Callable[[], None],
        targets: Sequence[str] = (), *, resting: bool = False,
    ) -> None:  # fmt: skip
        super().__init__("knell-far-look", open_knell, resting=resting)
        self._told, self._targets = told, tuple(targets)
        with open_knell() as knell:  # files of this home alone
            knell.fleet.check_operator()
            self.own = knell.fleet.own_host() or HERE
        self.scene = UNSEEN
        self.trouble = ""  # why there is no answer; empty: there is
        self.since = 0.0  # since when, in seconds after 1970; 0: there is one
        self._answered = time.time()
        self._lock, self._looks = threading.Lock(), 0

    def rested(self) -> None:
        self._answered = time.time()

    def look_on(self, knell: Knell) -> None:
        """Looks once, then pauses: the longer, the more the look cost."""
        began, spent = time.monotonic(), time.thread_time()
        late = threading.Timer(LATE, self._note_late, args=[self._looks])
        late.daemon = True
        late.start()
        scene, trouble = None, ""
        try:
            scene = self.take(knell)
        except KnellError as error:
            trouble = str(error)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            trouble = f"its answer is not that of a knell fleet: {error!r:.80}"
        late.cancel()
        with self._lock:
            self._looks += 1
            self._note(scene, trouble)
        self._tell()
        took = time.monotonic() - began
        wanted = max(SHARE * (time.thread_time() - spent), DATABASE_SHARE * took)
        self.pause(LOOK if trouble else max(LOOK, wanted))

    def _note(self, scene: FarScene | None, trouble: str) -> None:
        if scene:
            self.scene, self._answered = scene, time.time()
        self.trouble, self.since = trouble, self._answered if trouble else 0.0

    def _note_late(self, look: int) -> None:
        """From a timer: the look of this number has no answer yet."""
        with self._lock:
            if look != self._looks:
                return
            self._note(None, self.trouble or "no answer came")
        self._tell()

    def _tell(self) -> None:
        if not self._over:
            self._told()

    def take(self, knell: Knell) -> FarScene:
        """Asks the database; KnellError where it does not answer. In whichever thread."""
        before, fleet = self.scene, knell.fleet
        picture = fleet.picture(*self._targets)
        live = {far_key(view) for view in picture.agents}
        ended = before.ended
        if before is UNSEEN or any(far_key(one) not in live for one in before.picture.agents):
            ended = tuple(fleet.recently_ended(*self._targets, limit=ENDED_SHOWN))
        names = {(view.host, view.name) for view in picture.agents}
        ended = tuple(one for one in ended if (one.host, one.name) not in names)
        receipts = dict(before.receipts)
        for view in ended:
            if far_key(view) not in receipts and (found := _receipt(knell, view)):
                receipts[far_key(view)] = found
        kept = {far_key(view) for view in ended}
        receipts = {key: one for key, one in receipts.items() if key in kept}
        known = {host.name: host for host in picture.hosts}
        return FarScene(picture, ended, receipts, time.monotonic(), known)

    # -- in words ------------------------------------------------------------------------------

    @property
    def sentence(self) -> str:
        """That the fleet does not answer, since when, and why; empty where it does."""
        if not self.since:
            return ""
        at = time.strftime("%H:%M:%S", time.localtime(self.since))
        seen = self.scene is not UNSEEN
        old = "; the rows of other hosts are as old as they say" if seen else ""
        return f"the fleet does not answer since {at}: {self.trouble}{old}"


def _receipt(knell: Knell, view: AgentView) -> Receipt | None:
    found, _ = published_receipt(knell, view)
    try:
        return receipt_from_json(found) if found else None
    except (KeyError, TypeError, ValueError):
        return None


def published_receipt(knell: Knell, view: AgentView) -> tuple[dict[str, Any] | None, str]:
    """The receipt of an agent of another host, or why the one that is there proves nothing."""
    try:
        return knell.fleet.receipt(view.host, view.run), ""
    except FleetFailed as error:
        if error.code is not Code.ANSWER_NOT_SIGNED:
            raise
        return None, str(error)
