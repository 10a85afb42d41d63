"""HTML from templates. Everything is escaped; a template that names something it was not given is an error."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from recrawl import __version__
from recrawl.crawl.explaining.list_words import verdict
from recrawl.crawl.reading.plain_text import told, visible
from recrawl.errors import StoreError
from recrawl.web import formatting
from recrawl.web.charts.crawls import legend
from recrawl.web.context import Context
from recrawl.web.views.differences import Comparisons, difference

TITLES = {
    400: "That cannot be asked",
    401: "Please log in",
    403: "Not done",
    404: "There is no such page",
    405: "Not like that",
    411: "How long?",
    413: "Too large",
    414: "Too long",
    415: "Not like that",
    421: "Not this server's name",
    422: "That cannot be used",
    429: "Too many attempts",
    431: "Too much",
    503: "Not now",
}
DONE = {
    "added": "Added. It is fetched first, within moments if a crawler is at work.",
    "known": "It was in the catalogue already.",
    "changed": "Changed. A crawler at work takes it up within moments.",
    "paused": "Paused: it is not fetched until you resume it.",
    "resumed": "Resumed.",
    "removed": "Removed, with all that was found in it.",
    "wanted": "It is fetched as soon as the budget and its host allow.",
    "budget": "Asked for. The crawler spends by the new budget within moments, until its run ends.",
    "login": "You are logged in.",
    "logout": "You are logged out.",
}


@cache
def environment() -> Environment:
    """The templates, with the words they use."""
    made = Environment(
        loader=PackageLoader("recrawl.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in (
        "plain",
        "address",
        "http_link",
        "number",
        "whole",
        "percent",
        "duration",
        "rate",
        "moment",
        "stamp",
    ):
        made.filters[name] = getattr(formatting, name)
    made.filters.update(
        distance=formatting.distance,
        ago=formatting.ago,
        visible=visible,
        told=told,
        visible_lines=_visible_lines,
        verdict=verdict,
        difference=difference,
    )
    made.globals.update(version=__version__, crawl_legend=legend())
    return made


def _visible_lines(text: str) -> str:
    return "\n".join(visible(line) for line in text.splitlines())


class Pages:
    """Renders templates for requests."""

    def __init__(self, context: Context, locked: bool) -> None:
        self._context, self._locked, self._environment = context, locked, environment()

    def page(self, request: Request, template: str, status: int = 200, **shown: Any) -> HTMLResponse:
        """A page; every template also knows the request's path, session and the time."""
        session = request.state.session
        text = self._environment.get_template(template).render(
            path=request.url.path,
            session=session,
            locked=self._locked,
            fleet_seen=self._fleet_seen(),
            member=session.member,
            now=self._context.now(),
            comparisons=Comparisons(),
            done=DONE.get(request.query_params.get("done", ""), ""),
            **shown,
        )
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    def _fleet_seen(self) -> bool:
        """Whether there ever was a fleet; not when the store cannot say, since errors are pages too."""
        try:
            return self._context.fleet_status() is not None
        except StoreError:
            return False

    def problem(self, request: Request, status: int, detail: str) -> Response:
        """What went wrong, in the form the request asks for; a page that needs a login leads there."""
        if wants_json(request):
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            return JSONResponse({"error": {"status": status, "detail": detail}}, status, headers)
        if status == 401 and request.method in ("GET", "HEAD"):
            return RedirectResponse("/login", 303)
        title = TITLES.get(status, "Something went wrong")
        return self.page(request, "problem.html.j2", status, title=title, detail=detail, status_code=status)


def wants_json(request: Request) -> bool:
    """Whether a program asks."""
    return request.url.path.startswith(("/api/", "/metrics", "/healthz", "/readyz"))


def see(path: str, done: str = "") -> RedirectResponse:
    """Go and look there, after something was done."""
    return RedirectResponse(f"{path}?done={done}" if done else path, 303)
