"""The part of the API that makes a fleet, joins it, and keeps its keys."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from knell.api.argument_types import ChecksArguments
from knell.core.authority import Deed
from knell.fleet import address, setup
from knell.fleet.keys import make_key, public_of
from knell.fleet.known_hosts import KnownHosts
from knell.fleet.private_files import read_credentials, trusted_keys
from knell.life.base.authority import check_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knell.core.ports.fleet import FleetStore, Joined
    from knell.fleet.private_files import FleetFiles
    from knell.fleet.schema import Schema
    from knell.wiring import RealWorld


class FleetSetupVerbs(ChecksArguments):
    """A part of `knell.fleet`."""

    def __init__(self, world: RealWorld) -> None:
        self._world = world

    @property
    def files(self) -> FleetFiles:
        return self._world.fleet_files

    @property
    def store(self) -> FleetStore:
        """What this host remembers of its fleet."""
        return self._world.store.fleet

    def _check_operator(self) -> None:
        """No agent decides whose orders this host obeys, or that it obeys none."""
        check_operator(self._world, Deed.FLEET)

    # -- joining -------------------------------------------------------------------------------

    def init(self, url: str = "", *, url_file: str = "", operator: str = "") -> Joined:
        """Makes the schema in a database, and this home its first operator. `url_file`: a file of
        mode 600 that holds the address, where it has a password."""
        self._check_operator()
        where = address.where(url, url_file)
        return setup.init(where, self.files, operator or _user(self._world))

    def upgrade(self, url: str = "", *, url_file: str = "") -> Schema:
        self._check_operator()
        return setup.upgrade(address.where(url, url_file))

    def join(
        self, url: str = "", *, url_file: str = "", host: str = "", operator: str = "",
        trust: Sequence[str] = (), save_to: str = "", from_file: str = "",
        certificate: bool = False,
    ) -> Joined:  # fmt: skip
        """Makes this home a host of the fleet, or with `operator` an operator's. `certificate`:
        makes only the role, for a machine that has a certificate for it."""
        self._check_operator()
        if from_file:
            given = read_credentials(from_file)
            joined = setup.take_credentials(self.files, given, tuple(trust))
        else:
            where = address.where(url, url_file)
            if operator:
                return setup.join_as_operator(where, self.files, operator, certificate=certificate)
            wish = setup.JoinWish(host or self._world.host, tuple(trust), save_to, certificate)
            joined = setup.join(where, self.files, wish)
        if joined.file == self.files.link:
            self.store.join(self._world.new_uuid())
        return joined

    def prune(
        self, url: str = "", *, days: float, url_file: str = "", dry_run: bool = False
    ) -> dict[str, Any]:
        """Drops old events by whole months, closed orders, and agents that ended long ago."""
        self._check_operator()
        return setup.prune(address.where(url, url_file), days, dry_run=dry_run)

    def leave(self) -> tuple[str, str]:
        """Tells the database, and forgets the fleet on this host. The name of the host, empty if it
        was in none; and why the database could not be told."""
        self._check_operator()
        if not os.path.exists(self.files.link):
            self.store.leave()
            return "", ""
        given = read_credentials(self.files.link)
        untold = setup.tell_leaving(given)
        os.unlink(self.files.link)
        self.store.leave()
        return given.name, untold

    def remove(self, host: str, url: str = "", *, url_file: str = "") -> int:
        """Takes a host out that will not come back; how many orders to it are called off."""
        self._check_operator()
        return setup.remove(address.where(url, url_file), host)

    # -- keys ----------------------------------------------------------------------------------

    def new_key(self) -> str:
        """The operator's public key of this home; made if there is none."""
        self._check_operator()
        return make_key(self.files.operator_key)

    def keys(self) -> list[tuple[str, str, str]]:
        """(operator, host or trusted …, name, public key) of all that this home has."""
        own = (("own operator", self.files.operator_key), ("own host", self.files.host_key))
        mine = [(what, "", public_of(path)) for what, path in own if os.path.exists(path)]
        trusted = trusted_keys(self.files.trusted)
        mine += [(f"trusted {who.partition(':')[0]}", name, key) for who, name, key in trusted]
        return mine + [
            ("known host", name, key) for name, key in self._known_hosts().keys().items()
        ]

    def trust(self, key: str, *, name: str = "", host: str = "") -> bool:
        """Obeys orders that this key signs; with `host`, those of agents of that host."""
        self._check_operator()
        name = host or name or setup.name_of_key(key)
        return setup.add_trust(self.files, "host" if host else "operator", name, key)

    def distrust(self, key: str) -> bool:
        self._check_operator()
        return setup.drop_trust(self.files, key)

    def pin(self, host: str, key: str) -> bool:
        """Takes this key for that host's, whose answers it proves; whether that is new."""
        self._check_operator()
        return self._known_hosts().pin(host, key)

    def unpin(self, host: str) -> bool:
        """Forgets that host's key: the next one that is seen is taken for it."""
        self._check_operator()
        return self._known_hosts().forget(host)

    def _known_hosts(self) -> KnownHosts:
        return KnownHosts(self.files.known_hosts)


def _user(world: RealWorld) -> str:
    name = world.env.get("USER") or world.env.get("LOGNAME") or "operator"
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).strip("-.") or "operator"
