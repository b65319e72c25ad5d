"""Letters between agents. Each is read once; they wait as long as nobody reads them."""

from collections.abc import Sequence

from quell.core.errors import BadRequest
from quell.core.message import EVERYBODY, Message, checked_letter
from quell.stores import rows
from quell.stores.sharing import Sharing
from quell.stores.transactions import FULL

MOST = 1_000  # letters that one look brings

_ADD = """
    INSERT INTO messages (team, sender, recipient, type, body, summary, at)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
_UNREAD = """
    SELECT id, team, sender, recipient, type, body, at, read_at, summary FROM messages
    WHERE recipient = ? AND read_at = '' ORDER BY id LIMIT ?"""
_COUNT = "SELECT count(*) FROM messages WHERE recipient = ? AND read_at = ''"


class Letters(Sharing):
    def send(
        self,
        team: str,
        sender: str,
        recipients: Sequence[str],
        type: str,
        body: str,
        summary: str = "",
    ) -> list[Message]:
        """One letter for each recipient; core.message.EVERYBODY: all of the team but the sender.

        A name that nobody has is a reader too: it may belong to somebody who comes later.
        """
        checked_letter(body, type)
        with self._file.writing(FULL) as db:
            if team:
                self._live_team(team)
            readers = self._readers(team, sender, recipients)
            at, sent = self._now(), list[Message]()
            texts = [rows.plain(text) for text in (team, sender, type, body, summary)]
            team, sender, type, body, summary = texts
            for to in readers:
                row = db.execute(_ADD, [team, sender, to, type, body, summary, at])
                id = row.lastrowid or 0
                sent.append(Message(id, team, sender, to, type, body, at, "", summary))
            if sent:
                told = {"team": team, "type": type, "to": readers}
                self._write_event(
                    "message.sent", sender, "", told | {"ids": [letter.id for letter in sent]}
                )
            return sent

    def take(self, agent: str, limit: int) -> list[Message]:
        """The oldest that it has not read, which it has read with this. Of any number who take
        at once, each letter comes to one."""
        if not self.peek(agent, limit):
            return []  # who polls an empty inbox stands in nobody's way
        with self._file.writing(FULL) as db:
            found, at = self.peek(agent, limit), self._now()
            db.executemany(
                "UPDATE messages SET read_at = ? WHERE id = ?",
                [(at, letter.id) for letter in found],
            )
            return [letter._replace(read_at=at) for letter in found]

    def peek(self, agent: str, limit: int) -> list[Message]:
        """The oldest that it has not read, and still has not."""
        most = min(max(limit, 0), MOST)
        with self._file.reading() as db:
            return [Message(*row) for row in db.execute(_UNREAD, [rows.plain(agent), most])]

    def count(self, agent: str) -> int:
        """How many it has not read."""
        with self._file.reading() as db:
            return int(db.execute(_COUNT, [rows.plain(agent)]).fetchone()[0])

    def _readers(self, team: str, sender: str, recipients: Sequence[str]) -> list[str]:
        if EVERYBODY not in recipients:
            return list(dict.fromkeys(rows.plain(to) for to in recipients if to))
        if not team:
            raise BadRequest("a message to everybody needs a team", "name the team, or the readers")
        found = self._file.db.execute(
            "SELECT agent FROM members WHERE team = ? AND agent != ? ORDER BY seq", [team, sender]
        )
        return [row[0] for row in found]
