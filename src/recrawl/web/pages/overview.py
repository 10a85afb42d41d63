"""`/`: the whole at a glance."""

from __future__ import annotations

import math

from fastapi import APIRouter, Request, Response

from recrawl.web.charts import history_chart
from recrawl.web.context import Context
from recrawl.web.rendering import Pages
from recrawl.web.views.fleet import fleet
from recrawl.web.views.latest import Wanted, latest
from recrawl.web.views.overview import Overview, overview

NEWS = 8
"""Finds the page begins with."""


def router(context: Context, pages: Pages) -> APIRouter:
    """The page."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    def show(request: Request) -> Response:
        view = overview(context)
        if not view.sources:
            return pages.page(request, "welcome.html.j2", store=context.config.store, crawler=view.crawler)
        return pages.page(
            request,
            "overview.html.j2",
            view=view,
            fleet=fleet(context),
            charts=_charts(view),
            news=latest(context, Wanted(order="found", limit=NEWS)).entries,
        )

    return routes


def _charts(view: Overview) -> dict[str, object]:
    times = [p.at for p in view.prices]
    gains = [p.captured / p.requests if p.requests else math.nan for p in view.prices]
    return {
        "price": history_chart("Price over the last day", times, [p.price for p in view.prices], "price"),
        "gain": history_chart("Interest captured per fetch", times, gains, "gain"),
    }
