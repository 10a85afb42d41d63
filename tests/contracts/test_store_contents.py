"""What every store does with what items say in full, and with what the owner's rules put on them or block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres
from recrawl.store.opening import open_store
from recrawl.store.reader_records import Reader, Wanted
from recrawl.store.records import Batch, Content, Crawl, Event, Item, Keep, Mark, Progress, Source, VisitUpdate, packed
from recrawl.store.roles import Store

FOREVER = {"items": math.inf, "crawls": math.inf, "prices": math.inf, "versions": 10}


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = postgres.server().url() if request.param == "postgres" else str(tmp_path / "recrawl.db")
    with open_store(place) as opened:
        opened.add([Source(url=f"https://{name}.example/") for name in "ab"])
        yield opened


def found(store: Store, *keys: int, source: int = 1, ahead: bool = False, at: float = 1.0, **more: object) -> None:
    items = [Item(source=source, key=key, title=f"t{key}", first_seen=at) for key in keys]
    progress = Progress(source=source, last=at, listing=packed(keys))
    crawl = Crawl(source=source, at=at, outcome="new")
    update = VisitUpdate(crawl=crawl, progress=progress, items=[] if ahead else items, **more)  # type: ignore[arg-type]
    events = [Event(at=at, body=b"{}") for _ in items]
    store.commit(Batch(items=items, events=events, updates=[update]) if ahead else Batch(updates=[update]))


def by_key(store: Store) -> dict[int, int]:
    return {item.key: item.id for item in store.items()}


class TestContents:
    @pytest.mark.parametrize("ahead", [False, True])
    def test_they_come_back_by_number_also_of_items_written_ahead(self, store: Store, ahead: bool) -> None:
        said = {7: Content("Ann", b"\0zstd"), 8: Content("lone \ud800", b""), 99: Content("nobody", b"x")}
        found(store, 7, 8, 9, ahead=ahead, contents=said)
        ids = by_key(store)
        assert store.contents([*ids.values(), 999, -1, 2**70]) == {
            ids[7]: Content("Ann", b"\0zstd"),
            ids[8]: Content("lone \ufffd", b""),
        }
        assert store.contents([]) == {}

    def test_the_first_stays(self, store: Store) -> None:
        found(store, 7, contents={7: Content("Ann", b"1")})
        found(store, 7, contents={7: Content("Ann", b"2")})
        assert [each.record for each in store.contents([*by_key(store).values()]).values()] == [b"1"]

    def test_they_go_with_their_items(self, store: Store) -> None:
        found(store, 7, contents={7: Content("", b"1")})
        found(store, 8, source=2, at=50.0, contents={8: Content("", b"2")})
        ids = [*by_key(store).values()]
        store.vacuum(Keep(**FOREVER | {"items": 10.0}), 55.0)  # type: ignore[arg-type]
        assert [each.record for each in store.contents(ids).values()] == [b"2"]
        store.remove([2])
        assert store.contents(ids) == {}

    def test_the_oldest_go_until_the_rest_fits_and_their_items_stay(self, store: Store) -> None:
        for key in range(40):
            found(store, key, contents={key: Content("", b"x" * 1000)})
        ids = sorted(by_key(store).values())
        assert store.vacuum(Keep(**FOREVER, content=10_500), 2.0).contents == 30  # type: ignore[arg-type]
        assert sorted(store.contents(ids)) == ids[-10:]
        assert len(store.items()) == 40
        assert store.vacuum(Keep(**FOREVER, content=10_500), 2.0).contents == 0  # type: ignore[arg-type]

    def test_of_a_source_that_is_gone_nothing_is_kept(self, store: Store) -> None:
        store.remove([1])
        found(store, 7, contents={7: Content("", b"1")}, marks=[Mark(7, True, ("x",))], blocked=[8])
        assert store.items() == []
        assert store.unseen([(1, [7, 8])]) == [{7, 8}]


class TestRules:
    def test_what_is_blocked_counts_as_known_while_it_is_listed(self, store: Store) -> None:
        progress = Progress(source=1, last=1.0, listing=packed([7, 8]))
        crawl = Crawl(source=1, at=1.0, outcome="new")
        items = [Item(source=1, key=7, first_seen=1.0)]
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items, blocked=[8])]))
        assert [item.key for item in store.items()] == [7]
        assert store.unseen([(1, [7, 8, 9])]) == [{9}]
        store.vacuum(Keep(**FOREVER), 2.0)  # type: ignore[arg-type]
        assert store.unseen([(1, [8])]) == [set()]
        store.commit(Batch(progress=[Progress(source=1, listing=packed([7]))]))
        store.vacuum(Keep(**FOREVER), 3.0)  # type: ignore[arg-type]
        assert store.unseen([(1, [8])]) == [{8}]

    def test_stars_and_labels_are_put_for_everybody_who_reads_the_source(self, store: Store) -> None:
        readers = [store.add_reader(Reader(name=name, password="p", key="k")) for name in ("ann", "ben", "cy")]
        for reader in readers[:2]:
            store.subscribe(reader, [Wanted(source=Source(url="https://a.example/"))], 0.5)
        found(store, 7, 8, marks=[Mark(7, True, ("later", "boats")), Mark(8, False, ("later",)), Mark(99, True, ())])
        ids = by_key(store)
        for reader in readers[:2]:
            seven, eight = store.reading(reader, [ids[7], ids[8]])
            assert (seven.starred, seven.labels) == (True, ("boats", "later"))
            assert (eight.starred, eight.labels) == (False, ("later",))
        assert store.reading(readers[2], [ids[7]]) == []


class TestArticles:
    def test_they_wait_until_they_are_fetched_the_latest_first(self, store: Store) -> None:
        found(store, 7, 8, contents={7: Content("Ann", b"short")}, articles=[7, 8, 99])
        ids = by_key(store)
        assert store.articles(1.0, 9) == [(ids[8], 0), (ids[7], 0)]
        assert store.articles(0.5, 9) == []
        assert store.articles(1.0, 1) == [(ids[8], 0)]
        store.write_article(ids[7], Content("", b"long"))
        assert store.contents([ids[7]]) == {ids[7]: Content("Ann", b"long")}
        assert store.articles(1.0, 9) == [(ids[8], 0)]

    def test_what_could_not_be_had_waits_longer_or_is_left_at_that(self, store: Store) -> None:
        found(store, 7, contents={7: Content("Ann", b"short")}, articles=[7])
        [id] = by_key(store).values()
        store.put_off_article(id, 5.0)
        assert store.articles(4.0, 9) == []
        assert store.articles(5.0, 9) == [(id, 1)]
        store.write_article(id, None)
        assert store.articles(5.0, 9) == []
        assert store.contents([id]) == {id: Content("Ann", b"short")}

    def test_somebody_may_ask_for_one(self, store: Store) -> None:
        found(store, 7)
        [id] = by_key(store).values()
        for each in (id, id, 999, -1):
            store.ask_for_article(each, 2.0)
        assert store.articles(2.0, 9) == [(id, 0)]
        store.remove([1])
        assert store.articles(2.0, 9) == []
