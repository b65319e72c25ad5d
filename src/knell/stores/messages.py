"""Messages between agents. Each is delivered once, and waits until it is read."""

from collections.abc import Sequence

from knell.core.errors import BadRequest
from knell.core.teams import EVERYBODY, Message, checked_message
from knell.stores import records
from knell.stores.sqlite import FULL, Part
from knell.stores.team_tasks import live_team

MOST = 1_000  # messages that one call returns

_UNREAD = """
    SELECT id, team, sender, recipient, type, body, at, read_at, summary FROM messages
    WHERE recipient = ? AND read_at = '' ORDER BY id LIMIT ?"""


class SqliteMessages(Part):
    def send(
        self,
        team: str,
        sender: str,
        recipients: Sequence[str],
        type: str,
        body: str,
        summary: str = "",
    ) -> list[Message]:
        """One message for each recipient; EVERYBODY means all members of the team but the sender.

        A name that no agent has yet is allowed: an agent of that name may be started later.
        """
        checked_message(body, type)
        with self._file.writing(FULL):
            if team:
                live_team(self._file, team)
            readers = self._readers(team, sender, recipients)
            told = {"team": team, "sender": sender, "type": type, "body": body, "summary": summary}
            told = {key: records.plain(text) for key, text in told.items()}
            sent, at = list[Message](), self._file.now()
            for to in readers:
                id = self._file.insert("messages", **told, recipient=to, at=at)
                sent.append(Message(id, to=to, at=at, **told))
            if sent:
                trail = {"team": team, "type": type, "to": readers}
                ids = [message.id for message in sent]
                self._file.write_event("message.sent", sender, "", trail | {"ids": ids})
            return sent

    def take(self, agent: str, limit: int) -> list[Message]:
        """The oldest unread messages, which count as read from now on. Of any number of processes
        that take at once, each message comes to one."""
        if not self.peek(agent, limit):
            return []  # polling an empty inbox must not take the write lock
        with self._file.writing(FULL):
            found, at = self.peek(agent, limit), self._file.now()
            for message in found:
                self._file.update("messages", {"id": message.id}, read_at=at)
            return [message._replace(read_at=at) for message in found]

    def peek(self, agent: str, limit: int) -> list[Message]:
        """The oldest unread messages, which stay unread."""
        return self._file.all(_UNREAD, Message._make, agent, min(max(limit, 0), MOST))

    def _readers(self, team: str, sender: str, recipients: Sequence[str]) -> list[str]:
        if EVERYBODY not in recipients:
            return list(dict.fromkeys(records.plain(to) for to in recipients if to))
        if not team:
            raise BadRequest(
                "a message to all members needs a team", "name the team, or the readers"
            )
        query = "SELECT agent FROM members WHERE team = ? AND agent != ? ORDER BY seq"
        return self._file.all(query, records.first, team, sender)
