from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Message

from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.safety import authentication
from recrawl.web.safety.access import Access
from recrawl.web.safety.credentials import Credentials
from recrawl.web.safety.headers import POLICY
from recrawl.web.safety.hosts import HostList
from recrawl.web.safety.proxies import Proxies
from recrawl.web.safety.readers import is_of_reader
from visitor import Answer, Visitor

from .conftest import PASSWORD, TOKEN

CHANGES = {"POST", "PUT", "PATCH", "DELETE"}


def every_route(app: object) -> list[tuple[str, str]]:
    """But for those of readers, who show a token of their own: `test_reader_api` has a list of them."""
    assert isinstance(app, FastAPI)
    found = []
    for route in _flat(app.routes):
        for method in sorted(route.methods or ()):
            path = route.path.replace("{id:int}", "1").replace("{id}", "1").replace("{act}", "pause")
            if not is_of_reader(path):
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
        assert store.count() == 5000

    def test_a_list_of_very_many_lines_is_refused(self, store: SqliteStore, program: Visitor) -> None:
        answer = program.ask("POST", "/api/v1/import", b"a\n" * 5_000_000, {"content-type": "text/plain"})
        assert answer.status == 422
        assert "at most 200000 entries" in answer.text


def answered_unread(app: Any, method: str, path: str, headers: dict[str, str]) -> int:
    """The status of the answer to a request, if it came before any of the body was asked for; 0 otherwise."""
    given = {"host": "localhost:8080", "content-length": "60000", **headers}
    scope = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 50000),
    }
    happened: list[Any] = []

    async def receive() -> Message:
        happened.append("read")
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        happened.append(message.get("status", "sent"))

    asyncio.run(app(scope, receive, send))
    return happened[0] if isinstance(happened[0], int) else 0


class TestBeforeTheBody:
    """Whatever the head can tell is told by the head."""

    FORM = "multipart/form-data; boundary=x"

    @pytest.mark.parametrize(
        ("status", "headers"),
        [
            (403, {"origin": "https://evil.example"}),
            (403, {"sec-fetch-site": "cross-site"}),
            (403, {"sec-fetch-site": "same-origin"}),
            (403, {"cookie": "recrawl_session=a.b.c.d"}),
            (421, {"host": "evil.example"}),
            (431, {f"x-{k}": "" for k in range(100)}),
        ],
    )
    def test_every_change_of_a_stranger_is_refused_unread(
        self, filled: SqliteStore, visitor: Visitor, status: int, headers: dict[str, str]
    ) -> None:
        changes = [(method, path) for method, path in every_route(visitor.app) if method in CHANGES]
        assert len(changes) > 12
        for method, path in changes:
            for kind in (self.FORM, "application/x-www-form-urlencoded", "application/json", "text/plain"):
                given = {"content-type": kind, **headers}
                assert answered_unread(visitor.app, method, path, given) == status, (method, path, kind)

    def test_what_is_locked_is_refused_unread(self, filled: SqliteStore, stranger: Visitor) -> None:
        for method, path in every_route(stranger.app):
            if method in CHANGES and path != "/login":
                assert answered_unread(stranger.app, method, path, {"content-type": self.FORM}) == 401, (method, path)

    @pytest.mark.parametrize("browser", [True, False])
    def test_what_is_too_large_is_refused_unread(self, store: SqliteStore, visitor: Visitor, browser: bool) -> None:
        own = {"x-csrf-token": visitor.token(), "cookie": f"recrawl_session={visitor.cookies['recrawl_session']}"}
        for method, path in every_route(visitor.app):
            if method in CHANGES and (browser or path.startswith("/api/")):
                given = {"content-length": "10485761", **(own if browser else {})}
                assert answered_unread(visitor.app, method, path, given) == 413, (method, path)
        small = {**own, "content-type": "application/x-www-form-urlencoded", "content-length": "70000"}
        assert answered_unread(visitor.app, "POST", "/sources/import", small) == 413

    def test_every_question_with_a_body_is_refused_unread(self, store: SqliteStore, visitor: Visitor) -> None:
        for method, path in every_route(visitor.app):
            if method not in CHANGES:
                assert answered_unread(visitor.app, method, path, {}) == 400, (method, path)

    def test_a_fifth_list_has_to_wait(self, store: SqliteStore, program: Visitor) -> None:
        async def asked(path: str, arrived: asyncio.Event, begun: asyncio.Event) -> int:
            statuses = []

            async def receive() -> Message:
                begun.set()
                await arrived.wait()
                return {"type": "http.request", "body": b"https://a.example/", "more_body": False}

            async def send(message: Message) -> None:
                statuses.append(message.get("status", 0))

            scope = {"type": "http", "method": "POST", "scheme": "http", "path": path, "query_string": b"",
                     "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 50000)}  # fmt: skip
            await program.app(scope, receive, send)
            return statuses[0]

        async def together() -> list[int]:
            arrived, path = asyncio.Event(), "/api/v1/import"
            uploads = []
            for _ in range(4):
                begun = asyncio.Event()
                uploads.append(asyncio.create_task(asked(path, arrived, begun)))
                await begun.wait()
            fifth = await asked(path, arrived, asyncio.Event())
            arrived.set()
            return [fifth, *await asyncio.gather(*uploads), await asked(path, arrived, asyncio.Event())]

        assert asyncio.run(together()) == [503, 200, 200, 200, 200, 200]

    def test_a_form_says_how_long_it_is(self, store: SqliteStore, visitor: Visitor) -> None:
        visitor.get("/")
        own = {"cookie": f"recrawl_session={visitor.cookies['recrawl_session']}", "transfer-encoding": "chunked"}
        for method, path in every_route(visitor.app):
            if method in CHANGES and not path.startswith("/api/"):
                assert answered_unread(visitor.app, method, path, {"content-type": self.FORM, **own}) == 411

    def test_a_form_is_no_list(self, store: SqliteStore, program: Visitor) -> None:
        assert answered_unread(program.app, "POST", "/api/v1/import", {"content-type": self.FORM}) == 415


class TestRefusedBodies:
    """What comes of a body that was refused."""

    @staticmethod
    async def refused(app: Any, length: dict[str, str], begun: asyncio.Event, last: asyncio.Event) -> bool:
        """Whether any of the body was taken; its last byte comes with `last`."""
        given = {"host": "localhost:8080", "origin": "https://evil.example", **length}
        scope = {"type": "http", "method": "POST", "scheme": "http", "path": "/sources", "query_string": b"",
                 "headers": [(name.encode(), value.encode()) for name, value in given.items()],
                 "client": ("127.0.0.1", 50000)}  # fmt: skip

        async def receive() -> Message:
            begun.set()
            await last.wait()
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            assert message.get("status", 403) == 403

        await app(scope, receive, send)
        return begun.is_set()

    def test_two_at_a_time_are_passed_over_and_none_of_unknown_length(
        self, store: SqliteStore, visitor: Visitor
    ) -> None:
        known, unknown = {"content-length": "60000"}, {"transfer-encoding": "chunked"}

        async def together() -> None:
            last, patient = asyncio.Event(), []
            assert not await self.refused(visitor.app, unknown, asyncio.Event(), last)
            for _ in range(authentication.MOST_LINGERING):
                begun = asyncio.Event()
                patient.append(asyncio.create_task(self.refused(visitor.app, known, begun, last)))
                await begun.wait()
            assert not await self.refused(visitor.app, known, asyncio.Event(), last)
            last.set()
            assert await asyncio.gather(*patient) == [True] * authentication.MOST_LINGERING
            assert await self.refused(visitor.app, known, asyncio.Event(), last)

        asyncio.run(together())

    def test_they_are_cut_off_after_a_while(
        self, store: SqliteStore, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(authentication, "LINGER_S", 0.01)
        known, never = {"content-length": "60000"}, asyncio.Event()
        assert asyncio.run(self.refused(visitor.app, known, asyncio.Event(), never))


class TestHostileBodies:
    @pytest.mark.parametrize(
        "body",
        [
            b"[" * 60_000,
            b'{"a":' * 12_000,
            b'{"url":' + b"9" * 60_000 + b"}",
            b'{"clicks":[' + b"1," * 30_000 + b"1]}",
            b'{"importance":1' + b"0" * 60_000 + b"}",
            b'{"tags":[' + b'"",' * 20_000 + b'""]}',
            b"\xff" * 60_000,
        ],
    )
    def test_json_of_any_shape_is_refused_in_words(self, filled: SqliteStore, program: Visitor, body: bytes) -> None:
        before = filled.revision()
        no_json = ("/api/v1/import", "/api/v1/sources/1/pause", "/api/mcp")
        for method, path in every_route(program.app):
            if method in ("POST", "PATCH") and path.startswith("/api/") and path not in no_json:
                answer = program.ask(method, path, body, {"content-type": "application/json"})
                assert answer.status in (400, 422), (method, path)
        assert filled.revision() == before

    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("application/x-www-form-urlencoded", b"&" * 60_000),
            (
                "multipart/form-data; boundary=x",
                b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n' * 170_000,
            ),
            ("multipart/form-data; boundary=x", b"--x\r\n" * 1_500_000),
            ("multipart/form-data; boundary=x", b"--x\r\nA: " + b"a" * 9_000_000 + b"\r\n\r\n--x--"),
            ("multipart/form-data; boundary=-", b"\r\n-" * 2_000_000),
        ],
    )
    def test_forms_of_any_shape_are_refused_in_words(
        self, store: SqliteStore, visitor: Visitor, kind: str, body: bytes
    ) -> None:
        headers = {"content-type": kind, "x-csrf-token": visitor.token()}
        assert visitor.ask("POST", "/sources/import", body, headers).status == 400

    @pytest.mark.parametrize(("size", "here"), [(1000, True), (100_000, False)])
    def test_large_forms_are_read_off_the_loop(
        self, store: SqliteStore, visitor: Visitor, monkeypatch: pytest.MonkeyPatch, size: int, here: bool
    ) -> None:
        threads = []

        def fields(content_type: str, body: bytes) -> dict[str, str]:
            threads.append(threading.current_thread() is threading.main_thread())
            return {"list": ""}

        monkeypatch.setattr(authentication, "form_fields", fields)
        headers = {"content-type": "multipart/form-data; boundary=x", "x-csrf-token": visitor.token()}
        visitor.ask("POST", "/sources/import", b" " * size, headers)
        assert threads == [here]


class TestCutUploads:
    LIST = b"https://a.example/\nhttps://b.example/\n"

    @pytest.mark.parametrize("missing", [1, 3, 5, 9, 20])
    def test_a_form_without_its_end_imports_nothing(self, store: SqliteStore, visitor: Visitor, missing: int) -> None:
        body = b'--x\r\nContent-Disposition: form-data; name="list"; filename="a"\r\n\r\n' + self.LIST + b"\r\n--x--"
        headers = {"content-type": "multipart/form-data; boundary=x", "x-csrf-token": visitor.token()}
        answer = visitor.ask("POST", "/sources/import", body[:-missing], headers)
        assert (answer.status, store.count()) == (400, 0)
        assert "nothing was done" in answer.text
        assert visitor.ask("POST", "/sources/import", body, headers).status == 200
        assert store.count() == 2

    def test_less_than_was_announced_imports_nothing(self, store: SqliteStore, program: Visitor) -> None:
        answer = program.ask(
            "POST", "/api/v1/import", self.LIST, {"content-type": "text/plain", "content-length": "99"}
        )
        assert (answer.status, store.count()) == (400, 0)
        assert "nothing was done" in answer.text

    def test_an_opml_list_without_its_end_imports_nothing(self, store: SqliteStore, program: Visitor) -> None:
        outlines = b"".join(b"<outline xmlUrl='https://%d.example/'/>" % k for k in range(100))
        body = b"<opml><body>" + outlines + b"</body></opml>"
        for part in (body[:-1], body[:-7], body[:2000]):
            answer = program.ask("POST", "/api/v1/import", part, {"content-type": "text/x-opml"})
            assert answer.status == 422
            assert "nothing of it was taken" in answer.text
        assert store.count() == 0
        assert program.ask("POST", "/api/v1/import", body + b"\n").json["added"] == 100

    def test_a_damaged_list_with_its_end_is_read(self, store: SqliteStore, program: Visitor) -> None:
        body = b"<opml><body><outline text='R&D' xmlUrl='https://a.example/?a=1&b=2'/></body></opml>"
        assert program.ask("POST", "/api/v1/import", body).json["added"] == 1


TLS = {"x-forwarded-proto": "https"}


class TestSecureCookies:
    def cookies(self, store: SqliteStore, clock: ManualClock, kept_password: str, **how: Any) -> list[str]:
        """What is set when one comes, logs in and leaves."""
        scheme, headers, address = how.pop("scheme", "http"), how.pop("headers", {}), how.pop("address", "127.0.0.1")
        access = Access(HostList("localhost"), Credentials(kept_password), **how)
        app = make_app(store, Config(), clock, access=access)
        visitor = Visitor(app, scheme=scheme, headers=headers, address=address)
        answers = [visitor.get("/login"), logged_in(visitor), visitor.form("/logout", {})]
        found = [answer.header("set-cookie") or "" for answer in answers]
        assert all("HttpOnly" in each for each in found)
        return ["Secure" if each.endswith("; Secure") else "" for each in found]

    @pytest.mark.parametrize(
        ("how", "secure"),
        [
            ({}, False),
            ({"scheme": "https"}, True),
            ({"secure": True}, True),
            ({"headers": TLS}, False),
            ({"headers": TLS, "proxies": Proxies(["127.0.0.1"])}, True),
            ({"headers": {"x-forwarded-proto": "http"}, "proxies": Proxies(["127.0.0.1"])}, False),
            ({"headers": TLS, "proxies": Proxies(["10.0.0.0/8"])}, False),
            ({"headers": TLS, "proxies": Proxies(["10.0.0.0/8"]), "address": "10.1.2.3"}, True),
            ({"headers": {"forwarded": "proto=http, for=x;proto=https"}, "proxies": Proxies(["127.0.0.1"])}, True),
            ({"headers": {"forwarded": "proto=https"}}, False),
        ],
    )
    def test_they_are_secure_where_tls_is(
        self, store: SqliteStore, clock: ManualClock, kept_password: str, how: dict[str, Any], secure: bool
    ) -> None:
        assert self.cookies(store, clock, kept_password, **how) == ["Secure" if secure else ""] * 3


class TestGuesses:
    def program(self, stranger: Visitor, token: str, address: str = "127.0.0.1", **headers: str) -> Visitor:
        return Visitor(
            stranger.app, browser=False, headers={"authorization": f"Bearer {token}", **headers}, address=address
        )

    def test_wrong_tokens_are_limited_and_keep_nobody_else_out(
        self, store: SqliteStore, stranger: Visitor, clock: ManualClock
    ) -> None:
        wrong, right = self.program(stranger, "x" * 22), self.program(stranger, TOKEN)
        assert [wrong.get("/api/v1/status").status for _ in range(7)] == [401] * 5 + [429] * 2
        late = right.get("/api/v1/status")
        assert late.status == 429, "an answer would tell which guess was right"
        assert int(late.header("retry-after") or 0) > 0
        assert self.program(stranger, TOKEN, "192.0.2.7").get("/api/v1/status").status == 200
        clock.advance(13.0)
        assert right.get("/api/v1/status").status == 200

    def test_the_right_token_is_never_counted(self, store: SqliteStore, stranger: Visitor) -> None:
        right = self.program(stranger, TOKEN)
        assert {right.get("/api/v1/status").status for _ in range(20)} == {200}

    def test_guesses_from_very_many_places_keep_nobody_out(self, store: SqliteStore, stranger: Visitor) -> None:
        for k in range(200):
            assert self.program(stranger, "x" * 22, f"192.0.2.{k}").get("/api/v1/status").status == 401
        assert self.program(stranger, TOKEN, "198.51.100.1").get("/api/v1/status").status == 200

    def test_one_network_of_ipv6_is_one_place(self, store: SqliteStore, stranger: Visitor) -> None:
        statuses = [
            self.program(stranger, "x" * 22, f"2001:db8:0:1::{k:x}").get("/metrics").status for k in range(1, 8)
        ]
        assert statuses == [401] * 5 + [429] * 2

    def test_through_a_proxy_it_is_the_client_who_guesses(
        self, store: SqliteStore, clock: ManualClock, kept_password: str
    ) -> None:
        access = Access(HostList("localhost"), Credentials(kept_password, TOKEN), proxies=Proxies(["127.0.0.1"]))
        behind = Visitor(make_app(store, Config(), clock, access=access))
        guess = {"x-forwarded-for": "198.51.100.9, 192.0.2.1"}
        wrong = self.program(behind, "x" * 22, **guess)
        assert [wrong.get("/metrics").status for _ in range(6)] == [401] * 5 + [429]
        assert self.program(behind, "x" * 22, **{"x-forwarded-for": "9.9.9.9, 192.0.2.1"}).get("/metrics").status == 429
        assert self.program(behind, TOKEN, **{"x-forwarded-for": "192.0.2.2"}).get("/metrics").status == 200

    def test_where_there_is_no_token_there_is_nothing_to_guess(self, store: SqliteStore, visitor: Visitor) -> None:
        program = self.program(visitor, "anything")
        assert {program.get("/api/v1/status").status for _ in range(20)} == {200}
