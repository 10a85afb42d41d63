from __future__ import annotations

import pytest
from fastapi import FastAPI
from starlette.routing import Route

from recrawl.store.sqlite import SqliteStore
from recrawl.web.safety.headers import POLICY
from visitor import Answer, Visitor

from .conftest import PASSWORD, TOKEN

CHANGES = {"POST", "PUT", "PATCH", "DELETE"}


def every_route(app: object) -> list[tuple[str, str]]:
    assert isinstance(app, FastAPI)
    found = []
    for route in _flat(app.routes):
        for method in sorted(route.methods or ()):
            path = route.path.replace("{id:int}", "1").replace("{id}", "1").replace("{act}", "pause")
            found.append((method, path.replace("{name}", "live.js")))
    assert len(found) > 40, "routes went missing"
    return found


def _flat(routes: object) -> list[Route]:
    found = []
    for route in routes:  # type: ignore[attr-defined]
        inner = getattr(getattr(route, "original_router", route), "routes", None)
        if inner is not None:
            found += _flat(inner)
        elif hasattr(route, "methods"):
            found.append(route)
    return found


def logged_in(visitor: Visitor) -> Answer:
    return visitor.form("/login", {"password": PASSWORD})


class TestHost:
    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "localhost.evil.example", ""])
    def test_a_rebound_name_gets_nothing(self, filled: SqliteStore, visitor: Visitor, host: str) -> None:
        for path in ("/", "/api/v1/sources", "/metrics", "/static/live.js", "/healthz"):
            answer = visitor.get(path, host=host)
            assert answer.status == 421, path
            assert b"Harbour" not in answer.body

    def test_a_rebound_name_changes_nothing(self, filled: SqliteStore, visitor: Visitor, program: Visitor) -> None:
        before = filled.revision()
        rebound = {"host": "evil.example", "origin": "http://evil.example"}
        assert visitor.form("/sources", {"url": "https://a.example/"}, **rebound).status == 421
        assert program.send("DELETE", "/api/v1/sources/1", host="evil.example").status == 421
        assert filled.revision() == before


class TestHeaders:
    @pytest.mark.parametrize("path", ["/", "/sources", "/nowhere", "/api/v1/status", "/static/live.js", "/metrics"])
    def test_every_answer_carries_the_policy(self, visitor: Visitor, path: str) -> None:
        answer = visitor.get(path)
        assert answer.header("content-security-policy") == POLICY
        assert answer.header("x-content-type-options") == "nosniff"
        assert "unsafe" not in POLICY

    def test_no_page_has_script_or_style_of_its_own(self, filled: SqliteStore, stranger: Visitor) -> None:
        logged_in(stranger)
        for path in ("/", "/sources", "/sources/1", "/items", "/whatif", "/api", "/login"):
            text = stranger.get(path).text
            for words in ("<style", " style=", " onclick", "<script>"):
                assert words not in text, path


class TestForgery:
    def test_a_form_with_its_token_is_taken(self, store: SqliteStore, visitor: Visitor) -> None:
        assert visitor.form("/sources", {"url": "https://a.example/feed"}).status == 303
        assert store.count() == 1

    @pytest.mark.parametrize(
        "headers",
        [
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"origin": "http://localhost:9999"},
        ],
    )
    def test_another_site_changes_nothing_even_with_a_token(
        self, store: SqliteStore, visitor: Visitor, headers: dict[str, str]
    ) -> None:
        token = visitor.token()
        answer = visitor.form("/sources", {"url": "https://a.example/feed", "csrf": token}, token=False, **headers)
        assert answer.status == 403
        assert store.count() == 0

    @pytest.mark.parametrize("token", ["", "0" * 64, "é"])
    def test_without_the_right_token_nothing_is_done(self, store: SqliteStore, visitor: Visitor, token: str) -> None:
        visitor.get("/")
        answer = visitor.form("/sources", {"url": "https://a.example/feed", "csrf": token}, token=False)
        assert answer.status == 403
        assert store.count() == 0

    def test_the_token_of_another_session_does_not_count(self, store: SqliteStore, visitor: Visitor) -> None:
        other = Visitor(visitor.app).token()
        visitor.get("/")
        assert visitor.form("/sources", {"url": "https://a.example/", "csrf": other}, token=False).status == 403

    def test_every_change_of_the_pages_needs_the_token(self, filled: SqliteStore, visitor: Visitor) -> None:
        visitor.get("/")
        before = filled.revision()
        for method, path in every_route(visitor.app):
            if method in CHANGES:
                assert visitor.ask(method, path, b"url=x").status == 403, (method, path)
        assert filled.revision() == before

    def test_the_api_takes_the_token_in_a_header(self, store: SqliteStore, visitor: Visitor) -> None:
        token = visitor.token()
        assert visitor.send("POST", "/api/v1/sources", {"url": "https://a.example/"}).status == 403
        answer = visitor.send("POST", "/api/v1/sources", {"url": "https://a.example/"}, **{"x-csrf-token": token})
        assert answer.status == 201

    def test_a_program_on_this_machine_needs_none(self, store: SqliteStore, program: Visitor) -> None:
        assert program.send("POST", "/api/v1/sources", {"url": "https://a.example/"}).status == 201

    def test_a_text_form_of_another_page_is_no_program(self, store: SqliteStore, program: Visitor) -> None:
        body = b'{"url": "https://a.example/"}'
        headers = {"content-type": "text/plain", "origin": "https://evil.example"}
        assert program.ask("POST", "/api/v1/sources", body, headers).status == 403


class TestLogin:
    def test_every_route_is_closed_to_strangers(self, filled: SqliteStore, stranger: Visitor) -> None:
        before = filled.revision()
        open_to_all = ("/login", "/healthz", "/readyz", "/favicon.ico", "/static/live.js")
        for method, path in every_route(stranger.app):
            if path in open_to_all:
                continue
            for visitor in (stranger, Visitor(stranger.app, browser=False)):
                answer = visitor.ask(method, path)
                assert answer.status in (401, 303), (method, path, answer.status)
                assert answer.status == 401 or answer.header("location") == "/login"
                assert b"Harbour" not in answer.body
        assert filled.revision() == before

    def test_the_password_opens_everything(self, filled: SqliteStore, stranger: Visitor) -> None:
        answer = logged_in(stranger)
        assert (answer.status, answer.header("location")) == (303, "/?done=login")
        assert "Due next" in stranger.get("/").text
        assert stranger.get("/api/v1/sources").status == 200
        assert stranger.get("/metrics").status == 200
        assert stranger.form("/sources", {"url": "https://a.example/feed"}).status == 303

    def test_a_wrong_password_opens_nothing(self, store: SqliteStore, stranger: Visitor) -> None:
        assert stranger.form("/login", {"password": "wrong"}).status == 403
        assert stranger.get("/").status == 303

    def test_logging_in_gives_a_new_session(self, store: SqliteStore, stranger: Visitor) -> None:
        stranger.get("/login")
        before = dict(stranger.cookies)
        logged_in(stranger)
        assert stranger.cookies != before
        assert Visitor(stranger.app, cookies=before).get("/").status == 303

    def test_logging_out_ends_it_for_good(self, store: SqliteStore, stranger: Visitor) -> None:
        logged_in(stranger)
        kept = dict(stranger.cookies)
        assert stranger.form("/logout", {}).status == 303
        assert Visitor(stranger.app, cookies=kept).get("/").status == 303

    def test_logging_in_is_protected_from_forgery_as_well(self, store: SqliteStore, stranger: Visitor) -> None:
        stranger.get("/login")
        assert stranger.form("/login", {"password": PASSWORD}, token=False).status == 403

    def test_attempts_are_limited(self, store: SqliteStore, stranger: Visitor) -> None:
        token = stranger.token()
        form = {"password": "", "csrf": token}
        statuses = [stranger.form("/login", form, token=False).status for _ in range(7)]
        assert statuses[:5] == [403] * 5
        assert statuses[5:] == [429, 429]
        late = stranger.form("/login", {"password": PASSWORD, "csrf": token}, token=False)
        assert late.status == 429
        assert int(late.header("retry-after") or 0) > 0

    def test_a_program_shows_the_token(self, filled: SqliteStore, stranger: Visitor) -> None:
        program = Visitor(stranger.app, browser=False, headers={"authorization": f"Bearer {TOKEN}"})
        assert program.get("/api/v1/sources").status == 200
        assert program.get("/metrics").status == 200
        assert program.send("POST", "/api/v1/sources", {"url": "https://a.example/"}).status == 201
        for wrong in (f"Bearer {TOKEN}x", TOKEN, f"Basic {TOKEN}", "Bearer ", "Bearer \xe9"):
            assert program.get("/api/v1/sources", authorization=wrong).status == 401


class TestSizes:
    def test_long_addresses_and_bodies_are_refused(
        self, store: SqliteStore, visitor: Visitor, program: Visitor
    ) -> None:
        assert visitor.get("/items?q=" + "x" * 9000).status == 414
        assert program.ask("POST", "/api/v1/sources", b" " * 70_000, {"content-type": "application/json"}).status == 413

    def test_a_list_may_be_longer(self, store: SqliteStore, program: Visitor) -> None:
        text = "".join(f"https://{k}.example/feed\n" for k in range(5000)).encode()
        assert len(text) > 70_000
        assert program.ask("POST", "/api/v1/import", text, {"content-type": "text/plain"}).json["added"] == 5000
        assert program.ask("POST", "/api/v1/import", b" " * 11_000_000).status == 413
