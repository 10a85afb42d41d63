"""What one visit leads to, case by case."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.config import HintSwitches, SourceOptions
from recrawl.crawl.explaining.why_nothing import WAYS_OUT, RunState, why_nothing
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.transport import Response
from recrawl.crawl.reading.diffs import unified
from recrawl.crawl.reading.findings import Findings, FoundItem
from recrawl.crawl.reading.numbers import missing
from recrawl.crawl.stats import Stats
from recrawl.crawl.visit_outcome import outcome_of
from recrawl.crawl.visits import CrawlRules, Intent, Visit
from recrawl.store.records import Progress, Source, item_key, keys_in, packed
from recrawl.store.source_terms import Defaults

NOW = 1_700_000_000.0
DEFAULTS = Defaults(half_life_s=3600.0)
RULES = CrawlRules(min_interval_s=30.0, backoff_s=60.0, max_backoff_s=3600.0)
SOURCE = Source(id=7, url="https://a.example/feed", kind="feed", title="A", importance=2.0)


def visit(findings=None, *, status=200, source=SOURCE, progress=None, unseen=None, headers=None, diff="", **fetched):
    before = progress or Progress(source=source.id)
    response = None if status is None else Response(source.url, status, headers or {}, b"x" * 10, 0.1)
    intent = Intent(0, source, before, "a.example", 0.5, 0.4, source.terms(DEFAULTS))
    keys = [] if findings is None else [item_key(item.key) for item in findings.items]
    new = set(keys) if unseen is None else {item_key(key) for key in unseen}
    return Visit(
        intent,
        NOW,
        FetchResult(response=response, final_url=source.url, requests=2, **fetched),
        findings,
        keys=keys,
        unseen=new,
        diff=diff,
    )


def feed(*items, **more):
    found = tuple(FoundItem(key=key, title=key, link=f"https://a.example/{key}", published=at) for key, at in items)
    return Findings(kind="feed", title="A", items=found, **more)


def visited(**more):
    return Progress(source=7, last=NOW - 7200.0, visits=3, listing=packed([item_key("old")]), **more)


def test_a_first_visit_teaches_from_the_backlog_and_captures_nothing():
    settled = outcome_of(visit(feed(("a", NOW - 100), ("b", NOW - 50))), RULES)
    crawl = settled.crawl
    assert (crawl.outcome, crawl.new, crawl.captured, crawl.requests) == ("first", 2, 0.0, 2)
    assert settled.published == [NOW - 100, NOW - 50]
    assert [item.title for item in settled.items] == ["a", "b"]
    assert keys_in(settled.progress.listing) == [item_key("a"), item_key("b")]


def test_items_are_stored_oldest_first_as_the_publisher_lists_those_of_one_date():
    listed = feed(("new", NOW - 5), ("undated", None), ("newer", NOW - 1), ("twin", NOW - 5), ("also undated", None))
    stored = outcome_of(visit(listed), RULES)
    assert [item.title for item in stored.items] == ["also undated", "undated", "twin", "new", "newer"]
    assert [msgspec.json.decode(event.body)["item"]["title"] for event in stored.events] == [
        item.title for item in stored.items
    ]


def test_what_is_visible_late_is_worth_what_is_left_then():
    now_at, later = NOW - 1800.0, msgspec.structs.replace(SOURCE, options=SourceOptions(index_delay=7200.0))
    listed = feed(("a", now_at), ("b", None))
    plain = outcome_of(visit(listed, progress=visited()), RULES).crawl.captured
    assert outcome_of(visit(listed, progress=visited(), source=later), RULES).crawl.captured == pytest.approx(plain / 4)
    batch = msgspec.structs.replace(SOURCE, options=SourceOptions(index_batch=86400.0))
    wait = 86400.0 - NOW % 86400.0
    found = outcome_of(visit(listed, progress=visited(), source=batch), RULES).crawl.captured
    assert found == pytest.approx(plain * 2.0 ** (-wait / 3600.0))
    counted = replace(RULES, ephemeral=False)
    assert outcome_of(visit(listed, progress=visited(), source=later), counted).crawl.captured == 4.0


def test_new_items_are_worth_importance_times_what_has_not_faded():
    settled = outcome_of(visit(feed(("a", NOW - 3600), ("old", NOW - 9999)), progress=visited(), unseen=["a"]), RULES)
    assert settled.crawl.captured == pytest.approx(2.0 * 0.5)
    assert settled.crawl.outcome == "new"
    assert settled.published == [NOW - 3600]
    assert len(settled.events) == 1


def test_undated_items_are_worth_the_average_over_the_gap():
    settled = outcome_of(visit(feed(("a", None), ("old", None)), progress=visited(), unseen=["a"]), RULES)
    decayed = 2.0 * math.log(2.0)
    assert settled.crawl.captured == pytest.approx(2.0 * (1 - math.exp(-decayed)) / decayed)
    assert (settled.published, settled.new) == ([], 1)


def test_a_list_with_nothing_known_is_censored_and_what_was_missed_is_estimated():
    items = [(f"n{k}", NOW - 60.0 * k) for k in range(1, 11)]
    settled = outcome_of(visit(feed(*items), progress=visited()), RULES)
    assert settled.crawl.censored
    assert settled.new == int(10 * (7200 / 600 - 1))


def test_a_list_that_reaches_back_to_the_last_visit_is_not_censored():
    settled = outcome_of(visit(feed(("a", NOW - 1), ("old", NOW - 9000)), progress=visited(), unseen=["a"]), RULES)
    assert not settled.crawl.censored
    assert settled.new == 0


def test_what_the_publisher_says_of_its_pace_stands_in_for_a_missing_backlog():
    settled = outcome_of(visit(feed(("a", None), period_s=3600.0)), RULES)
    assert settled.published == [NOW - 7200.0, NOW - 3600.0]


def test_not_modified_keeps_validators_and_listing():
    before = visited(etag='"1"', modified="yesterday")
    settled = outcome_of(visit(status=304, progress=before), RULES)
    after = settled.progress
    assert (after.etag, after.modified, after.listing) == ('"1"', "yesterday", before.listing)
    assert (settled.crawl.outcome, after.last, after.visits) == ("unchanged", NOW, 4)


def test_validators_of_an_answer_replace_the_old_ones():
    settled = outcome_of(visit(feed(), progress=visited(etag='"1"', modified="m"), headers={"etag": '"2"'}), RULES)
    assert (settled.progress.etag, settled.progress.modified) == ('"2"', "")


def test_a_validator_need_not_be_ascii():
    settled = outcome_of(visit(feed(), progress=visited(), headers={"etag": '"\u00fcber-1"'}), RULES)
    assert settled.progress.etag == '"\u00fcber-1"'


PAGE = Source(id=7, url="https://a.example/page", kind="page")


def test_a_changed_page_stores_a_readable_difference():
    found = Findings(kind="page", text="price 12\nterms", digest="new")
    diff = unified("price 10\nterms", found.text)
    settled = outcome_of(visit(found, source=PAGE, progress=visited(digest="old"), diff=diff), RULES)
    version = settled.version
    assert settled.crawl.outcome == "changed"
    assert "-price 10" in version.diff
    assert "+price 12" in version.diff
    assert settled.changed
    (change,) = settled.items
    assert (change.kind, change.title, change.link) == ("change", PAGE.title, PAGE.url)
    assert (change.summary, change.first_seen) == ("price 12", version.at)


@pytest.mark.parametrize(("digest", "outcome"), [("", "first"), ("same", "unchanged")])
def test_a_page_without_a_change_is_a_baseline_or_unchanged(digest, outcome):
    before = Progress(source=7) if not digest else visited(digest=digest)
    settled = outcome_of(visit(Findings(kind="page", text="t", digest="same"), source=PAGE, progress=before), RULES)
    assert settled.crawl.outcome == outcome
    assert not settled.changed
    assert settled.events == settled.items == []


def test_failures_in_a_row_wait_twice_as_long_each_and_are_noted():
    holds, progress = [], visited()
    for _ in range(3):
        settled = outcome_of(visit(status=500, progress=progress), RULES)
        progress = settled.progress
        holds.append(settled.hold_until - NOW)
    assert 45 <= holds[0] <= 75
    assert 90 <= holds[1] <= 150
    assert progress.failures == 3
    assert settled.source.note == "failing: HTTP status 500"
    assert settled.kind == "failed"


def test_back_off_is_bounded():
    settled = outcome_of(visit(status=None, error="no answer", progress=visited(failures=500)), RULES)
    assert settled.hold_until - NOW <= 1.25 * RULES.max_backoff_s


@pytest.mark.parametrize("digest", ["same", "another"])
@pytest.mark.parametrize("which", ["price", 'text:(a|b) is not "there"'])
def test_that_a_number_is_missing_is_said_until_it_is_back(digest, which):
    found = Findings(kind="page", text="t", digest="same", remark=missing(which))
    gone = outcome_of(visit(found, source=PAGE, progress=visited(digest="same")), RULES).source
    assert gone.note == missing(which)
    again = msgspec.structs.replace(found, remark="", digest=digest)
    assert outcome_of(visit(again, source=gone, progress=visited(digest="same")), RULES).source.note == ""


def test_an_answer_forgets_failures_and_their_note():
    source = msgspec.structs.replace(SOURCE, note="failing: HTTP status 500")
    settled = outcome_of(visit(feed(("a", NOW)), source=source, progress=visited(failures=5)), RULES)
    assert settled.progress.failures == 0
    assert settled.source.note == ""


@given(
    status=st.sampled_from([None, 403, 429, 500, 502, 503]),
    failures=st.integers(0, 50),
    held_s=st.floats(0.0, 7 * 86_400.0),
    backoff_s=st.floats(1.0, 3600.0),
)
def test_after_a_hold_of_its_host_another_source_goes_first(status, failures, held_s, backoff_s):
    rules = replace(RULES, backoff_s=backoff_s, max_backoff_s=2.0 * backoff_s)
    failed = visit(status=status, progress=visited(failures=failures), host_held_until=NOW + held_s)
    alone = visit(status=status, progress=visited(failures=failures))
    assert outcome_of(failed, rules).hold_until >= NOW + held_s + 0.75 * backoff_s
    assert outcome_of(failed, rules).hold_until == pytest.approx(outcome_of(alone, rules).hold_until + held_s)


def test_the_only_source_of_a_host_waits_no_longer_than_that_asked_for():
    failed = visit(status=429, host_held_until=NOW + 600.0)
    failed = msgspec.structs.replace(failed, intent=msgspec.structs.replace(failed.intent, alone=True))
    assert outcome_of(failed, RULES).hold_until == NOW + 600.0
    failed = msgspec.structs.replace(failed, fetched=replace(failed.fetched, host_held_until=NOW + 1.0))
    assert outcome_of(failed, RULES).hold_until == NOW + RULES.min_interval_s
    failed = msgspec.structs.replace(failed, fetched=replace(failed.fetched, host_held_until=0.0))
    assert outcome_of(failed, RULES).hold_until >= NOW + 0.75 * RULES.backoff_s


def test_robots_refusals_wait_as_long_as_the_copy_is_good():
    settled = outcome_of(visit(status=None, refused="robots.txt does not allow it", retry_at=NOW + 500), RULES)
    assert settled.crawl.outcome == "refused"
    assert settled.hold_until == NOW + 500


def test_gone_retires_and_says_so():
    settled = outcome_of(visit(status=410, progress=visited()), RULES)
    assert (settled.source.state, settled.hold_until) == ("retired", math.inf)
    assert len(settled.events) == 1


def test_what_is_gone_is_not_held_for_what_it_was_refused_for_before():
    held = visited(held_until=NOW - 1.0, held_by="a private address", held_cause="address", held_under="12ab")
    made = visit(status=410, progress=held)
    update = outcome_of(made, RULES)
    progress = update.progress
    assert (progress.held_until, progress.held_by, progress.held_cause, progress.held_under) == (0.0, "", "", "")
    stats, told = Stats(), []
    stats.told = lambda cause, words: told.append((cause, words))
    stats.add(made, update)
    assert told == [("gone", "HTTP status 410: gone")]
    (why,) = why_nothing(stats, RunState(now=NOW, known=1, active=0))
    assert why.text == f"the only fetch failed: HTTP status 410: gone; {WAYS_OUT['gone']}"
    assert "private" not in why.text


def test_a_permanent_move_is_believed_the_second_time():
    once = outcome_of(visit(feed(("a", NOW)), progress=visited(), moved_to="https://b.example/feed"), RULES)
    assert once.source is None
    assert once.progress.moved_seen == 1
    twice = outcome_of(visit(feed(("a", NOW)), progress=once.progress, moved_to="https://b.example/feed"), RULES)
    assert twice.source.url == "https://b.example/feed"
    assert twice.source.note == "moved from https://a.example/feed"


def test_a_source_with_headers_does_not_move_to_another_origin():
    source = msgspec.structs.replace(SOURCE, headers={"Authorization": "secret"})
    before = visited(moved_to="https://b.example/feed", moved_seen=1)
    made = visit(feed(("a", NOW)), source=source, progress=before, moved_to="https://b.example/feed")
    line = outcome_of(made, RULES).source
    assert line.url == source.url
    assert "not followed" in line.note


def test_headers_do_not_go_to_sitemaps_of_another_origin():
    source = Source(id=7, url="https://a.example/sitemap.xml", kind="sitemap", headers={"Authorization": "secret"})
    found = Findings(kind="sitemap", children=("https://a.example/1.xml", "http://a.example/2.xml"))
    own, foreign = outcome_of(visit(found, source=source), RULES).children
    assert (own.headers, foreign.headers) == ({"Authorization": "secret"}, {})


def test_a_list_that_is_followed_leads_to_its_pages_on_its_terms():
    options = SourceOptions(follow=True, robots=False)
    source = Source(id=7, url="https://a.example/map.xml", kind="sitemap", options=options, select="main", wanted=NOW)
    found = Findings(kind="sitemap", items=tuple(FoundItem(key=k, link=f"https://a.example/{k}") for k in "12"))
    one, two = outcome_of(visit(found, source=source), RULES).children
    assert (one.url, two.url, one.kind, one.found_on) == (
        "https://a.example/1", "https://a.example/2", "page", "a.example",
    )  # fmt: skip
    assert (one.options, one.select, one.wanted) == (SourceOptions(robots=False), "main", 0.0)
    tagged = msgspec.structs.replace(source, tags=("t",))
    assert outcome_of(visit(found, source=tagged), RULES).children[0].options.follow is False
    assert (
        outcome_of(visit(found, source=msgspec.structs.replace(source, options=SourceOptions())), RULES).children == []
    )


def test_a_followed_page_leads_to_pages_of_its_own_host_and_its_selector_is_not_theirs():
    source = Source(
        id=7, url="https://a.example/feed", kind="page", options=SourceOptions(follow=True), select="ul.news"
    )
    found = Findings(kind="page", digest="1", links=("https://a.example/1", "https://b.example/2"))
    (child,) = outcome_of(visit(found, source=source), RULES).children
    assert (child.url, child.select) == ("https://a.example/1", "")


def test_what_a_document_says_of_others_is_told():
    items = (FoundItem(key="1", link="https://a.example/1", modified=NOW - 5.0), FoundItem(key="2", link="x"))
    said = outcome_of(visit(Findings(kind="feed", items=items)), RULES).mentions
    assert (said.urls, said.lastmod[0], math.isnan(said.lastmod[1]), said.by_order) == (
        ["https://a.example/1", "x"], NOW - 5.0, True, False,
    )  # fmt: skip
    page = outcome_of(visit(Findings(kind="page", digest="1", links=("https://a.example/1",))), RULES).mentions
    assert (page.urls, page.by_order) == (("https://a.example/1",), True)
    assert outcome_of(visit(status=304, progress=visited()), RULES).mentions is None


def test_what_the_publisher_asked_for_outlasts_an_unchanged_answer():
    asked = outcome_of(visit(feed(("a", NOW), stay_away_s=600.0)), RULES).progress
    again = outcome_of(visit(status=304, progress=asked), RULES)
    assert again.hold_until == NOW + 600.0


def held(seconds, document_s=None, **more):
    """Progress after an answer whose headers ask for so much, and whose document asks for that."""
    longest = max(seconds, document_s or 0.0)
    found = feed(("a", NOW), stay_away_s=longest)
    headers = {"cache-control": f"max-age={seconds}", **more}
    return outcome_of(visit(found, headers=headers), RULES).progress


@pytest.mark.parametrize(
    ("headers", "held_s"),
    [
        ({"cache-control": "max-age=300"}, 300.0),
        ({"cache-control": "max-age=900"}, 900.0),
        ({"cache-control": "max-age=900", "age": "800"}, 100.0),
        ({"cache-control": "no-cache"}, 30.0),
        ({"cache-control": "max-age=0"}, 30.0),
        ({"expires": "0"}, 30.0),
        ({"etag": '"2"'}, 600.0),
        ({}, 600.0),
    ],
)
def test_what_an_unchanged_answer_says_of_its_freshness_replaces_what_was_said(headers, held_s):
    again = outcome_of(visit(status=304, progress=held(600), headers=headers), RULES)
    assert again.hold_until == NOW + held_s
    third = outcome_of(visit(status=304, progress=again.progress), RULES)
    assert third.hold_until == NOW + held_s


def test_what_the_document_asks_for_is_not_taken_back_by_headers_of_an_unchanged_answer():
    before = held(60, document_s=600.0)
    assert (
        outcome_of(visit(status=304, progress=before, headers={"cache-control": "no-cache"}), RULES).hold_until
        == NOW + 600
    )
    assert (
        outcome_of(visit(status=304, progress=before, headers={"cache-control": "max-age=900"}), RULES).hold_until
        == NOW + 900
    )


def test_freshness_does_not_count_where_it_is_switched_off():
    rules = CrawlRules(min_interval_s=30.0, hints=HintSwitches(cache_control=False))
    again = outcome_of(visit(status=304, progress=visited(), headers={"cache-control": "max-age=900"}), rules)
    assert again.hold_until == NOW + 30.0


@pytest.mark.parametrize("text", ['"a\x7fb"', '"a\x01b"', '"a\nb"', '"\udcff"', '"' + "a" * 5000 + '"'])
def test_validators_that_cannot_be_sent_are_not_kept(text):
    for status, findings in ((200, feed(("a", NOW))), (304, None)):
        headers = {"etag": text, "last-modified": text}
        progress = outcome_of(visit(findings, status=status, progress=visited(), headers=headers), RULES).progress
        assert (progress.etag, progress.modified) == ("", "")
    kept = outcome_of(visit(status=304, progress=visited(etag=text, modified=text)), RULES).progress
    assert (kept.etag, kept.modified) == ("", "")


def test_a_host_in_use_by_others_has_not_failed():
    settled = outcome_of(
        visit(status=None, refused="Crawl-delay 600 s", reason="busy", progress=visited(failures=2)), RULES
    )
    assert settled.progress.failures == 2
    assert settled.source is None


def test_another_target_begins_the_count_anew():
    before = visited(moved_to="https://c.example/feed", moved_seen=1)
    settled = outcome_of(visit(feed(("a", NOW)), progress=before, moved_to="https://b.example/feed"), RULES)
    assert settled.progress.moved_seen == 1
    assert settled.source is None


def test_the_publisher_can_ask_to_stay_away_longer_but_not_shorter():
    asked = outcome_of(visit(feed(("a", NOW), stay_away_s=600.0)), RULES)
    assert asked.hold_until == NOW + 600.0
    assert asked.progress.held_by
    eager = outcome_of(visit(feed(("a", NOW), stay_away_s=1.0)), RULES)
    assert eager.hold_until == NOW + RULES.min_interval_s


def test_the_kind_is_detected_once_and_a_page_says_which_feed_it_has():
    source = Source(id=7, url="https://a.example/", kind="auto")
    found = Findings(kind="page", title="T", text="t", digest="d", advertises=("https://a.example/feed",))
    line = outcome_of(visit(found, source=source), RULES).source
    assert (line.kind, line.title, line.note) == ("page", "T", "advertises a feed: https://a.example/feed")


def test_an_index_is_read_in_full_each_time_so_that_what_was_left_out_may_come_in():
    said = {"etag": '"1"', "last-modified": "Mon, 16 Nov 2026 10:00:00 GMT"}
    index = Findings(kind="sitemap", children=("https://a.example/s1.xml",))
    for found, kept in ((index, ("", "")), (feed(("a", NOW)), (said["etag"], said["last-modified"]))):
        progress = outcome_of(visit(found, headers=said), RULES).progress
        assert (progress.etag, progress.modified) == kept


def test_sitemaps_of_an_index_become_sources_on_their_parents_terms():
    source = Source(id=7, url="https://a.example/sitemap.xml", kind="sitemap", importance=3.0, tags=("news",))
    found = Findings(kind="sitemap", children=("https://a.example/s1.xml",))
    (child,) = outcome_of(visit(found, source=source), RULES).children
    assert (child.url, child.kind, child.importance, child.tags, child.id) == (
        "https://a.example/s1.xml", "sitemap", 3.0, ("news",), 0,
    )  # fmt: skip


def test_an_unreadable_document_is_a_failure_with_its_reason():
    made = visit(None, status=200)
    made = msgspec.structs.replace(made, error="not XML")
    crawl = outcome_of(made, RULES).crawl
    assert (crawl.outcome, crawl.error) == ("failed", "not XML")


class TestDatesThatCannotBe:
    """Items with a date that contradicts what is known count as undated ones; the learner is told their number."""

    @pytest.mark.parametrize("date", [0.0, 12.0, NOW - 10 * 365 * 86400.0, NOW - 60.0])
    def test_a_list_of_one_date_tells_no_times(self, date: float):
        items = [("a", date), ("b", date), ("c", date)]
        first = outcome_of(visit(feed(*items)), RULES)
        assert (first.published, first.new) == ([], 3)
        assert [item.published for item in first.items] == [None, None, None]
        later = outcome_of(visit(feed(("d", date), *items), progress=visited(), unseen=["d"]), RULES)
        undated = outcome_of(visit(feed(("d", None), ("a", None)), progress=visited(), unseen=["d"]), RULES)
        assert (later.published, later.new) == ([], 1)
        assert later.crawl.captured == undated.crawl.captured > 0.0

    def test_one_stray_date_of_1970_leaves_the_others_theirs(self):
        settled = outcome_of(visit(feed(("a", 0.0), ("b", NOW - 50), ("c", NOW - 90))), RULES)
        assert sorted(settled.published) == [NOW - 90, NOW - 50]
        dates = {item.title: item.published for item in settled.items}
        assert dates == {"a": None, "b": NOW - 50, "c": NOW - 90}

    def test_what_is_older_than_feeds_keeps_its_date_and_tells_nothing(self):
        settled = outcome_of(visit(feed(("a", -1.5e9), ("b", NOW - 50), ("c", NOW - 90))), RULES)
        assert sorted(settled.published) == [NOW - 90, NOW - 50]
        dates = {item.title: item.published for item in settled.items}
        assert dates == {"a": -1.5e9, "b": NOW - 50, "c": NOW - 90}

    def test_a_date_long_before_a_visit_that_did_not_list_it_is_kept_but_tells_nothing(self):
        long_ago = NOW - 90 * 86400.0
        settled = outcome_of(visit(feed(("a", long_ago), ("old", NOW - 9999)), progress=visited(), unseen=["a"]), RULES)
        assert (settled.published, settled.new) == ([], 1)
        assert [item.published for item in settled.items] == [long_ago]

    @pytest.mark.parametrize("delay", [7201.0, 20 * 3600.0, 40 * 3600.0])
    def test_some_delay_is_usual(self, delay: float):
        settled = outcome_of(
            visit(feed(("a", NOW - delay), ("old", NOW - 1e6)), progress=visited(), unseen=["a"]), RULES
        )
        assert (settled.published, settled.new) == ([NOW - delay], 0)

    def test_a_first_backlog_may_reach_back_for_years(self):
        items = [(f"n{k}", NOW - k * 100 * 86400.0) for k in range(1, 11)]
        assert sorted(outcome_of(visit(feed(*items)), RULES).published) == sorted(date for _, date in items)
