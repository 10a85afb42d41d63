"""Visits: every request in its host's turn, paid for, allowed; and what belongs to the owner stays at home."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import AsyncIterator, Callable
from random import Random

import pytest
from aiohttp import web

from recrawl.clock import ManualClock
from recrawl.config import Fetching, Politeness
from recrawl.crawl.fetching.fetcher import Fetcher, FetchResult
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.robots import RETRY_S, RobotsCache, Rules
from recrawl.crawl.fetching.transport import Reason, Request, Response, TransportError
from recrawl.store.records import Robots
from servers import serving

START = 1_700_000_000.0
Page = Response | TransportError | Callable[[Request], Response]


def page(body: str = "", status: int = 200, **headers: str) -> Response:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Response("", status, named, body.encode())


def away(to: str, status: int = 302) -> Response:
    return page(status=status, location=to)


NO_ROBOTS = page(status=404)


class MadeUpWeb:
    """A transport that answers from a table and notes what it is asked, and when."""

    def __init__(self, clock: ManualClock, pages: dict[str, Page]) -> None:
        self.clock, self.pages = clock, pages
        self.log: list[tuple[float, str]] = []
        self.headers: list[dict[str, str]] = []
        self.takes_s = 0.0

    async def fetch(self, request: Request) -> Response:
        self.log.append((self.clock.now() - START, request.url))
        self.headers.append(dict(request.headers))
        await asyncio.sleep(0)
        self.clock.advance(self.takes_s)
        found = self.pages.get(request.url, NO_ROBOTS)
        if isinstance(found, TransportError):
            raise found
        return found if isinstance(found, Response) else found(request)

    async def close(self) -> None:
        pass


class CountingBudget:
    def __init__(self) -> None:
        self.paid = 0

    async def pay(self) -> None:
        self.paid += 1

    def give_back(self, amount: float) -> None:
        self.paid -= int(amount)


class Scene:
    """A fetcher in a made-up web, in virtual time."""

    def __init__(self, pages: dict[str, Page], *, stored: Robots | None = None, **settings: object) -> None:
        self.clock = ManualClock(START)
        self.web = MadeUpWeb(self.clock, pages)
        self.slots = HostSlots(Politeness(**settings), START, Random(1))  # type: ignore[arg-type]
        self.request_budget = CountingBudget()
        self.robots = RobotsCache("recrawl", lambda origin: stored if stored and stored.origin == origin else None)
        self.fetcher = Fetcher(
            self.web,
            self.robots,
            self.slots,
            self.request_budget,
            self.clock,
            Fetching(),
            obey_robots=self.obey(settings),
        )

    @staticmethod
    def obey(settings: dict[str, object]) -> bool:
        return bool(settings.get("robots", True))

    def visit(self, url: str, *more: object, **keys: object) -> FetchResult:
        return asyncio.run(self.fetcher.visit(url, *more, **keys))  # type: ignore[arg-type]

    @property
    def asked(self) -> list[str]:
        return [url for _, url in self.web.log]


A, B = "https://a.example", "https://b.example"


# -- turns and payment


def test_robots_txt_comes_first_and_waits_its_turn_like_everything_else() -> None:
    scene = Scene({A + "/feed": page("news")}, delay="5s")
    fetched = scene.visit(A + "/feed")
    assert fetched.response is not None
    assert (fetched.response.body, fetched.requests, fetched.final_url) == (b"news", 2, A + "/feed")
    assert scene.web.log == [(5.0, A + "/robots.txt"), (10.0, A + "/feed")]


def test_a_source_may_obey_robots_txt_or_not_whatever_the_others_do() -> None:
    pages = {A + "/robots.txt": page("User-agent: *\nDisallow: /"), A + "/feed": page("news")}
    obeying, not_obeying = Scene(pages, delay="0s"), Scene(pages, delay="0s", robots=False)
    assert obeying.visit(A + "/feed").refused
    assert not obeying.visit(A + "/feed", robots=False).refused
    assert not_obeying.visit(A + "/feed", robots=True).refused
    assert not not_obeying.visit(A + "/feed").refused


def test_the_delay_counts_from_the_end_of_an_answer() -> None:
    scene = Scene({A + "/feed": page("news")}, delay="5s")
    scene.web.takes_s = 3.0
    scene.visit(A + "/feed")
    scene.visit(A + "/feed")
    assert [at for at, _ in scene.web.log] == [5.0, 13.0, 21.0]


def test_requests_beyond_the_prepaid_are_paid_for() -> None:
    scene = Scene({A + "/feed": away("/b"), A + "/b": away("/c"), A + "/c": page("news")})
    assert scene.visit(A + "/feed").requests == 4
    assert scene.request_budget.paid == 3
    assert scene.visit(A + "/c", prepaid=1).requests == 1
    assert scene.request_budget.paid == 3


@pytest.mark.parametrize("reason", ["address", "scheme", "permit"])
def test_a_request_that_was_never_sent_is_neither_counted_nor_paid_for(reason: Reason) -> None:
    never = TransportError(reason, "not this one")
    at_once = Scene({A + "/feed": never}, robots=False)
    fetched = at_once.visit(A + "/feed")
    assert (fetched.refused, fetched.reason, fetched.requests) == ("not this one", reason, 0)
    assert at_once.request_budget.paid == 0
    after_another = Scene({A + "/feed": away(B + "/b"), B + "/b": never}, robots=False)
    assert (after_another.visit(A + "/feed").requests, after_another.request_budget.paid) == (1, 0)
    assert (after_another.visit(A + "/feed", prepaid=2).requests, after_another.request_budget.paid) == (1, 0)


def test_what_was_paid_for_a_request_that_was_never_sent_pays_for_the_next() -> None:
    inside = "http://10.0.0.1/robots.txt"
    text = "User-agent: *\nDisallow: /no"
    stored = Robots(origin=A, fetched=START - 9e4, status=200, body=text, good=text, expires=START - 1)
    pages: dict[str, Page] = {A + "/robots.txt": away(inside), inside: TransportError("address", "private")}
    scene = Scene({**pages, A + "/feed": page("x")}, stored=stored)
    fetched = scene.visit(A + "/feed")
    assert fetched.response is not None
    assert (fetched.requests, scene.request_budget.paid) == (2, 1)


def test_a_host_that_cannot_be_reached_was_asked() -> None:
    scene = Scene({A + "/feed": TransportError("connect", "nobody there")}, robots=False)
    assert scene.visit(A + "/feed").requests == 1


def test_a_visit_without_permit_comes_back_soon_and_does_not_count_against_the_host() -> None:
    scene = Scene({A + "/robots.txt": TransportError("permit", "the lease is over"), A + "/feed": page("x")})
    for _ in range(5):
        fetched = scene.visit(A + "/feed")
        assert (fetched.refused, fetched.requests) == ("the lease is over", 0)
        assert 0.0 < fetched.retry_at - scene.clock.now() <= 60.0
    assert scene.fetcher.drain_holds() == []
    assert scene.fetcher.drain_robots() == []
    del scene.web.pages[A + "/robots.txt"]
    assert scene.visit(A + "/feed").response is not None


def test_robots_txt_is_asked_for_once() -> None:
    scene = Scene({A + "/1": page("x"), A + "/2": page("y")})
    scene.visit(A + "/1")
    scene.visit(A + "/2")
    assert scene.asked == [A + "/robots.txt", A + "/1", A + "/2"]


def test_visits_side_by_side_share_one_robots_txt_and_take_turns() -> None:
    scene = Scene({f"{A}/{n}": page("x") for n in range(5)}, delay="2s")

    async def all_at_once() -> list[FetchResult]:
        return list(await asyncio.gather(*(scene.fetcher.visit(f"{A}/{n}") for n in range(5))))

    deliveries = asyncio.run(all_at_once())
    assert all(each.response is not None and each.response.status == 200 for each in deliveries)
    assert scene.asked.count(A + "/robots.txt") == 1
    times = [at for at, _ in scene.web.log]
    assert all(later - earlier >= 2.0 for earlier, later in itertools.pairwise(times))


def test_a_crawl_delay_is_kept_from_robots_txt_on() -> None:
    scene = Scene({A + "/robots.txt": page("User-agent: *\nCrawl-delay: 20"), A + "/feed": page("x")}, delay="1s")
    scene.visit(A + "/feed")
    scene.visit(A + "/feed")
    assert [at for at, _ in scene.web.log] == [1.0, 21.0, 41.0]


def test_who_would_wait_too_long_comes_back_later() -> None:
    scene = Scene({A + "/robots.txt": page("User-agent: *\nCrawl-delay: 600"), A + "/feed": page("x")}, delay="1s")
    fetched = scene.visit(A + "/feed")
    assert (fetched.refused, fetched.reason, fetched.requests) == ("Crawl-delay 600 s", "busy", 1)
    assert fetched.retry_at == START + 601.0
    assert scene.slots.free_at("a.example") == START + 601.0
    scene.clock.advance(600.0)
    assert scene.visit(A + "/feed").response is not None


def test_a_held_host_is_not_asked_and_the_reason_is_told() -> None:
    scene = Scene({A + "/feed": page("x")})
    scene.slots.hold("a.example", START + 3600, "status 503, asked to come back in 1h")
    fetched = scene.visit(A + "/feed")
    assert fetched.refused == "status 503, asked to come back in 1h"
    assert (scene.web.log, fetched.retry_at) == ([], START + 3600)


def test_a_host_that_never_lets_go_is_not_waited_for_forever() -> None:
    scene = Scene({A + "/feed": page("x")}, robots=False)
    fetcher = Fetcher(
        scene.web,
        scene.robots,
        scene.slots,
        scene.request_budget,
        scene.clock,
        Fetching(),
        obey_robots=False,
        max_wait_s=0.01,
    )
    scene.clock.advance(10.0)
    scene.slots.take("a.example", scene.clock.now())

    async def visit() -> FetchResult:
        async def tick() -> None:
            await asyncio.sleep(0.02)  # longer than `max_wait_s`
            scene.clock.advance(1.0)

        ticking = asyncio.create_task(tick())
        fetched = await fetcher.visit(A + "/feed")
        await ticking
        return fetched

    assert asyncio.run(asyncio.wait_for(visit(), 5)).refused == "another request to its host is under way"


def test_a_visit_that_is_cancelled_gives_its_turn_back() -> None:
    scene = Scene({}, robots=False, delay="1s")

    async def hang(request: Request) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    scene.web.fetch = hang  # type: ignore[method-assign]

    async def cancel() -> None:
        visit = asyncio.create_task(scene.fetcher.visit(A + "/feed"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert scene.slots.free_at("a.example") == float("inf")
        visit.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await visit

    asyncio.run(cancel())
    assert scene.slots.free_at("a.example") == scene.clock.now() + 1.0


# -- what hosts say


@pytest.mark.parametrize("status", [429, 403])
def test_a_limit_reached_holds_the_host(status: int) -> None:
    reset = f"{START + 600:.0f}"
    scene = Scene({A + "/feed": page(status=status, x_ratelimit_remaining="0", x_ratelimit_reset=reset)}, robots=False)
    scene.visit(A + "/feed")
    (hold,) = scene.fetcher.drain_holds()
    assert hold.until == pytest.approx(START + 600, abs=1.0)
    assert scene.visit(A + "/feed").reason == "busy"


def test_a_limit_reached_at_robots_txt_does_not_open_the_site() -> None:
    limit = page(status=403, x_ratelimit_remaining="0", x_ratelimit_reset="60")
    scene = Scene({A + "/robots.txt": limit, A + "/feed": page("news")})
    assert scene.visit(A + "/feed").reason == "robots"
    assert scene.asked == [A + "/robots.txt"]


def test_a_plain_403_holds_nobody() -> None:
    scene = Scene({A + "/feed": page(status=403)}, robots=False)
    scene.visit(A + "/feed")
    assert scene.fetcher.drain_holds() == []


def test_a_limit_of_a_year_holds_for_a_week() -> None:
    scene = Scene({A + "/feed": page(status=429, cache_control="max-age=31536000")}, robots=False)
    scene.visit(A + "/feed")
    (hold,) = scene.fetcher.drain_holds()
    assert hold.until == scene.clock.now() + 7 * 86_400


def test_a_refusal_with_retry_after_holds_the_host() -> None:
    scene = Scene({A + "/feed": page(status=429, retry_after="600")})
    fetched = scene.visit(A + "/feed")
    assert fetched.response is not None
    assert fetched.response.status == 429
    (hold,) = scene.fetcher.drain_holds()
    assert (hold.host, hold.until) == ("a.example", scene.clock.now() + 600)
    assert scene.visit(A + "/feed").reason == "busy"


@pytest.mark.parametrize("reason", ["connect", "dns"])
def test_a_host_that_cannot_be_reached_is_held_after_the_second_time(reason: str) -> None:
    scene = Scene({A + "/feed": TransportError(reason, "nobody there")}, robots=False)  # type: ignore[arg-type]
    fetched = scene.visit(A + "/feed")
    assert (fetched.response, fetched.error, fetched.reason) == (None, "nobody there", reason)
    assert scene.slots.held("a.example", scene.clock.now()) == (0.0, "")
    scene.visit(A + "/feed")
    assert scene.slots.held("a.example", scene.clock.now())[1] == f"{reason}, 2 in a row"


@pytest.mark.parametrize("reason", ["too large", "protocol", "reset", "tls", "timeout"])
def test_failures_of_one_document_do_not_hold_its_host(reason: str) -> None:
    scene = Scene({A + "/feed": TransportError(reason, "bad")}, robots=False)  # type: ignore[arg-type]
    for _ in range(4):
        assert scene.visit(A + "/feed").reason == reason
    assert scene.slots.held("a.example", scene.clock.now()) == (0.0, "")


@pytest.mark.parametrize("failing", [page(status=503), TransportError("timeout", "bad")], ids=["503", "timeout"])
def test_failures_of_several_documents_do(failing: Page) -> None:
    scene = Scene({f"{A}/{n}": failing for n in range(3)}, robots=False)
    held = [scene.visit(f"{A}/{n}").host_held_until for n in range(3)]
    assert held[:2] == [0.0, 0.0]
    assert held[2] == scene.slots.held("a.example", scene.clock.now())[0] > scene.clock.now()


def test_not_modified_comes_back_as_it_is() -> None:
    scene = Scene({A + "/feed": page(status=304)})
    fetched = scene.visit(A + "/feed", {}, {"If-None-Match": '"1"'})
    assert fetched.response is not None
    assert fetched.response.status == 304
    assert scene.web.headers[-1] == {"If-None-Match": '"1"'}


# -- redirects


def test_a_chain_is_followed_and_only_its_permanent_beginning_moves_the_source() -> None:
    scene = Scene({A + "/1": away("/2", 301), A + "/2": away(B + "/3", 308), B + "/3": away("/4"), B + "/4": page("x")})
    fetched = scene.visit(A + "/1")
    assert (fetched.final_url, fetched.moved_to, fetched.requests) == (B + "/4", B + "/3", 6)
    assert Scene({A + "/1": away("/2"), A + "/2": away("/3", 301), A + "/3": page("x")}).visit(A + "/1").moved_to == ""


def test_a_move_to_what_is_not_there_is_no_move() -> None:
    assert Scene({A + "/1": away("/2", 301), A + "/2": page(status=404)}).visit(A + "/1").moved_to == ""


def test_the_other_hosts_robots_txt_is_asked_and_obeyed() -> None:
    scene = Scene({A + "/1": away(B + "/secret"), B + "/robots.txt": page("User-agent: *\nDisallow: /secret")})
    fetched = scene.visit(A + "/1")
    assert (fetched.refused, fetched.final_url) == ("robots.txt does not allow it", B + "/secret")
    assert scene.asked == [A + "/robots.txt", A + "/1", B + "/robots.txt"]


def test_the_other_host_has_a_turn_of_its_own() -> None:
    scene = Scene({A + "/1": away(B + "/2"), B + "/2": page("x")}, delay="5s", robots=False)
    scene.visit(A + "/1")
    scene.visit(B + "/2")
    assert scene.web.log == [(5.0, A + "/1"), (5.0, B + "/2"), (10.0, B + "/2")]


def test_loops_and_long_chains_end() -> None:
    loop = Scene({A + "/1": away("/2"), A + "/2": away("/1")})
    assert loop.visit(A + "/1").error == "redirects go round in circles"
    assert Scene({A + "/1": away("#top")}).visit(A + "/1").error == "redirects go round in circles"
    chain = Scene({f"{A}/{n}": away(f"/{n + 1}") for n in range(100)})
    fetched = chain.visit(A + "/0")
    assert (fetched.error, fetched.requests) == ("more than 5 redirects", 1 + 6)


@pytest.mark.parametrize(
    ("location", "refused", "error"),
    [
        ("ftp://a.example/x", "redirected to another scheme: ftp", ""),
        ("file:///etc/passwd", "redirected to another scheme: file", ""),
        ("javascript:alert(1)", "redirected to another scheme: javascript", ""),
        ("data:text/html,x", "redirected to another scheme: data", ""),
        ("http://", "", "redirected to what is no address"),
        ("https://[::1", "", "redirected to what is no address"),
        ("http://0x7f.1/", "", "redirected to what is no address"),
    ],
)
def test_redirects_to_anything_but_the_web_are_not_followed(location: str, refused: str, error: str) -> None:
    fetched = Scene({A + "/1": away(location)}).visit(A + "/1")
    assert (fetched.response, fetched.refused, fetched.error) == (None, refused, error)


def test_a_redirect_to_nowhere_is_an_answer() -> None:
    fetched = Scene({A + "/1": page(status=302)}).visit(A + "/1")
    assert fetched.response is not None
    assert fetched.response.status == 302


# -- what belongs to the owner


def test_the_owners_headers_go_to_their_own_origin_only() -> None:
    pages: dict[str, Page] = {
        A + "/1": away("/2"),
        A + "/2": away(B + "/3"),
        B + "/3": away("http://a.example/4"),
        "http://a.example/4": away("https://a.example:8443/5"),
        "https://a.example:8443/5": away(A + "/6"),
        A + "/6": page("x"),
    }
    scene = Scene(pages)
    scene.visit(A + "/1", {"Authorization": "secret", "X-Key": "k"}, {"If-None-Match": '"1"'})
    with_key = [url for url, sent in zip(scene.asked, scene.web.headers, strict=True) if "X-Key" in sent]
    with_secret = [url for url, sent in zip(scene.asked, scene.web.headers, strict=True) if "Authorization" in sent]
    assert with_key == with_secret == [A + "/1", A + "/2", A + "/6"]


def test_a_header_takes_its_secret_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECRAWL_PAGE_TOKEN", "sesame")
    scene = Scene({A + "/1": away(B + "/2"), B + "/2": page("x")})
    fetched = scene.visit(A + "/1", {"Authorization": "Bearer env:RECRAWL_PAGE_TOKEN", "X-Env": "RECRAWL_PAGE_TOKEN"})
    sent = [(headers.get("Authorization"), headers.get("X-Env")) for headers in scene.web.headers if "X-Env" in headers]
    assert sent == [("Bearer sesame", "RECRAWL_PAGE_TOKEN")]
    assert "sesame" not in repr(fetched)


@pytest.mark.parametrize(("held", "words"), [
    (None, "a header needs the environment variable RECRAWL_PAGE_TOKEN, which is not set"),
    ("two\r\nX-Other: lines", "the environment holds what no header can be, for Authorization"),
])  # fmt: skip
def test_without_its_secret_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, held: str | None, words: str) -> None:
    monkeypatch.delenv("RECRAWL_PAGE_TOKEN", raising=False)
    if held is not None:
        monkeypatch.setenv("RECRAWL_PAGE_TOKEN", held)
    scene = Scene({A + "/1": page("x")})
    fetched = scene.visit(A + "/1", {"Authorization": "env:RECRAWL_PAGE_TOKEN"})
    assert (fetched.response, fetched.error) == (None, words)
    assert scene.asked == []


def test_credentials_in_an_url_stay_at_their_origin_and_out_of_sight() -> None:
    scene = Scene({A + "/1": away(B + "/2"), B + "/2": away("https://eve:pw@b.example/3"), B + "/3": page("x")})
    fetched = scene.visit("https://me:sesame@a.example/1")
    sent = dict(zip(scene.asked, scene.web.headers, strict=True))
    assert "Authorization" in sent[A + "/1"]
    assert not any("Authorization" in headers for url, headers in sent.items() if url != A + "/1")
    assert "sesame" not in repr(fetched)
    assert fetched.final_url == B + "/3"


# -- robots.txt


def test_what_robots_txt_forbids_is_not_fetched_nor_paid_for() -> None:
    scene = Scene({A + "/robots.txt": page("User-agent: recrawl\nDisallow: /feed")})
    fetched = scene.visit(A + "/feed")
    assert (fetched.refused, fetched.requests, scene.request_budget.paid) == ("robots.txt does not allow it", 1, 0)
    assert scene.visit(A + "/feed").requests == 0


def test_robots_txt_that_fails_refuses_for_a_while_without_asking_again() -> None:
    scene = Scene({A + "/robots.txt": page(status=500), A + "/feed": page("x")})
    first, second = scene.visit(A + "/feed"), scene.visit(A + "/feed")
    assert first.refused == second.refused == "robots.txt cannot be read: status 500"
    assert (first.requests, second.requests) == (1, 0)
    assert first.retry_at == second.retry_at == scene.clock.now() + RETRY_S
    scene.clock.advance(RETRY_S)
    assert scene.visit(A + "/feed").requests == 1


def test_a_host_without_answer_is_an_error_first_and_a_refusal_while_it_is_remembered() -> None:
    scene = Scene({A + "/robots.txt": TransportError("timeout", "too late")})
    assert (scene.visit(A + "/feed").error, scene.visit(A + "/feed").refused) == (
        "too late",
        "robots.txt cannot be read: no answer",
    )


@pytest.mark.parametrize("reason", ["connect", "dns"])
def test_robots_txt_is_asked_for_again_as_soon_as_there_may_be_a_connection(reason: Reason) -> None:
    scene = Scene({A + "/robots.txt": TransportError(reason, "nobody there"), A + "/feed": page("x")}, backoff="1m")
    for _ in range(2):
        fetched = scene.visit(A + "/feed")
        assert (fetched.error, fetched.reason, fetched.retry_at) == ("nobody there", reason, 0.0)
    assert 60 <= fetched.host_held_until - scene.clock.now() <= 90
    del scene.web.pages[A + "/robots.txt"]
    scene.clock.advance(90.0)
    assert scene.visit(A + "/feed").response is not None
    assert scene.fetcher.drain_robots()[0].status == 404


def test_without_a_connection_the_last_good_robots_txt_counts() -> None:
    text = "User-agent: *\nDisallow: /no"
    stored = Robots(origin=A, fetched=START - 9e4, status=200, body=text, good=text, expires=START - 1)
    scene = Scene({A + "/robots.txt": TransportError("dns", "no such name")}, stored=stored)
    assert scene.visit(A + "/no").refused == "robots.txt does not allow it"


def test_robots_alternating_between_rules_and_failure_keeps_the_rules() -> None:
    text = "User-agent: *\nDisallow: /no"
    scene = Scene({A + "/robots.txt": page(text), A + "/yes": page("x"), A + "/no": page("x")})
    for day in range(4):
        scene.web.pages[A + "/robots.txt"] = page(text) if day % 2 == 0 else page(status=500)
        assert scene.visit(A + "/no").refused == "robots.txt does not allow it"
        scene.clock.advance(3 * 3600)
        assert scene.visit(A + "/yes").response is not None
        scene.clock.advance(86_400)


def test_robots_txt_may_redirect_five_times() -> None:
    pages: dict[str, Page] = {f"{B}/{n}": away(f"/{n + 1}") for n in range(1, 5)}
    pages |= {A + "/robots.txt": away(B + "/1"), B + "/5": page("User-agent: *\nDisallow: /feed")}
    assert Scene(pages).visit(A + "/feed").refused == "robots.txt does not allow it"
    endless: dict[str, Page] = {f"{B}/{n}": away(f"/{n + 1}") for n in range(1, 99)}
    endless |= {A + "/robots.txt": away(B + "/1"), A + "/feed": page("x")}
    scene = Scene(endless)
    assert scene.visit(A + "/feed").response is not None
    assert len(scene.asked) == 1 + 5 + 1


def test_robots_txt_that_leads_to_a_private_address_counts_as_failing() -> None:
    inside = "http://10.0.0.1/robots.txt"
    pages: dict[str, Page] = {A + "/robots.txt": away(inside), inside: TransportError("address", "10.0.0.1 is private")}
    scene = Scene(pages)
    assert scene.visit(A + "/feed").error.startswith("robots.txt leads astray")
    assert scene.visit(A + "/feed").refused == "robots.txt cannot be read: no answer"


def test_stored_rules_hold_after_a_restart() -> None:
    text = "User-agent: *\nDisallow: /no\nCrawl-delay: 10"
    stored = Robots(origin=A, fetched=START, status=200, body=text, good=text, expires=START + 1000)
    scene = Scene({A + "/yes": page("x")}, stored=stored, delay="1s")
    assert scene.visit(A + "/no").refused
    scene.visit(A + "/yes")
    assert scene.web.log == [(10.0, A + "/yes")]


def test_robots_may_be_left_unread_where_the_settings_say_so() -> None:
    scene = Scene({A + "/robots.txt": page("User-agent: *\nDisallow: /"), A + "/feed": page("x")}, robots=False)
    assert scene.visit(A + "/feed").requests == 1


# -- over real sockets


@contextlib.asynccontextmanager
async def real(
    handler: Callable[[web.BaseRequest], web.Response], fetching: Fetching
) -> AsyncIterator[tuple[str, Fetcher]]:
    async def handle(request: web.BaseRequest) -> web.Response:
        return handler(request)

    clock = ManualClock(START)
    slots = HostSlots(Politeness(), START, Random(1))
    robots = RobotsCache("recrawl", lambda _: None)
    async with serving(handle) as base:
        fetcher = Fetcher(HttpTransport(fetching, clock), robots, slots, CountingBudget(), clock, fetching)
        try:
            yield base, fetcher
        finally:
            await fetcher.close()


def test_ten_megabytes_of_robots_txt_are_cut_and_obeyed() -> None:
    text = "User-agent: *\nDisallow: /no\n" + "Disallow: /x\n" * 800_000

    def handler(request: web.BaseRequest) -> web.Response:
        return web.Response(text=text if request.path == "/robots.txt" else "news")

    async def scene() -> tuple[FetchResult, FetchResult]:
        async with real(handler, Fetching(allow_private=True)) as (base, fetcher):
            return await fetcher.visit(base + "/no"), await fetcher.visit(base + "/yes")

    forbidden, allowed = asyncio.run(scene())
    assert forbidden.refused == "robots.txt does not allow it"
    assert allowed.response is not None
    assert allowed.response.body == b"news"


@pytest.mark.parametrize("lines", [1, 5000])
def test_large_robots_txt_are_read_and_asked_in_another_thread_also_when_they_were_stored(
    lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "User-agent: *\nDisallow: /no\n" + "Disallow: /x*y\n" * lines
    stored = Robots(origin=A, fetched=START, status=200, body=text, good=text, expires=START + 3600.0)
    threads: list[bool] = []

    def noted(method: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object) -> object:
            threads.append(threading.current_thread() is threading.main_thread())
            return method(*given)

        return call

    monkeypatch.setattr(RobotsCache, "read", noted(RobotsCache.read))
    monkeypatch.setattr(Rules, "allow", noted(Rules.allow))
    scene = Scene({A + "/yes": page("news")}, stored=stored)
    assert scene.visit(A + "/no").refused == "robots.txt does not allow it"
    assert scene.visit(A + "/yes").response is not None
    assert threads == [lines == 1] * 3


def test_a_redirect_into_the_private_network_is_refused_after_the_fact_of_its_name() -> None:
    """A public page redirects to a name that is loopback by definition, and to loopback itself."""
    hidden: list[str] = []

    def handler(request: web.BaseRequest) -> web.Response:
        hidden.append(request.path)
        return web.Response(text="inside")

    async def scene() -> None:
        async with real(handler, Fetching()) as (base, fetcher):
            port = base.rpartition(":")[2]
            inner = fetcher._transport

            class Outside:
                async def fetch(self, request: Request) -> Response:
                    if request.url.startswith(A):
                        path = request.url.removeprefix(A)
                        return NO_ROBOTS if path == "/robots.txt" else away(f"http://{path[1:]}:{port}/secret")
                    return await inner.fetch(request)

                async def close(self) -> None:
                    await inner.close()

            fetcher._transport = Outside()
            for host in ("127.0.0.1", "x.localhost", "[::ffff:127.0.0.1]", "[::1]"):
                fetched = await fetcher.visit(f"{A}/{host}")
                assert fetched.response is None, host
                assert fetched.reason == "address", host

    asyncio.run(scene())
    assert hidden == []


# -- forms


def test_a_form_is_sent_and_paid_for_whatever_robots_txt_says_of_documents() -> None:
    sent: list[bytes | None] = []

    def hub(request: Request) -> Response:
        sent.append(request.form)
        return page(status=202)

    scene = Scene({f"{A}/hub": hub, f"{A}/robots.txt": page("User-agent: *\nDisallow: /")})
    visit = scene.visit(f"{A}/hub", prepaid=0, robots=False, form=b"a=b")
    assert (visit.response and visit.response.status, sent) == (202, [b"a=b"])
    assert (scene.asked, scene.request_budget.paid) == ([f"{A}/hub"], 1)


@pytest.mark.parametrize(("status", "followed"), [(307, True), (308, True), (301, False), (302, False), (303, False)])
def test_a_form_follows_redirects_that_keep_it(status: int, followed: bool) -> None:
    scene = Scene({f"{A}/hub": away(f"{B}/hub", status), f"{B}/hub": page(status=202)})
    visit = scene.visit(f"{A}/hub", robots=False, form=b"a=b")
    assert visit.response is not None
    assert visit.response.status == (202 if followed else status)
    assert scene.asked == [f"{A}/hub", f"{B}/hub"][: 1 + followed]


def test_a_form_is_not_sent_on_from_https_to_http() -> None:
    safe, plain = "https://a.example/hub", "http://a.example/hub"
    scene = Scene({safe: away(plain, 307), plain: page(status=202)})
    visit = scene.visit(safe, robots=False, form=b"a=b")
    assert (visit.response, visit.refused) == (None, "redirected from https to http")
    assert scene.asked == [safe]
