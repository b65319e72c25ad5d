"""Who may ask: a link works once, and gives a browser a cookie or a script a bearer token."""

import hashlib
import hmac
import secrets
import threading

MOST = 100  # sessions, and links that wait to be opened; the oldest gives way


class WebSessions:
    """Only digests are kept and compared, so that the time of an answer does not help to guess.

    They live as long as the server does: who binds its port after it can do nothing with a cookie
    that browsers still send there."""

    def __init__(self, port: int) -> None:
        # Cookies do not know ports: two servers on one machine need two names.
        self.cookie = f"knell_{port}"
        self._lock = threading.Lock()
        self._links: list[bytes] = []
        self._known: list[bytes] = []

    def new_link(self) -> str:
        """A token that `open` takes once."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._links = [*self._links, _digest(token)][-MOST:]
        return token

    def open(self, token: str) -> str:
        """The secret of a new session; empty if the token was never given or was used before."""
        wanted = _digest(token)
        with self._lock:
            left = [one for one in self._links if not hmac.compare_digest(one, wanted)]
            if len(left) == len(self._links):
                return ""
            self._links = left
            secret = secrets.token_urlsafe(32)
            self._known = [*self._known, _digest(secret)][-MOST:]
        return secret

    def knows(self, secret: str) -> bool:
        wanted = _digest(secret)
        with self._lock:
            same = [hmac.compare_digest(one, wanted) for one in self._known]
        return any(same)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
