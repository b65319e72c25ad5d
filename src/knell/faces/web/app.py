"""The application: routes a request that the guard let in, and keeps feed and streams together."""

import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from knell.api import Knell
from knell.core.codes import Code
from knell.core.errors import AskerError, BadParameter, BadRequest, KnellError
from knell.core.fleet.target import is_far
from knell.faces.far.deeds import NOT_FAR
from knell.faces.web import acts, endpoints, far
from knell.faces.web.far import FarNews
from knell.faces.web.feed import WebFeed
from knell.faces.web.options import WebNames, WebOptions
from knell.faces.web.sessions import WebSessions
from knell.faces.web.streams import Streams, message
from knell.faces.work import Work

MISSED = 1000  # events that a stream brings after a cut; with more, the browser starts afresh
COOKIE_SECONDS = 30 * 86400
PAGE_KINDS = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
}  # fmt: skip
Said = dict[str, Any]


def page_files() -> dict[str, tuple[bytes, str]]:
    """Every file of the page by its path, with its kind: nothing else can be asked for."""
    folder = Path(__file__).with_name("page")
    return {
        file.relative_to(folder).as_posix(): (file.read_bytes(), PAGE_KINDS[file.suffix])
        for file in folder.rglob("*")
        if file.suffix in PAGE_KINDS
    }


class WebApp:
    """One server's worth of everything."""

    def __init__(
        self, options: WebOptions, names: WebNames, sessions: WebSessions,
        open_knell: Callable[[], Knell], work: Work,
    ) -> None:  # fmt: skip
        self.options, self.names, self.sessions = options, names, sessions
        self.streams = Streams()
        self.feed = WebFeed(open_knell, self.streams.publish)
        told = partial(self.streams.publish, 0)
        self.far = FarNews(open_knell, told) if options.fleet else None
        self._looks = (self.feed, self.far.look) if self.far else (self.feed,)
        self._open, self._work = open_knell, work
        self._pages = page_files()
        own = {
            "/api/session": self.open_session,
            "/api/link": self.new_link,
            "/api/server": self.server,
            "/api/changes": self.changes,
            "/api/fleet": self.fleet,
            "/api/ask-host": self.ask_host,
            "/api/plan": self.plan,
            "/api/act": self.act,
            "/api/openapi.json": self.openapi,
        }
        routes = [
            Route(one.path, own.get(one.path) or self._looking(one), methods=[one.method])
            for one in endpoints.ENDPOINTS
        ]
        self.asgi = Starlette(routes=[*routes, Route("/{path:path}", self.page, methods=["GET"])])

    # -- looking ------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """The files of the page. A path that is none of them is a place in the page itself."""
        path = request.path_params["path"] or "index.html"
        found = self._pages.get(path)
        if found is None:
            return error_answer(404, Code.NOT_FOUND, f"there is no {path!r:.80} here")
        content, kind = found
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    def _looking(self, endpoint: endpoints.Endpoint) -> Callable[[Request], Any]:
        answer = endpoint.answer
        assert answer  # noqa: S101 - the others are named in `own`

        async def look(request: Request) -> Response:
            def found(knell: Knell) -> Any:
                values = endpoints.query_values(endpoint.path, request)
                if self.far and is_far(values.get("name", "")):
                    return self._about_far(knell, endpoint.path, values["name"], self.far)
                return answer(knell, values)

            return await self._answer(found)

        return look

    def _about_far(self, knell: Knell, path: str, name: str, news: FarNews) -> Any:
        if path == "/api/agent":
            return far.agent(knell, name, news)
        if path == "/api/receipt":
            return far.receipt(knell, name)
        raise BadRequest(NOT_FAR)

    async def fleet(self, _: Request) -> Response:
        if self.far is None:
            text = "this server shows one host: knell web --fleet"
            return error_answer(404, Code.NOT_FOUND, text)
        return await self._answer(far.picture)

    async def ask_host(self, request: Request) -> Response:
        return await self._answer_to(request, lambda k, said: far.ask_its_host(k, said, self.far))

    async def server(self, _: Request) -> Response:
        told = {"readonly": self.options.readonly, "deeds": list(acts.DEED_NAMES)}
        return await self._answer(lambda knell: told | {"acts_as": knell.caller().by})

    async def openapi(self, _: Request) -> Response:
        return JSONResponse(endpoints.openapi())

    async def changes(self, request: Request) -> Response:
        try:
            after = endpoints.query_values("/api/changes", request)["after"]
        except BadParameter as error:
            return error_answer(400, error.code, str(error))
        last = request.headers.get("last-event-id", "")
        after = int(last) if endpoints.is_count(last) else after
        if self.streams.full:
            return error_answer(503, Code.TOO_MANY_REQUESTS, "too many browsers look already")
        at_once = {"x-accel-buffering": "no"}  # a proxy passes each message on
        stream = self._stream(after)
        return StreamingResponse(stream, media_type="text/event-stream", headers=at_once)

    async def _stream(self, after: int) -> AsyncIterator[bytes]:
        first = not self.streams.any
        queue = self.streams.join()
        for look in self._looks if first else ():
            look.begin()
        try:
            yield b"retry: 1000\n\n"
            if self.far:
                yield message("change", {"fleet": self.far.whole()})
            if after:
                yield await self._missed(after)
            scene = self.feed.scene
            if scene is not None and not first:
                told = scene.to_json() | {"full": True, "trouble": self.feed.trouble}
                yield message("change", told, scene.now.last_event)
            async for one in self.streams.follow(queue):
                yield one
        finally:
            self.streams.leave(queue)
            for look in self._looks if not self.streams.any else ():
                look.rest()

    async def _missed(self, after: int) -> bytes:
        """The events since a browser was last here; or the word to start afresh."""

        def read(knell: Knell) -> bytes:
            newest = knell.server.recorded_events(0, limit=1)
            found = knell.server.recorded_events(after, limit=MISSED + 1)
            if len(found) > MISSED or not newest or after > newest[-1].id:
                return message("resync", {"why": "too much happened meanwhile"})
            told = [event._asdict() for event in found]
            return message("change", {"events": told}, newest[-1].id)

        try:
            return await self._in_thread(read)
        except KnellError as error:
            return message("change", {"trouble": str(error)})

    # -- who may ask --------------------------------------------------------------------------

    async def open_session(self, request: Request) -> Response:
        try:
            given = endpoints.body_values("/api/session", await request.body())
            agent = await self._in_thread(lambda knell: self._agent_behind(knell, request))
        except BadParameter as error:
            return error_answer(400, error.code, str(error))
        except KnellError as error:  # it cannot be told who asks; the link stays good
            return error_answer(503, error.code, str(error), error.hint)
        if agent:
            text = f"this acts for the operator, and {agent} is no operator"
            return error_answer(403, Code.INSIDE_AN_AGENT, text)
        secret = self.sessions.open(given["token"])
        if not secret:
            text = "this link was used before, or is of an older server"
            return error_answer(401, Code.NO_SESSION, text)
        if given["script"]:
            return JSONResponse({"bearer": secret})
        answer = JSONResponse({"ok": True})
        answer.set_cookie(
            self.sessions.cookie, secret, max_age=COOKIE_SECONDS, httponly=True,
            samesite="strict", secure=self.names.secure,
        )  # fmt: skip
        return answer

    def _agent_behind(self, knell: Knell, request: Request) -> str:
        """An agent that found the address, on a screen for one, must not use it up: it works once,
        and whoever opens it is taken for the operator from then on."""
        client, port = request.client, int((request.scope.get("server") or ("", 0))[1] or 0)
        agent = knell.server.agent_behind(client.port, port) if client else ""
        if agent:
            knell.server.note_refusal(f"{agent} opened the address of knell web", "web")
        return agent

    async def new_link(self, _: Request) -> Response:
        return JSONResponse({"address": f"{self.names.address}/#{self.sessions.new_link()}"})

    # -- acting -------------------------------------------------------------------------------

    async def plan(self, request: Request) -> Response:
        def made(knell: Knell, said: Said) -> Any:
            return acts.plan_json(acts.plan(knell, said, self.feed.scene, self.far))

        return await self._answer_to(request, made)

    async def act(self, request: Request) -> Response:
        def done(knell: Knell, said: Said) -> Response:
            plan = acts.plan(knell, said, self.feed.scene, self.far)
            if not plan.names or plan.hash != said["plan"]:
                told = {"code": Code.PLAN_CHANGED, "message": "it is no longer as you were shown"}
                return JSONResponse({"error": told, **acts.plan_json(plan)}, 409)
            return JSONResponse(acts.act(knell, plan))

        answer = await self._answer_to(request, done)
        for look in self._looks:
            look.refresh()
        return answer

    async def _answer_to(self, request: Request, call: Callable[[Knell, Said], Any]) -> Response:
        """Answers with what comes of a request's body, which the table checks."""
        path, body = request.url.path, await request.body()
        return await self._answer(lambda knell: call(knell, endpoints.body_values(path, body)))

    async def _answer(self, call: Callable[[Knell], Any]) -> Response:
        try:
            found = await self._in_thread(call)
        except KnellError as error:
            status = 400 if isinstance(error, AskerError) else 503
            return error_answer(status, error.code, str(error), error.hint)
        if isinstance(found, Response):
            return found
        # A value that JSON has no type for is written as text, as in the audit trail.
        return Response(json.dumps(found, default=str), media_type="application/json")

    async def _in_thread(self, call: Callable[[Knell], Any]) -> Any:
        """A deed goes on when the browser that asked for it is closed."""

        def called(_: object) -> Any:
            with self._open() as knell:
                return call(knell)

        return await self._work.run(called)

    # -- beginning and end ----------------------------------------------------------------------

    def begin(self) -> None:
        for look in self._looks:
            look.start()

    def end(self) -> None:
        """Does not wait for the look at other hosts: a database may take seconds to answer it."""
        self.streams.end()
        for look in self._looks:
            look.stop()


def error_answer(status: int, code: Code, text: str, hint: str = "") -> Response:
    told = {"code": code, "message": text} | ({"hint": hint} if hint else {})
    return JSONResponse({"error": told}, status)
