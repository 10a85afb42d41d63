"""`/login` and `/logout`."""

from __future__ import annotations

import math

from fastapi import APIRouter, Request, Response

from recrawl.web.desk import Desk
from recrawl.web.rendering import Pages, see
from recrawl.web.safety.gate import Door
from recrawl.web.safety.proxies import client_place
from recrawl.web.safety.sessions import set_cookie


def router(desk: Desk, pages: Pages, door: Door) -> APIRouter:
    """The pages."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/login")
    def ask(request: Request) -> Response:
        if request.state.session.member:
            return see("/")
        return pages.page(request, "login.html.j2", error="")

    @routes.post("/login")
    def enter(request: Request) -> Response:
        wait_s = door.throttle.wait_s(client_place(request.scope), desk.now())
        if wait_s > 0.0:
            text = f"Too many attempts: try again in {math.ceil(wait_s)} seconds."
            later = pages.page(request, "login.html.j2", 429, error=text)
            later.headers["Retry-After"] = str(math.ceil(wait_s))
            return later
        if not door.keyhole.takes(request.state.form.get("password", "")):
            return pages.page(request, "login.html.j2", 403, error="That is not the password.")
        door.sessions.end(request.state.session)
        answer = see("/", "login")
        cookie = door.sessions.cookie(door.sessions.begin(desk.now(), member=True))
        answer.headers["Set-Cookie"] = set_cookie(cookie, secure=request.state.secure)
        return answer

    @routes.post("/logout")
    def leave(request: Request) -> Response:
        door.sessions.end(request.state.session)
        answer = see("/login" if door.keyhole.locked else "/", "logout")
        answer.headers["Set-Cookie"] = set_cookie("", secure=request.state.secure, lasts_s=0)
        return answer

    return routes
