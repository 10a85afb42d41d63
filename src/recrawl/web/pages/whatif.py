"""`/whatif`: another budget, and what it would buy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from threading import Lock

from fastapi import APIRouter, Request, Response

from recrawl.cluster.budget_requests import takes_another
from recrawl.errors import ContractError, ParameterError
from recrawl.web import editing, query_parameters
from recrawl.web.charts import prospect_chart
from recrawl.web.context import Context
from recrawl.web.rendering import Pages, see
from recrawl.web.views.history_replay import Hindsight, hindsight
from recrawl.web.views.prospects import SPAN, WhatIf, what_if

HINDSIGHT_S = 600.0


def router(context: Context, pages: Pages) -> APIRouter:
    """The page."""
    routes = APIRouter(include_in_schema=False)
    one_at_a_time = Lock()

    @routes.get("/whatif")
    def show(request: Request) -> Response:
        return compared(request, request.query_params)

    @routes.post("/whatif")
    def replay(request: Request) -> Response:
        if not one_at_a_time.acquire(blocking=False):
            return pages.problem(request, 503, "Another replay is under way. Try again in a moment.")
        try:
            budget = query_parameters.budget(request.state.form, context)
            found = context.cached.get(("hindsight", budget), HINDSIGHT_S, lambda: hindsight(context, budget))
        finally:
            one_at_a_time.release()
        return compared(request, request.state.form, found, asked=True)

    @routes.post("/budget")
    def spend(request: Request) -> Response:
        try:
            editing.spend(context, query_parameters.budget(request.state.form, context))
        except ParameterError as wrong:
            return pages.problem(request, 422, str(wrong))
        except ContractError as wrong:
            return pages.problem(request, 409, str(wrong))
        return see("/whatif", "budget")

    def compared(
        request: Request, query: Mapping[str, str], found: Hindsight | None = None, *, asked: bool = False
    ) -> Response:
        error = ""
        try:
            budget = query_parameters.budget(query, context)
        except ParameterError as wrong:
            budget, error = 2.0 * context.budget(), str(wrong)
        view = what_if(context, budget)
        return pages.page(
            request,
            "whatif.html.j2",
            422 if error else 200,
            view=view,
            changeable=takes_another(context.store, context.now()),
            chart=_chart(view),
            error=error,
            hindsight=found,
            replayed=asked,
            slider=math.log2(budget / context.budget()),
            span=math.log2(SPAN),
        )

    return routes


def _chart(view: WhatIf) -> object:
    if not view.known or not any(math.isfinite(y) for _, y in view.curve):
        return None
    points = [(x, 100.0 * y) for x, y in view.curve]
    return prospect_chart(
        [x for x, _ in points],
        [y for _, y in points],
        (view.present.budget, 100.0 * view.present.share),
        (view.chosen.budget, 100.0 * view.chosen.share),
    )
