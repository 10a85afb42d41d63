"""The embedded store against the plainest one there is: dictionaries."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import postgres
from recrawl.store.opening import open_store
from recrawl.store.records import Batch, Crawl, Event, Item, Keep, Progress, Source, VisitUpdate, keys_in, packed
from recrawl.store.rows import mended
from recrawl.store.sqlite import SqliteStore
from recrawl.store.sqlite.migrations import statements

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
KEYS = st.lists(st.integers(-3, 30), max_size=8)


class StoreAsDictionaries(RuleBasedStateMachine):
    """Sources, items, crawls and events in step with a model; time is the number of the step."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.place = self.somewhere()
        self.store = open_store(self.place)
        self.sources: dict[int, str] = {}
        self.items: dict[tuple[int, int], tuple[str, float]] = {}
        self.known: set[tuple[int, int]] = set()
        self.listings: dict[int, set[int]] = {}
        self.visits: dict[int, int] = {}
        self.crawls: list[tuple[int, float]] = []
        self.events: list[bytes] = []
        self.largest_id = 0
        self.now = 0.0

    def somewhere(self) -> str:
        return str(Path(self.folder.name, "recrawl.db"))

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    def a_source(self, number: int) -> int:
        return sorted(self.sources)[number % len(self.sources)]

    @rule(urls=st.lists(TEXT, min_size=1, max_size=3))
    def add(self, urls: list[str]) -> None:
        for url, added in zip(urls, self.store.add([Source(url=url) for url in urls]), strict=True):
            assert added.new == (mended(url) not in self.sources.values())
            if added.new:
                assert added.id > self.largest_id
                self.largest_id = added.id
                self.sources[added.id], self.visits[added.id], self.listings[added.id] = mended(url), 0, set()
            assert self.sources[added.id] == mended(url)

    @precondition(lambda self: self.sources)
    @rule(visits=st.lists(st.tuples(st.integers(0, 9), KEYS, TEXT), min_size=1, max_size=4))
    def commit(self, visits: list[tuple[int, list[int], str]]) -> None:
        self.now += 1.0
        updates = []
        for number, keys, title in visits:
            source = self.a_source(number)
            self.visits[source] += 1
            self.listings[source] = set(keys)
            new = [Item(source=source, key=key, title=title, first_seen=self.now) for key in keys]
            for key in keys:
                self.items.setdefault((source, key), (mended(title), self.now))
                self.known.add((source, key))
            self.crawls.append((source, self.now))
            self.events.append(title.encode("utf-8", "replace"))
            updates.append(
                VisitUpdate(
                    crawl=Crawl(source=source, at=self.now, outcome="new"),
                    progress=Progress(source=source, visits=self.visits[source], listing=packed(keys)),
                    items=new,
                    events=[Event(at=self.now, body=self.events[-1])],
                )
            )
        self.store.commit(Batch(updates=updates))

    @precondition(lambda self: self.sources)
    @rule(number=st.integers(0, 9))
    def remove(self, number: int) -> None:
        source, before = self.a_source(number), self.store.revision()
        assert self.store.remove([source]) == 1
        assert self.store.removed(before) == [source]
        del self.sources[source], self.visits[source], self.listings[source]
        self.items = {place: kept for place, kept in self.items.items() if place[0] != source}
        self.known = {place for place in self.known if place[0] != source}
        self.crawls = [crawl for crawl in self.crawls if crawl[0] != source]

    @rule(age=st.integers(0, 4))
    def vacuum(self, age: int) -> None:
        self.store.vacuum(Keep(items=float(age), crawls=float(age), prices=1e18, versions=3), self.now)
        oldest = self.now - age
        self.items = {place: kept for place, kept in self.items.items() if kept[1] >= oldest}
        listed = {(source, key) for source, keys in self.listings.items() for key in keys}
        self.known = {place for place in self.known if place in self.items or place in listed}
        self.crawls = [crawl for crawl in self.crawls if crawl[1] >= oldest]
        self.events = []

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_store(self.place)

    @invariant()
    def the_store_holds_what_the_model_holds(self) -> None:
        assert {s.id: s.url for s in self.store.sources()} == self.sources
        assert {(i.source, i.key): (i.title, i.first_seen) for i in self.store.items(limit=10**6)} == self.items
        assert {p.source: p.visits for p in self.store.progress()} == self.visits
        assert {p.source: set(keys_in(p.listing)) for p in self.store.progress()} == self.listings
        assert sorted((c.source, c.at) for c in self.store.crawls(limit=10**6)) == sorted(self.crawls)
        for source in self.sources:
            of_source = [crawl.at for crawl in self.store.crawls(source=source, limit=10**6)]
            assert of_source == sorted((at for whose, at in self.crawls if whose == source), reverse=True)
        assert [e.body for e in self.store.events(0, 10**6)] == self.events

    @invariant()
    def what_is_known_is_not_found_anew(self) -> None:
        asked = [(source, range(-3, 31)) for source in self.sources]
        for (source, keys), unseen in zip(asked, self.store.unseen(asked), strict=True):
            assert {key for key in keys if key not in unseen} == {k for s, k in self.known if s == source}


StoreAsDictionaries.TestCase.settings = settings(max_examples=25, stateful_step_count=15)
test_the_store_is_dictionaries_that_last = StoreAsDictionaries.TestCase


class PostgresAsDictionaries(StoreAsDictionaries):
    """The same over a server."""

    def __init__(self) -> None:
        postgres.server()  # skips where there is none, before anything is made
        super().__init__()

    def somewhere(self) -> str:
        return postgres.server().url()


PostgresAsDictionaries.TestCase.settings = settings(max_examples=8, stateful_step_count=12)
test_the_store_in_a_server_is_dictionaries_that_last = PostgresAsDictionaries.TestCase


@settings(max_examples=60)
@given(titles=st.lists(TEXT, min_size=1, max_size=4), query=TEXT)
def test_any_search_has_an_answer_and_a_title_finds_itself(titles: list[str], query: str) -> None:
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder, "recrawl.db")) as store:
        store.add([Source(url="u")])
        items = [Item(source=1, key=key, title=title, first_seen=1.0) for key, title in enumerate(titles)]
        crawl = Crawl(source=1, at=1.0, outcome="new")
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=1), items=items)]))
        for text in (query, *titles):
            for order in ("found", "relevance"):
                found = store.items(text=text, order=order)  # type: ignore[arg-type]
                assert len({item.key for item in found}) == len(found) <= len(titles)
        for key, title in enumerate(titles):
            if title.isascii() and any(map(str.isalnum, title)):
                assert key in {item.key for item in store.items(text=title)}


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.binary(max_size=7))
def test_listings_are_read_as_they_were_packed(keys: list[int], broken: bytes) -> None:
    assert keys_in(packed(keys) + broken) == keys


@given(TEXT)
def test_mended_text_can_be_written_and_is_mended_once(text: str) -> None:
    once = mended(text)
    assert once.encode().decode() == mended(once) == once


@given(
    st.lists(st.sampled_from(["SELECT 1;", "SELECT ';';", "CREATE TRIGGER t AFTER DELETE ON a BEGIN SELECT 1; END;"]))
)
def test_scripts_are_cut_where_statements_end(parts: list[str]) -> None:
    assert statements("\n".join(parts)) == parts
