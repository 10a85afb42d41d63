"""`/preview`: what is seen of an address, which text counts, and what would be ignored.

An address is fetched because somebody asked for it by a form of ours, one at a time, by the rules of crawling:
robots.txt is obeyed, and no private network is looked into unless the settings allow it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from threading import Lock

from fastapi import APIRouter, Request, Response

from recrawl.crawl.catalogue.preview import Preview, look_at
from recrawl.crawl.catalogue.source_fields import given_to
from recrawl.errors import ParameterError
from recrawl.store.records import Source
from recrawl.units import whole_number
from recrawl.web import editing
from recrawl.web.context import Context
from recrawl.web.pages.one_source import terms_of
from recrawl.web.query_parameters import LARGEST_ID
from recrawl.web.rendering import Pages
from recrawl.web.views.preview import MOST_LINES, runs

FIELDS = (
    "select",
    "ignore",
    "ignore_text",
    "keep",
    "keep_text",
    "number",
    "when",
    "render",
    "steps",
    "ignore_noise",
    "restless",
    "digest",
)
MOST_ITEMS = 100


def router(context: Context, pages: Pages) -> APIRouter:
    """The page and its form."""
    routes = APIRouter(include_in_schema=False)
    one_at_a_time = Lock()

    def shown(
        request: Request, source: Source | None, given: Mapping[str, str], seen: Preview | None = None, error: str = ""
    ) -> Response:
        return pages.page(
            request,
            "preview.html.j2",
            422 if error else 200,
            source=source,
            given=given,
            seen=seen,
            runs=runs(seen) if seen is not None else [],
            most=MOST_LINES,
            items=seen.items[:MOST_ITEMS] if seen is not None else (),
            error=error,
        )

    @routes.get("/preview")
    def ask(request: Request) -> Response:
        return shown(request, None, {"url": request.query_params.get("url", "")[:4096]})

    @routes.post("/preview")
    def look(request: Request) -> Response:
        form: dict[str, str] = request.state.form
        given = dict(form)
        source = _known(context, form)
        try:
            address = source.url if source is not None else editing.allowed(form.get("url", ""), context.config)
            wanted = source or Source(url=address)
            if any(name in form for name in FIELDS):
                fields = {name: form.get(name, "").strip() for name in FIELDS}
                wanted = given_to(wanted, editing.checked(fields))
            given = {**terms_of(wanted), "url": wanted.url}
        except ParameterError as error:
            return shown(request, source, given, error=str(error))
        if not one_at_a_time.acquire(blocking=False):
            return pages.problem(request, 503, "Another preview is under way. Try again in a moment.")
        try:
            seen = asyncio.run(look_at(context.config, wanted, context.store))
        finally:
            one_at_a_time.release()
        return shown(request, source, given, seen)

    return routes


def _known(context: Context, form: Mapping[str, str]) -> Source | None:
    """The source that is meant, as long as its address was not changed."""
    number = whole_number(form.get("source", ""), LARGEST_ID)
    source = None if number is None else context.store.source(number)
    return source if source is not None and form.get("url", source.url).strip() == source.url else None
