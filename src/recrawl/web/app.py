"""The application: one FastAPI app over a store, with authentication in front of it."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from recrawl import __version__
from recrawl.clock import Clock
from recrawl.config import Config
from recrawl.errors import ParameterError, StoreError
from recrawl.logs import fault
from recrawl.store.roles import Store
from recrawl.web.api import routes as api
from recrawl.web.context import Context
from recrawl.web.live import Hub
from recrawl.web.mcp import endpoint as mcp
from recrawl.web.metrics import Measures, Stopwatch
from recrawl.web.pages import (
    fleet,
    health_and_metrics,
    indexnow,
    items,
    login,
    one_source,
    overview,
    preview,
    reading,
    sources,
    websub,
    whatif,
)
from recrawl.web.reader_api import routes as reader_api
from recrawl.web.rendering import Pages
from recrawl.web.safety.access import Access
from recrawl.web.safety.authentication import Authentication
from recrawl.web.safety.callers import is_call
from recrawl.web.safety.headers import ALWAYS
from recrawl.web.safety.hosts import HostList
from recrawl.web.safety.proxies import BehindProxies
from recrawl.web.safety.readers import is_of_reader
from recrawl.web.searches import Searches


class Ascii(JSONResponse):
    """JSON in ASCII: any text can be said in it, broken one too."""

    def render(self, content: Any) -> bytes:
        """The bytes to send."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def make_app(store: Store, config: Config, clock: Clock, *, access: Access | None = None) -> FastAPI:
    """The web face of a store.

    Parameters
        store: stays open as long as the app is used, and is closed by the caller
        access: who may come in; loopback names, and nothing locked, if not given
    """
    access = access or Access(HostList("localhost"))
    context = Context(store, config, clock)
    hub, measures, pages = Hub(context), Measures(context), Pages(context, access.credentials.locked)
    click_key = secrets.token_bytes(32)
    searches = Searches(context, click_key)
    models = mcp.Endpoint(context)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await hub.close()
        await models.close()

    app = FastAPI(
        title="recrawl",
        version=__version__,
        summary="What to recrawl, and when, so that every fetch counts.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=Ascii,
        lifespan=lifespan,
    )
    app.include_router(overview.router(context, pages))
    app.include_router(sources.router(context, pages))
    app.include_router(one_source.router(context, pages))
    app.include_router(items.router(context, pages, measures, click_key, searches))
    app.include_router(preview.router(context, pages))
    app.include_router(reading.router(context, pages))
    app.include_router(whatif.router(context, pages))
    app.include_router(fleet.router(context, pages))
    app.include_router(login.router(context, pages, access))
    app.include_router(health_and_metrics.router(context, pages, measures))
    app.include_router(websub.router(context))
    app.include_router(indexnow.router(context))
    app.include_router(api.router(context, hub, searches))
    app.include_router(reader_api.router(context, measures))
    if mcp.installed():
        app.router.routes.append(Route(mcp.PATH, models, methods=mcp.METHODS, include_in_schema=False))
    health_and_metrics.add_static(app)
    _add_problems(app, pages)
    app.add_middleware(Authentication, access=access, clock=clock, refusal=pages.problem)
    app.add_middleware(Stopwatch, measures=measures)
    app.add_middleware(BehindProxies, proxies=access.proxies)
    app.state.context, app.state.access = context, access
    return app


def _add_problems(app: FastAPI, pages: Pages) -> None:
    """Every error becomes an answer a person or a program can read."""

    def problem(request: Request, status: int, words: str) -> Response:
        if is_call(request.url.path) or is_of_reader(request.url.path):  # of somebody who has no session
            return PlainTextResponse(words + "\n", status)
        return pages.problem(request, status, words)

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        answer = problem(request, error.status_code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        wrong = error.errors()[:10]
        words = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong)
        return problem(request, 422, words[:2000].encode("utf-8", "replace").decode())

    @app.exception_handler(ParameterError)
    def wrong(request: Request, error: ParameterError) -> Response:
        return problem(request, 422, str(error).encode("utf-8", "replace").decode())

    @app.exception_handler(StoreError)
    def unavailable(request: Request, error: StoreError) -> Response:
        return problem(request, 503, str(error))

    @app.exception_handler(Exception)
    def unexpected(request: Request, error: Exception) -> Response:
        structlog.get_logger("recrawl").error("a request failed", path=request.url.path, **fault(error))
        headers = {name.decode(): value.decode() for name, value in ALWAYS}
        return Response("Something went wrong here; the log says what.", 500, headers, "text/plain")
