"""Several writers share a store in PostgreSQL: each sees its buckets, and writes for nobody else's."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

import postgres
from recrawl.clock import ManualClock
from recrawl.errors import StoreError, StoreTakenError
from recrawl.store.records import (
    Batch,
    Crawl,
    Event,
    Hold,
    Item,
    Price,
    Progress,
    Robots,
    Signal,
    Source,
    Subscription,
    VisitUpdate,
)
from recrawl.store.roles import Store

pytest.importorskip("psycopg")

from recrawl.store.postgres import PostgresStore
from recrawl.store.postgres.connection import PostgresConnection
from recrawl.store.postgres.slice import Slice

LEASE_S = 1e6
"""So long that the time a test takes is nothing: time passes when it is told to."""
BUCKETS = 6


def bucket_of(url: str) -> int:
    return int(url.removeprefix("https://").partition(".")[0]) % BUCKETS


def scope(bucket: int) -> str:
    return f"bucket/{bucket:04d}"


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    with PostgresStore(postgres.server().url()) as opened:
        yield opened


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def passes(leases: float, store: PostgresStore, clock: ManualClock) -> None:
    """Time passes, so many lengths of a lease, here and at the server: what is left of every lease shrinks."""
    seconds = leases * LEASE_S
    clock.advance(seconds)
    store._connections.writing(lambda c: c.run("UPDATE owners SET until = until - $1 WHERE until > 0", seconds))


def slice_of(store: PostgresStore, clock: ManualClock, name: str = "a", hosts: bool = False) -> Slice:
    host = (lambda key: int(key) % BUCKETS) if hosts else None
    return Slice(
        store, name=name, owner=f"{name} of tests", seconds=LEASE_S, now=clock.now, scope=scope, bucket_of_host=host
    )


def filled(store: PostgresStore, count: int = 12) -> None:
    """Source n (from 1) is in bucket (n - 1) mod BUCKETS."""
    store.add([Source(url=f"https://{k}.example/") for k in range(count)])
    place(store)


def place(store: PostgresStore) -> None:
    store.place([(id, url, bucket_of(url)) for id, url in store.unplaced(1000)])


def update(source: int, /, number: int = 1, **parts: object) -> VisitUpdate:
    progress = Progress(source=source, last=float(number), visits=number)
    items = [Item(source=source, key=number, title=f"n{number}", first_seen=1.0)]
    crawl = Crawl(source=source, at=float(number), outcome="new")
    events = [Event(at=1.0, body=b"%d" % number)]
    return VisitUpdate(crawl=crawl, progress=progress, items=items, events=events, **parts)  # type: ignore[arg-type]


def crawled(store: Store) -> set[tuple[int, float]]:
    return {(crawl.source, crawl.at) for crawl in store.crawls(limit=10**6)}


class Reader:
    """Follows a store as the pipeline does: what it has seen come and not seen go."""

    def __init__(self, store: Store) -> None:
        self.store, self.revision = store, store.revision()
        self.sources = {source.id: source for source in store.sources()}
        self.admitted: list[int] = []

    def follow(self) -> set[int]:
        revision = self.store.revision()
        self.admitted = []
        if revision != self.revision:
            edited = self.store.sources(since_revision=self.revision)
            for gone in self.store.removed(self.revision):
                self.sources.pop(gone, None)
            self.admitted = [source.id for source in edited if source.id not in self.sources]
            self.sources.update((source.id, source) for source in edited)
            self.revision = revision
        return set(self.sources)


class TestPlacing:
    def test_sources_wait_to_be_placed_and_are_placed_once(self, store: PostgresStore) -> None:
        store.add([Source(url=f"https://{k}.example/") for k in range(4)])
        assert store.unplaced(3) == [(k + 1, f"https://{k}.example/") for k in range(3)]
        assert len(store.unplaced(9)) == 4
        before = store.revision()
        place(store)
        assert store.unplaced(10) == []
        assert {source.id for source in store.sources(since_revision=before)} == {1, 2, 3, 4}
        store.place([])
        assert store.revision() == before + 1

    def test_one_that_moved_meanwhile_is_not_placed_by_its_old_address(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        store.add([Source(url="https://0.example/")])
        found = store.unplaced(10)
        line = store.sources()[0]
        store.edit([msgspec.structs.replace(line, url="https://1.example/")])
        store.place([(id, url, bucket_of(url)) for id, url in found])
        assert store.unplaced(10) == [(1, "https://1.example/")]
        place(store)
        mine = slice_of(store, clock)
        mine.acquire({1})
        assert [source.id for source in mine.sources()] == [1]

    def test_only_a_new_address_takes_a_source_out_of_its_bucket(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        filled(store)
        mine = slice_of(store, clock)
        mine.acquire({0, 1})
        reader = Reader(mine)
        line = store.source(1)
        assert line is not None
        store.edit([msgspec.structs.replace(line, title="another")])
        assert reader.follow() == {1, 2, 7, 8}
        assert reader.sources[1].title == "another"
        line = store.source(1)
        assert line is not None
        store.edit([msgspec.structs.replace(line, url="https://13.example/")])
        assert reader.follow() == {2, 7, 8}
        place(store)
        assert reader.follow() == {1, 2, 7, 8}
        assert reader.admitted == [1]
        assert mine.bucket_of(1) == 1

    def test_one_that_left_and_came_back_between_two_looks_is_taken_in_anew(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        filled(store)
        mine = slice_of(store, clock)
        mine.acquire({0})
        reader = Reader(mine)
        line = store.source(1)
        assert line is not None
        moved = msgspec.structs.replace(line, url="https://6.example/new")
        mine.commit(Batch(updates=[update(1, source=moved)]))
        assert store.unplaced(10) == [(1, "https://6.example/new")]
        place(store)
        assert reader.follow() == {1, 7}
        assert reader.admitted == [1]

    def test_sources_found_on_the_way_are_placed_later(self, store: PostgresStore, clock: ManualClock) -> None:
        filled(store)
        mine = slice_of(store, clock)
        mine.acquire({0})
        reader = Reader(mine)
        mine.commit(Batch(updates=[update(1, children=[Source(url="https://12.example/map")])]))
        assert reader.follow() == {1, 7}
        place(store)
        assert reader.follow() == {1, 7, 13}


class TestSeeing:
    def test_a_slice_sees_the_sources_of_its_buckets(self, store: PostgresStore, clock: ManualClock) -> None:
        filled(store)
        mine = slice_of(store, clock)
        assert mine.sources() == []
        assert list(mine.progress()) == []
        assert mine.acquire({0, 1}) == mine.held == {0, 1}
        assert [source.id for source in mine.sources()] == [1, 2, 7, 8]
        assert [each.source for each in mine.progress()] == [1, 2, 7, 8]
        assert mine.bucket_of(8) == 1
        assert mine.bucket_of(3) is None
        assert [source.id for source in mine.sources(ids=[8, 3, 1, 99])] == [1, 8]
        mine.retire({0})
        assert [source.id for source in mine.sources(ids=[8, 3, 1])] == [8]
        assert mine.count() == 12
        assert len(mine.sources(text="example", limit=100)) == 12

    def test_buckets_that_come_and_go_look_like_edits(self, store: PostgresStore, clock: ManualClock) -> None:
        filled(store)
        mine = slice_of(store, clock)
        reader = Reader(mine)
        steps: list[tuple[Callable[[], object], set[int]]] = [
            (lambda: mine.acquire({0}), {1, 7}),
            (lambda: mine.acquire({1, 2}), {1, 2, 3, 7, 8, 9}),
            (lambda: mine.renew(), {1, 2, 3, 7, 8, 9}),
            (lambda: store.remove([7]), {1, 2, 3, 8, 9}),
            (lambda: mine.retire({1}), {1, 3, 9}),
            (lambda: mine.retire({1}), {1, 3, 9}),
            (lambda: mine.let_go({1, 2}), {1}),
            (lambda: mine.acquire({1}), {1, 2, 8}),
            (lambda: store.add([Source(url="https://12.example/")]), {1, 2, 8}),
            (lambda: place(store), {1, 2, 8, 13}),
        ]
        for step, seen in steps:
            step()
            assert reader.follow() == seen
            assert reader.follow() == seen

    def test_nothing_new_means_the_same_revision(self, store: PostgresStore, clock: ManualClock) -> None:
        filled(store)
        mine = slice_of(store, clock)
        mine.acquire({0})
        before = mine.revision()
        mine.acquire({0})
        mine.renew()
        mine.retire({5})
        mine.let_go({5})
        assert mine.revision() == before

    def test_a_bucket_that_went_and_came_back_between_two_looks_is_read_anew(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        filled(store)
        one, other = slice_of(store, clock), slice_of(store, clock, "b")
        one.acquire({0})
        reader = Reader(one)
        one.let_go({0})
        other.acquire({0})
        other.sources()
        other.commit(Batch(updates=[update(1)]))
        other.let_go({0})
        one.acquire({0})
        assert reader.follow() == {1, 7}
        assert reader.admitted == [1, 7]
        assert next(one.progress([1])).visits == 1

    def test_holds_are_those_of_its_buckets(self, store: PostgresStore, clock: ManualClock) -> None:
        filled(store)
        store.commit(Batch(holds=[Hold(host="3", until=9e9), Hold(host="0", until=9e9)]))
        one, other = slice_of(store, clock, hosts=True), slice_of(store, clock, "b", hosts=True)
        one.acquire({0, 1})
        other.acquire({3})
        one.commit(Batch(holds=[Hold(host="1", until=9e9), Hold(host="3", until=1.0), Hold(host="6", until=1.0)]))
        assert {hold.host for hold in one.holds(5.0)} == {"0", "1"}
        assert {hold.host for hold in other.holds(5.0)} == {"3"}
        assert {hold.host for hold in slice_of(store, clock).holds(5.0)} == {"0", "1", "3"}
        one.let_go({1})
        assert {hold.host for hold in one.holds(5.0)} == {"0"}

    def test_each_has_a_record_of_its_own_and_begins_with_anothers(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        filled(store)
        store.commit(Batch(shared=b"single"))
        one, other = slice_of(store, clock), slice_of(store, clock, "b")
        assert one.shared() == b"single"
        one.acquire({0})
        one.commit(Batch(shared=b"of a"))
        assert (one.shared(), other.shared()) == (b"of a", b"of a")
        other.acquire({1})
        other.commit(Batch(shared=b"of b"))
        assert (one.shared(), other.shared(), store.shared()) == (b"of a", b"of b", b"single")


class TestLeases:
    def test_what_is_held_is_not_given_to_another(self, store: PostgresStore, clock: ManualClock) -> None:
        one, other = slice_of(store, clock), slice_of(store, clock, "b")
        assert one.acquire({0, 1}) == {0, 1}
        assert other.acquire({1, 2}) == {2}
        one.let_go({1})
        assert other.acquire({1, 2}) == {1}
        assert {lease.scope: lease.owner for lease in store.leases("bucket/")} == {
            scope(0): "a of tests",
            scope(1): "b of tests",
            scope(2): "b of tests",
        }
        assert store.live_leases() == 3

    def test_a_lease_counts_from_before_it_was_asked_for(self, store: PostgresStore, clock: ManualClock) -> None:
        mine = slice_of(store, clock)
        assert mine.until < clock.now()
        start = clock.now()
        mine.acquire({0})
        assert mine.until == start + LEASE_S
        clock.advance(0.4 * LEASE_S)
        mine.acquire({1})
        assert mine.until == start + LEASE_S
        assert mine.valid(0, start + 0.99 * LEASE_S)
        assert not mine.valid(0, start + LEASE_S)
        assert mine.valid(1, start + LEASE_S)
        mine.renew()
        assert mine.until == clock.now() + LEASE_S
        assert not mine.valid(2, start)

    def test_one_that_slept_past_its_lease_is_renewed_where_nobody_took_it(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        filled(store)
        one, other = slice_of(store, clock), slice_of(store, clock, "b")
        one.acquire({0, 1})
        reader = Reader(one)
        passes(6.0, store, clock)
        assert not one.valid(0, clock.now())
        assert other.acquire({1}) == {1}
        assert one.renew() == {1}
        assert one.valid(0, clock.now())
        assert not one.valid(1, clock.now())
        assert one.held == {0}
        assert reader.follow() == {1, 7}

    def test_a_retiring_bucket_is_renewed_and_written_but_not_seen(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        filled(store)
        one, other = slice_of(store, clock), slice_of(store, clock, "b")
        one.acquire({0, 1})
        one.sources()
        one.retire({0})
        assert (one.held, one.retiring) == ({0, 1}, {0})
        assert one.acquire({0}) == set()
        assert one.bucket_of(1) == 0
        passes(0.8, store, clock)
        one.renew()
        passes(0.8, store, clock)
        assert one.valid(0, clock.now())
        assert other.acquire({0}) == set()
        one.commit(Batch(updates=[update(1), update(2)]))
        assert crawled(store) == {(1, 1.0), (2, 1.0)}
        one.let_go({0})
        assert (one.held, one.retiring) == ({1}, set())
        assert other.acquire({0}) == {0}
        assert next(other.progress([1])).visits == 1

    def test_a_program_that_is_refused_keeps_nobody_out(
        self, store: PostgresStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Not even for as long as the server takes to notice that its connection has ended."""
        filled(store)
        one, ended = slice_of(store, clock), list[Any]()
        one.acquire({0})
        with PostgresStore(store.address.dsn + f"?schema={store.address.schema}") as single:
            with monkeypatch.context() as patch:
                patch.setattr(PostgresConnection, "close", lambda connection: ended.append(connection))
                with pytest.raises(StoreError, match="recrawl cluster down first"):
                    single.claim("recrawl run", 0.0)
                assert ended
                assert single.claimed() is None
                assert one.acquire({1}) == {1}
            for connection in ended:
                connection.close()

    def test_a_fleet_and_a_single_program_keep_each_other_out(self, store: PostgresStore, clock: ManualClock) -> None:
        filled(store)
        one = slice_of(store, clock)
        one.acquire({0, 1})
        one.sources()
        with PostgresStore(store.address.dsn + f"?schema={store.address.schema}") as single:
            with pytest.raises(StoreError, match=r"fleet.*a of tests.*recrawl cluster down first"):
                single.claim("recrawl run", 0.0)
            assert single.claimed() is None
            passes(6.0, store, clock)
            single.claim("recrawl run", 0.0)
            with pytest.raises(StoreError, match="recrawl run"):
                one.acquire({2})
            one.commit(Batch(updates=[update(1)]))
            assert crawled(store) == set()
            assert one.held == set()
            single.release()
            assert one.acquire({0}) == {0}
            one.let_go({0})
            single.claim("recrawl run", 0.0)

    def test_a_server_that_is_away_is_an_error_and_takes_nothing_away(self, clock: ManualClock) -> None:
        server = postgres.new_server()
        try:
            with PostgresStore(server.url()) as store:
                filled(store)
                mine = slice_of(store, clock)
                mine.acquire({0, 1})
                mine.sources()
                batch = Batch(updates=[update(1)])
                server.stop()
                for call in (mine.renew, lambda: mine.acquire({2}), lambda: mine.commit(batch), mine.revision):
                    with pytest.raises(StoreError, match=r"away|answer"):
                        call()
                assert mine.held == {0, 1}
                server.start()
                assert mine.renew() == set()
                mine.commit(batch)
                mine.commit(Batch(updates=[update(1, 2)]))
                assert crawled(store) == {(1, 1.0), (1, 2.0)}
        finally:
            server.remove()


class TestWriting:
    def test_what_belongs_to_a_lost_bucket_is_left_out_and_all_else_is_written(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        filled(store)
        one, other = slice_of(store, clock), slice_of(store, clock, "b")
        one.acquire({0, 1, 2})
        reader = Reader(one)
        passes(6.0, store, clock)
        other.acquire({0})
        other.sources()
        other.commit(Batch(updates=[update(1, 5)]))
        ahead = [Item(source=source, key=77, title="ahead", first_seen=1.0) for source in (7, 8)]
        one.commit(
            Batch(
                updates=[update(1), update(2)],
                items=ahead,
                events=[Event(at=1.0, body=b"seven"), Event(at=1.0, body=b"eight")],
                progress=[Progress(source=7, visits=9), Progress(source=9, visits=9)],
                robots=[Robots(origin="o", fetched=1.0, status=200)],
                price=Price(at=1.0, price=1.0, budget=1.0, requests=1, captured=1.0),
            )
        )
        assert crawled(store) == {(1, 5.0), (2, 1.0)}
        assert {item.source for item in store.items(text="ahead")} == {8}
        assert [event.body for event in store.events(0)] == [b"5", b"eight", b"1"]
        assert {each.source: each.visits for each in store.progress() if each.visits} == {1: 5, 2: 1, 9: 9}
        assert store.robots("o") is not None
        assert store.prices(0.0) == []
        assert one.held == {1, 2}
        assert reader.follow() == {2, 3, 8, 9}

    def test_one_that_holds_nothing_writes_nothing(self, store: PostgresStore, clock: ManualClock) -> None:
        filled(store)
        one, other = slice_of(store, clock), slice_of(store, clock, "b")
        everything = Batch(
            updates=[update(1)],
            holds=[Hold(host="0", until=9.0)],
            robots=[Robots(origin="o", fetched=1.0, status=1)],
            shared=b"s",
        )
        one.commit(everything)
        one.acquire({0})
        one.sources()
        passes(6.0, store, clock)
        other.acquire({0})
        one.commit(everything)
        assert crawled(store) == set()
        assert (store.holds(0.0), store.robots("o"), one.shared()) == ([], None, None)
        one.commit(Batch(price=Price(at=1.0, price=1.0, budget=1.0, requests=1, captured=1.0)))

    def test_sources_it_was_never_shown_are_left_out(self, store: PostgresStore, clock: ManualClock) -> None:
        filled(store)
        mine = slice_of(store, clock)
        mine.acquire({0})
        mine.sources()
        mine.commit(Batch(updates=[update(1), update(2)]))
        assert crawled(store) == {(1, 1.0)}

    def test_a_source_that_went_to_anothers_bucket_is_left_out(self, store: PostgresStore, clock: ManualClock) -> None:
        filled(store)
        mine = slice_of(store, clock)
        mine.acquire({0})
        mine.sources()
        line = store.source(1)
        assert line is not None
        store.edit([msgspec.structs.replace(line, url="https://13.example/")])
        mine.commit(Batch(updates=[update(1)]))
        place(store)
        mine.commit(Batch(updates=[update(1, 2), update(7)], progress=[Progress(source=1, visits=9)]))
        assert crawled(store) == {(1, 1.0), (7, 1.0)}
        assert next(store.progress([1])).visits == 1

    def test_a_batch_given_again_after_a_loss_is_written_once(
        self, store: PostgresStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        filled(store)
        one, other = slice_of(store, clock), slice_of(store, clock, "b")
        one.acquire({0, 1})
        one.sources()
        batch = Batch(updates=[update(1), update(2)])
        writing = store._connections.writing

        def unheard(work: object) -> None:
            writing(work)  # type: ignore[arg-type]
            raise StoreError("the answer was lost")

        monkeypatch.setattr(store._connections, "writing", unheard)
        with pytest.raises(StoreError, match="lost"):
            one.commit(batch)
        monkeypatch.undo()
        passes(6.0, store, clock)
        other.acquire({0})
        one.commit(batch)
        assert [(crawl.source, crawl.at) for crawl in store.crawls()] in ([(2, 1.0), (1, 1.0)], [(1, 1.0), (2, 1.0)])

    def test_a_store_that_was_claimed_and_lost_is_not_mistaken_for_a_lost_bucket(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        filled(store)
        mine = slice_of(store, clock)
        mine.acquire({0})
        mine.sources()
        store._claim._epoch, store._claim._connection = 99, store._connections.connect()
        with pytest.raises(StoreTakenError):
            mine.commit(Batch(updates=[update(1)]))

    def test_renewals_do_not_wait_for_a_batch_and_another_owner_does(
        self, store: PostgresStore, clock: ManualClock
    ) -> None:
        filled(store)
        one, other = slice_of(store, clock), slice_of(store, clock, "b")
        one.acquire({0})
        one.sources()
        counter_is_held, may_end = threading.Event(), threading.Event()

        def hold_the_counter(connection: object) -> None:
            connection.run("UPDATE counters SET value = value WHERE name = 'events'")  # type: ignore[attr-defined]
            counter_is_held.set()
            while not may_end.is_set():
                connection.run("SELECT pg_sleep(0.01)")  # type: ignore[attr-defined]

        with ThreadPoolExecutor(3) as pool:
            blocked = pool.submit(store._connections.writing, hold_the_counter)
            counter_is_held.wait(10)
            written = pool.submit(one.commit, Batch(updates=[update(1)]))
            with pytest.raises(TimeoutError):
                written.result(0.2)
            assert one.renew() == set()
            passes(6.0, store, clock)
            taken = pool.submit(other.acquire, {0, 1})
            with pytest.raises(TimeoutError):
                taken.result(0.2)
            may_end.set()
            blocked.result(10)
            written.result(10)
            assert taken.result(10) == {0, 1}
        assert next(other.progress([1])).visits == 1


class World:
    """Three slices doing as they please, and what must be true of them."""

    def __init__(self, store: PostgresStore, seed: int) -> None:
        self.store, self.clock, self.random = store, ManualClock(), random.Random(seed)
        self.slices = [slice_of(store, self.clock, name) for name in "abc"]
        self.readers = [Reader(each) for each in self.slices]
        self.committed, self.number = 0, 0

    def some(self) -> set[int]:
        return {bucket for bucket in range(BUCKETS) if self.random.random() < 0.4}

    def step(self) -> None:
        place = self.random.randrange(len(self.slices))
        actor, reader = self.slices[place], self.readers[place]
        usual = ["acquire", "look", "time", "commit"]
        what = self.random.choice([*usual, *usual, "renew", "retire", "let_go"])
        if what == "acquire":
            actor.acquire(self.some())
        elif what == "renew":
            actor.renew()
        elif what == "retire":
            actor.retire(self.some())
        elif what == "let_go":
            actor.let_go(actor.retiring)
        elif what == "time":
            passes(self.random.choice([0.05, 0.3, 0.7, 1.1]), self.store, self.clock)
        elif what == "look":
            assert reader.follow() == {n for n in range(1, 13) if (n - 1) % BUCKETS in actor.held - actor.retiring}
        else:
            self.commit(actor)

    def epochs(self) -> dict[str, int]:
        return {lease.scope: lease.epoch for lease in self.store.leases("")}

    def commit(self, actor: Slice) -> None:
        """A crawl is written if and only if its bucket's epoch is the one its writer has."""
        self.number += 1
        current, mine = self.epochs(), dict(actor._buckets.epochs)
        sources = [n for n in range(1, 13) if actor.bucket_of(n) is not None]
        self.committed += len(sources)
        actor.commit(Batch(updates=[update(n, self.number) for n in sources]))
        expected = {n for n in sources if current[scope((n - 1) % BUCKETS)] == mine[(n - 1) % BUCKETS]}
        assert {crawl.source for crawl in self.store.crawls(since=float(self.number))} == expected

    def check(self) -> None:
        """At most one valid owner of each bucket, and it is the store's."""
        current = {lease.scope: lease for lease in self.store.leases("")}
        for bucket in range(BUCKETS):
            valid = [each for each in self.slices if each.valid(bucket, self.clock.now())]
            assert len(valid) <= 1
            for each in valid:
                assert current[scope(bucket)].epoch == each._buckets.epochs[bucket]
                assert current[scope(bucket)].owner == each.owner
                assert current[scope(bucket)].left_s > 0.0


@pytest.mark.parametrize("seed", range(5))
def test_whatever_slices_do_a_bucket_has_one_valid_owner_and_no_other_writer(store: PostgresStore, seed: int) -> None:
    filled(store)
    world = World(store, seed)
    for _ in range(400):
        world.step()
        world.check()
    assert world.committed > 100


def test_of_those_who_want_a_new_scope_at_one_moment_one_gets_it(store: PostgresStore) -> None:
    rounds, wanting = 60, 4
    together = threading.Barrier(wanting, timeout=60.0)

    def run(number: int) -> list[dict[str, int]]:
        with PostgresStore(f"{store.address.dsn}?schema={store.address.schema}") as own:
            given = []
            for turn in range(rounds):
                together.wait()
                given.append(own.lease([f"{turn}/{k}" for k in range(3)], str(number), 60.0))
            return given

    with ThreadPoolExecutor(wanting) as pool:
        given = list(pool.map(run, range(wanting)))
    for turn in range(rounds):
        got = [scope for each in given for scope in each[turn]]
        assert sorted(got) == [f"{turn}/{k}" for k in range(3)]
    assert {epoch for each in given for leases in each for epoch in leases.values()} == {1}


def test_writers_that_race_never_write_after_their_successor(store: PostgresStore, clock: ManualClock) -> None:
    """Leases shorter than a batch: what is in the log, in the order it was written, has growing epochs per bucket."""
    filled(store)

    def run(number: int) -> None:
        chance = random.Random(number)
        with PostgresStore(f"{store.address.dsn}?schema={store.address.schema}") as own:
            mine = Slice(own, name=str(number), owner=str(number), seconds=0.02, now=clock.now, scope=scope)
            for _ in range(60):
                mine.acquire(range(BUCKETS))
                mine.sources()
                epochs = dict(mine._buckets.epochs)
                batch = Batch(updates=[])
                for source in range(1, 13):
                    bucket = mine.bucket_of(source)
                    if bucket in epochs:
                        batch.updates.append(update(source, number))
                        batch.updates[-1].crawl.requests = epochs[bucket]
                mine.commit(batch)
                if chance.random() < 0.3:
                    mine.let_go(mine.held)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(3)))
    rows = store._connections.reading(lambda c: c.fetch("SELECT source, requests, at FROM crawls ORDER BY id"))
    by_bucket: dict[int, list[tuple[int, float]]] = {}
    for source, epoch, writer in rows:
        by_bucket.setdefault((source - 1) % BUCKETS, []).append((epoch, writer))
    for written in by_bucket.values():
        assert written == sorted(written, key=lambda pair: pair[0])
        assert len(dict(written)) == len(set(written))  # one writer per epoch
    assert max(epoch for written in by_bucket.values() for epoch, _ in written) > 5


# -- what others say


def said(store: PostgresStore, *proofs: str) -> None:
    store.record_signals([Signal(source=k, at=1.0, came=1.0, proof=p) for p in proofs or ("",) for k in range(1, 13)])


def test_each_hears_the_signals_of_its_own_sources(store: PostgresStore, clock: ManualClock) -> None:
    filled(store)
    said(store, "", "x")
    mine = slice_of(store, clock)
    mine.acquire({0, 2})
    assert mine.sources()
    assert [each.source for each in mine.signals()] == [1, 3, 7, 9]
    assert [each.source for each in mine.signals(limit=2, proof="x")] == [1, 3]
    assert mine.proofs() == ["x"]
    assert slice_of(store, clock, "b").signals() == []
    mine.commit(Batch(heard=mine.signals()))
    assert mine.signals() == []
    assert len(store.signals()) == 8


def test_signals_of_a_bucket_that_was_lost_wait_for_whoever_has_it(store: PostgresStore, clock: ManualClock) -> None:
    filled(store)
    said(store)
    mine, other = slice_of(store, clock), slice_of(store, clock, "b")
    mine.acquire({0, 2})
    assert mine.sources()
    heard = mine.signals()
    mine.let_go({2})
    other.acquire({2})
    mine.commit(Batch(heard=heard))
    assert other.sources()
    assert [each.source for each in other.signals()] == [3, 9]
    assert mine.signals() == []


def test_each_asks_the_hubs_of_its_own_sources(store: PostgresStore, clock: ManualClock) -> None:
    filled(store)
    store.write_subscriptions(
        [Subscription(token=f"{k}", source=k, hub="h", topic="t", secret="s", due=float(k)) for k in range(1, 13)]
    )
    mine = slice_of(store, clock)
    mine.acquire({0, 2})
    assert [each.source for each in mine.subscriptions()] == [1, 3, 7, 9]
    assert [each.source for each in mine.subscriptions(due=7.0, limit=2)] == [1, 3]
    assert [each.source for each in mine.subscriptions(sources=[2])] == [2]


def test_whoever_had_a_source_that_is_gone_leaves_its_hub(store: PostgresStore, clock: ManualClock) -> None:
    filled(store)
    mine, other = slice_of(store, clock), slice_of(store, clock, "b")
    mine.acquire({0, 2})
    other.acquire({1})
    given = [Subscription(token=f"{k}", source=k, hub="h", topic="t", secret="s", due=float(k)) for k in (1, 2, 99)]
    mine.write_subscriptions(given)
    store.remove([1, 2])
    mine.write_subscriptions([msgspec.structs.replace(given[0], mode="unsubscribe")])
    due = [(each.source, each.mode) for each in mine.subscriptions(due=100.0)]
    assert due == [(1, "unsubscribe"), (99, "subscribe")]
    assert 1 not in [each.source for each in other.subscriptions(due=100.0)]
