"""What machines ask: health, metrics, static files, and a page that lists the API."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.responses import JSONResponse, RedirectResponse

from recrawl.errors import StoreError
from recrawl.web.context import Context
from recrawl.web.metrics import Measures
from recrawl.web.rendering import Pages

KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
METRICS = "text/plain; version=0.0.4; charset=utf-8"


def router(context: Context, pages: Pages, measures: Measures) -> APIRouter:
    """The routes."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/healthz")
    def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @routes.get("/readyz")
    def readyz() -> JSONResponse:
        try:
            context.store.revision()
        except StoreError:
            return JSONResponse({"status": "the store cannot be read"}, 503)
        return JSONResponse({"status": "ok"})

    @routes.get("/favicon.ico")
    def favicon() -> Response:
        return RedirectResponse("/static/mark.svg", 308)

    @routes.get("/metrics")
    def metrics() -> Response:
        return Response(measures.text(), headers={"Content-Type": METRICS})

    @routes.get("/api")
    def api(request: Request) -> Response:
        return pages.page(request, "api.html.j2", operations=_operations(request.app))

    return routes


def _operations(app: FastAPI) -> list[tuple[str, str, str]]:
    """Method, path and a sentence of everything the API can do."""
    found = []
    for path, methods in app.openapi()["paths"].items():
        described: dict[str, Any] = methods
        found += [(method.upper(), path, str(each.get("description", ""))) for method, each in described.items()]
    return found


def add_static(app: FastAPI) -> None:
    """Serve the files of this package, read once: there are few, and they are small."""
    folder = files("recrawl.web") / "static"
    contents = {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}

    @app.api_route("/static/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    def static(name: str) -> Response:
        kind = KINDS.get(name[name.rfind(".") :])
        if name not in contents or kind is None:
            return Response("There is no such file.", 404, media_type="text/plain")
        return Response(contents[name], media_type=kind, headers={"Cache-Control": "public, max-age=3600"})
