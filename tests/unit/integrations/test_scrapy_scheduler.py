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

from recrawl.errors import ParameterError, StoreError, StoreFullError
from recrawl.integrations.scrapy import RecrawlAddon, RecrawlSpiderMiddleware, recrawl_observation
from recrawl.integrations.scrapy.visits import VISIT, visit_of

Make = Callable[..., Any]
A, B, C = "https://a.example/1", "https://a.example/2", "https://b.example/1"


class TestUnmarked:
    """As in Scrapy's own scheduler, whatever else is there."""

    SEQUENCE = ((0, "1"), (5, "2"), (-3, "3"), (5, "4"), (0, "1"), (0, "5"), (9, "2"), (-3, "6"))

    @pytest.mark.parametrize("with_sources", [False, True])
    def test_they_come_in_scrapys_order(self, engine: Any, with_sources: bool) -> None:
        own = ScrapyScheduler.from_crawler(engine.crawler)
        own.open(engine.spider)
        if with_sources:
            engine.mark(A)
        taken = []
        for scheduler in (own, engine.scheduler):
            requests = [Request(f"https://x.example/{name}", priority=priority) for priority, name in self.SEQUENCE]
            taken.append([scheduler.enqueue_request(request) for request in requests])
        assert taken[0] == taken[1]
        assert len(engine.scheduler) == len(own) == 6
        order = [[scheduler.next_request() for _ in range(7)] for scheduler in (own, engine.scheduler)]
        assert [r and r.url for r in order[0]] == [r and r.url for r in order[1]]
        assert order[1][-1] is None

    def test_the_duplicate_filter_is_theirs(self, engine: Any) -> None:
        assert engine.crawl(Request(A))
        assert not engine.crawl(Request(A))
        assert engine.crawl(Request(A, dont_filter=True))
        assert engine.mark(A), "a source is no duplicate of a request made once"
        assert engine.mark(A), "and says its terms as often as it likes"

    def test_nothing_is_pending_when_there_is_nothing(self, engine: Any) -> None:
        assert not engine.scheduler.has_pending_requests()
        assert engine.scheduler.next_request() is None
        engine.crawl(Request(A))
        assert engine.scheduler.has_pending_requests()
        engine.scheduler.next_request()
        assert not engine.scheduler.has_pending_requests()

    def test_a_spider_without_sources_is_not_watched(self, engine: Any) -> None:
        engine.crawl(Request(A))
        assert engine.manager.middlewares == ()
        engine.mark(B)
        assert len(engine.manager.middlewares) == 1

    def test_a_job_goes_on_where_it_stopped(self, make: Make, tmp_path: Path) -> None:
        engine = make(JOBDIR=str(tmp_path / "job"))
        for number in range(5):
            engine.crawl(Request(f"https://x.example/{number}", callback=engine.spider.parse, priority=number))
        engine.mark(A, callback=engine.spider.parse_feed)
        engine.wake()
        assert engine.scheduler.next_request().url == "https://x.example/4"
        engine.close()
        again = make(JOBDIR=str(tmp_path / "job"))
        assert not again.crawl(Request("https://x.example/4")), "the filter remembers"
        assert [again.scheduler.next_request().url[-1] for _ in range(4)] == ["3", "2", "1", "0"]
        request = again.next()
        assert (request.url, request.callback) == (A, again.spider.parse_feed)

    def test_both_kinds_take_turns(self, engine: Any) -> None:
        for url in (A, B, C):
            engine.mark(url)
        for number in range(3):
            engine.crawl(Request(f"https://x.example/{number}"))
        kinds = []
        engine.clock.advance(5.0)
        for _ in range(6):
            engine.wake()
            kinds.append(VISIT in engine.scheduler.next_request().meta)
        assert sorted(kinds) == [False] * 3 + [True] * 3
        assert kinds[:2] in ([True, False], [False, True])

    def test_a_request_made_from_a_response_is_no_source_and_no_visit(self, engine: Any) -> None:
        engine.mark(A, errback=engine.spider.complain, headers={"X": "y"})
        request = engine.next()
        response = engine.download(request)

        def callback(response: Any) -> list[Request]:
            made = [
                Request("https://a.example/child", meta=response.meta),
                Request("https://a.example/deep", meta=copy.deepcopy(response.meta)),
                response.request.replace(url="https://a.example/other"),
            ]
            for each in made:
                engine.crawl(each)
            return made

        engine.receive(response, callback)
        assert engine.outcomes() == [("first", "")]
        queued = [engine.scheduler.next_request() for _ in range(3)]
        assert not any(VISIT in each.meta or "recrawl" in each.meta for each in queued)
        assert {each.errback for each in queued} == {None, engine.spider.complain}
        assert len(engine.scheduler.recrawl) == 1


class TestSources:
    def test_a_marked_request_comes_back_when_it_is_due(self, engine: Any) -> None:
        engine.mark(A, callback=engine.spider.parse_feed, cb_kwargs={"k": 1})
        assert engine.scheduler.has_pending_requests()
        assert engine.scheduler.next_request() is None, "the budget starts with nothing"
        for turn in range(3):
            request = engine.next(5.0)
            assert (request.url, request.callback, request.cb_kwargs) == (A, engine.spider.parse_feed, {"k": 1})
            engine.wake(5.0)
            assert engine.scheduler.next_request() is None, "it is in flight"
            engine.answer(request, body=b"<p>%d</p>" % turn)
        assert engine.outcomes() == [("first", ""), ("changed", ""), ("changed", "")]
        assert (engine.stat("visits"), engine.stat("revisits"), engine.stat("changed")) == (3, 2, 2)

    def test_the_budget_is_kept(self, make: Make) -> None:
        engine = make(RECRAWL_BUDGET="2/s", RECRAWL_BURST=1, RECRAWL_MIN_INTERVAL="1ms")
        for number in range(50):
            engine.mark(f"https://h{number}.example/")
        handed = 0
        for step in range(1, 101):
            engine.wake(0.125)
            request = engine.scheduler.next_request()
            if request is not None:
                handed += 1
                engine.answer(request)
            assert handed <= 0.25 * step
        assert handed == 25

    def test_terms_reach_the_store(self, engine: Any) -> None:
        engine.mark(A, {"importance": 3, "half_life": "1h", "max_age": "2h", "cost": 2, "tags": ["t"]})
        engine.wake()
        source = engine.scheduler.recrawl.source(A)
        assert (source.importance, source.half_life, source.max_age) == (3.0, 3600.0, 7200.0)
        assert (source.cost, source.tags, source.kind) == (2.0, ("t",), "key")

    def test_a_mark_without_terms_leaves_those_there_are(self, engine: Any) -> None:
        engine.mark(A, {"importance": 3})
        engine.wake()
        engine.mark(A)
        engine.wake()
        assert engine.scheduler.recrawl.source(A).importance == 3.0

    @pytest.mark.parametrize(
        ("said", "more"),
        [(True, {"method": "POST"}), ({"importance": -1}, {}), ({"half_life": "soon"}, {}), ({"x": 1}, {}), ("x", {})],
    )
    def test_what_cannot_be_a_source_is_dropped_with_a_word(
        self, engine: Any, caplog: pytest.LogCaptureFixture, said: Any, more: dict[str, Any]
    ) -> None:
        with caplog.at_level(logging.ERROR):
            assert not engine.mark(A, said, **more)
        assert "cannot be a source" in caplog.text
        assert engine.stat("refused") == 1

    def test_what_is_dropped_is_named_without_its_password(self, engine: Any, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.ERROR):
            assert not engine.mark(A.replace("://", "://me:canary-4711@"), {"importance": -1})
        assert "cannot be a source" in caplog.text
        assert "canary-4711" not in caplog.text

    def test_false_is_no_mark(self, engine: Any) -> None:
        assert engine.mark(A, False)
        assert engine.scheduler.next_request().url == A

    def test_one_that_cannot_be_kept_works_until_the_restart(
        self, make: Make, caplog: pytest.LogCaptureFixture
    ) -> None:
        engine, seen = make(), []
        with caplog.at_level(logging.WARNING):
            engine.mark(A, callback=seen.append)
            engine.mark(B, callback=seen.append)
        assert caplog.text.count("cannot be kept") == 1
        assert engine.next().callback == seen.append
        engine.close()
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
        engine = make()
        engine.mark(A)
        engine.wake()
        engine.scheduler.recrawl.add_many({A: {"memo": '{"callback":"parse_gone"}'}})
        with caplog.at_level(logging.WARNING):
            engine.wake(1.0)
        assert "parse_gone" in caplog.text
        assert engine.scheduler.next_request() is None

    def test_one_added_to_the_store_by_others_is_parsed(self, engine: Any, tmp_path: Path) -> None:
        from recrawl.store.opening import open_store
        from recrawl.store.records import Source

        store = open_store(str(tmp_path / "watching.db"))
        store.add([Source(url=A)])
        store.close()
        engine.scheduler._maintain()
        request = engine.next()
        assert (request.url, request.callback) == (A, None)


class TestVisits:
    def test_a_redirect_belongs_to_the_visit_and_is_paid(self, make: Make) -> None:
        engine = make(RECRAWL_BURST=1)
        engine.mark(A)
        request = engine.next()
        engine.download(request, 301)
        assert engine.crawl(request.replace(url=C))
        assert engine.scheduler.next_request() is None, "it waits for its token"
        redirected = engine.next()
        assert (redirected.url, visit_of(redirected.meta)) == (C, visit_of(request.meta))
        engine.answer(redirected)
        (crawl,) = engine.scheduler.recrawl._pending._batch.updates
        assert (crawl.crawl.outcome, crawl.crawl.requests) == ("first", 2)
        assert engine.stat("extra_requests") == 1

    def test_a_retry_goes_before_new_visits(self, make: Make) -> None:
        engine = make(RECRAWL_BURST=1)
        engine.mark(A)
        request = engine.next()
        engine.mark(C)
        engine.wake()
        engine.download(request, 500)
        retry = request.copy()
        retry.meta["retry_times"] = 1
        engine.crawl(retry)
        assert engine.next().url == A
        assert engine.next().url == C

    def test_a_callback_may_ask_for_the_same_again(self, engine: Any) -> None:
        engine.mark(A)
        request = engine.next()

        def empty(response: Any) -> None:
            engine.crawl(response.request.replace(dont_filter=True))

        engine.receive(engine.download(request), empty)
        assert engine.outcomes() == []
        engine.answer(engine.next())
        assert engine.outcomes() == [("first", "")]

    @pytest.mark.parametrize(
        ("status", "headers"),
        [
            (429, {"Retry-After": "120"}),
            (503, {"Retry-After": "120"}),
            (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "120"}),
            (429, {"RateLimit": '"default";r=0;t=120'}),
        ],
    )
    def test_a_host_that_asks_for_time_is_held(self, engine: Any, status: int, headers: dict[str, str]) -> None:
        for url in (A, B, C):
            engine.mark(url)
        first = engine.next(3.0)
        while first.url == C:
            engine.answer(first)
            first = engine.next()
        engine.download(first, status, headers=headers)
        retry = first.copy()
        assert not engine.crawl(retry), "Scrapy's retry is dropped"
        assert engine.outcomes()[-1][0] == "failed"
        seen = set()
        for _ in range(110):
            engine.wake(1.0)
            request = engine.scheduler.next_request()
            if request is not None:
                seen.add(request.url)
                engine.answer(request)
        assert seen == {C}
        for _ in range(30):
            engine.wake(1.0)
            request = engine.scheduler.next_request()
            if request is not None:
                seen.add(request.url)
                engine.answer(request)
        assert seen == {A, B, C}
        assert engine.stat("holds") == 1

    def test_a_request_that_waits_does_not_go_to_a_host_that_is_held_meanwhile(self, engine: Any) -> None:
        engine.mark(A)
        engine.mark(B)
        other = engine.next(3.0)
        engine.wake()
        engine.download(other, 429, headers={"Retry-After": "60"})
        assert engine.scheduler.next_request() is None
        assert engine.outcomes() == [("failed", "the host asked to be left alone")]

    def test_retry_after_to_an_unmarked_request_holds_the_sources_of_its_host(self, engine: Any) -> None:
        engine.mark(A)
        engine.wake()
        engine.download(Request(B), 429, headers={"Retry-After": "60"})
        engine.wake(59.0)
        assert engine.scheduler.next_request() is None
        assert engine.next(2.0).url == A

    def test_validators_are_sent_to_the_same_address_only(self, engine: Any) -> None:
        engine.mark(A)
        engine.answer(engine.next(), headers={"ETag": '"1"', "Last-Modified": "then"})
        request = engine.next(5.0)
        assert (request.headers["If-None-Match"], request.headers["If-Modified-Since"]) == (b'"1"', b"then")
        engine.download(request, 302)
        engine.crawl(request.replace(url=C))
        redirected = engine.next()
        assert "If-None-Match" not in redirected.headers
        engine.answer(redirected, headers={"ETag": '"other"'})
        assert "If-None-Match" not in engine.next(5.0).headers

    def test_not_modified_does_not_bother_the_spider(self, engine: Any) -> None:
        engine.mark(A, callback=engine.spider.parse_feed)
        engine.answer(engine.next(), headers={"ETag": '"1"'})
        request = engine.next(5.0)
        response = engine.answer(request, 304, b"")
        assert response.request.callback(response) is None
        assert response.request.callback != engine.spider.parse_feed
        assert response.meta["handle_httpstatus_list"] == [304]
        assert engine.outcomes()[-1] == ("unchanged", "")
        assert engine.next(5.0).headers["If-None-Match"] == b'"1"'

    def test_a_spider_that_wants_it_gets_not_modified(self, engine: Any) -> None:
        engine.crawl(
            Request(A, callback=engine.spider.parse_feed, meta={"recrawl": True, "handle_httpstatus_list": [304]})
        )
        engine.answer(engine.next(), headers={"ETag": '"1"'})
        request = engine.next(5.0)
        engine.answer(request, 304, b"")
        assert request.callback == engine.spider.parse_feed
        assert engine.outcomes()[-1] == ("unchanged", "")

    def test_robots_txt_is_paid_for_once_per_host(self, make: Make) -> None:
        engine = make(ROBOTSTXT_OBEY=True, RECRAWL_BURST=1)
        engine.mark(A)
        engine.wake(1.0)
        assert engine.scheduler.next_request() is None
        request = engine.next(1.0)
        engine.answer(request)
        assert engine.next(1.0).url == A


class TestEnds:
    def ended(self, engine: Any, end: Callable[[Request], Any]) -> tuple[str, str]:
        engine.mark(A, errback=engine.spider.complain)
        end(engine.next())
        return engine.outcomes()[-1]  # type: ignore[no-any-return]

    def test_no_answer(self, engine: Any) -> None:
        outcome, error = self.ended(engine, lambda request: engine.fail(request, NoAnswer("30 s")))
        assert outcome == "failed"
        assert "TimeoutError" in error

    def test_robots_txt(self, engine: Any) -> None:
        end = self.ended(engine, lambda request: engine.fail(request, IgnoreRequest("Forbidden by robots.txt")))
        assert end == ("refused", "IgnoreRequest: Forbidden by robots.txt")

    @pytest.mark.parametrize(("status", "state"), [(404, "active"), (410, "retired")])
    def test_a_status_that_is_no_success(self, engine: Any, status: int, state: str) -> None:
        def end(request: Request) -> None:
            engine.fail(request, HttpError(engine.download(request, status)))

        assert self.ended(engine, end) == ("failed", f"HTTP status {status}")
        assert engine.scheduler.recrawl.source(A).state == state

    def test_a_status_the_spider_handles(self, engine: Any) -> None:
        assert self.ended(engine, lambda request: engine.answer(request, 404)) == ("failed", "HTTP status 404")

    def test_a_callback_that_fails_at_once(self, engine: Any) -> None:
        def end(request: Request) -> None:
            response = engine.download(request)
            engine.scheduler._response_received(response, request, engine.spider)
            engine.middleware.process_spider_exception(response, KeyError("price"))

        assert self.ended(engine, end) == ("failed", "the callback failed: KeyError: 'price'")

    def test_a_callback_that_fails_on_its_way(self, engine: Any) -> None:
        def callback(response: Any) -> Any:
            yield 1
            engine.middleware.process_spider_exception(response, KeyError("price"))  # as Scrapy does

        end = self.ended(engine, lambda request: engine.receive(engine.download(request), callback))
        assert end == ("failed", "the callback failed: KeyError: 'price'")

    def test_an_answer_of_the_http_cache_teaches_nothing(self, make: Make) -> None:
        engine = make(HTTPCACHE_ENABLED=True)
        engine.mark(A)
        request = engine.next()
        assert request.headers["Cache-Control"] == b"max-age=0"
        assert "If-None-Match" not in request.headers
        engine.receive(HtmlResponse(A, body=b"old", request=request, flags=["cached"]))
        assert engine.outcomes() == [("failed", "answered by Scrapy's HTTP cache: the server was not asked")]

    def test_one_it_asked_the_server_about_does(self, make: Make) -> None:
        engine = make(HTTPCACHE_ENABLED=True)
        engine.mark(A)
        for _ in range(2):
            request = engine.next(5.0)
            engine.download(request, 304)
            engine.receive(HtmlResponse(A, body=b"old", request=request, flags=["cached"]))
        assert engine.outcomes() == [("first", ""), ("unchanged", "")]

    def test_a_request_that_vanished_is_noticed(self, engine: Any) -> None:
        engine.mark(A)
        request = engine.next()
        del request
        gc.collect()
        engine.scheduler._maintain()
        assert engine.outcomes() == [("failed", "lost: its request vanished without an answer or an error")]
        assert engine.stat("lost") == 1
        assert engine.next(61.0).url == A

    def test_one_whose_loss_cannot_be_reported_is_not_counted_as_under_way(
        self, engine: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*given: Any, **more: Any) -> None:
            raise StoreError("the store is away")

        engine.mark(A)
        request = engine.next()
        del request
        gc.collect()
        with monkeypatch.context() as patch:
            patch.setattr(engine.scheduler.recrawl, "report", broken)
            engine.scheduler._maintain()
        engine.close()
        assert (engine.stat("lost"), engine.stat("released")) == (0, 0)

    def test_closing_gives_back_what_is_under_way(self, make: Make) -> None:
        engine = make()
        for url in (A, B, C):
            engine.mark(url)
        flying = [engine.next(2.0)]
        engine.wake(1.0)
        engine.close()
        assert engine.stat("released") == 2
        again = make()
        assert len(again.scheduler.recrawl) == 3
        urls = {again.next(1.0).url for _ in range(3)}
        assert urls == {A, B, C}
        assert flying

    def test_the_spiders_own_errback_is_called(self, engine: Any) -> None:
        called = []
        engine.mark(A, errback=called.append)
        engine.fail(engine.next(), NoAnswer())
        assert len(called) == 1

    def test_without_one_the_failure_goes_on(self, engine: Any) -> None:
        engine.mark(A)
        failure = engine.fail(engine.next(), NoAnswer())
        assert isinstance(failure.value, NoAnswer)


class TestObservations:
    def visit(self, engine: Any, **told: Any) -> Any:
        engine.receive(engine.download(engine.next(60.0)), lambda response: recrawl_observation(response, **told))
        engine.scheduler.recrawl.flush()
        return engine.scheduler.recrawl._store.crawls(limit=1)[0]

    def test_listed_items_are_new_once(self, engine: Any) -> None:
        engine.mark(A)
        now = engine.clock.now()
        assert self.visit(engine, published=[now, now]).new == 2
        assert self.visit(engine, published=[now, now, now + 60]).new == 1
        assert self.visit(engine, ids=["a"], published=[now]).new == 1
        assert self.visit(engine, ids=["a", "b"]).new == 1
        assert self.visit(engine, ids=["a", "b"]).outcome == "unchanged"

    def test_a_spider_may_know_better(self, engine: Any) -> None:
        engine.mark(A)
        self.visit(engine, changed=True)
        assert self.visit(engine, changed=True).outcome == "changed"
        assert self.visit(engine, changed=False).outcome == "unchanged"
        assert self.visit(engine, new=3).new == 3
        assert self.visit(engine, new=0).outcome == "unchanged"

    def test_nonsense_is_named(self, engine: Any) -> None:
        engine.mark(A)
        response = engine.download(engine.next())
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

    def test_other_responses_are_left_alone(self, engine: Any) -> None:
        """A word about a response that is no visit of ours raises nothing."""
        recrawl_observation(engine.download(Request(A)), new=1)

    def test_the_digest_is_of_what_a_page_says(self, engine: Any) -> None:
        engine.mark(A)
        for body in (b"<p>news</p><script>1</script>", b"<p>news</p><script>2</script>", b"<p>other</p>"):
            engine.answer(engine.next(5.0), body=body)
        assert [outcome for outcome, _ in engine.outcomes()] == ["first", "unchanged", "changed"]

    def test_or_of_all_of_it(self, make: Make) -> None:
        engine = make(RECRAWL_DIGEST="raw")
        engine.mark(A)
        for body in (b"<p>news</p><script>1</script>", b"<p>news</p><script>2</script>"):
            engine.answer(engine.next(5.0), body=body)
        assert [outcome for outcome, _ in engine.outcomes()] == ["first", "changed"]


def test_nothing_is_visited_while_the_store_is_full_and_nothing_is_lost(
    engine: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(batch: Any) -> None:
        raise StoreFullError("no space left")

    def wait_for_the_writer() -> None:
        engine.scheduler._writing.exception(timeout=60)

    store = engine.scheduler.recrawl._store
    engine.mark(A)
    engine.answer(engine.next())
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(store, "commit", full)
        engine.scheduler._maintain()
        wait_for_the_writer()
        engine.scheduler._maintain()
        wait_for_the_writer()
        assert "no space left" in caplog.text
        engine.wake(5.0)
        assert engine.scheduler.next_request() is None
    engine.scheduler._maintain()
    wait_for_the_writer()
    engine.scheduler._maintain()
    assert engine.outcomes() == [("first", "")]
    assert engine.next(1.0).url == A


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


def test_a_visit_does_not_outlive_its_process(engine: Any) -> None:
    engine.mark(A)
    assert pickle.loads(pickle.dumps(visit_of(engine.next().meta))) == A


def test_the_add_on_sets_the_same() -> None:
    from scrapy.settings import Settings

    settings = Settings()
    RecrawlAddon().update_settings(settings)
    assert settings["SCHEDULER"].__name__ == "RecrawlScheduler"
    assert RecrawlSpiderMiddleware in settings["SPIDER_MIDDLEWARES"]


class TestPolicies:
    def test_another_policy_may_decide(self, make: Make) -> None:
        engine = make(RECRAWL_POLICY="miniflux")
        engine.mark(A)
        assert engine.next().url == A
        assert type(engine.scheduler.recrawl._decider.policy).__name__ == "Miniflux"

    def test_one_that_cannot_run_live_is_refused(self, make: Make) -> None:
        with pytest.raises(ParameterError, match="RECRAWL_POLICY must be one that can run live"):
            make(RECRAWL_POLICY="whittle")
