"""`/reading`: read what was found; works by keys, on a phone, installed, and offline for what is loaded.

What strangers wrote stands in a frame of its own: sanitised, and without leave to run scripts, send forms or load
anything, by the frame's sandbox and by its own policy, so that a fault of any one of these is not enough. Pictures are
loaded only when asked for: loading them tells their publisher.
"""

from __future__ import annotations

from importlib.resources import files
from typing import cast, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.responses import HTMLResponse, JSONResponse

from recrawl import __version__
from recrawl.crawl.reading.content import without_pictures
from recrawl.errors import ParameterError
from recrawl.store.reader_records import Reader
from recrawl.web import query_parameters
from recrawl.web.context import Context
from recrawl.web.rendering import Pages, environment, see
from recrawl.web.safety.headers import POLICY
from recrawl.web.views import reading

PAGE_POLICY = POLICY + "; frame-src 'self'; worker-src 'self'; manifest-src 'self'"
FRAME_POLICY = (
    "default-src 'none'; style-src 'self'; img-src {pictures}; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'; sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox"
)
"""Scripts are not among what the sandbox allows, so that being of the same origin gives it nothing but its style."""
MANIFEST = {
    "name": "recrawl",
    "short_name": "recrawl",
    "start_url": "/reading",
    "scope": "/",
    "display": "standalone",
    "background_color": "#fbfaf8",
    "theme_color": "#0b5c8f",
    "icons": [{"src": "/static/mark.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any"}],
}


def router(context: Context, pages: Pages) -> APIRouter:
    """The page, what it marks, and what it is installed with."""
    worker = (files("recrawl.web") / "static" / "reading_worker.js").read_bytes()
    routes = APIRouter(include_in_schema=False)

    def reader(request: Request) -> Reader:
        return reading.reader_of(context, query_parameters.text(request.query_params, "reader"))

    @routes.get("/reading")
    def show(request: Request) -> Response:
        given = request.query_params
        shown = given.get("show", "unread")
        if shown not in get_args(reading.Shown):
            raise ParameterError("show", "unread, all or starred", repr(shown[:80]))
        source, before = (_number(name, given.get(name, "")) for name in ("source", "before"))
        view = reading.reading_page(
            context, reader(request), cast("reading.Shown", shown), source, before, given.get("grouped") == "1"
        )
        page = pages.page(request, "reading.html.j2", view=view, query=lambda **changes: _query(view, **changes))
        page.headers["Content-Security-Policy"] = PAGE_POLICY
        return page

    @routes.get("/reading/items/{id:int}")
    def item(request: Request, id: int) -> Response:
        found = reading.full_text(context, reader(request), id)
        if found is None:
            return pages.problem(request, 404, "There is no such item among what you read.")
        pictures = request.query_params.get("pictures") == "1"
        html = found[1] if pictures else without_pictures(found[1])
        text = environment().get_template("reading_item.html.j2").render(item=found[0].item, html=html)
        policy = FRAME_POLICY.format(pictures="http: https:" if pictures else "'none'")
        headers = {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer"}
        return HTMLResponse(text.encode("utf-8", "replace"), headers=headers)

    @routes.post("/reading/items/{id:int}")
    def mark(request: Request, id: int) -> Response:
        what = request.state.form.get("act", "")
        if what not in get_args(reading.Act):
            raise ParameterError("act", "read, unread, star, unstar or article", repr(what[:80]))
        done = reading.act(context, reader(request), id, cast("reading.Act", what))
        if request.headers.get("x-csrf-token"):
            return JSONResponse({"done": done})
        return see("/reading")

    @routes.post("/reading/all")
    def all_read(request: Request) -> Response:
        form: dict[str, str] = request.state.form
        source, until = _number("source", form.get("source", "")), _number("until", form.get("until", ""))
        sources = None if source is None else [source]
        context.store.mark_all_read(reader(request).id, sources, float(until or context.now()))
        return see("/reading")

    @routes.post("/reading/subscribe")
    def everything(request: Request) -> Response:
        reading.read_everything(context, reader(request))
        return see("/reading")

    @routes.get("/reading/worker.js")
    def service_worker() -> Response:
        text = worker.replace(b"VERSION", __version__.encode())
        return Response(text, media_type="text/javascript", headers={"Service-Worker-Allowed": "/reading"})

    @routes.get("/reading/manifest.webmanifest")
    def manifest() -> Response:
        return JSONResponse(MANIFEST, media_type="application/manifest+json")

    return routes


def _number(name: str, text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ParameterError(name, "a number", repr(text[:80]))
    return int(text)


def _query(view: reading.ReadingPage, **changes: object) -> str:
    said = {"show": view.shown, "source": view.source, "grouped": int(view.grouped), **changes}
    said |= {"reader": view.reader.name} if len(view.readers) > 1 else {}
    kept = {name: value for name, value in said.items() if value and (name, value) != ("show", "unread")}
    return "?" + urlencode(kept, errors="replace") if kept else "?"
