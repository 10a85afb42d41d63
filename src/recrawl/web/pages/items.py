"""`/items`: the latest and search; `/go/N`: the way to an item, on which clicks are counted; `/feed.atom`."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from recrawl.errors import StoreError
from recrawl.store.records import Click
from recrawl.web import query_parameters
from recrawl.web.atom import feed
from recrawl.web.clicks import client_of, is_click
from recrawl.web.context import Context
from recrawl.web.formatting import http_link
from recrawl.web.metrics import Measures
from recrawl.web.rendering import Pages
from recrawl.web.searches import Searches
from recrawl.web.views.latest import Wanted, latest

KINDS = (("", "everything"), ("item", "items"), ("change", "changes"))
WITHIN = (("", "any time"), ("1h", "last hour"), ("1d", "last day"), ("7d", "last week"), ("30d", "last month"))


def router(context: Context, pages: Pages, measures: Measures, click_key: bytes, searches: Searches) -> APIRouter:
    """The pages."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/items")
    def show(request: Request) -> Response:
        wanted = query_parameters.items_wanted(request.query_params, context.now())
        within = query_parameters.text(request.query_params, "within")
        found = latest(context, wanted)
        if is_click(request.method, request.headers):
            searches.teach(request, found)
        return pages.page(
            request,
            "items.html.j2",
            view=found,
            within=within,
            spans=WITHIN,
            kinds=KINDS,
            tags=context.tags(),
            source=context.store.source(wanted.source) if wanted.source else None,
            query=lambda **changes: _query(wanted, within, **changes),
        )

    @routes.api_route("/go/{id:int}", methods=["GET", "HEAD"])
    def go(request: Request, id: int) -> Response:
        item = context.store.item(id)
        link = http_link(item.link) if item is not None else None
        if item is None or link is None:
            return pages.problem(request, 404, "There is no such item, or it has no address that can be opened.")
        if item.kind == "item" and is_click(request.method, request.headers):
            address = request.client.host if request.client else ""
            client = client_of(click_key, address, request.headers.get("user-agent", ""), context.now())
            # Whoever wants to read should not be kept by a store that cannot write.
            with suppress(StoreError):
                measures.clicks.inc(context.store.record_clicks([Click(item=item.id, at=context.now(), client=client)]))
        return RedirectResponse(link, 303, {"Referrer-Policy": "no-referrer"})

    @routes.get("/feed.atom")
    def atom(request: Request) -> Response:
        wanted = query_parameters.items_wanted({"order": "found", **dict(request.query_params)}, context.now())
        return Response(
            feed(latest(context, wanted), str(request.url), context.now()), media_type="application/atom+xml"
        )

    return routes


def _query(wanted: Wanted, within: str, **changes: object) -> str:
    said = {"q": wanted.text, "kind": wanted.kind, "tag": wanted.tag, "source": wanted.source, "within": within,
            "order": wanted.order, "page": wanted.page, **changes}  # fmt: skip
    kept = {name: value for name, value in said.items() if value and (name, value) != ("page", 1)}
    return "?" + urlencode(kept, errors="replace")
