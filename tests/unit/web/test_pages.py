from __future__ import annotations

import re
from typing import Literal

import msgspec
import pytest

from made_up import NOW
from recrawl.clock import ManualClock
from recrawl.config import Config, Fetching, SourceOptions, TagSettings
from recrawl.crawl import live_budget
from recrawl.crawl.stored_settings import leave_settings
from recrawl.store.records import Batch, Crawl, Item, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.context import Context
from recrawl.web.views.history_replay import rules
from recrawl.wiring import make_policy
from visitor import Visitor

PAGES = (
    "/",
    "/sources",
    "/items",
    "/items?q=library",
    "/whatif",
    "/fleet",
    "/api",
    "/feed.atom",
    "/sources.opml",
    "/metrics",
)

QUERIES = (
    "page=0", "page=-1", "page=99999999", "page=x", "order=evil", "state=evil", "tag=%00", "q=%00", "q=%ff%fe",
    "q=%22", "q=*", "q=AND+OR+NOT", "q=%ed%a0%80", "source=x", "source=99", "within=x", "within=-1d",
    "page=1&page=2", "q=" + "x" * 5000, "budget=x", "budget=0/s", "budget=1e400/s",
    "budget=-1", "budget=1e-300/day", "page=١",
)  # fmt: skip


class TestEveryPage:
    def test_it_is_there_on_an_empty_store(self, visitor: Visitor) -> None:
        for path in PAGES:
            assert visitor.get(path).status == 200, path

    def test_it_is_there_on_a_full_one(self, filled: SqliteStore, visitor: Visitor) -> None:
        for path in (*PAGES, "/sources/1", "/sources/11", "/sources/12"):
            assert visitor.get(path).status == 200, path

    @pytest.mark.parametrize(
        ("path", "status"),
        [("/nowhere", 404), ("/sources/99", 404), ("/sources/abc", 404), ("/sources/-1", 404), ("/go/99", 404),
         ("/sources/99999999999999999999999", 404), ("/static/../app.py", 404), ("/static/none.js", 404)],
    )  # fmt: skip
    def test_what_is_not_there_is_said_in_words(self, visitor: Visitor, path: str, status: int) -> None:
        assert visitor.get(path).status == status

    @pytest.mark.parametrize("path", ["/sources", "/items", "/whatif", "/feed.atom"])
    def test_no_query_breaks_it(self, filled: SqliteStore, visitor: Visitor, path: str) -> None:
        for query in QUERIES:
            assert visitor.get(f"{path}?{query}").status in (200, 422), query

    def test_a_method_that_is_not_offered_is_refused(self, visitor: Visitor) -> None:
        token = visitor.token()
        assert visitor.ask("PUT", "/sources", headers={"x-csrf-token": token}).status == 405


class TestOverview:
    def test_the_first_visit_says_what_to_do_next(self, visitor: Visitor) -> None:
        text = visitor.get("/").text
        assert "Nothing to crawl yet" in text
        assert "recrawl run" in text
        assert 'action="/sources"' in text

    def test_the_overview_begins_with_what_was_found(self, filled: SqliteStore, visitor: Visitor) -> None:
        text = visitor.get("/").text
        found = filled.items(limit=1)[0].title
        places = [text.index(words) for words in ("New items", "Changes of pages", found, "Due next", "Budget", "<svg")]
        assert places == sorted(places)
        assert "The index is what a fetch of the source is worth now" in text
        assert "what a fetch has to be worth" in text
        told = visitor.get("/api/v1/status").json
        totals = filled.totals(NOW - 86400)
        assert (told["day_new"], told["day_changed"], told["day_errors"]) == (totals.new, totals.changed, totals.failed)

    def test_a_source_that_never_answered_is_not_described(self, filled: SqliteStore, visitor: Visitor) -> None:
        (added,) = filled.add([Source(url="https://never.example/feed")])
        text = visitor.get(f"/sources/{added.id}").text
        assert "it has not answered so far" in text
        assert "Half-life</dt>" not in text
        assert "Index now" not in text
        assert "0 visits" not in text

    def test_hosts_are_named_without_what_is_said_to_log_in(self, store: SqliteStore, visitor: Visitor) -> None:
        (added,) = store.add([Source(url="https://me:secret@a.example/feed", title="A")])
        crawl = Crawl(source=added.id, at=NOW - 1.0, outcome="new")
        progress = Progress(source=added.id, last=NOW - 1.0, visits=1)
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress)]))
        text = visitor.get("/").text
        assert "a.example</th>" in text
        assert "secret" not in text

    def test_it_shows_what_is_spent_and_what_is_next(self, filled: SqliteStore, visitor: Visitor) -> None:
        text = visitor.get("/").text
        for words in ("Budget", "Price", "Due next", "Fetches by host", "market.example", "<svg"):
            assert words in text

    def test_it_says_whether_anybody_crawls(self, filled: SqliteStore, visitor: Visitor, clock: ManualClock) -> None:
        assert "No crawler is at work" in visitor.get("/").text
        filled.claim("process 7 on a machine", NOW)
        clock.advance(5.0)
        assert "No crawler is at work" not in visitor.get("/").text


class TestSources:
    def test_it_sorts_both_ways(self, filled: SqliteStore, visitor: Visitor) -> None:
        rising = re.findall(
            r'<th scope="row" class="wide"><a href="/sources/(\d+)"', visitor.get("/sources?order=title").text
        )
        falling = re.findall(
            r'<th scope="row" class="wide"><a href="/sources/(\d+)"', visitor.get("/sources?order=-title").text
        )
        assert len(rising) == 12
        assert falling == rising[::-1]
        assert 'aria-sort="descending"' in visitor.get("/sources?order=-title").text

    def test_orders_of_many_sources_are_kept_for_a_while_and_say_how_long(self, visitor, store, clock, monkeypatch):
        def shown(query: str) -> list[int]:
            found = re.findall(r'<th scope="row" class="wide"><a href="/sources/(\d+)"', visitor.get(query).text)
            return [int(each) for each in found]

        store.add([Source(url=f"https://a.example/{k}") for k in range(120)])
        store.commit(Batch(progress=[Progress(source=k, last=NOW, value=float(k)) for k in range(1, 121)]))
        plainly = [shown(f"/sources?order=-value&page={page}") for page in (1, 2, 3)]
        monkeypatch.setattr("recrawl.web.views.catalogue.MANY", 100)
        assert [shown(f"/sources?order=-value&page={page}") for page in (1, 2, 3)] == plainly
        store.commit(Batch(progress=[Progress(source=7, last=NOW, value=999.0)]))
        store.remove([120])
        clock.advance(10.0)
        assert shown("/sources?order=-value") == plainly[0][1:]
        assert "sorted 10" in visitor.get("/sources?order=-value").text
        clock.advance(60.0)
        assert shown("/sources?order=-value")[0] == 7
        assert "sorted" not in visitor.get("/sources?order=id&page=2").text.split("<table")[0]

    def test_it_filters(self, filled: SqliteStore, visitor: Visitor) -> None:
        assert "1 source match" in visitor.get("/sources?q=harbour").text
        assert "Harbour News" not in visitor.get("/sources?state=paused").text
        assert "Quiet Corner" in visitor.get("/sources?state=paused").text

    def test_a_source_is_added_with_its_terms(self, store: SqliteStore, visitor: Visitor) -> None:
        form = {"url": "Example.org/feed", "importance": "2", "half_life": "6h", "max_age": "", "tags": "a, b"}
        assert visitor.form("/sources", form).header("location") == "/sources/1?done=added"
        source = store.source(1)
        assert source is not None
        assert (source.url, source.importance, source.half_life) == ("https://example.org/feed", 2.0, 21600.0)
        assert source.tags == ("a", "b")

    def test_one_that_is_there_is_not_added_twice(self, store: SqliteStore, visitor: Visitor) -> None:
        visitor.form("/sources", {"url": "https://a.example/"})
        assert visitor.form("/sources", {"url": "HTTPS://A.example"}).header("location") == "/sources/1?done=known"

    @pytest.mark.parametrize(
        "url",
        ["", "javascript:alert(1)", "file:///etc/passwd", "http://127.0.0.1/", "http://localhost/x", "http://[::1]/",
         "http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://2130706433/", "http://0x7f.1/",
         "http://[::ffff:10.0.0.1]/", "http://user:pass@a.example/", "https://" + "a" * 5000],
    )  # fmt: skip
    def test_addresses_that_must_not_be_crawled_are_refused(
        self, store: SqliteStore, visitor: Visitor, url: str
    ) -> None:
        answer = visitor.form("/sources", {"url": url})
        assert answer.status == 422
        assert 'role="alert"' in answer.text
        assert store.count() == 0

    def test_private_ones_are_taken_where_the_settings_say_so(self, store: SqliteStore, clock: ManualClock) -> None:
        visitor = Visitor(make_app(store, Config(fetch=Fetching(allow_private=True)), clock))
        assert visitor.form("/sources", {"url": "http://127.0.0.1:8000/feed"}).status == 303

    @pytest.mark.parametrize(
        ("name", "value"),
        [("importance", "x"), ("importance", "-1"), ("importance", "nan"), ("importance", "1e300"),
         ("half_life", "soon"), ("half_life", "0s"), ("max_age", "-1d"), ("tags", "x" * 200),
         ("tags", ",".join(map(str, range(30)))),
         ("kind", "evil"), ("select", "<<<")],
    )  # fmt: skip
    def test_terms_that_make_no_sense_are_named(
        self, store: SqliteStore, visitor: Visitor, name: str, value: str
    ) -> None:
        answer = visitor.form("/sources", {"url": "https://a.example/", name: value})
        assert answer.status == 422
        assert name in answer.text
        assert store.count() == 0

    def test_a_list_comes_in_and_goes_out(self, store: SqliteStore, visitor: Visitor) -> None:
        opml = (
            '<opml version="2.0"><body><outline text="city"><outline xmlUrl="https://a.example/feed" text="A"/>'
            '<outline xmlUrl="http://127.0.0.1/"/></outline></body></opml>'
        )
        body = (
            f'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{visitor.token()}\r\n--x\r\n'
            f'Content-Disposition: form-data; name="list"; filename="a.opml"\r\n\r\n{opml}\r\n--x--\r\n'
        )
        answer = visitor.ask(
            "POST", "/sources/import", body.encode(), {"content-type": "multipart/form-data; boundary=x"}
        )
        assert "1 added, 0 were there already, 1 could not be used" in answer.text
        assert 'xmlUrl="https://a.example/feed"' in visitor.get("/sources.opml").text

    def test_of_many_lines_that_are_refused_a_few_are_shown(self, store: SqliteStore, visitor: Visitor) -> None:
        text = visitor.form("/sources/import", {"list": "not\n" * 2872}).text
        assert text.count("url must be") == 20
        assert "and 2,852 more lines" in text


class TestOneSource:
    def test_it_explains_and_draws(self, filled: SqliteStore, visitor: Visitor) -> None:
        text = visitor.get("/sources/1").text
        for words in ("Due in", "price 0.", ">now<", "Crawls over time", "Believed value", "Harbour"):
            assert words in text, words

    @pytest.mark.parametrize("state", ["retired", "paused"])
    def test_one_that_is_not_fetched_has_no_chart_of_when(
        self, filled: SqliteStore, visitor: Visitor, state: Literal["retired", "paused"]
    ) -> None:
        source = filled.source(1)
        assert source is not None
        filled.edit([msgspec.structs.replace(source, state=state, note="gone since May")])
        text = visitor.get("/sources/1").text
        assert "Why it is not fetched" in text
        assert ("Retired and not fetched again: gone since May." in text) == (state == "retired")
        for words in ("due at", "It is fetched where they meet", "Index now", "Cadence", "At this price it is fetched"):
            assert words not in text, words

    def test_a_page_shows_what_changed(self, filled: SqliteStore, visitor: Visitor) -> None:
        text = visitor.get("/sources/11").text
        assert '<p class="changed">Apples <del>3.60</del><ins>3.70</ins>' in text
        assert "<td>Apples <del>3.60</del></td><td>Apples <ins>3.70</ins></td>" in text

    def test_its_owner_says_more_of_it_and_takes_it_back(self, filled: SqliteStore, visitor: Visitor) -> None:
        form = {"importance": "3", "interval": "2h", "robots": "no", "ignore": "nav\r\n.ads, .more\r\n", "digest": ""}
        assert visitor.form("/sources/1", form).header("location") == "/sources/1?done=changed"
        said = SourceOptions(interval=7200.0, robots=False, ignore=("nav", ".ads, .more"))
        assert filled.source(1).options == said  # type: ignore[union-attr]
        text = visitor.get("/sources/1").text
        assert 'name="interval" type="text" maxlength="20" value="2h"' in text
        assert ">nav\n.ads, .more</textarea>" in text
        assert "ignore_text[0] must be a regular expression" in visitor.form("/sources/1", {"ignore_text": "("}).text
        visitor.form("/sources/1", {"interval": "", "robots": "", "ignore": ""})
        assert filled.source(1).options == SourceOptions()  # type: ignore[union-attr]

    def test_its_owner_changes_pauses_resumes_and_removes_it(self, filled: SqliteStore, visitor: Visitor) -> None:
        form = {"importance": "3", "half_life": "", "max_age": "7d", "tags": "x", "kind": "feed", "select": ""}
        assert visitor.form("/sources/1", form).header("location") == "/sources/1?done=changed"
        source = filled.source(1)
        assert source is not None
        assert (source.importance, source.half_life, source.max_age, source.tags) == (3.0, None, 604800.0, ("x",))
        for act, state in (("pause", "paused"), ("resume", "active")):
            visitor.form(f"/sources/1/{act}", {})
            assert filled.source(1).state == state  # type: ignore[union-attr]
        visitor.form("/sources/1/crawl", {})
        assert filled.source(1).wanted == NOW  # type: ignore[union-attr]
        visitor.form("/sources/1/remove", {})
        assert filled.source(1) is None


class TestBudget:
    def test_the_one_looked_at_is_asked_of_the_crawler_that_runs(self, filled: SqliteStore, visitor: Visitor) -> None:
        assert "from now on</button>" not in visitor.get("/whatif?budget=120/min").text
        assert "no crawler runs" in visitor.form("/budget", {"budget": "120/min"}).text
        filled.claim("process 1 here", NOW)
        live_budget.begin(filled, "process 1 here", 1.0)
        assert "Crawl at 120/min from now on</button>" in visitor.get("/whatif?budget=120/min").text
        assert visitor.form("/budget", {"budget": "120/min"}).header("location") == "/whatif?done=budget"
        assert live_budget.read(filled).wanted == 2.0  # type: ignore[union-attr]
        assert visitor.form("/budget", {"budget": "much"}).status == 422


class TestItems:
    def test_the_worthiest_come_first(self, store: SqliteStore, visitor: Visitor) -> None:
        store.add([Source(url="https://a.example/", importance=1.0), Source(url="https://b.example/", importance=4.0)])
        old = NOW - 12 * 3600
        items = [
            Item(source=1, key=1, title="fresh and plain", link="https://a.example/1", first_seen=NOW - 1),
            Item(source=2, key=2, title="older but dear", link="https://b.example/1", first_seen=old),
            Item(source=1, key=3, title="older and plain", link="https://a.example/2", first_seen=old),
        ]
        for item in items:
            crawl = Crawl(source=item.source, at=item.first_seen, outcome="new")
            store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=item.source), items=[item])]))
        text = visitor.get("/items").text
        places = [text.index(item.title) for item in (items[1], items[0], items[2])]
        assert places == sorted(places)

    def test_what_is_worth_most_goes_by_the_settings_in_force_and_their_tags(
        self, store: SqliteStore, visitor: Visitor
    ) -> None:
        leave_settings(store, Config(half_life="1h", tags={"dear": TagSettings(importance=8.0, half_life="2h")}))
        (added,) = store.add([Source(url="https://a.example/", tags=("dear",))])
        item = Item(source=added.id, key=1, title="A", link="https://a.example/1", first_seen=NOW - 2 * 3600.0)
        crawl = Crawl(source=added.id, at=item.first_seen, outcome="new")
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=added.id), items=[item])]))
        assert visitor.get("/api/v1/items").json["items"][0]["worth"] == pytest.approx(4.0)
        assert visitor.get("/api/v1/sources").json["sources"][0]["importance"] == 8.0

    def test_a_search_marks_what_was_looked_for(self, filled: SqliteStore, visitor: Visitor) -> None:
        assert "<mark>Library</mark>" in visitor.get("/items?q=library").text

    def test_a_search_without_results_says_so(self, filled: SqliteStore, visitor: Visitor) -> None:
        assert "Nothing has all of these words" in visitor.get("/items?q=zyzzyva").text

    def test_an_item_opens_by_way_of_a_counted_click(self, filled: SqliteStore, visitor: Visitor) -> None:
        answer = visitor.get("/go/1")
        item = filled.item(1)
        assert item is not None
        assert (answer.status, answer.header("location")) == (303, item.link)
        assert answer.header("referrer-policy") == "no-referrer"
        assert filled.click_totals(item.source).clicks == 1

    def test_one_person_counts_once_per_item(self, filled: SqliteStore, visitor: Visitor, clock: ManualClock) -> None:
        for _ in range(5):
            visitor.get("/go/1")
        assert filled.click_totals(1).clicks == 1
        visitor.address = "127.0.0.2"
        visitor.get("/go/1")
        assert filled.click_totals(1).clicks == 2

    @pytest.mark.parametrize(
        "headers",
        [{"user-agent": "Googlebot/2.1"}, {"user-agent": ""}, {"user-agent": "curl/8"}, {"purpose": "prefetch"},
         {"sec-purpose": "prefetch;prerender"}, {"x-moz": "prefetch"}, {"sec-fetch-site": "cross-site"},
         {"sec-fetch-dest": "image"}],
    )  # fmt: skip
    def test_machines_and_prefetches_do_not_count(
        self, filled: SqliteStore, visitor: Visitor, headers: dict[str, str]
    ) -> None:
        assert visitor.get("/go/1", **headers).status == 303
        assert visitor.ask("HEAD", "/go/1").status == 303
        assert filled.click_totals(1).clicks == 0

    def test_nothing_of_a_reader_is_kept(self, filled: SqliteStore, visitor: Visitor) -> None:
        visitor.get("/go/1")
        (click,) = filled.clicks()
        assert re.fullmatch("[0-9a-f]{16}", click.client)
        assert "127.0.0.1" not in repr(click)


class TestWhatIf:
    def test_it_compares_two_budgets(self, filled: SqliteStore, visitor: Visitor) -> None:
        text = visitor.get("/whatif?budget=45/day").text
        for words in ("40/day", "45/day", "What would change most", "Interest captured, by budget"):
            assert words in text

    def test_a_budget_that_is_none_is_named(self, filled: SqliteStore, visitor: Visitor) -> None:
        answer = visitor.get("/whatif?budget=lots")
        assert answer.status == 422
        assert "budget must be a rate" in answer.text

    def test_it_replays_ones_own_history(self, filled: SqliteStore, visitor: Visitor) -> None:
        answer = visitor.form("/whatif", {"budget": "60/day"})
        assert answer.status == 200
        assert re.search(r'<th scope="row">round robin</th><td class="number">[\d.]+ %</td>', answer.text)

    def test_the_replay_runs_the_policy_that_runs_live(self, filled: SqliteStore, clock: ManualClock) -> None:
        live = Config(half_life="3h", cold_start=0.25, objective="discovery")
        leave_settings(filled, live)
        context = Context(filled, Config(), clock)
        ran, made = rules(context)["recrawl"], make_policy(live)
        for name in ("objective", "half_life", "cold_start"):
            assert getattr(ran, name) == getattr(made, name), name
        assert type(ran) is type(made)
        leave_settings(filled, Config(policy="miniflux"))
        context.cached.forget()
        assert set(rules(context)) == {"miniflux", "round robin"}

    def test_a_replay_needs_history(self, store: SqliteStore, visitor: Visitor) -> None:
        store.add([Source(url="https://a.example/")])
        crawl = Crawl(source=1, at=NOW - 5, outcome="first")
        progress = Progress(source=1, last=NOW - 5, value=1.0, rate=1e-5)
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress)]))
        assert "too little history" in visitor.form("/whatif", {"budget": "60/day"}).text
