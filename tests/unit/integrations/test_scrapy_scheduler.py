"""The scheduler between Scrapy's engine and recrawl's."""

from __future__ import annotations

import copy
import gc
import logging
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install 'recrawl[scrapy]'")

from scrapy import Request
from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.internet.error import TimeoutError as NoAnswer

from recrawl.errors import ParameterError, StoreFullError
from recrawl.integrations.scrapy import RecrawlAddon, RecrawlSpiderMiddleware, recrawl_observation
from recrawl.integrations.scrapy.visits import VISIT, visit_of

Make = Callable[..., Any]
A, B, C = "https://a.example/1", "https://a.example/2", "https://b.example/1"


class TestUnmarked:
    """As in Scrapy's own scheduler, whatever else is there."""

    SEQUENCE = ((0, "1"), (5, "2"), (-3, "3"), (5, "4"), (0, "1"), (0, "5"), (9, "2"), (-3, "6"))

    @pytest.mark.parametrize("with_sources", [False, True])
    def test_they_come_in_scrapys_order(self, desk: Any, with_sources: bool) -> None:
        own = ScrapyScheduler.from_crawler(desk.crawler)
        own.open(desk.spider)
        if with_sources:
            desk.mark(A)
        taken = []
        for scheduler in (own, desk.scheduler):
            requests = [Request(f"https://x.example/{name}", priority=priority) for priority, name in self.SEQUENCE]
            taken.append([scheduler.enqueue_request(request) for request in requests])
        assert taken[0] == taken[1]
        assert len(desk.scheduler) == len(own) == 6
        order = [[scheduler.next_request() for _ in range(7)] for scheduler in (own, desk.scheduler)]
        assert [r and r.url for r in order[0]] == [r and r.url for r in order[1]]
        assert order[1][-1] is None

    def test_the_duplicate_filter_is_theirs(self, desk: Any) -> None:
        assert desk.crawl(Request(A))
        assert not desk.crawl(Request(A))
        assert desk.crawl(Request(A, dont_filter=True))
        assert desk.mark(A), "a source is no duplicate of a request made once"
        assert desk.mark(A), "and says its terms as often as it likes"

    def test_nothing_is_pending_when_there_is_nothing(self, desk: Any) -> None:
        assert not desk.scheduler.has_pending_requests()
        assert desk.scheduler.next_request() is None
        desk.crawl(Request(A))
        assert desk.scheduler.has_pending_requests()
        desk.scheduler.next_request()
        assert not desk.scheduler.has_pending_requests()

    def test_a_spider_without_sources_is_not_watched(self, desk: Any) -> None:
        desk.crawl(Request(A))
        assert desk.manager.middlewares == ()
        desk.mark(B)
        assert len(desk.manager.middlewares) == 1

    def test_a_job_goes_on_where_it_stopped(self, make: Make, tmp_path: Path) -> None:
        desk = make(JOBDIR=str(tmp_path / "job"))
        for number in range(5):
            desk.crawl(Request(f"https://x.example/{number}", callback=desk.spider.parse, priority=number))
        desk.mark(A, callback=desk.spider.parse_feed)
        desk.wake()
        assert desk.scheduler.next_request().url == "https://x.example/4"
        desk.close()
        again = make(JOBDIR=str(tmp_path / "job"))
        assert not again.crawl(Request("https://x.example/4")), "the filter remembers"
        assert [again.scheduler.next_request().url[-1] for _ in range(4)] == ["3", "2", "1", "0"]
        request = again.next()
        assert (request.url, request.callback) == (A, again.spider.parse_feed)

    def test_both_kinds_take_turns(self, desk: Any) -> None:
        for url in (A, B, C):
            desk.mark(url)
        for number in range(3):
            desk.crawl(Request(f"https://x.example/{number}"))
        kinds = []
        desk.clock.advance(5.0)
        for _ in range(6):
            desk.wake()
            kinds.append(VISIT in desk.scheduler.next_request().meta)
        assert sorted(kinds) == [False] * 3 + [True] * 3
        assert kinds[:2] in ([True, False], [False, True])

    def test_a_request_made_from_a_response_is_no_source_and_no_visit(self, desk: Any) -> None:
        desk.mark(A, errback=desk.spider.complain, headers={"X": "y"})
        request = desk.next()
        response = desk.download(request)

        def callback(response: Any) -> list[Request]:
            made = [
                Request("https://a.example/child", meta=response.meta),
                Request("https://a.example/deep", meta=copy.deepcopy(response.meta)),
                response.request.replace(url="https://a.example/other"),
            ]
            for each in made:
                desk.crawl(each)
            return made

        desk.receive(response, callback)
        assert desk.outcomes() == [("first", "")]
        queued = [desk.scheduler.next_request() for _ in range(3)]
        assert not any(VISIT in each.meta or "recrawl" in each.meta for each in queued)
        assert {each.errback for each in queued} == {None, desk.spider.complain}
        assert len(desk.scheduler.recrawl) == 1


class TestSources:
    def test_a_marked_request_comes_back_when_it_is_due(self, desk: Any) -> None:
        desk.mark(A, callback=desk.spider.parse_feed, cb_kwargs={"k": 1})
        assert desk.scheduler.has_pending_requests()
        assert desk.scheduler.next_request() is None, "the budget starts with nothing"
        for turn in range(3):
            request = desk.next(5.0)
            assert (request.url, request.callback, request.cb_kwargs) == (A, desk.spider.parse_feed, {"k": 1})
            desk.wake(5.0)
            assert desk.scheduler.next_request() is None, "it is in flight"
            desk.answer(request, body=b"<p>%d</p>" % turn)
        assert desk.outcomes() == [("first", ""), ("changed", ""), ("changed", "")]
        assert (desk.stat("visits"), desk.stat("revisits"), desk.stat("changed")) == (3, 2, 2)

    def test_the_budget_is_kept(self, make: Make) -> None:
        desk = make(RECRAWL_BUDGET="2/s", RECRAWL_BURST=1, RECRAWL_MIN_INTERVAL="1ms")
        for number in range(50):
            desk.mark(f"https://h{number}.example/")
        handed = 0
        for step in range(1, 101):
            desk.wake(0.125)
            request = desk.scheduler.next_request()
            if request is not None:
                handed += 1
                desk.answer(request)
            assert handed <= 0.25 * step
        assert handed == 25

    def test_terms_reach_the_store(self, desk: Any) -> None:
        desk.mark(A, {"importance": 3, "half_life": "1h", "max_age": "2h", "cost": 2, "tags": ["t"]})
        desk.wake()
        source = desk.scheduler.recrawl.source(A)
        assert (source.importance, source.half_life, source.max_age) == (3.0, 3600.0, 7200.0)
        assert (source.cost, source.tags, source.kind) == (2.0, ("t",), "key")

    def test_a_mark_without_terms_leaves_those_there_are(self, desk: Any) -> None:
        desk.mark(A, {"importance": 3})
        desk.wake()
        desk.mark(A)
        desk.wake()
        assert desk.scheduler.recrawl.source(A).importance == 3.0

    @pytest.mark.parametrize(
        ("said", "more"),
        [(True, {"method": "POST"}), ({"importance": -1}, {}), ({"half_life": "soon"}, {}), ({"x": 1}, {}), ("x", {})],
    )
    def test_what_cannot_be_a_source_is_dropped_with_a_word(
        self, desk: Any, caplog: pytest.LogCaptureFixture, said: Any, more: dict[str, Any]
    ) -> None:
        with caplog.at_level(logging.ERROR):
            assert not desk.mark(A, said, **more)
        assert "cannot be a source" in caplog.text
        assert desk.stat("refused") == 1

    def test_what_is_dropped_is_named_without_its_password(self, desk: Any, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.ERROR):
            assert not desk.mark(A.replace("://", "://me:canary-4711@"), {"importance": -1})
        assert "cannot be a source" in caplog.text
        assert "canary-4711" not in caplog.text

    def test_false_is_no_mark(self, desk: Any) -> None:
        assert desk.mark(A, False)
        assert desk.scheduler.next_request().url == A

    def test_one_that_cannot_be_kept_works_until_the_restart(
        self, make: Make, caplog: pytest.LogCaptureFixture
    ) -> None:
        desk, seen = make(), []
        with caplog.at_level(logging.WARNING):
            desk.mark(A, callback=seen.append)
            desk.mark(B, callback=seen.append)
        assert caplog.text.count("cannot be kept") == 1
        assert desk.next().callback == seen.append
        desk.close()
        again = make()
        again.wake(1.0)
        again.wake(1.0)
        assert again.scheduler.next_request() is None
        assert {error for _, error in again.outcomes()} == {
            "its request could not be kept: the spider has to yield it again"
        }
        again.mark(A, callback=seen.append)
        assert again.next(60.0).url == A

    def test_a_callback_that_is_gone_is_said_once(self, make: Make, caplog: pytest.LogCaptureFixture) -> None:
        desk = make()
        desk.mark(A)
        desk.wake()
        desk.scheduler.recrawl.add_many({A: {"memo": '{"callback":"parse_gone"}'}})
        with caplog.at_level(logging.WARNING):
            desk.wake(1.0)
        assert "parse_gone" in caplog.text
        assert desk.scheduler.next_request() is None

    def test_one_added_to_the_store_by_others_is_parsed(self, desk: Any, tmp_path: Path) -> None:
        from recrawl.store.base import Source
        from recrawl.store.opening import open_store

        store = open_store(str(tmp_path / "watching.db"))
        store.add([Source(url=A)])
        store.close()
        desk.scheduler._do_chores()
        request = desk.next()
        assert (request.url, request.callback) == (A, None)


class TestVisits:
    def test_a_redirect_belongs_to_the_visit_and_is_paid(self, make: Make) -> None:
        desk = make(RECRAWL_BURST=1)
        desk.mark(A)
        request = desk.next()
        desk.download(request, 301)
        assert desk.crawl(request.replace(url=C))
        assert desk.scheduler.next_request() is None, "it waits for its token"
        redirected = desk.next()
        assert (redirected.url, visit_of(redirected.meta)) == (C, visit_of(request.meta))
        desk.answer(redirected)
        (crawl,) = desk.scheduler.recrawl._waiting.settlements
        assert (crawl.crawl.outcome, crawl.crawl.requests) == ("first", 2)
        assert desk.stat("extra_requests") == 1

    def test_a_retry_goes_before_new_visits(self, make: Make) -> None:
        desk = make(RECRAWL_BURST=1)
        desk.mark(A)
        request = desk.next()
        desk.mark(C)
        desk.wake()
        desk.download(request, 500)
        retry = request.copy()
        retry.meta["retry_times"] = 1
        desk.crawl(retry)
        assert desk.next().url == A
        assert desk.next().url == C

    def test_a_callback_may_ask_for_the_same_again(self, desk: Any) -> None:
        desk.mark(A)
        request = desk.next()

        def empty(response: Any) -> None:
            desk.crawl(response.request.replace(dont_filter=True))

        desk.receive(desk.download(request), empty)
        assert desk.outcomes() == []
        desk.answer(desk.next())
        assert desk.outcomes() == [("first", "")]

    @pytest.mark.parametrize(
        ("status", "headers"),
        [
            (429, {"Retry-After": "120"}),
            (503, {"Retry-After": "120"}),
            (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "120"}),
            (429, {"RateLimit": '"default";r=0;t=120'}),
        ],
    )
    def test_a_host_that_asks_for_time_is_held(self, desk: Any, status: int, headers: dict[str, str]) -> None:
        for url in (A, B, C):
            desk.mark(url)
        first = desk.next(3.0)
        while first.url == C:
            desk.answer(first)
            first = desk.next()
        desk.download(first, status, headers=headers)
        retry = first.copy()
        assert not desk.crawl(retry), "Scrapy's retry is dropped"
        assert desk.outcomes()[-1][0] == "failed"
        seen = set()
        for _ in range(110):
            desk.wake(1.0)
            request = desk.scheduler.next_request()
            if request is not None:
                seen.add(request.url)
                desk.answer(request)
        assert seen == {C}
        for _ in range(30):
            desk.wake(1.0)
            request = desk.scheduler.next_request()
            if request is not None:
                seen.add(request.url)
                desk.answer(request)
        assert seen == {A, B, C}
        assert desk.stat("holds") == 1

    def test_a_request_that_waits_does_not_go_to_a_host_that_is_held_meanwhile(self, desk: Any) -> None:
        desk.mark(A)
        desk.mark(B)
        other = desk.next(3.0)
        desk.wake()
        desk.download(other, 429, headers={"Retry-After": "60"})
        assert desk.scheduler.next_request() is None
        assert desk.outcomes() == [("failed", "the host asked to be left alone")]

    def test_retry_after_to_an_unmarked_request_holds_the_sources_of_its_host(self, desk: Any) -> None:
        desk.mark(A)
        desk.wake()
        desk.download(Request(B), 429, headers={"Retry-After": "60"})
        desk.wake(59.0)
        assert desk.scheduler.next_request() is None
        assert desk.next(2.0).url == A

    def test_validators_are_sent_to_the_same_address_only(self, desk: Any) -> None:
        desk.mark(A)
        desk.answer(desk.next(), headers={"ETag": '"1"', "Last-Modified": "then"})
        request = desk.next(5.0)
        assert (request.headers["If-None-Match"], request.headers["If-Modified-Since"]) == (b'"1"', b"then")
        desk.download(request, 302)
        desk.crawl(request.replace(url=C))
        redirected = desk.next()
        assert "If-None-Match" not in redirected.headers
        desk.answer(redirected, headers={"ETag": '"other"'})
        assert "If-None-Match" not in desk.next(5.0).headers

    def test_not_modified_does_not_bother_the_spider(self, desk: Any) -> None:
        desk.mark(A, callback=desk.spider.parse_feed)
        desk.answer(desk.next(), headers={"ETag": '"1"'})
        request = desk.next(5.0)
        response = desk.answer(request, 304, b"")
        assert response.request.callback(response) is None
        assert response.request.callback != desk.spider.parse_feed
        assert response.meta["handle_httpstatus_list"] == [304]
        assert desk.outcomes()[-1] == ("unchanged", "")
        assert desk.next(5.0).headers["If-None-Match"] == b'"1"'

    def test_a_spider_that_wants_it_gets_not_modified(self, desk: Any) -> None:
        desk.crawl(Request(A, callback=desk.spider.parse_feed, meta={"recrawl": True, "handle_httpstatus_list": [304]}))
        desk.answer(desk.next(), headers={"ETag": '"1"'})
        request = desk.next(5.0)
        desk.answer(request, 304, b"")
        assert request.callback == desk.spider.parse_feed
        assert desk.outcomes()[-1] == ("unchanged", "")

    def test_robots_txt_is_paid_for_once_per_host(self, make: Make) -> None:
        desk = make(ROBOTSTXT_OBEY=True, RECRAWL_BURST=1)
        desk.mark(A)
        desk.wake(1.0)
        assert desk.scheduler.next_request() is None
        request = desk.next(1.0)
        desk.answer(request)
        assert desk.next(1.0).url == A


class TestEnds:
    def ended(self, desk: Any, end: Callable[[Request], Any]) -> tuple[str, str]:
        desk.mark(A, errback=desk.spider.complain)
        end(desk.next())
        return desk.outcomes()[-1]  # type: ignore[no-any-return]

    def test_no_answer(self, desk: Any) -> None:
        outcome, error = self.ended(desk, lambda request: desk.fail(request, NoAnswer("30 s")))
        assert outcome == "failed"
        assert "TimeoutError" in error

    def test_robots_txt(self, desk: Any) -> None:
        end = self.ended(desk, lambda request: desk.fail(request, IgnoreRequest("Forbidden by robots.txt")))
        assert end == ("refused", "IgnoreRequest: Forbidden by robots.txt")

    @pytest.mark.parametrize(("status", "state"), [(404, "active"), (410, "retired")])
    def test_a_status_that_is_no_success(self, desk: Any, status: int, state: str) -> None:
        def end(request: Request) -> None:
            desk.fail(request, HttpError(desk.download(request, status)))

        assert self.ended(desk, end) == ("failed", f"HTTP status {status}")
        assert desk.scheduler.recrawl.source(A).state == state

    def test_a_status_the_spider_handles(self, desk: Any) -> None:
        assert self.ended(desk, lambda request: desk.answer(request, 404)) == ("failed", "HTTP status 404")

    def test_a_callback_that_fails_at_once(self, desk: Any) -> None:
        def end(request: Request) -> None:
            response = desk.download(request)
            desk.scheduler._response_received(response, request, desk.spider)
            desk.middleware.process_spider_exception(response, KeyError("price"))

        assert self.ended(desk, end) == ("failed", "the callback failed: KeyError: 'price'")

    def test_a_callback_that_fails_on_its_way(self, desk: Any) -> None:
        def callback(response: Any) -> Any:
            yield 1
            desk.middleware.process_spider_exception(response, KeyError("price"))  # as Scrapy does

        end = self.ended(desk, lambda request: desk.receive(desk.download(request), callback))
        assert end == ("failed", "the callback failed: KeyError: 'price'")

    def test_an_answer_of_the_http_cache_teaches_nothing(self, make: Make) -> None:
        desk = make(HTTPCACHE_ENABLED=True)
        desk.mark(A)
        request = desk.next()
        assert request.headers["Cache-Control"] == b"max-age=0"
        assert "If-None-Match" not in request.headers
        desk.receive(HtmlResponse(A, body=b"old", request=request, flags=["cached"]))
        assert desk.outcomes() == [("failed", "answered by Scrapy's HTTP cache: the server was not asked")]

    def test_one_it_asked_the_server_about_does(self, make: Make) -> None:
        desk = make(HTTPCACHE_ENABLED=True)
        desk.mark(A)
        for _ in range(2):
            request = desk.next(5.0)
            desk.download(request, 304)
            desk.receive(HtmlResponse(A, body=b"old", request=request, flags=["cached"]))
        assert desk.outcomes() == [("first", ""), ("unchanged", "")]

    def test_a_request_that_vanished_is_noticed(self, desk: Any) -> None:
        desk.mark(A)
        request = desk.next()
        del request
        gc.collect()
        desk.scheduler._do_chores()
        assert desk.outcomes() == [("failed", "lost: its request vanished without an answer or an error")]
        assert desk.stat("lost") == 1
        assert desk.next(61.0).url == A

    def test_closing_gives_back_what_is_under_way(self, make: Make) -> None:
        desk = make()
        for url in (A, B, C):
            desk.mark(url)
        flying = [desk.next(2.0)]
        desk.wake(1.0)
        desk.close()
        assert desk.stat("released") == 2
        again = make()
        assert len(again.scheduler.recrawl) == 3
        urls = {again.next(1.0).url for _ in range(3)}
        assert urls == {A, B, C}
        assert flying

    def test_the_spiders_own_errback_is_called(self, desk: Any) -> None:
        called = []
        desk.mark(A, errback=called.append)
        desk.fail(desk.next(), NoAnswer())
        assert len(called) == 1

    def test_without_one_the_failure_goes_on(self, desk: Any) -> None:
        desk.mark(A)
        failure = desk.fail(desk.next(), NoAnswer())
        assert isinstance(failure.value, NoAnswer)


class TestObservations:
    def visit(self, desk: Any, **told: Any) -> Any:
        desk.receive(desk.download(desk.next(60.0)), lambda response: recrawl_observation(response, **told))
        desk.scheduler.recrawl.flush()
        return desk.scheduler.recrawl._store.crawls(limit=1)[0]

    def test_listed_items_are_new_once(self, desk: Any) -> None:
        desk.mark(A)
        now = desk.clock.now()
        assert self.visit(desk, published=[now, now]).new == 2
        assert self.visit(desk, published=[now, now, now + 60]).new == 1
        assert self.visit(desk, ids=["a"], published=[now]).new == 1
        assert self.visit(desk, ids=["a", "b"]).new == 1
        assert self.visit(desk, ids=["a", "b"]).outcome == "unchanged"

    def test_a_spider_may_know_better(self, desk: Any) -> None:
        desk.mark(A)
        self.visit(desk, changed=True)
        assert self.visit(desk, changed=True).outcome == "changed"
        assert self.visit(desk, changed=False).outcome == "unchanged"
        assert self.visit(desk, new=3).new == 3
        assert self.visit(desk, new=0).outcome == "unchanged"

    def test_nonsense_is_named(self, desk: Any) -> None:
        desk.mark(A)
        response = desk.download(desk.next())
        with pytest.raises(ParameterError, match="ids"):
            recrawl_observation(response, ids=["a"], published=[])
        for argument, wrong in (
            ("new", {"new": -1}),
            ("new", {"new": 2.7}),
            ("changed", {"changed": "no"}),
            ("published", {"published": [math.nan]}),
            ("published", {"published": 1.7e9}),
            ("published", {"published": ["today"]}),
            ("ids", {"ids": "guid"}),
        ):
            with pytest.raises(ParameterError, match=argument):
                recrawl_observation(response, **wrong)

    def test_other_responses_are_left_alone(self, desk: Any) -> None:
        recrawl_observation(desk.download(Request(A)), new=1)

    def test_the_digest_is_of_what_a_page_says(self, desk: Any) -> None:
        desk.mark(A)
        for body in (b"<p>news</p><script>1</script>", b"<p>news</p><script>2</script>", b"<p>other</p>"):
            desk.answer(desk.next(5.0), body=body)
        assert [outcome for outcome, _ in desk.outcomes()] == ["first", "unchanged", "changed"]

    def test_or_of_all_of_it(self, make: Make) -> None:
        desk = make(RECRAWL_DIGEST="raw")
        desk.mark(A)
        for body in (b"<p>news</p><script>1</script>", b"<p>news</p><script>2</script>"):
            desk.answer(desk.next(5.0), body=body)
        assert [outcome for outcome, _ in desk.outcomes()] == ["first", "changed"]


def test_nothing_is_visited_while_the_store_is_full_and_nothing_is_lost(
    desk: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(batch: Any) -> None:
        raise StoreFullError("no space left")

    def wait_for_the_writer() -> None:
        desk.scheduler._writing.exception(timeout=60)

    store = desk.scheduler.recrawl._store
    desk.mark(A)
    desk.answer(desk.next())
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(store, "commit", full)
        desk.scheduler._do_chores()
        wait_for_the_writer()
        desk.scheduler._do_chores()
        wait_for_the_writer()
        assert "no space left" in caplog.text
        desk.wake(5.0)
        assert desk.scheduler.next_request() is None
    desk.scheduler._do_chores()
    wait_for_the_writer()
    desk.scheduler._do_chores()
    assert desk.outcomes() == [("first", "")]
    assert desk.next(1.0).url == A


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("RECRAWL_DIGEST", "md5", "text, raw"),
        ("RECRAWL_CONDITIONAL", "maybe", "True or False"),
        ("RECRAWL_BUDGET", "fast", "60/min"),
        ("RECRAWL_BURST", "none", "at least 1"),
        ("RECRAWL_HALF_LIFE", "6 parsecs", "6h"),
        ("RECRAWL_MAX_AGE", -1, "6h"),
        ("RECRAWL_MIN_INTERVAL", "soon", "6h"),
        ("RECRAWL_OBJECTIVE", "fresh", "did you mean 'freshness'"),
        ("RECRAWL_POLICY", "minflux", "did you mean 'miniflux'"),
        ("RECRAWL_BUGDET", "60/min", "did you mean RECRAWL_BUDGET"),
    ],
)
def test_settings_that_make_no_sense_are_named(make: Make, setting: str, value: object, words: str) -> None:
    with pytest.raises(ParameterError, match=f"{setting}.*{words}|{words}.*{setting}|{setting}.*; {words}"):
        make(**{setting: value})
    make().close()


def test_a_visit_does_not_outlive_its_process(desk: Any) -> None:
    desk.mark(A)
    assert pickle.loads(pickle.dumps(visit_of(desk.next().meta))) == A


def test_the_add_on_sets_the_same() -> None:
    from scrapy.settings import Settings

    settings = Settings()
    RecrawlAddon().update_settings(settings)
    assert settings["SCHEDULER"].__name__ == "RecrawlScheduler"
    assert RecrawlSpiderMiddleware in settings["SPIDER_MIDDLEWARES"]


class TestPolicies:
    def test_another_policy_may_decide(self, make: Make) -> None:
        desk = make(RECRAWL_POLICY="miniflux")
        desk.mark(A)
        assert desk.next().url == A
        assert type(desk.scheduler.recrawl._decider.policy).__name__ == "Miniflux"

    def test_one_that_cannot_run_live_is_refused(self, make: Make) -> None:
        with pytest.raises(ParameterError, match="RECRAWL_POLICY must be one that can run live"):
            make(RECRAWL_POLICY="whittle")
