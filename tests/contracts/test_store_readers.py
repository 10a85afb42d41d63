"""What every store does with readers: who they are, what they subscribe to, and what each has read.

Streams and counts are held to a slow model that goes through all items, over random acts of two readers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres
from recrawl.errors import StoreError
from recrawl.store import sql_reading
from recrawl.store.opening import open_store
from recrawl.store.reader_records import Reader, Stream, Subscribed, Wanted
from recrawl.store.records import Batch, Crawl, Item, Keep, Progress, Source, VisitUpdate
from recrawl.store.roles import Store

FOREVER = Keep(items=1e12, crawls=1e12, prices=1e12, versions=9)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = postgres.server().url() if request.param == "postgres" else str(tmp_path / "recrawl.db")
    with open_store(place) as opened:
        yield opened


def added(store: Store, name: str) -> int:
    return store.add_reader(Reader(name=name, password="hash", key="key", added=1.0))


def wanted(name: str, *labels: str, title: str = "") -> Wanted:
    return Wanted(source=Source(url=f"https://{name}.example/"), labels=labels, title=title)


def found(store: Store, source: int, keys: range, at: float) -> None:
    items = [Item(source=source, key=key, title=f"{source}/{key}", first_seen=at) for key in keys]
    crawl = Crawl(source=source, at=at, outcome="new")
    store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=source, last=at), items=items)]))


def unread(store: Store, reader: int) -> dict[int, int]:
    return {each.source: each.count for each in store.unread(reader)}


class TestWho:
    def test_readers_come_by_name_and_no_name_twice(self, store: Store) -> None:
        b, a = added(store, "b"), added(store, "a")
        assert [(each.id, each.name) for each in store.readers()] == [(a, "a"), (b, "b")]
        with pytest.raises(StoreError, match="a reader a already"):
            added(store, "a")
        assert store.reader("nobody") is None

    def test_another_password_comes_with_another_key(self, store: Store) -> None:
        added(store, "a")
        me = added(store, "b")
        store.change_password(me, "other", "fresh")
        assert [(each.password, each.key) for each in store.readers()] == [("hash", "key"), ("other", "fresh")]

    def test_who_is_removed_leaves_nothing(self, store: Store) -> None:
        me, you = added(store, "me"), added(store, "you")
        mine, both = store.subscribe(me, [wanted("a"), wanted("b")], 1.0)
        store.subscribe(you, [wanted("b")], 1.0)
        found(store, mine, range(2), 5.0)
        store.star(me, [1], 6.0)
        store.remove_reader(me)
        assert [each.id for each in store.sources()] == [both]
        assert store.reader("me") is None
        assert store.subscribed(me) == store.stream(me, Stream()) == store.reading(me, [1, 2]) == []


class TestSubscriptions:
    def test_sources_are_added_and_titled_by_each_reader(self, store: Store) -> None:
        store.add([Source(url="https://a.example/", title="Theirs", tags=("owner",))])
        me, you = added(store, "me"), added(store, "you")
        assert store.subscribe(me, [wanted("a", "news"), wanted("b", title="Mine")], 7.0) == [1, 2]
        assert store.subscribe(you, [wanted("b")], 8.0) == [2]
        assert store.subscribed(me) == [
            Subscribed(source=1, url="https://a.example/", title="Theirs", labels=("news",), added=7.0),
            Subscribed(source=2, url="https://b.example/", title="Mine", added=7.0),
        ]
        assert [each.title for each in store.subscribed(you)] == ["https://b.example/"]
        assert [each.source for each in store.subscribed(me, [2, 99, -1])] == [2]
        assert store.subscribed(me, []) == []

    def test_subscribing_again_adds_labels_and_changes_nothing_else(self, store: Store) -> None:
        me = added(store, "me")
        store.subscribe(me, [wanted("a", "x", title="A")], 1.0)
        found(store, 1, range(3), 5.0)
        store.mark_all_read(me, None, 9.0)
        assert store.subscribe(me, [wanted("a", "y"), wanted("a", "x")], 9.0) == [1, 1]
        assert [(each.title, each.labels, each.added) for each in store.subscribed(me)] == [("A", ("x", "y"), 1.0)]
        assert unread(store, me) == {1: 0}

    def test_titles_and_labels_are_edited(self, store: Store) -> None:
        me = added(store, "me")
        store.subscribe(me, [wanted("a", "x")], 1.0)
        line = store.subscribed(me)[0]
        line.title, line.labels = "New", ()
        store.edit_subscriptions(me, [line, Subscribed(source=99, url="", title="none")])
        assert store.subscribed(me) == [line]

    def test_there_is_a_bound(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recrawl.store.sql_readers.MOST_SUBSCRIPTIONS", 2)
        me = added(store, "me")
        with pytest.raises(StoreError, match="more than 2 subscriptions"):
            store.subscribe(me, [wanted("a"), wanted("b"), wanted("c")], 1.0)
        assert store.count() == 0
        store.subscribe(me, [wanted("a"), wanted("b"), wanted("a")], 1.0)

    def test_what_nobody_has_any_more_leaves_the_catalogue(self, store: Store) -> None:
        store.add([Source(url="https://a.example/")])
        me, you = added(store, "me"), added(store, "you")
        a, b, c = store.subscribe(me, [wanted("a"), wanted("b"), wanted("c")], 1.0)
        store.subscribe(you, [wanted("c")], 1.0)
        before = store.revision()
        store.unsubscribe(me, [a, b, c, 99])
        assert [each.id for each in store.sources()] == [a, c]
        assert store.removed(before) == [b]
        store.unsubscribe(you, [c])
        assert [each.id for each in store.sources()] == [a]

    def test_what_the_owner_asked_for_meanwhile_stays(self, store: Store) -> None:
        me = added(store, "me")
        a, b, c = store.subscribe(me, [wanted("a"), wanted("b"), wanted("c")], 1.0)
        store.add([Source(url="https://a.example/")])
        line = store.source(b)
        assert line is not None
        store.edit([line])
        store.unsubscribe(me, [a, b, c])
        assert [each.id for each in store.sources()] == [a, b]

    def test_starred_items_keep_a_source_that_is_paused_until_somebody_wants_it(self, store: Store) -> None:
        me = added(store, "me")
        (a,) = store.subscribe(me, [wanted("a")], 1.0)
        found(store, a, range(2), 5.0)
        store.star(me, [2], 6.0)
        store.unsubscribe(me, [a])
        line = store.source(a)
        assert line is not None
        assert (line.state, "nobody" in line.note) == ("paused", True)
        assert [(each.item.id, each.read) for each in store.reading(me, [1, 2])] == [(2, True)]
        assert store.stream(me, Stream(starred=True)) == [2]
        assert store.stream(me, Stream()) == []
        before = store.revision()
        store.subscribe(me, [wanted("a")], 9.0)
        assert [(each.id, each.state, each.note) for each in store.sources(since_revision=before)] == [
            (a, "active", "")
        ]


class TestReading:
    def test_one_readers_state_is_not_anothers(self, store: Store) -> None:
        me, you = added(store, "me"), added(store, "you")
        store.subscribe(me, [wanted("a")], 1.0)
        store.subscribe(you, [wanted("a"), wanted("b")], 1.0)
        found(store, 1, range(2), 5.0)
        found(store, 2, range(1), 6.0)
        assert store.mark_read(me, [1, 3, 99, 2**70, -4], read=True) == [(1, 1)]
        assert store.star(me, [2, 3], 7.0) == [(2, 1)]
        store.label_items(me, [3], "x", given=True)
        assert (unread(store, me), unread(store, you)) == ({1: 1}, {1: 2, 2: 1})
        assert [each.item.id for each in store.reading(me, [1, 2, 3])] == [1, 2]
        assert not any(each.read or each.starred or each.labels for each in store.reading(you, [1, 2, 3]))
        assert store.item_labels(me) == []

    def test_what_was_noted_late_is_not_read_with_all_before(self, store: Store) -> None:
        me = added(store, "me")
        store.subscribe(me, [wanted("a")], 1.0)
        found(store, 1, range(1), 100.0)
        store.mark_all_read(me, None, 110.0)
        found(store, 1, range(1, 2), 95.0)  # found before, written afterwards
        assert store.stream(me, Stream(read=False)) == [2]
        assert unread(store, me) == {1: 1}

    def test_all_up_to_a_time_means_that_time(self, store: Store) -> None:
        me = added(store, "me")
        store.subscribe(me, [wanted("a"), wanted("b")], 1.0)
        for k in range(6):
            found(store, 1 + k % 2, range(k, k + 1), 10.0 * k)
        store.mark_all_read(me, None, 30.0)
        assert store.stream(me, Stream(read=False)) == [6, 5]
        store.mark_read(me, [2], read=False)
        store.mark_all_read(me, [1], 100.0)
        assert store.stream(me, Stream(read=False)) == [6, 2]
        store.mark_all_read(me, None, 10.0)
        assert store.stream(me, Stream(read=False)) == [6]

    def test_marks_of_a_source_that_is_read_whole_take_no_room(self, store: Store) -> None:
        me = added(store, "me")
        store.subscribe(me, [wanted("a")], 1.0)
        found(store, 1, range(5), 5.0)
        store.star(me, [3], 6.0)
        for item in (5, 2, 3, 1, 4):
            store.mark_read(me, [item], read=True)
        assert rows(store) == 1  # the star
        found(store, 1, range(5, 6), 7.0)
        assert store.stream(me, Stream(read=False)) == [6]

    def test_labels_come_and_go(self, store: Store) -> None:
        me = added(store, "me")
        store.subscribe(me, [wanted("a")], 1.0)
        found(store, 1, range(3), 5.0)
        store.label_items(me, [1, 3], "x", given=True)
        store.label_items(me, [3], "b", given=True)
        assert store.item_labels(me) == ["b", "x"]
        assert [each.labels for each in store.reading(me, [3, 1])] == [("x",), ("b", "x")]
        assert store.stream(me, Stream(label="x")) == [3, 1]
        assert store.stream(me, Stream(label="x", sources=[1], limit=2)) == [3, 2]
        assert store.stream(me, Stream(label="x", sources=[], oldest_first=True)) == [1, 3]
        store.label_items(me, [1, 3], "x", given=False)
        assert store.stream(me, Stream(label="x")) == []

    def test_stars_and_labels_are_bounded(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sql_reading, "MOST_KEPT", 2)
        me = added(store, "me")
        store.subscribe(me, [wanted("a")], 1.0)
        found(store, 1, range(3), 5.0)
        for act in (lambda: store.star(me, [1, 2, 3], 6.0), lambda: store.label_items(me, [1, 2, 3], "x", given=True)):
            with pytest.raises(StoreError, match="more than 2 "):
                act()
        assert not any(each.starred or each.labels for each in store.reading(me, [1, 2, 3]))

    def test_retention_keeps_what_is_starred_or_labelled_and_takes_the_rest_along(self, store: Store) -> None:
        me = added(store, "me")
        store.subscribe(me, [wanted("a")], 1.0)
        found(store, 1, range(5), 5.0)
        store.star(me, [2], 6.0)
        store.label_items(me, [4], "later", given=True)
        store.mark_read(me, [1, 5], read=True)
        gone = store.vacuum(Keep(items=1.0, crawls=1e12, prices=1e12, versions=9), now=1000.0)
        assert (gone.items, [each.id for each in store.items()]) == (3, [4, 2])
        assert unread(store, me) == {1: 2}
        store.star(me, [2], None)
        store.label_items(me, [4], "later", given=False)
        assert store.vacuum(Keep(items=1.0, crawls=1e12, prices=1e12, versions=9), now=1000.0).items == 2
        assert (unread(store, me), rows(store)) == ({1: 0}, 0)


def rows(store: Store) -> int:
    """Of what single items are noted for."""
    return int(store._fetch("SELECT count(*) FROM reader_items")[0][0])  # type: ignore[attr-defined]


class Model:
    """One reader, slowly: what is read and starred, item by item."""

    def __init__(self) -> None:
        self.read: set[int] = set()
        self.starred: set[int] = set()
        self.labelled: set[int] = set()

    def stream(self, items: dict[int, Item], mine: set[int], asked: Stream) -> list[int]:
        def fits(item: Item) -> bool:
            id = item.id
            among = item.source in mine and (asked.sources is None or item.source in asked.sources)
            ours = among or (asked.label == "x" and id in self.labelled)
            if asked.label and asked.sources is None:
                ours = id in self.labelled
            return (
                ours
                and asked.read in (None, id in self.read)
                and asked.starred in (None, id in self.starred)
                and (asked.since is None or item.first_seen >= asked.since)
                and (asked.until is None or item.first_seen <= asked.until)
                and (asked.after is None or (id > asked.after if asked.oldest_first else id < asked.after))
            )

        ids = sorted((id for id, item in items.items() if fits(item)), reverse=not asked.oldest_first)
        return ids[: asked.limit]


@pytest.mark.parametrize("gathered", [(1, 3), (3, 3000), (5000, 5000)])
@pytest.mark.parametrize("seed", range(4))
def test_streams_and_counts_are_those_of_a_slow_model(
    store: Store, seed: int, gathered: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_reading, "GATHERED", gathered)
    monkeypatch.setattr(sql_reading, "WALKED", 10)
    monkeypatch.setattr(sql_reading, "FEW_SOURCES", 1)
    draw = random.Random(seed)
    readers = {added(store, name): Model() for name in ("me", "you")}
    mine = {}
    for reader in readers:
        mine[reader] = set(store.subscribe(reader, [wanted(name) for name in draw.sample("abcde", 3)], 0.0))
    sources = [each.id for each in store.sources()]
    items: dict[int, Item] = {}
    clock = 100.0
    for step in range(60):
        reader, model = draw.choice([*readers.items()])
        some = draw.sample(sorted(items), min(len(items), draw.randint(1, 4)))
        seen = {id for id in some if items[id].source in mine[reader]}
        match draw.randint(0, 7):
            case 0 | 1:
                clock += draw.choice([0.0, 10.0, 50.0])
                found(store, draw.choice(sources), range(100 * step, 100 * step + draw.randint(1, 5)), clock)
                items = {item.id: item for item in store.items(limit=10_000)}
            case 2:
                store.mark_read(reader, some, read=True)
                model.read |= seen
            case 3:
                store.mark_read(reader, some, read=False)
                model.read -= seen
            case 4:
                store.star(reader, some, clock)
                model.starred |= seen
            case 5:
                store.star(reader, some, None)
                model.starred -= seen
            case 6:
                store.label_items(reader, some, "x", given=True)
                model.labelled |= seen
            case 7:
                those = draw.choice([None, draw.sample(sources, 2)])
                until = clock - draw.choice([0.0, 20.0])
                store.mark_all_read(reader, those, until)
                model.read |= {
                    item.id
                    for item in items.values()
                    if item.source in mine[reader]
                    and (those is None or item.source in those)
                    and item.first_seen <= until
                }
        for _ in range(3):
            asked = Stream(
                sources=draw.choice([None, draw.sample(sources, 2), []]),
                label=draw.choice(["", "", "x"]),
                read=draw.choice([None, True, False, False]),
                starred=draw.choice([None, None, True, False]),
                since=draw.choice([None, clock - 30.0]),
                until=draw.choice([None, clock - 10.0]),
                oldest_first=draw.random() < 0.3,
                after=draw.choice([None, draw.choice([*items, 1])]),
                limit=draw.choice([1, 3, 1000]),
            )
            assert store.stream(reader, asked) == model.stream(items, mine[reader], asked), asked
        counts = dict.fromkeys(mine[reader], 0)
        for item in items.values():
            if item.source in counts and item.id not in model.read:
                counts[item.source] += 1
        assert unread(store, reader) == counts
