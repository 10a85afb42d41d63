"""The routes of the catalogue, of what was found, and of what the crawler thinks."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from http.client import responses
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request, Response
from starlette.responses import StreamingResponse

from recrawl import __version__
from recrawl.cluster.status import is_up
from recrawl.crawl.explaining.whatif import Prospect
from recrawl.crawl.reading import number_history
from recrawl.errors import ContractError
from recrawl.store.records import Click, ItemKind, Source, SourceState
from recrawl.web import editing, query_parameters
from recrawl.web.api import models
from recrawl.web.context import Context
from recrawl.web.live import FullError, Hub
from recrawl.web.safety.proxies import client_place
from recrawl.web.searches import Searches
from recrawl.web.views import catalogue, latest, one_source
from recrawl.web.views.overview import overview
from recrawl.web.views.prospects import what_if

Id = Annotated[int, Path(ge=1, le=2**63 - 1)]
Page = Annotated[int, Query(ge=1, le=query_parameters.MOST_PAGES)]
ItemPage = Annotated[int, Query(ge=1, le=latest.MOST_PAGES)]
Limit = Annotated[int, Query(ge=1, le=catalogue.MOST_ROWS)]
SourceId = Annotated[int | None, Query(ge=1, le=2**63 - 1)]
ItemLimit = Annotated[int, Query(ge=1, le=200)]
Words = Annotated[str, Query(max_length=query_parameters.MOST_TEXT)]
At = Annotated[float | None, Query(ge=0.0, le=1e11, allow_inf_nan=False)]
SourceOrder = Literal[
    "id", "url", "title", "importance", "added", "last", "due", "value", "failures",
    "-id", "-url", "-title", "-importance", "-added", "-last", "-due", "-value", "-failures",
]  # fmt: skip
# One brings the model into the description; a model each, in every route, took most of the time of making the app.
_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
TROUBLE: dict[int | str, dict[str, Any]] = {
    status: {"description": responses[status], "content": _PROBLEM}
    for status in (400, 401, 403, 404, 411, 413, 414, 415, 421, 429, 431, 503)
}
TROUBLE[422] = {"model": models.Problem}


def router(context: Context, hub: Hub, searches: Searches) -> APIRouter:
    """All of them."""
    routes = APIRouter(prefix="/api/v1", responses=TROUBLE)
    _add_catalogue(routes, context)
    _add_import_and_export(routes, context)
    _add_items(routes, context, searches)
    _add_records(routes, context)
    _add_schedule(routes, context)
    _add_fleet(routes, context)
    _add_feedback(routes, context, hub)
    return routes


def _source(context: Context, id: int) -> Source:
    source = context.store.source(id)
    if source is None:
        raise HTTPException(404, f"there is no source {id}")
    return source


def _out(context: Context, id: int) -> models.SourceOut:
    rows = context.state().statuses([_source(context, id)], context.now())
    if not rows:
        raise HTTPException(404, f"there is no source {id}")
    return models.SourceOut.of(rows[0])


def _add_catalogue(routes: APIRouter, context: Context) -> None:
    @routes.get("/sources", tags=["sources"])
    def sources(
        text: Words = "",
        tag: Words = "",
        state: SourceState | None = None,
        order: SourceOrder = "id",
        page: Page = 1,
        limit: Limit = 100,
    ) -> models.SourcesOut:
        """One page of the catalogue."""
        choice = catalogue.Choice(text=text, tag=tag, state=state, order=order, page=page, limit=limit)
        found = catalogue.catalogue(context, choice)
        rows = [models.SourceOut.of(row) for row in found.rows]
        return models.SourcesOut(total=found.total, page=page, pages=found.pages, sources=rows)

    @routes.post("/sources", status_code=201, tags=["sources"])
    def add(given: models.NewSource, response: Response) -> models.AddedOut:
        """Add a source; 200 and its id if it is there already."""
        added = editing.add(context, given.url, given.said())
        response.status_code = 201 if added.new else 200
        return models.AddedOut(id=added.id, new=added.new)

    @routes.get("/sources/{id}", tags=["sources"])
    def source(id: Id) -> models.SourceOut:
        """One source."""
        return _out(context, id)

    @routes.patch("/sources/{id}", tags=["sources"])
    def change(id: Id, given: models.SourceTerms) -> models.SourceOut:
        """Change its terms."""
        editing.change(context, _source(context, id), given.said())
        return _out(context, id)

    @routes.delete("/sources/{id}", status_code=204, tags=["sources"])
    def remove(id: Id) -> Response:
        """Forget it, with all that was found in it."""
        editing.remove(context, _source(context, id))
        return Response(status_code=204)

    @routes.post("/sources/{id}/{act}", tags=["sources"])
    def act(id: Id, act: Literal["pause", "resume", "crawl"]) -> models.SourceOut:
        """Pause it, resume it, or have it crawled at once, from the budget."""
        source = _source(context, id)
        if act == "crawl":
            editing.want(context, source)
        else:
            editing.pause(context, source, paused=act == "pause")
        return _out(context, id)


def _add_import_and_export(routes: APIRouter, context: Context) -> None:
    taken = {"requestBody": {"required": True, "content": {
        kind: {"schema": {"type": "string"}} for kind in ("text/x-opml", "text/plain", "text/csv")
    }}}  # fmt: skip

    @routes.post("/import", tags=["sources"], openapi_extra=taken)
    async def take(request: Request) -> models.ImportedOut:
        """Take in a list: OPML, CSV with headings, or text with an address a line."""
        body = await request.body()
        result = await asyncio.to_thread(editing.take_list, context, body)
        refused, more = result.refused[:1000], max(len(result.refused) - 1000, 0)
        return models.ImportedOut(added=result.added, known=result.known, refused=refused, refused_more=more)

    @routes.get("/export", tags=["sources"], response_class=Response, responses={200: {"content": {"text/x-opml": {}}}})
    def give() -> Response:
        """The catalogue as OPML."""
        return Response(editing.written_list(context), media_type="text/x-opml")


async def _page_of_items(
    tag: Words = "",
    source: SourceId = None,
    since: At = None,
    until: At = None,
    page: ItemPage = 1,
    limit: ItemLimit = 50,
) -> latest.Wanted:
    """What every list of items can be asked for."""
    return latest.Wanted(tag=tag, source=source, since=since, until=until, order="found", page=page, limit=limit)


Wanted = Annotated[latest.Wanted, Depends(_page_of_items)]


def _add_items(routes: APIRouter, context: Context, searches: Searches) -> None:
    def page_of(found: latest.Latest) -> models.ItemsOut:
        items = [models.ItemOut.of(entry) for entry in found.entries]
        return models.ItemsOut(page=found.wanted.page, more=found.more, items=items)

    @routes.get("/items", tags=["items"])
    def items(
        wanted: Wanted, kind: ItemKind | None = None, order: Literal["worth", "newest", "found"] = "found"
    ) -> models.ItemsOut:
        """The latest items and changes of pages, by first sight, publication, or what they are worth now."""
        return page_of(latest.latest(context, replace(wanted, kind=kind, order=order)))

    @routes.get("/changes", tags=["items"])
    def changes(wanted: Wanted) -> models.ChangesOut:
        """The latest changes of pages, with what changed."""
        found = latest.latest(context, replace(wanted, kind="change"))
        shown = [models.ChangeOut.of(entry) for entry in found.entries]
        return models.ChangesOut(page=wanted.page, more=found.more, changes=shown)

    @routes.get("/search", tags=["items"])
    def search(
        request: Request,
        q: Annotated[str, Query(min_length=1, max_length=query_parameters.MOST_TEXT)],
        wanted: Wanted,
        order: Literal["relevance", "found", "worth"] = "relevance",
    ) -> models.ItemsOut:
        """Items and changes of pages with all of these words (`libr*`: as a beginning). No text is a syntax error."""
        found = latest.latest(context, replace(wanted, text=q, order=order))
        searches.teach(request, found)
        return page_of(found)


def _add_records(routes: APIRouter, context: Context) -> None:
    @routes.get("/items/{id}", tags=["items"])
    def item(id: Id) -> models.ItemOut:
        """One item, or change of a page."""
        found = latest.entry(context, id)
        if found is None:
            raise HTTPException(404, f"there is no item {id}")
        return models.ItemOut.of(found)

    @routes.get("/sources/{id}/crawls", tags=["sources"])
    def crawls(id: Id, limit: Limit = 100) -> list[models.CrawlOut]:
        """Its crawl log, latest first."""
        found = context.store.crawls(source=_source(context, id).id, limit=limit)
        return [models.CrawlOut.from_records(crawl) for crawl in found]

    @routes.get("/sources/{id}/versions", tags=["sources"])
    def versions(id: Id, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> list[models.VersionOut]:
        """The versions of a page, with what changed, latest first."""
        return [
            models.VersionOut.from_records(each)
            for each in context.store.versions(_source(context, id).id, limit=limit)
        ]

    @routes.get("/sources/{id}/number", tags=["sources"])
    def number(id: Id) -> models.NumbersOut:
        """The number that is watched on a page: when it became which value."""
        found = number_history.unpacked(context.store.watched_number(_source(context, id).id))
        points = [models.PointOut(at=at, value=models.finite(value)) for at, value in found.points]
        return models.NumbersOut(name=found.name, unit=found.unit, points=points)


def _add_schedule(routes: APIRouter, context: Context) -> None:
    @routes.get("/explain/{id}", tags=["schedule"])
    def explain(id: Id) -> models.ExplanationOut:
        """Why a source is fetched when it is."""
        view = one_source.one_source(context, id)
        if view is None:
            raise HTTPException(404, f"there is no source {id}")
        return models.ExplanationOut.of(view.found, view.clicks.clicks)

    @routes.get("/whatif", tags=["schedule"])
    def whatif(budget: Annotated[str, Query(max_length=30, examples=["120/min"])] = "") -> models.WhatIfOut:
        """What another budget would buy; twice the present one if none is given."""
        view = what_if(context, query_parameters.budget({"budget": budget}, context))
        moved = [
            models.MoverOut.from_records(
                each.source,
                interval_now=each.interval_before,
                interval_then=each.interval_after,
                captured_now=each.captured_before if view.interest else None,
                captured_then=each.captured_after if view.interest else None,
            )
            for each in view.movers
        ]
        now, then = _at(view.present, view.fresh_now, view.interest), _at(view.chosen, view.fresh_then, view.interest)
        return models.WhatIfOut(sources=view.sources, known=view.known, now=now, then=then, movers=moved)

    @routes.put("/budget", tags=["schedule"], responses={409: {"model": models.Problem}})
    def spend(given: models.BudgetIn) -> models.BudgetOut:
        """Another budget for the crawler that runs, or the fleet, until it ends; 409 if nobody can be asked."""
        wanted = query_parameters.budget({"budget": given.budget}, context)
        try:
            editing.spend(context, wanted)
        except ContractError as error:
            raise HTTPException(409, str(error)) from error
        return models.BudgetOut(budget=wanted)

    @routes.get("/status", tags=["schedule"])
    def status() -> models.StatusOut:
        """The whole at a glance."""
        view = overview(context)
        day = {f"day_{name}": getattr(view.day, name) for name in ("requests", "captured", "new", "changed")}
        states = {name: getattr(view, name) for name in ("active", "paused", "retired", "never_fetched")}
        return models.StatusOut.from_records(
            view, version=__version__, sources=states, day_errors=view.day.failed, hosts_held=view.held, **day
        )


def _add_fleet(routes: APIRouter, context: Context) -> None:
    @routes.get("/fleet", tags=["schedule"])
    def fleet() -> models.FleetOut:
        """The fleet: price, budget, spend, and how each shard does; 404 if there never was one on this store."""
        status = context.fleet_status()
        if status is None:
            raise HTTPException(404, "there never was a fleet on this store")
        return models.FleetOut.of(status, is_up(status, context.now()))


def _at(found: Prospect, fresh: float, interest: bool) -> models.ProspectOut:
    hidden = {} if interest else dict.fromkeys(("captured", "inflow", "share"))
    return models.ProspectOut.from_records(found, freshness=fresh, median_delay=found.delay, **hidden)


def _add_feedback(routes: APIRouter, context: Context, hub: Hub) -> None:
    @routes.post("/feedback", tags=["feedback"])
    def feedback(given: models.FeedbackIn) -> models.FeedbackOut:
        """Clicks somebody else has counted, such as a search engine's own log."""
        now = context.now()
        clicks = [
            Click(item=c.item, at=now if c.time is None else min(c.time, now), count=c.count) for c in given.clicks
        ]
        return models.FeedbackOut(counted=context.store.record_clicks(clicks))

    @routes.get(
        "/stream",
        tags=["feedback"],
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}}},
    )
    async def stream(request: Request) -> StreamingResponse:
        """Server-sent events: `item` for every item and every change of a page found, `change` when anything changed,
        `fleet` when only the fleet's figures did."""
        try:
            events = hub.listen(client_place(request.scope))
        except FullError:
            raise HTTPException(503, "too many are listening already") from None
        return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
