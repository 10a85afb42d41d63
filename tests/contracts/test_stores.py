"""The battery every store passes: what `Store` promises, wherever it keeps things.

Another store joins by one more parameter of `opener`: a function that opens the same store again at each call.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

import postgres
from recrawl.config import Discovery, SourceOptions
from recrawl.errors import ParameterError, StoreError
from recrawl.store.discovery import NOTE, LeftOut, left_out
from recrawl.store.opening import open_store
from recrawl.store.records import (
    Batch,
    Crawl,
    Event,
    Hold,
    Item,
    Keep,
    Price,
    Progress,
    Robots,
    Source,
    Totals,
    Version,
    VisitUpdate,
    packed,
)
from recrawl.store.roles import Store
from recrawl.store.sqlite import SqliteStore

HOSTILE = [
    "lone \ud800 surrogate",
    "nul \0 nul",
    "x" * 100_000,
    "\x1b[31m\u202e",
    "'; DROP TABLE items; --",
    "😀" * 9,
]
FOREVER = Keep(items=math.inf, crawls=math.inf, prices=math.inf, versions=10**6)


@pytest.fixture(params=["sqlite", "postgres"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens one and the same store; all are closed at the end."""
    opened: list[Store] = []
    url = postgres.server().url() if request.param == "postgres" else ""

    def open_it() -> Store:
        opened.append(open_store(url) if url else SqliteStore(tmp_path / "recrawl.db", timeout_s=5.0))
        return opened[-1]

    yield open_it
    for each in opened:
        each.close()


@pytest.fixture
def store(opener: Callable[[], Store]) -> Store:
    return opener()


def filled(store: Store, count: int = 3) -> list[int]:
    return [each.id for each in store.add([Source(url=f"https://{k}.example/") for k in range(count)])]


def settled(source: int, /, at: float = 1.0, **parts: object) -> VisitUpdate:
    progress = parts.pop("progress", None) or Progress(source=source, last=at)
    crawl = parts.pop("crawl", None) or Crawl(source=source, at=at, outcome="new")
    return VisitUpdate(crawl=crawl, progress=progress, **parts)  # type: ignore[arg-type]


def found(store: Store, *items: Item, listed: bool = False) -> None:
    """Commit items, each in its own update; `listed` says the source still shows them."""
    for each in items:
        progress = Progress(source=each.source, last=each.first_seen, listing=packed([each.key]) if listed else b"")
        store.commit(Batch(updates=[settled(each.source, each.first_seen, progress=progress, items=[each])]))


def same(one: msgspec.Struct, other: msgspec.Struct) -> bool:
    """Equal field by field, NaN to NaN."""
    return repr(one) == repr(other)


class TestCatalogue:
    def test_a_source_comes_back_as_it_was_given(self, store: Store) -> None:
        given = Source(
            url="https://a.example/feed",
            kind="feed",
            title="A feed",
            importance=2.5,
            half_life=3600.0,
            max_age=86400.0,
            cost=3.0,
            tags=("news", "Zürich", "with, comma"),
            headers={"Authorization": "Bearer x"},
            select="main > p",
            state="paused",
            note="moved from https://b.example/",
            added=12.5,
            options=SourceOptions(
                digest="raw",
                ignore=("nav", "#ad"),
                ignore_text=(r"\d+ views", "lone"),
                keep=(".price", "json:$.price"),
                keep_text=("^Price",),
                number="price",
                when=("number < 9", "appears sold out"),
                ignore_noise=False,
                restless=False,
                robots=False,
                hints=False,
                interval=7200.0,
                active_hours=("08:00-18:00 Europe/Berlin",),
                notify=False,
            ),
        )
        (added,) = store.add([given])
        kept = store.source(added.id)
        assert added.new
        assert kept is not None
        assert kept == msgspec.structs.replace(given, id=added.id, revision=kept.revision)
        assert store.source("https://a.example/feed") == kept

    def test_options_are_edited_and_forgotten(self, store: Store) -> None:
        (id,) = filled(store, 1)
        for options in (SourceOptions(interval=60.0, ignore_text=("\ud800",)), SourceOptions()):
            store.edit([Source(id=id, url="u", options=options)])
            kept = store.source(id)
            assert kept is not None
            assert kept.options.interval == options.interval
            assert len(kept.options.ignore_text) == len(options.ignore_text)

    def test_ids_start_at_one_and_are_never_used_again(self, store: Store) -> None:
        assert filled(store, 3) == [1, 2, 3]
        store.remove([3])
        assert store.add([Source(url="https://new.example/")])[0].id > 3

    def test_a_known_url_is_reported_and_left_as_it_is(self, store: Store) -> None:
        first, again = store.add([Source(url="u", title="old"), Source(url="u", title="new")])
        assert (again.id, again.new, first.new) == (first.id, False, True)
        assert store.add([Source(url="u", title="newer")])[0] == again
        kept = store.source("u")
        assert kept is not None
        assert kept.title == "old"

    @pytest.mark.parametrize("target", [99, 0, -1, 2**70, "nowhere", "", "\ud800"])
    def test_what_is_not_there_is_none(self, store: Store, target: int | str) -> None:
        filled(store)
        assert store.source(target) is None

    def test_sources_match_all_that_is_given(self, store: Store) -> None:
        store.add(
            [
                Source(url="https://one.example/", title="Weather", tags=("a", "b")),
                Source(url="https://two.example/", title="News", tags=("a",), state="paused"),
                Source(url="https://three.example/weather", tags=("b",)),
            ]
        )
        assert [s.id for s in store.sources(tag="a")] == [1, 2]
        assert [s.id for s in store.sources(tag="a", state="active")] == [1]
        assert [s.id for s in store.sources(text="weather")] == [1, 3]
        assert [s.id for s in store.sources(text="weather", tag="b", ids=[3, 2])] == [3]
        assert [s.id for s in store.sources(ids=[])] == []
        assert [s.id for s in store.sources(ids=[2, 2, 10**30])] == [2]
        assert [s.id for s in store.sources(limit=1, offset=1)] == [2]
        assert store.count() == 3
        assert store.count(tag="a", state="paused", text="NEWS") == 1
        assert store.count(state="retired") == 0
        assert store.count(never_fetched=True) == 3
        assert store.count(never_fetched=True, state="active", tag="a") == 1
        answered = VisitUpdate(crawl=Crawl(source=1, at=5.0, outcome="first"), progress=Progress(source=1, last=5.0))
        failed = VisitUpdate(crawl=Crawl(source=3, at=5.0, outcome="failed"), progress=Progress(source=3, failures=1))
        store.commit(Batch(updates=[answered, failed]))
        assert store.count(never_fetched=True) == 2
        assert store.count(never_fetched=True, state="active") == 1

    @pytest.mark.parametrize("wild", ["%", "_", "\\", "'", '"', "\0", "\ud800"])
    def test_text_looked_for_has_no_wildcards(self, store: Store, wild: str) -> None:
        filled(store)
        assert store.sources(text=wild) == []

    def test_wildcards_are_found_as_letters(self, store: Store) -> None:
        store.add([Source(url="100%_sure"), Source(url="100 percent sure")])
        assert [s.url for s in store.sources(text="%_")] == ["100%_sure"]

    @pytest.mark.parametrize("order", ["id", "url", "title", "importance", "added", "last", "due", "value", "failures"])
    def test_every_order_goes_both_ways_with_the_unknown_last(self, store: Store, order: str) -> None:
        ids = filled(store, 4)
        store.edit(
            [Source(id=k, url=f"u{9 - k}", title=f"t{9 - k}", importance=10.0 - k, added=10.0 - k) for k in ids[:3]]
            + [Source(id=4, url="u9", title="t9", importance=99.0, added=99.0)]
        )
        store.commit(
            Batch(
                progress=[
                    Progress(source=k, last=10.0 - k, due=10.0 - k, value=10.0 - k, failures=10 - k) for k in (1, 2, 3)
                ]
                + [Progress(source=4, failures=99)]
            )
        )
        forwards = [s.id for s in store.sources(order=order)]
        backwards = [s.id for s in store.sources(order="-" + order)]
        if order == "id":
            assert (forwards, backwards) == ([1, 2, 3, 4], [4, 3, 2, 1])
        else:
            known = order not in ("last", "due", "value")
            assert forwards == [3, 2, 1, 4]
            assert backwards == ([4, 1, 2, 3] if known else [1, 2, 3, 4])
        assert [s.id for s in store.sources(order=order, limit=2, offset=1)] == forwards[1:3]
        assert store.ids_in_order(order).tolist() == forwards
        assert store.ids_in_order("-" + order).tolist() == backwards

    @pytest.mark.parametrize("order", ["url", "due", "-value"])
    def test_the_ids_in_an_order_are_those_of_the_sources_that_match(self, store: Store, order: str) -> None:
        store.add([Source(url=f"https://{k}.example/abc", tags=("x",) * (k % 2), title="t") for k in range(6)])
        store.edit([msgspec.structs.replace(store.sources(ids=[k])[0], state="paused") for k in (2, 3)])
        store.commit(Batch(progress=[Progress(source=k, due=float(k % 3), value=float(k % 4)) for k in range(1, 6)]))
        for which in ({}, {"state": "active"}, {"state": "paused"}, {"tag": "x"}, {"text": "3.ex"}, {"tag": "none"},
                      {"tag": "x", "state": "active", "text": "abc"}):  # fmt: skip
            found = [source.id for source in store.sources(order=order, **which)]  # type: ignore[arg-type]
            assert store.ids_in_order(order, **which).tolist() == found, which  # type: ignore[arg-type]

    def test_never_is_after_every_time(self, store: Store) -> None:
        filled(store)
        store.commit(Batch(progress=[Progress(source=1, due=math.inf), Progress(source=2, due=5.0)]))
        assert [s.id for s in store.sources(order="due")] == [2, 1, 3]

    def test_an_unknown_order_is_refused_by_name(self, store: Store) -> None:
        with pytest.raises(ParameterError, match="order"):
            store.sources(order="id; DROP TABLE sources")
        with pytest.raises(ParameterError, match="order"):
            store.ids_in_order("none")
        with pytest.raises(ParameterError, match="order"):
            store.items(order="worst")  # type: ignore[arg-type]

    def test_an_unknown_choice_is_refused_by_name(self, store: Store) -> None:
        with pytest.raises(TypeError, match="'sate'"):
            store.sources(sate="active")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="'sauce'"):
            store.items(sauce=1)  # type: ignore[call-arg]

    def test_edits_replace_the_line_and_its_tags(self, store: Store) -> None:
        store.add([Source(url="u", tags=("a",), headers={"A": "b"})])
        store.edit([Source(id=1, url="v", tags=("b", "b"), state="paused")])
        kept = store.source(1)
        assert kept is not None
        assert (kept.url, kept.state, kept.headers) == ("v", "paused", {})
        assert store.sources(tag="a") == []
        assert store.count(tag="b") == 1

    def test_an_edit_that_cannot_be_made_changes_nothing(self, store: Store) -> None:
        filled(store, 2)
        for impossible in (Source(id=2, url="https://0.example/"), Source(id=77, url="new")):
            with pytest.raises(StoreError, match=str(impossible.id)):
                store.edit([Source(id=1, url="https://0.example/", title="other"), impossible])
        assert store.sources(text="other") == []

    def test_every_source_comes_once_and_by_id(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recrawl.store.sql.PAGE", 2)
        filled(store, 5)
        store.remove([2])
        assert [each.id for each in store.every_source()] == [1, 3, 4, 5]
        assert [*store.every_source()] == store.sources()

    def test_lines_come_with_their_progress(self, store: Store) -> None:
        filled(store, 3)
        store.commit(Batch(progress=[Progress(source=2, etag="x", listing=b"12345678")]))
        found = sorted(store.with_progress([3, 2, 77]), key=lambda both: both[0].id)
        assert [line for line, _ in found] == store.sources(ids=[2, 3])
        assert [repr(each) for _, each in found] == [repr(each) for each in store.progress([2, 3])]

    def test_revisions_tell_what_changed_since(self, store: Store) -> None:
        assert store.revision() == 0
        filled(store)
        before = store.revision()
        assert [s.id for s in store.sources(since_revision=before)] == []
        store.edit([Source(id=2, url="x")])
        assert [s.id for s in store.sources(since_revision=before)] == [2]
        edited = store.revision()
        assert edited > before
        store.commit(Batch(updates=[settled(1)]))
        assert store.revision() == edited

    def test_removals_grow_the_revision_and_can_be_asked_for(self, store: Store) -> None:
        filled(store)
        before = store.revision()
        assert store.removed(0) == []
        assert store.remove([1, 3, 77]) == 2
        assert store.revision() > before
        assert store.removed(before) == [1, 3]
        assert store.removed(store.revision()) == []
        assert store.remove([1]) == 0
        assert store.remove([]) == 0

    def test_a_removed_source_leaves_nothing_behind(self, store: Store) -> None:
        filled(store)
        item = Item(source=1, key=5, title="unique", first_seen=1.0)
        version = Version(source=1, at=1.0, digest="d")
        store.commit(Batch(updates=[settled(1, items=[item], version=version)]))
        store.remove([1])
        assert store.items() == store.items(text="unique") == []
        assert store.crawls() == []
        assert store.versions(1) == []
        assert [p.source for p in store.progress()] == [2, 3]
        assert store.unseen([(1, [5])]) == [{5}]


class TestCrawling:
    def test_every_source_has_progress_from_the_start(self, store: Store) -> None:
        filled(store, 2)
        assert [repr(p) for p in store.progress()] == [repr(Progress(source=1)), repr(Progress(source=2))]
        assert [p.source for p in store.progress([2, 99])] == [2]
        assert list(store.progress([])) == []

    def test_progress_comes_back_as_it_was_given(self, store: Store) -> None:
        filled(store, 1)
        given = Progress(
            source=1,
            last=1.5,
            visits=2,
            failures=3,
            held_until=4.0,
            held_by="Retry-After",
            etag='"x"',
            modified="yesterday",
            digest="abc",
            listing=packed([1, -1, 2**63 - 1, -(2**63)]),
            moved_to="https://b.example/",
            moved_seen=1,
            value=0.1,
            value_sd=math.inf,
            rate=1e-300,
            rate_sd=0.0,
            due=math.inf,
            captured=7.25,
            belief=bytes(range(256)),
        )
        store.commit(Batch(updates=[settled(1, progress=given)]))
        assert list(store.progress()) == [given]
        store.commit(Batch(progress=[Progress(source=1)]))
        assert same(next(iter(store.progress())), Progress(source=1))

    def test_thousands_of_ids_and_keys_can_be_asked_for_at_once(self, store: Store) -> None:
        ids = filled(store, 6000)
        assert [p.source for p in store.progress(list(reversed(ids)))] == ids
        assert [p.source for p in store.progress()] == ids
        assert len(store.sources(ids=ids)) == 6000
        items = [Item(source=1, key=k, first_seen=1.0) for k in range(0, 100, 2)]
        store.commit(Batch(updates=[settled(1, items=items)]))
        one, other = store.unseen([(1, range(50_000)), (2, [1, 2, 2])])
        assert one == set(range(50_000)) - set(range(0, 100, 2))
        assert other == {1, 2}
        assert store.unseen([]) == []
        assert store.unseen([(1, [])]) == [set()]
        assert store.remove(ids) == 6000

    def test_an_item_is_stored_once_per_source(self, store: Store) -> None:
        filled(store, 2)
        twice = [
            Item(source=1, key=5, title="first", first_seen=1.0),
            Item(source=1, key=5, title="second", first_seen=2.0),
        ]
        store.commit(Batch(updates=[settled(1, items=twice)]))
        store.commit(Batch(updates=[settled(1, items=twice), settled(2, items=[Item(source=2, key=5)])]))
        assert [i.title for i in store.items(source=1)] == ["first"]
        assert len(store.items(source=2)) == 1
        assert store.items(text="second") == []

    def test_a_batch_is_written_whole_or_not_at_all(self, store: Store) -> None:
        filled(store)
        good = settled(
            1,
            at=9.0,
            progress=Progress(source=1, last=9.0),
            items=[Item(source=1, key=1, title="ghost", first_seen=9.0)],
            version=Version(source=1, at=9.0, digest="d"),
            source=Source(id=1, url="https://0.example/", title="ghost"),
            children=[Source(url="child")],
            events=[Event(at=9.0, body=b"{}")],
        )
        broken = settled(2, items=[Item(source=2, key=2**80, first_seen=1.0)])
        shared = Batch(
            updates=[good, broken],
            holds=[Hold(host="h", until=99.0)],
            robots=[Robots(origin="o", fetched=1.0, status=200)],
            price=Price(at=9.0, price=1.0, budget=1.0, requests=1, captured=0.0),
            shared=b"ghost",
        )
        before = store.revision()
        with pytest.raises(StoreError):
            store.commit(shared)
        assert store.items() == store.items(text="ghost") == store.crawls() == store.versions(1) == []
        assert store.events(0) == store.holds(0.0) == store.prices(0.0) == []
        assert store.robots("o") is None
        assert store.shared() is None
        assert store.source("child") is None
        assert all(p.last is None for p in store.progress())
        assert store.revision() == before
        store.commit(msgspec.structs.replace(shared, updates=[good]))
        assert len(store.items(text="ghost")) == 1

    def test_what_belongs_to_a_removed_source_is_left_out(self, store: Store) -> None:
        filled(store)
        store.remove([1])
        gone = settled(1, items=[Item(source=1, key=1, first_seen=1.0)], events=[Event(at=1.0, body=b"gone")])
        kept = settled(2, items=[Item(source=2, key=1, first_seen=1.0)], events=[Event(at=1.0, body=b"kept")])
        store.commit(Batch(updates=[gone, kept], progress=[Progress(source=1, due=1.0)]))
        assert [i.source for i in store.items()] == [2]
        assert [e.body for e in store.events(0)] == [b"kept"]

    def test_items_may_come_ahead_of_their_update(self, store: Store) -> None:
        filled(store, 2)
        store.remove([1])
        items = [Item(source=1 + k % 2, key=k, title=f"t{k}", first_seen=1.0) for k in range(6)]
        store.commit(Batch(items=items, events=[Event(at=1.0, body=b"%d" % item.key) for item in items]))
        assert [i.key for i in store.items()] == [5, 3, 1]
        assert [i.key for i in store.items(text="t3")] == [3]
        assert [e.body for e in store.events(0)] == [b"1", b"3", b"5"]
        assert store.unseen([(2, range(6))]) == [{0, 2, 4}]
        assert store.crawls() == []

    def test_a_crawl_writes_what_it_found_out_about_its_source(self, store: Store) -> None:
        store.add([Source(url="u", tags=("t",))])
        line = store.source(1)
        assert line is not None
        line.kind, line.title, line.url, line.note = "feed", "A feed", "v", "moved from u"
        before = store.revision()
        store.commit(Batch(updates=[settled(1, source=line)]))
        kept = store.source(1)
        assert kept is not None
        assert kept == msgspec.structs.replace(line, revision=kept.revision)
        assert kept.revision > before
        assert store.count(tag="t") == 1

    def test_what_its_owner_edited_meanwhile_stays(self, store: Store) -> None:
        store.add([Source(url="u")])
        line = store.source(1)
        assert line is not None
        store.edit([Source(id=1, url="w", state="paused", importance=9.0, tags=("mine",))])
        line.title, line.url = "A feed", "v"
        store.commit(Batch(updates=[settled(1, source=line)]))
        kept = store.source(1)
        assert kept is not None
        assert (kept.title, kept.url, kept.state, kept.importance, kept.tags) == (
            "A feed",
            "w",
            "paused",
            9.0,
            ("mine",),
        )
        line.state = "retired"
        store.commit(Batch(updates=[settled(1, source=line)]))
        assert store.count(state="retired") == 1

    def test_a_move_to_an_url_that_is_taken_is_not_made(self, store: Store) -> None:
        filled(store, 2)
        line = store.source(1)
        assert line is not None
        line.url, line.note = "https://1.example/", "same as source 2"
        store.commit(Batch(updates=[settled(1, source=line)]))
        kept = store.source(1)
        assert kept is not None
        assert (kept.url, kept.note) == ("https://0.example/", "same as source 2")

    def test_children_join_the_catalogue_once(self, store: Store) -> None:
        filled(store, 1)
        children = [Source(url="c1", kind="sitemap", tags=("t",)), Source(url="c2"), Source(url="https://0.example/")]
        for _ in range(2):
            store.commit(Batch(updates=[settled(1, children=children)]))
        assert sorted(s.url for s in store.sources()) == ["c1", "c2", "https://0.example/"]
        assert len(list(store.progress())) == 3

    def test_sources_found_are_bounded_per_site_and_in_all_and_the_rest_is_told(self, store: Store) -> None:
        filled(store, 1)

        def find(site: str, count: int, **bounds: int) -> None:
            children = [Source(url=f"{site}/{k}", found_on=site, added=5.0) for k in range(count)]
            store.commit(Batch(updates=[settled(1, children=children)], discovery=Discovery(**bounds)))

        def found() -> dict[str, int]:
            return dict(sorted(Counter(source.found_on for source in store.sources()).items()))

        find("a", 10, per_site=4, in_all=6)
        assert found() == {"": 1, "a": 4}
        assert left_out(store.note(NOTE)) == [LeftOut(site="a", found=4, left_out=6, bound="per_site", at=5.0)]
        find("b", 3, per_site=4, in_all=6)
        find("a", 4, per_site=4, in_all=6)
        assert found() == {"": 1, "a": 4, "b": 2}
        assert [(line.site, line.left_out, line.bound) for line in left_out(store.note(NOTE))] == [
            ("a", 6, "per_site"),
            ("b", 1, "in_all"),
        ]
        store.add([Source(url=f"mine/{k}") for k in range(20)])
        find("a", 10, per_site=20, in_all=30)
        find("b", 3, per_site=20, in_all=30)
        assert found() == {"": 21, "a": 10, "b": 3}
        assert store.note(NOTE) is None

    def test_none_may_be_found(self, store: Store) -> None:
        filled(store, 1)
        children = [Source(url="c", found_on="site")]
        store.commit(Batch(updates=[settled(1, children=children)], discovery=Discovery(per_site=0)))
        assert store.count() == 1

    def test_holds_stand_until_their_time_and_are_replaced(self, store: Store) -> None:
        first = Hold(host="a", until=10.0, reason="503", failures=2)
        store.commit(Batch(holds=[first, Hold(host="b", until=5.0)]))
        assert store.holds(0.0) == [Hold(host="b", until=5.0), first]
        assert store.holds(5.0) == [first]
        store.commit(Batch(holds=[Hold(host="a", until=0.0)]))
        assert store.holds(5.0) == []

    def test_robots_are_kept_per_origin(self, store: Store) -> None:
        given = Robots(origin="https://a.example", fetched=1.0, status=503, body="x", expires=2.0, good="User-agent: *")
        store.commit(Batch(robots=[msgspec.structs.replace(given, status=200), given]))
        assert store.robots("https://a.example") == given
        assert store.robots("https://b.example") is None

    def test_the_shared_record_is_kept(self, store: Store) -> None:
        assert store.shared() is None
        store.commit(Batch(shared=b"\0one"))
        store.commit(Batch())
        assert store.shared() == b"\0one"

    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    def test_no_text_is_too_strange_to_keep(self, store: Store, text: str) -> None:
        expected = text.replace("\ud800", "�")
        source = store.add([Source(url=text, title=text, tags=(text,), headers={text: text}, select=text, note=text)])[
            0
        ]
        line = store.source(text)
        assert line is not None
        assert (line.url, line.title, line.tags, line.headers) == (
            expected,
            expected,
            (expected,),
            {expected: expected},
        )
        update = settled(
            source.id,
            crawl=Crawl(source=source.id, at=1.0, outcome="failed", error=text),
            progress=Progress(source=source.id, etag=text, held_by=text),
            items=[Item(source=source.id, key=1, title=text, link=text, summary=text, first_seen=1.0)],
            version=Version(source=source.id, at=1.0, digest=text, text=text, diff=text),
            source=msgspec.structs.replace(line, note=text),
        )
        store.commit(Batch(updates=[update], holds=[Hold(host=text, until=9.0, reason=text)]))
        (item,) = store.items(tag=text)
        assert (item.title, item.summary) == (expected, expected)
        assert store.crawls()[0].error == expected
        assert store.holds(0.0)[0].host == expected
        assert store.versions(source.id)[0].text == expected
        store.items(text=text)
        store.sources(text=text[:1000], tag=text)
        store.advance(text, store.cursor(text))
        store.robots(text)
        store.remove([source.id])

    def test_a_title_of_ten_megabytes_is_kept(self, store: Store) -> None:
        filled(store, 1)
        found(store, Item(source=1, key=1, title="long " * 2_000_000, first_seen=1.0))
        assert len(store.items(text="long")[0].title) == 10_000_000

    def test_what_was_committed_is_seen_by_others_and_after_reopening(
        self, store: Store, opener: Callable[[], Store]
    ) -> None:
        filled(store)
        other = opener()
        found(store, Item(source=1, key=1, title="x", first_seen=1.0))
        assert len(other.items()) == len(other.items(text="x")) == 1
        other.add([Source(url="from the other")])
        assert store.source("from the other") is not None
        store.close()
        assert len(opener().items()) == 1

    def test_a_closed_store_says_so(self, store: Store) -> None:
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.count()
        with pytest.raises(StoreError, match="closed"):
            store.commit(Batch())


class TestClaims:
    def test_the_second_is_refused_and_told_of_the_first(self, store: Store, opener: Callable[[], Store]) -> None:
        second = opener()
        assert second.claimed() is None
        store.claim("recrawl run", 0.0)
        with pytest.raises(StoreError, match=r"recrawl run.*process \d+.*1970"):
            second.claim("another", 1.0)
        assert "recrawl run" in str(second.claimed())
        assert "recrawl run" in str(store.claimed())

    def test_a_claim_ends_by_release_and_by_closing(self, store: Store, opener: Callable[[], Store]) -> None:
        second, third = opener(), opener()
        store.claim("first", 0.0)
        store.claim("first", 1.0)
        store.release()
        store.release()
        second.claim("second", 2.0)
        with pytest.raises(StoreError, match="second"):
            store.claim("first", 3.0)
        second.close()
        third.claim("third", 4.0)

    def test_others_read_and_edit_meanwhile(self, store: Store, opener: Callable[[], Store]) -> None:
        store.claim("first", 0.0)
        other = opener()
        filled(other)
        assert other.count() == store.count() == 3


class TestQueries:
    def test_items_come_newest_first_by_sight_or_publication(self, store: Store) -> None:
        filled(store)
        found(
            store,
            Item(source=1, key=1, title="a", published=50.0, first_seen=100.0),
            Item(source=2, key=2, title="b", published=10.0, first_seen=200.0),
            Item(source=1, key=3, title="c", published=None, first_seen=150.0),
        )
        assert [i.title for i in store.items()] == ["b", "c", "a"]
        assert [i.title for i in store.items(order="relevance")] == ["b", "c", "a"]
        assert [i.title for i in store.items(order="newest")] == ["c", "a", "b"]
        assert [i.title for i in store.items(source=1)] == ["c", "a"]
        assert [i.title for i in store.items(since=150.0)] == ["b", "c"]
        assert [i.title for i in store.items(since=100.0, until=150.0)] == ["a"]
        assert [i.title for i in store.items(limit=1, offset=1)] == ["c"]
        assert store.items(limit=0) == []
        (first,) = store.items(until=150.0)
        assert (
            store.item(first.id)
            == first
            == Item(id=first.id, source=1, key=1, title="a", published=50.0, first_seen=100.0)
        )
        assert store.item(0) is store.item(10**6) is store.item(2**80) is None

    def test_what_was_found_at_the_same_moment_comes_last_written_first(self, store: Store) -> None:
        filled(store, 2)
        listed = [Item(source=1, key=k, title=f"word {k}", published=p, first_seen=9.0) for k, p in enumerate((1, 5))]
        store.commit(Batch(updates=[settled(1, 9.0, items=listed)]))
        for asked in ({}, {"source": 1}, {"text": "word"}, {"text": "word", "source": 1}, {"since": 1.0}):
            assert [i.key for i in store.items(**asked)] == [1, 0], asked  # type: ignore[arg-type]

    def test_changes_of_pages_stand_among_the_items_and_can_be_asked_for_alone(self, store: Store) -> None:
        store.add([Source(url="feed", tags=("x",)), Source(url="page", tags=("x",))])
        found(store, Item(source=1, key=1, title="an item", first_seen=1.0))
        for at, text in ((2.0, "apples"), (4.0, "pears")):
            diff = f"@@ -1,1 +1,1 @@\n-plums\n+{text}"
            change = Item(source=2, key=int(at), title="a page", summary=text, first_seen=at, kind="change")
            version = Version(source=2, at=at, digest=text, text=text, diff=diff)
            store.commit(Batch(updates=[settled(2, at, items=[change], version=version)]))
        found(store, Item(source=1, key=2, title="another", first_seen=3.0))
        assert [(i.kind, i.first_seen) for i in store.items()] == [
            ("change", 4.0),
            ("item", 3.0),
            ("change", 2.0),
            ("item", 1.0),
        ]
        for asked in ({}, {"source": 2}, {"tag": "x"}, {"order": "newest"}, {"text": "page"}):
            assert [i.first_seen for i in store.items(kind="change", **asked)] == [4.0, 2.0], asked  # type: ignore[arg-type]
        assert [i.first_seen for i in store.items(kind="item", limit=1, offset=1)] == [1.0]
        assert [i.first_seen for i in store.items(kind="change", since=3.0)] == [4.0]
        (pears,) = store.items(text="pears")
        assert pears.kind == "change"
        assert store.items(text="plums") == []

    def test_a_change_is_told_with_its_difference_as_long_as_its_version_is_kept(self, store: Store) -> None:
        filled(store, 2)
        for at in (1.1, 2.2, 3.3):
            change = Item(source=1, key=round(at), first_seen=at, kind="change")
            version = Version(source=1, at=at, digest=f"{at}", diff=f"+{at}")
            store.commit(Batch(updates=[settled(1, at, items=[change], version=version)]))
        changes = store.items(kind="change")
        assert store.diffs(changes) == {i.id: f"+{i.first_seen}" for i in changes}
        assert store.diffs([]) == {}
        store.vacuum(msgspec.structs.replace(FOREVER, versions=1), 10.0)
        assert store.diffs(changes) == {changes[0].id: "+3.3"}

    def test_items_are_found_by_tag(self, store: Store) -> None:
        store.add([Source(url="a", tags=("x", "y")), Source(url="b", tags=("x",)), Source(url="c")])
        found(store, *[Item(source=k, key=k, title=f"t{k}", first_seen=float(k)) for k in (1, 2, 3)])
        assert [i.title for i in store.items(tag="x")] == ["t2", "t1"]
        assert [i.title for i in store.items(tag="y", order="newest")] == ["t1"]
        assert [i.title for i in store.items(tag="x", text="t1")] == ["t1"]
        assert store.items(tag="z") == []

    def test_a_tag_of_many_sources_gives_the_same(self, store: Store) -> None:
        store.add([Source(url=f"{k}", tags=("x",) if k % 2 else ()) for k in range(600)])
        batch = [settled(k, items=[Item(source=k, key=k, first_seen=float(k))]) for k in range(1, 601)]
        store.commit(Batch(updates=batch))
        assert [i.source for i in store.items(tag="x", limit=400)] == list(range(600, 0, -2))

    def test_search_wants_every_word_in_title_or_summary(self, store: Store) -> None:
        filled(store, 1)
        found(
            store,
            Item(source=1, key=1, title="The quick brown fox", summary="jumps", first_seen=1.0),
            Item(source=1, key=2, title="The lazy dog", summary="does not jump over the fox-hole", first_seen=2.0),
            Item(source=1, key=3, title="Élan vital", first_seen=3.0),
        )
        keys = lambda text, **more: [i.key for i in store.items(text=text, **more)]  # noqa: E731
        assert keys("fox") == [2, 1]
        assert keys("FOX the") == [2, 1]
        assert keys("fox jumps") == [1]
        assert keys("jum*") == [2, 1]
        assert keys("jum") == []
        assert keys("elan") == [3]
        assert keys("fox-hole") == [2]
        assert keys("fox", source=1, since=2.0) == [2]
        assert keys("fox", until=2.0) == [1]
        assert keys("fox", limit=1, offset=1) == [1]
        assert keys("fox", since=99.0) == keys("fox", until=0.0) == []
        assert keys("  ") == [3, 2, 1]
        assert sorted(keys("fox", order="relevance")) == [1, 2]

    def test_the_more_relevant_comes_first(self, store: Store) -> None:
        filled(store, 1)
        found(
            store,
            Item(source=1, key=1, title="bandits", first_seen=1.0),
            Item(
                source=1, key=2, title="a long text that mentions bandits once", summary="word " * 200, first_seen=2.0
            ),
        )
        assert [i.key for i in store.items(text="bandits", order="relevance")] == [1, 2]
        assert [i.key for i in store.items(text="bandits", order="relevance", limit=1, offset=1)] == [2]

    @pytest.mark.parametrize(
        "text",
        [
            '"',
            '""',
            "AND",
            "OR NOT",
            "NEAR(a b)",
            "title:x",
            "a*",
            "*",
            "^a",
            "-a",
            "(",
            "a\0b",
            "\ud800",
            "{a b}:c",
            "+",
            "a" * 10**6,
        ],
    )
    def test_no_search_is_a_syntax_error(self, store: Store, text: str) -> None:
        filled(store, 1)
        found(store, Item(source=1, key=1, title="something else", first_seen=1.0))
        for order in ("found", "newest", "relevance"):
            assert store.items(text=text, order=order) == []  # type: ignore[arg-type]
        assert store.items(text=" ".join([text[:50]] * 500)) == []

    def test_crawls_come_latest_first(self, store: Store) -> None:
        filled(store)
        full = Crawl(
            source=1,
            at=2.0,
            outcome="failed",
            status=503,
            requests=3,
            size=10,
            elapsed_s=0.5,
            new=4,
            censored=True,
            captured=1.5,
            index=0.25,
            price=0.125,
            value=5.0,
            value_sd=0.5,
            rate=0.25,
            rate_sd=0.125,
            error="no answer",
        )
        store.commit(Batch(updates=[settled(1, at=3.0), settled(1, crawl=full), settled(2, at=1.0)]))
        assert [c.at for c in store.crawls()] == [3.0, 2.0, 1.0]
        assert store.crawls(source=1)[1] == full
        assert store.crawls(source=1)[1].censored is True
        assert same(store.crawls(source=2)[0], Crawl(source=2, at=1.0, outcome="new"))
        assert [c.at for c in store.crawls(since=2.0)] == [3.0, 2.0]
        assert [c.at for c in store.crawls(source=1, since=3.0)] == [3.0]
        assert [c.at for c in store.crawls(limit=1)] == [3.0]

    def test_totals_are_sums_since_a_time(self, store: Store) -> None:
        filled(store, 1)
        outcomes = ["new", "changed", "failed", "refused", "unchanged", "first"]
        log = [
            settled(1, crawl=Crawl(source=1, at=float(k), outcome=o, requests=2, new=k, captured=0.5))  # type: ignore[arg-type]
            for k, o in enumerate(outcomes)
        ]
        store.commit(Batch(updates=log))
        assert store.totals(0.0) == Totals(crawls=6, requests=12, new=14, changed=1, failed=2, captured=3.0)
        assert store.totals(4.0) == Totals(crawls=2, requests=4, new=9, captured=1.0)
        assert store.totals(99.0) == Totals()

    def test_versions_come_latest_first(self, store: Store) -> None:
        filled(store, 2)
        for at in (1.0, 3.0, 2.0):
            version = Version(source=1, at=at, digest=f"d{at}", text="text\n", diff="-a\n+b\n")
            store.commit(Batch(updates=[settled(1, at=at, version=version)]))
        kept = store.versions(1)
        assert [v.at for v in kept] == [3.0, 2.0, 1.0]
        assert kept[0] == Version(id=kept[0].id, source=1, at=3.0, digest="d3.0", text="text\n", diff="-a\n+b\n")
        assert [v.at for v in store.versions(1, limit=1)] == [3.0]
        assert store.versions(2) == []

    @pytest.mark.parametrize(("name", "read"), [("restless", "restless"), ("numbers", "watched_number")])
    def test_what_is_known_of_a_page_is_replaced_and_goes_with_it(self, store: Store, name: str, read: str) -> None:
        known = getattr(store, read)
        one, other = filled(store, 2)
        store.commit(Batch(updates=[settled(one, **{name: b"1"}), settled(other, **{name: b"\0"})]))
        store.commit(Batch(updates=[settled(one, **{name: b"2"}), settled(other)]))
        assert (known(one), known(other), known(99)) == (b"2", b"\0", None)
        store.remove([one])
        store.commit(Batch(updates=[settled(one, **{name: b"3"})]))
        assert (known(one), known(other)) == (None, b"\0")

    def test_prices_are_the_latest_in_the_order_of_time(self, store: Store) -> None:
        for at in range(5):
            price = Price(at=float(at), price=0.5, budget=10.0, requests=3, captured=1.0, errors=1)
            store.commit(Batch(price=price))
        assert [p.at for p in store.prices(1.0)] == [1.0, 2.0, 3.0, 4.0]
        assert [p.at for p in store.prices(0.0, limit=2)] == [3.0, 4.0]
        assert store.prices(4.0)[0] == Price(at=4.0, price=0.5, budget=10.0, requests=3, captured=1.0, errors=1)


class TestHandingOn:
    def said(self, store: Store, *bodies: bytes) -> None:
        store.commit(Batch(updates=[settled(1, events=[Event(at=1.0, body=body) for body in bodies])]))

    def test_events_come_in_the_order_committed(self, store: Store) -> None:
        filled(store, 1)
        self.said(store, b"1", b"2")
        self.said(store, b"3")
        kept = store.events(0)
        assert [e.body for e in kept] == [b"1", b"2", b"3"]
        assert [e.seq for e in kept] == sorted({e.seq for e in kept})
        assert [e.body for e in store.events(kept[0].seq, limit=1)] == [b"2"]

    def test_a_new_outlet_starts_at_the_end_and_misses_nothing_after(
        self, store: Store, opener: Callable[[], Store]
    ) -> None:
        filled(store, 1)
        self.said(store, b"before")
        assert store.events(store.cursor("webhook")) == []
        self.said(store, b"after")
        store.close()
        again = opener()
        assert [e.body for e in again.events(again.cursor("webhook"))] == [b"after"]

    def test_cursors_go_forwards_only_and_apart(self, store: Store) -> None:
        filled(store, 1)
        start = store.cursor("a")
        self.said(store, b"1", b"2")
        store.advance("a", start + 2)
        store.advance("a", start + 1)
        store.advance("b", start + 1)
        assert (store.cursor("a"), store.cursor("b")) == (start + 2, start + 1)

    def test_numbers_are_never_given_twice(self, store: Store) -> None:
        filled(store, 1)
        self.said(store, b"1")
        last = store.events(0)[-1].seq
        store.vacuum(FOREVER, 2.0)
        assert store.events(0) == []
        assert store.cursor("new") == last
        self.said(store, b"2")
        assert store.events(0)[0].seq > last


class TestKeepingHouse:
    def test_what_is_past_its_time_goes(self, store: Store) -> None:
        filled(store, 1)
        for at in (10.0, 90.0):
            update = settled(1, at=at, items=[Item(source=1, key=int(at), title=f"t{at:.0f}", first_seen=at)])
            store.commit(Batch(updates=[update], price=Price(at=at, price=1.0, budget=1.0, requests=1, captured=0.0)))
        gone = store.vacuum(Keep(items=50.0, crawls=50.0, prices=50.0, versions=5), 100.0)
        assert (gone.items, gone.crawls, gone.prices) == (1, 1, 1)
        assert [i.title for i in store.items()] == [i.title for i in store.items(text="t90")] == ["t90"]
        assert store.items(text="t10") == []
        assert [c.at for c in store.crawls()] == [p.at for p in store.prices(0.0)] == [90.0]

    def test_items_still_listed_stay_known_though_their_content_goes(self, store: Store) -> None:
        filled(store, 2)
        found(store, Item(source=1, key=1, title="listed", first_seen=1.0), listed=True)
        found(store, Item(source=2, key=2, title="gone", first_seen=1.0))
        keep = Keep(items=10.0, crawls=1e9, prices=1e9, versions=5)
        assert store.vacuum(keep, 100.0).items == 2
        assert store.items() == store.items(text="listed") == []
        assert store.unseen([(1, [1]), (2, [2])]) == [set(), {2}]
        store.vacuum(keep, 200.0)
        assert store.unseen([(1, [1])]) == [set()]
        store.commit(Batch(progress=[Progress(source=1)]))
        store.vacuum(keep, 300.0)
        assert store.unseen([(1, [1])]) == [{1}]

    def test_the_latest_version_of_a_page_always_stays(self, store: Store) -> None:
        filled(store, 2)
        for at in (1.0, 2.0, 3.0):
            store.commit(Batch(updates=[settled(1, at=at, version=Version(source=1, at=at, digest="d"))]))
        store.commit(Batch(updates=[settled(2, version=Version(source=2, at=1.0, digest="d"))]))
        assert store.vacuum(Keep(items=1.0, crawls=1.0, prices=1.0, versions=2), 1e6).versions == 1
        assert [v.at for v in store.versions(1)] == [3.0, 2.0]
        store.vacuum(Keep(items=1.0, crawls=1.0, prices=1.0, versions=0, size=1), 1e6)
        assert [v.at for v in store.versions(1)] == [3.0]
        assert len(store.versions(2)) == 1

    def test_states_that_are_no_change_push_out_none_that_is(self, store: Store) -> None:
        filled(store, 1)
        for at in range(1, 10):
            note = "" if at in (1, 2, 3) else "no condition is met"
            version = Version(source=1, at=float(at), digest="d", note=note)
            store.commit(Batch(updates=[settled(1, at=float(at), version=version)]))
        assert store.vacuum(msgspec.structs.replace(FOREVER, versions=2), 1e6).versions == 5
        assert [v.at for v in store.versions(1)] == [9.0, 8.0, 3.0, 2.0]

    def test_events_go_once_every_outlet_has_passed_them_or_with_the_items(self, store: Store) -> None:
        filled(store, 1)
        store.cursor("slow")
        start = store.cursor("fast")
        store.commit(Batch(updates=[settled(1, events=[Event(at=1.0, body=b"1"), Event(at=50.0, body=b"2")])]))
        store.advance("fast", start + 2)
        assert store.vacuum(FOREVER, 60.0).events == 0
        store.advance("slow", start + 1)
        assert store.vacuum(FOREVER, 60.0).events == 1
        assert [e.body for e in store.events(0)] == [b"2"]
        assert store.vacuum(Keep(items=10.0, crawls=1.0, prices=1.0, versions=1), 100.0).events == 1

    def test_the_oldest_go_until_the_size_fits(self, store: Store) -> None:
        filled(store, 1)
        for k in range(40):
            items = [
                Item(source=1, key=100 * k + n, title=f"title {n}", summary=f"{n} " * 300, first_seen=float(k))
                for n in range(50)
            ]
            store.commit(Batch(updates=[settled(1, at=float(k), items=items)]))
        whole = store.vacuum(FOREVER, 100.0).after
        gone = store.vacuum(msgspec.structs.replace(FOREVER, size=whole // 2), 100.0)
        left = store.items(limit=10_000)
        assert whole // 4 < gone.after <= whole // 2
        assert gone.items + len(left) == 2000
        assert len(left) > 400
        assert {i.first_seen for i in left} >= {float(k) for k in range(35, 40)}
        assert left[-1].first_seen > 5.0

    def test_a_size_that_cannot_be_reached_ends_with_what_must_stay(self, store: Store) -> None:
        filled(store, 3)
        found(store, Item(source=1, key=1, first_seen=1.0))
        gone = store.vacuum(msgspec.structs.replace(FOREVER, size=1), 100.0)
        assert gone.items == 1
        assert store.count() == 3


class TestNotes:
    def test_what_is_written_under_a_name_is_read_under_it(self, store: Store, opener: Callable[[], Store]) -> None:
        assert store.note("board") is None
        store.write_note("board", b"\0\xff{}")
        store.write_note("boar", b"")
        assert opener().note("board") == b"\0\xff{}"
        assert store.note("boar") == b""
        store.write_note("board", b"another")
        assert store.note("board") == b"another"

    def test_none_forgets(self, store: Store) -> None:
        store.write_note("wish", None)
        store.write_note("wish", b"x")
        store.write_note("wish", None)
        assert store.note("wish") is None

    @pytest.mark.parametrize("name", [*HOSTILE[:2], *HOSTILE[3:]])
    def test_any_name_will_do(self, store: Store, name: str) -> None:
        store.write_note(name, b"x")
        assert store.note(name) == b"x"

    def test_others_may_write_them_while_one_crawls(self, store: Store, opener: Callable[[], Store]) -> None:
        store.claim("recrawl run", 0.0)
        opener().write_note("wish", b"x")
        assert store.note("wish") == b"x"

    def test_they_stay_when_the_rest_is_swept(self, store: Store) -> None:
        store.write_note("wish", b"x")
        store.vacuum(Keep(items=0.0, crawls=0.0, prices=0.0, versions=0), 1e9)
        assert store.note("wish") == b"x"


class TestThreads:
    def test_readers_see_whole_batches_while_one_writes(self, store: Store) -> None:
        filled(store, 1)
        done = threading.Event()
        odd: list[int] = []

        def read() -> int:
            looks = 0
            while not done.is_set() or looks == 0:
                seen = len(store.items(limit=10_000))
                odd.extend([seen] if seen % 7 else [])
                store.totals(0.0), list(store.progress()), store.items(text="title")
                looks += 1
            return looks

        with ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(read) for _ in range(4)]
            try:
                for k in range(60):
                    items = [Item(source=1, key=7 * k + n, title="title", first_seen=1.0) for n in range(7)]
                    store.commit(Batch(updates=[settled(1, items=items)]))
            finally:
                done.set()
            assert all(reader.result() > 0 for reader in readers)
        assert odd == []

    def test_many_may_write_at_once(self, store: Store, opener: Callable[[], Store]) -> None:
        filled(store, 8)
        stores = [store, opener()]

        def write(source: int) -> None:
            for k in range(20):
                item = Item(source=source, key=k, first_seen=1.0)
                stores[source % 2].commit(Batch(updates=[settled(source, items=[item])]))
                stores[source % 2].add([Source(url=f"added {k}")])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(1, 9)))
        assert len(store.items(limit=1000)) == 160
        assert store.count(text="added") == 20
