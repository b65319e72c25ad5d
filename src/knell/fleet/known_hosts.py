"""The keys of other hosts, as this home knows them: what a host has answered is proven by them.

A key that nobody listed is taken for the host's at first sight, as ssh does; from then on another
one is not believed until the operator says so (`knell fleet key pin`)."""

import os
from collections.abc import Mapping
from typing import Any

from knell.core.codes import Code
from knell.core.errors import FleetFailed
from knell.core.fleet.answer import answer_text, receipt_text
from knell.core.fleet.target import checked_host
from knell.fleet.keys import is_signed, key_bytes
from knell.fleet.private_files import read_private, write_private

ANSWERED = ("done", "refused")  # what only the host itself can say of an order


class KnownHosts:
    """One file with a line for each host: its name, and its public key."""

    def __init__(self, path: str) -> None:
        self._path = path

    def keys(self) -> dict[str, str]:
        if not os.path.exists(self._path):
            return {}
        lines = (line.split() for line in read_private(self._path).splitlines())
        return {words[0]: words[1] for words in lines if len(words) == 2}  # noqa: PLR2004 - host and key

    def meet(self, published: Mapping[str, str]) -> dict[str, str]:
        """The keys that are known, and from now on those that were seen for the first time."""
        known = self.keys()
        new = {name: key for name, key in published.items() if key and name not in known}
        if new:
            self._write(known | new)
        return known | new

    def pin(self, host: str, key: str) -> bool:
        """Whether that is new."""
        checked_host(host)
        key_bytes(key)
        known = self.keys()
        self._write(known | {host: key})
        return known.get(host) != key

    def forget(self, host: str) -> bool:
        known = self.keys()
        if there := known.pop(host, None):
            self._write(known)
        return there is not None

    def _write(self, known: Mapping[str, str]) -> None:
        write_private(self._path, "".join(f"{name} {key}\n" for name, key in known.items()))


def proven_order(row: dict[str, Any], fleet: str, keys: Mapping[str, str]) -> dict[str, Any]:
    """The order as the database has it, if its host has signed the answer; else the same without
    the answer, as `unproven`."""
    if row["state"] not in ANSWERED:
        return row
    host = row["host"]
    text = answer_text(fleet, host, row["id"], row["state"], row["answer"])
    if is_signed(text, row["proof"], keys.get(host, ""), "answer"):
        return row
    error = unsigned("answer", host)
    said = {"code": str(error.code), "message": str(error), "hint": error.hint}
    return {**row, "state": "unproven", "answer": {"error": said, "exit": 1}}


def is_proven_receipt(row: Mapping[str, Any], fleet: str, host: str, key: str) -> bool:
    text = receipt_text(fleet, host, row["run"], row["number"], row["receipt"])
    same = row["receipt"].get("run") == row["run"]
    return same and is_signed(text, row["proof"], key, "receipt")


def unsigned(what: str, host: str) -> FleetFailed:
    why = f"not proven: the {what} is not signed by {host}"
    hint = (
        f"look on {host} itself; was knell set up anew or upgraded there? then, with the key that"
        f" `knell fleet key list` shows there: knell fleet key pin {host} KEY"
    )
    return FleetFailed(why, hint, code=Code.ANSWER_NOT_SIGNED)
