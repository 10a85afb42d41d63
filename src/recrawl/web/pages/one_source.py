"""`/sources/N`: everything about one source, and what its owner can do to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from fastapi import APIRouter, Request, Response

from recrawl.crawl.explaining.ranking import reasons_in_words
from recrawl.crawl.reading.plain_text import visible
from recrawl.crawl.rendering.screenshots import is_picture, unpacked
from recrawl.errors import ParameterError
from recrawl.store.records import Source
from recrawl.units import show_duration
from recrawl.web import editing
from recrawl.web.charts import belief_chart, crawl_chart, index_chart, number_chart, number_words
from recrawl.web.context import Context
from recrawl.web.rendering import Pages, see
from recrawl.web.views.one_source import OneSource, one_source


def router(context: Context, pages: Pages) -> APIRouter:
    """The page and its buttons."""
    routes = APIRouter(include_in_schema=False)

    def about(request: Request, id: int, status: int = 200, error: str = "") -> Response:
        view = one_source(context, id)
        if view is None:
            return pages.problem(request, 404, f"There is no source {id}. It may have been removed.")
        return pages.page(
            request,
            "source.html.j2",
            status,
            view=view,
            charts=_charts(context, view),
            number_words=number_words(view.number) if view.number.points else "",
            reasons=reasons_in_words(view.found.reasons),
            error=error,
            terms=terms_of(view.source),
        )

    def done(request: Request, id: int, act: Callable[[Source], None], words: str, to: str = "") -> Response:
        source = context.store.source(id)
        if source is None:
            return pages.problem(request, 404, f"There is no source {id}. It may have been removed.")
        try:
            act(source)
        except ParameterError as error:
            return about(request, id, 422, str(error))
        return see(to or f"/sources/{id}", words)

    @routes.get("/sources/{id:int}")
    def show(request: Request, id: int) -> Response:
        return about(request, id)

    @routes.get("/sources/{id:int}/{which}.jpg")
    def picture(request: Request, id: int, which: Literal["before", "after"]) -> Response:
        taken: bytes = getattr(unpacked(context.store.screenshots(id)), which)
        if not is_picture(taken):
            return pages.problem(request, 404, "There is no such picture.")
        return Response(taken, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=86400"})

    @routes.post("/sources/{id:int}")
    def change(request: Request, id: int) -> Response:
        form: dict[str, str] = request.state.form
        said = {name: form[name].strip() for name in editing.FIELDS if name in form}
        return done(request, id, lambda source: _ignore(editing.change(context, source, said)), "changed")

    @routes.post("/sources/{id:int}/pause")
    def pause(request: Request, id: int) -> Response:
        return done(request, id, lambda source: editing.pause(context, source, paused=True), "paused")

    @routes.post("/sources/{id:int}/resume")
    def resume(request: Request, id: int) -> Response:
        return done(request, id, lambda source: editing.pause(context, source, paused=False), "resumed")

    @routes.post("/sources/{id:int}/crawl")
    def crawl(request: Request, id: int) -> Response:
        return done(request, id, lambda source: editing.want(context, source), "wanted")

    @routes.post("/sources/{id:int}/remove")
    def remove(request: Request, id: int) -> Response:
        return done(request, id, lambda source: editing.remove(context, source), "removed", to="/sources")

    return routes


def _ignore(_: object) -> None:
    return None


def _charts(context: Context, view: OneSource) -> dict[str, object]:
    crawls = view.crawls
    times = [crawl.at for crawl in crawls]
    return {
        "index": index_chart(view.found, view.index),
        "crawls": crawl_chart(crawls[:100], context.now()),
        "number": number_chart(view.number, context.now()),
        "value": belief_chart(
            "Believed value", times, [crawl.value for crawl in crawls], [crawl.value_sd for crawl in crawls]
        ),
    }


def terms_of(source: Source) -> dict[str, str]:
    """What its owner said, as it can be typed again."""
    return {
        "importance": f"{source.importance:g}",
        "half_life": "" if source.half_life is None else show_duration(source.half_life),
        "max_age": "" if source.max_age is None else show_duration(source.max_age),
        "tags": visible(", ".join(source.tags)),
        "select": visible(source.select),
        **{name: _option(getattr(source.options, name)) for name in source.options.__struct_fields__},
    }


def _option(value: object) -> str:
    if isinstance(value, tuple):
        return "\n".join(map(visible, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return show_duration(value) if isinstance(value, float) else str(value or "")
