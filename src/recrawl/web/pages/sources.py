"""`/sources`: the catalogue as a table, adding to it, and lists in and out."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from recrawl.crawl.catalogue.source_lists import SHOWN
from recrawl.errors import ParameterError
from recrawl.web import editing, query_parameters
from recrawl.web.context import Context
from recrawl.web.rendering import Pages, see
from recrawl.web.views.catalogue import Choice, catalogue

COLUMNS = (
    ("title", "Source", False),
    ("value", "Value", True),
    ("", "Half-life, pace", False),
    ("", "Index", True),
    ("", "Cadence", True),
    ("last", "Last", True),
    ("due", "Next", True),
    ("failures", "Health", False),
)
"""Order by which a column sorts, its name, and whether it holds numbers."""


def router(context: Context, pages: Pages) -> APIRouter:
    """The page and what it can do."""
    routes = APIRouter(include_in_schema=False)

    def listing(request: Request, status: int = 200, error: str = "", given: dict[str, str] | None = None) -> Response:
        choice = query_parameters.sources_choice(request.query_params)
        return pages.page(
            request,
            "sources.html.j2",
            status,
            view=catalogue(context, choice),
            columns=COLUMNS,
            tags=context.tags(),
            query=lambda **changes: _query(choice, **changes),
            error=error,
            given=given or {},
        )

    @routes.get("/sources")
    def show(request: Request) -> Response:
        return listing(request)

    @routes.post("/sources")
    def add(request: Request) -> Response:
        form: dict[str, str] = request.state.form
        try:
            said = {name: form[name] for name in editing.FIELDS if form.get(name, "").strip()}
            added = editing.add(context, form.get("url", ""), said)
        except ParameterError as error:
            return listing(request, 422, str(error), form)
        return see(f"/sources/{added.id}", "added" if added.new else "known")

    @routes.post("/sources/import")
    def take(request: Request) -> Response:
        try:
            result = editing.take_list(context, request.state.form.get("list", "").encode("utf-8", "replace"))
        except ParameterError as error:
            return listing(request, 422, str(error))
        return pages.page(request, "imported.html.j2", result=result, shown=SHOWN)

    @routes.get("/sources.opml")
    def give() -> Response:
        headers = {"Content-Disposition": 'attachment; filename="recrawl.opml"'}
        return Response(editing.written_list(context), media_type="text/x-opml", headers=headers)

    return routes


def _query(choice: Choice, **changes: object) -> str:
    """The query string of the same choice with some of it changed."""
    said: dict[str, object] = {"q": choice.text, "tag": choice.tag, "state": choice.state}
    said |= {"order": choice.order, "page": choice.page, **changes}
    kept = {
        name: value for name, value in said.items() if value and (name, value) not in (("page", 1), ("order", "due"))
    }
    return "?" + urlencode(kept, errors="replace") if kept else "?"
