"""`/login` and `/logout`."""

from __future__ import annotations

import math

from fastapi import APIRouter, Request, Response

from recrawl.web.context import Context
from recrawl.web.rendering import Pages, see
from recrawl.web.safety.access import Access
from recrawl.web.safety.proxies import client_place
from recrawl.web.safety.sessions import set_cookie


def router(context: Context, pages: Pages, access: Access) -> APIRouter:
    """The pages."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/login")
    def ask(request: Request) -> Response:
        if request.state.session.member:
            return see("/")
        return pages.page(request, "login.html.j2", error="")

    @routes.post("/login")
    def enter(request: Request) -> Response:
        wait_s = access.throttle.wait_s(client_place(request.scope), context.now())
        if wait_s > 0.0:
            text = f"Too many attempts: try again in {math.ceil(wait_s)} seconds."
            later = pages.page(request, "login.html.j2", 429, error=text)
            later.headers["Retry-After"] = str(math.ceil(wait_s))
            return later
        if not access.credentials.takes(request.state.form.get("password", "")):
            return pages.page(request, "login.html.j2", 403, error="That is not the password.")
        access.sessions.end(request.state.session)
        answer = see("/", "login")
        cookie = access.sessions.cookie(access.sessions.begin(context.now(), member=True))
        answer.headers["Set-Cookie"] = set_cookie(cookie, secure=request.state.secure)
        return answer

    @routes.post("/logout")
    def leave(request: Request) -> Response:
        access.sessions.end(request.state.session)
        answer = see("/login" if access.credentials.locked else "/", "logout")
        answer.headers["Set-Cookie"] = set_cookie("", secure=request.state.secure, lasts_s=0)
        return answer

    return routes
