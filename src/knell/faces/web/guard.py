"""Refuses a request before anything of knell sees it, unless a page of ours or a script sent it."""

import asyncio
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple

from starlette.responses import JSONResponse

from knell.core.codes import Code
from knell.faces.http_server import bearer, header_texts
from knell.faces.web.options import WebNames
from knell.faces.web.sessions import WebSessions

LARGEST = 64 * 1024  # bytes of a request's body
BODY_SECONDS = 10.0
ENTRANCE = "/api/session"  # where a link's token is exchanged: the only way in
ALWAYS = (ENTRANCE, "/api/link")  # changes nothing but who may look
Scope = dict[str, Any]

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
        " object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class HttpTrouble(NamedTuple):
    """A refusal as HTTP says it."""

    status: int
    code: Code
    message: str


FOREIGN = HttpTrouble(403, Code.FOREIGN_ORIGIN, "a page of another site may not ask here")


class WebGuard:
    """Every request comes through here, whatever it asks for."""

    def __init__(
        self, inside: Any, names: WebNames, sessions: WebSessions, *, readonly: bool = False
    ) -> None:
        self._inside = inside
        self._names = names
        self._sessions = sessions
        self._readonly = readonly

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        sent = with_headers(send, self._names)
        headers = header_texts(scope)
        trouble = self._strange(scope, headers) or self._refused(scope, headers)
        if trouble is None and scope["method"] == "POST":
            body = await whole_body(headers, receive)
            if isinstance(body, bytes):
                receive = replayed(body, receive)
            else:
                trouble = body
        answer = refusal(trouble) if trouble else self._inside
        await answer(scope, receive, sent)

    def _strange(self, scope: Scope, headers: dict[str, str]) -> HttpTrouble | None:
        """What a page of another site, or a name that was bound to this address, gives away."""
        if headers.get("host", "").lower() not in self._names.hosts:
            return HttpTrouble(421, Code.UNKNOWN_HOST, "this server does not answer to that name")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._names.origins:
            return FOREIGN
        elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        return FOREIGN if elsewhere and scope["path"].startswith("/api/") else None

    def _refused(self, scope: Scope, headers: dict[str, str]) -> HttpTrouble | None:
        method, path = scope["method"], scope["path"]
        if method not in ("GET", "HEAD", "POST"):
            return HttpTrouble(405, Code.BAD_METHOD, "GET looks, POST acts; there is nothing else")
        if method == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return HttpTrouble(415, Code.NOT_JSON, "a request's body must be application/json")
        if path == ENTRANCE or not path.startswith("/api/"):
            return None
        trouble = self._unknown(headers, writes=method == "POST")
        if trouble is None and method == "POST" and self._readonly and path not in ALWAYS:
            return HttpTrouble(403, Code.READ_ONLY, "knell web was started with --readonly")
        return trouble

    def _unknown(self, headers: dict[str, str], *, writes: bool) -> HttpTrouble | None:
        """Unless a session asks. A cookie is sent by itself: the page that asks must be ours."""
        if self._sessions.knows(bearer(headers)):
            return None
        if not self._sessions.knows(self._cookie(headers)):
            return HttpTrouble(401, Code.NO_SESSION, "open the address that knell web printed")
        return FOREIGN if writes and "origin" not in headers else None

    def _cookie(self, headers: dict[str, str]) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._sessions.cookie)
        except CookieError:
            return ""
        return found.value if found else ""


async def whole_body(headers: dict[str, str], receive: Any) -> bytes | HttpTrouble:
    """The body, if it is small and comes in time."""
    too_large = HttpTrouble(413, Code.TOO_LARGE, f"a request's body has at most {LARGEST} bytes")
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or int(length[:20]) > LARGEST:
        return too_large
    try:
        body = await asyncio.wait_for(_read_body(receive), BODY_SECONDS)
    except TimeoutError:
        return HttpTrouble(408, Code.TOO_SLOW, f"the body did not come within {BODY_SECONDS:g} s")
    if body is None:
        return HttpTrouble(400, Code.CUT_SHORT, "the request was cut short")
    return body if len(body) <= LARGEST else too_large


async def _read_body(receive: Any) -> bytes | None:
    """Up to its end, or until it is too large; None: the client has left."""
    body = b""
    while len(body) <= LARGEST:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body


def replayed(body: bytes, receive: Any) -> Any:
    """`receive` for whoever comes next: the body that was read, then what follows."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return left.pop() if left else await receive()

    return again


def with_headers(send: Any, names: WebNames) -> Any:
    """`send` that adds to each answer what browsers must know."""
    added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
    if names.secure:
        added.append((b"strict-transport-security", b"max-age=31536000"))

    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            usual = [] if b"cache-control" in given else [(b"cache-control", b"no-store")]
            message = {**message, "headers": [*message["headers"], *usual, *added]}
        await send(message)

    return sent


def refusal(trouble: HttpTrouble) -> JSONResponse:
    said = {"error": {"code": trouble.code, "message": trouble.message}}
    return JSONResponse(said, trouble.status, {"connection": "close"})
