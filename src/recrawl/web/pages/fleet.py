"""`/fleet`: how many machines share one budget, and how each does."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from recrawl.web.charts import spend_bar
from recrawl.web.context import Context
from recrawl.web.rendering import Pages
from recrawl.web.views.fleet import command, fleet


def router(context: Context, pages: Pages) -> APIRouter:
    """The page."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/fleet")
    def show(request: Request) -> Response:
        view = fleet(context)
        if view is None:
            return pages.page(request, "no_fleet.html.j2", command=command(context))
        return pages.page(request, "fleet.html.j2", view=view, bar=spend_bar)

    return routes
