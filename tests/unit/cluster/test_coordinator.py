"""The coordinator over a store in memory, told the time."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import msgspec
import numpy as np
import pytest

from one_lease import OneLease
from recrawl.clock import ManualClock
from recrawl.cluster.coordinator import WIND_DOWN_S, Coordinator
from recrawl.cluster.leader_lease import LEASE_S
from recrawl.cluster.messages import Grant, Report, membership_of
from recrawl.cluster.placement import bucket_of
from recrawl.cluster.shared_learning import packed, unpacked
from recrawl.cluster.status import Wish, is_up, read_status, write_wish
from recrawl.errors import StoreError
from recrawl.learning.beliefs import SUMMARIES
from recrawl.store.records import Batch, Price


class MadeUpStore(OneLease):
    """The part of a store that a coordinator needs."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.notes: dict[str, bytes] = {}
        self.waiting: list[tuple[int, str]] = []
        self.placed: dict[int, int] = {}
        self.prices: list[Price] = []
        self.claimed_by: str | None = None
        self.slow_s = 0.0

    def note(self, name: str) -> bytes | None:
        self.clock.advance(self.slow_s)
        return self.notes.get(name)

    def write_note(self, name: str, text: bytes | None) -> None:
        if text is None:
            self.notes.pop(name, None)
        else:
            self.notes[name] = text

    def claimed(self) -> str | None:
        if self.away:
            raise StoreError("the server went away")
        return self.claimed_by

    def unplaced(self, limit: int) -> list[tuple[int, str]]:
        return self.waiting[:limit]

    def place(self, placed: Sequence[tuple[int, str, int]]) -> None:
        self.placed.update((id, bucket) for id, _, bucket in placed)
        self.waiting = [each for each in self.waiting if each[0] not in self.placed]

    def commit(self, batch: Batch) -> None:
        assert batch.price is not None
        self.prices.append(batch.price)


class MadeUpLauncher:
    """Shards that exist by name alone."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def running(self) -> set[str]:
        return set(self.names)

    def start(self, name: str) -> None:
        self.names.add(name)

    def end(self, names: Collection[str]) -> None:
        self.names.difference_update(names)


class Scene:
    """A coordinator with everything around it."""

    def __init__(self) -> None:
        self.clock = ManualClock(1000.0)
        self.store, self.launcher = MadeUpStore(self.clock), MadeUpLauncher()
        self.coordinator = Coordinator(self.store, self.launcher, self.clock.now)

    def wish(self, shards: int, budget: float = 10.0) -> None:
        write_wish(self.store, Wish(shards=shards, budget=budget, burst=budget))

    def tell(self, name: str, incarnation: str = "1", **more: float | bytes) -> Grant | None:
        report = Report(shard=name, incarnation=incarnation, **more)  # type: ignore[arg-type]
        answer = self.coordinator.hear(msgspec.msgpack.encode(report))
        return msgspec.msgpack.decode(answer, type=Grant) if answer else None

    def pass_round(self, seconds: float = 1.0) -> None:
        self.clock.advance(seconds)
        self.coordinator.round()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_nothing_is_granted_before_anybody_wished_for_a_fleet(scene: Scene) -> None:
    scene.coordinator.round()
    assert scene.tell("shard-0") is None


def test_it_starts_the_shards_wished_for_and_shares_out_the_budget(scene: Scene) -> None:
    scene.wish(2)
    scene.coordinator.round()
    assert scene.launcher.names == {"shard-0", "shard-1"}
    grants = [scene.tell(name, sources=5, newcomers=5) for _ in range(4) for name in ("shard-0", "shard-1")]
    assert all(grant is not None and grant.members == ("shard-0", "shard-1") for grant in grants)
    assert sum(grant.rate for grant in grants[-2:] if grant is not None) <= 10.0


def test_without_the_leader_lease_it_grants_nothing(scene: Scene) -> None:
    scene.wish(1)
    scene.coordinator.round()
    assert scene.tell("shard-0") is not None
    scene.clock.advance(LEASE_S + 0.1)
    assert scene.tell("shard-0") is None


def test_a_store_that_is_away_for_a_moment_stops_nothing(scene: Scene) -> None:
    scene.wish(1)
    scene.coordinator.round()
    scene.store.away = True
    scene.pass_round(LEASE_S / 2)
    assert scene.tell("shard-0") is not None
    scene.pass_round(LEASE_S)
    assert scene.tell("shard-0") is None
    scene.store.away = False
    scene.pass_round()
    assert scene.tell("shard-0") is not None


def test_a_store_that_answers_after_the_leader_lease_ran_out_makes_it_forget_no_grant(scene: Scene) -> None:
    scene.wish(2)
    scene.coordinator.round()
    first = scene.tell("shard-0", sources=5, newcomers=5)
    scene.store.slow_s = LEASE_S + 0.1
    scene.pass_round(0.1)
    scene.store.slow_s = 0.0
    assert scene.tell("shard-1", "2", sources=5, newcomers=5) is None
    scene.pass_round(0.1)
    second = scene.tell("shard-1", "2", sources=5, newcomers=5)
    assert first is not None
    assert second is not None
    assert first.leader == second.leader == 1
    assert first.rate + second.rate <= 10.0


def test_a_clock_that_is_set_forwards_ends_no_grant(scene: Scene) -> None:
    steady = ManualClock(0.0)
    scene.coordinator = Coordinator(scene.store, scene.launcher, scene.clock.now, steady=steady.now)
    scene.wish(2)
    scene.coordinator.round()
    first = scene.tell("shard-0", sources=5, newcomers=5)
    scene.pass_round(3600.0)
    second = scene.tell("shard-1", "2", sources=5, newcomers=5)
    assert first is not None
    assert second is not None
    assert first.rate + second.rate <= 10.0


def test_it_stands_back_where_somebody_crawls_alone(scene: Scene) -> None:
    scene.store.claimed_by = "process 1 on here"
    scene.wish(1)
    scene.coordinator.round()
    assert scene.launcher.names == set()
    assert not scene.coordinator.leading


def test_it_places_sources_by_their_domain(scene: Scene) -> None:
    scene.wish(1)
    scene.store.waiting = [(1, "https://a.example.org/"), (2, "https://b.example.org/"), (3, "https://example.net/")]
    scene.coordinator.round()
    assert scene.store.placed == {
        1: bucket_of("https://example.org/"),
        2: bucket_of("https://example.org/"),
        3: bucket_of("https://example.net/"),
    }


def test_a_shard_too_many_ends_when_it_has_handed_everything_over(scene: Scene) -> None:
    scene.wish(2)
    scene.coordinator.round()
    for name in ("shard-0", "shard-1"):
        scene.tell(name, buckets=512)
    scene.wish(1)
    scene.pass_round()
    grant = scene.tell("shard-1", buckets=512)
    assert grant is not None
    assert grant.members == ("shard-0",)
    scene.pass_round()
    assert scene.launcher.names == {"shard-0", "shard-1"}
    scene.tell("shard-1", buckets=0)
    scene.pass_round()
    assert scene.launcher.names == {"shard-0"}


def test_it_ends_when_every_shard_has_or_after_a_while(scene: Scene) -> None:
    scene.wish(1)
    scene.coordinator.round()
    scene.tell("shard-0", buckets=1024)
    scene.wish(0)
    scene.pass_round()
    assert not scene.coordinator.finished
    for _ in range(int(WIND_DOWN_S) + 2):
        scene.pass_round()
    assert scene.coordinator.finished
    status = read_status(scene.store)
    assert status is not None
    assert status.ended
    assert not is_up(status, scene.clock.now())


def test_the_board_tells_who_works_and_who_is_silent(scene: Scene) -> None:
    scene.wish(3)
    scene.coordinator.round()
    scene.tell("shard-0", buckets=10, spent=0.0)
    scene.tell("shard-1", buckets=10)
    for second in range(1, 17):
        scene.clock.advance(1.0)
        scene.tell("shard-0", buckets=10, spent=5.0 * second)
        scene.coordinator.round()
    status = read_status(scene.store)
    assert status is not None
    assert [(line.name, line.state) for line in status.shards] == [
        ("shard-0", "working"),
        ("shard-1", "silent"),
        ("shard-2", "joining"),
    ]
    assert status.spend == pytest.approx(5.0)
    assert is_up(status, scene.clock.now())


def test_the_price_history_counts_every_request_once(scene: Scene) -> None:
    scene.wish(1)
    scene.coordinator.round()
    for second in range(1, 31):
        scene.tell("shard-0", "1" if second < 15 else "2", requests=3 * (second if second < 15 else second - 14))
        scene.pass_round()
    assert sum(price.requests for price in scene.store.prices) == 3 * 14 + 3 * 16


def test_a_coordinator_that_lost_the_leader_lease_stays_out_of_it(scene: Scene) -> None:
    scene.wish(1)
    scene.coordinator.round()
    successor = Coordinator(scene.store, scene.launcher, scene.clock.now)
    scene.clock.advance(LEASE_S + 1.0)
    successor.round()
    scene.coordinator.round()
    assert successor.leading
    assert not scene.coordinator.leading
    assert scene.tell("shard-0") is None


def test_the_members_are_told_only_to_those_who_do_not_know_them(scene: Scene) -> None:
    scene.wish(2)
    scene.coordinator.round()
    told = scene.tell("shard-0")
    assert told is not None
    assert told.members == ("shard-0", "shard-1")
    again = scene.tell("shard-0", membership=membership_of(told.members))
    assert again is not None
    assert again.members is None
    scene.wish(3)
    scene.pass_round()
    changed = scene.tell("shard-0", membership=membership_of(told.members))
    assert changed is not None
    assert changed.members == ("shard-0", "shard-1", "shard-2")


def test_that_nobody_shares_the_buckets_is_always_told(scene: Scene) -> None:
    scene.wish(1)
    scene.coordinator.round()
    scene.wish(0)
    scene.pass_round()
    last = scene.tell("shard-0", buckets=3, membership=membership_of(()))
    assert last is not None
    assert last.members == ()


def summary_of(pages: float) -> bytes:
    row = np.zeros(SUMMARIES["pages"])
    row[5] = pages
    return packed({"pages": row})


def heard(grant: Grant | None) -> float:
    """How many pages of others a grant tells of."""
    assert grant is not None
    told = unpacked(grant.others)
    return math.nan if told is None else float(sum(row.sum() for row in told.values()))


def test_members_hear_what_the_others_know_in_common(scene: Scene) -> None:
    scene.wish(2)
    scene.coordinator.round()
    asked = scene.tell("shard-0")
    assert asked is not None
    assert asked.asks
    assert math.isnan(heard(scene.tell("shard-0", summary=summary_of(3.0))))  # the other has not been heard yet
    assert heard(scene.tell("shard-1", summary=summary_of(4.0))) == 3.0
    assert heard(scene.tell("shard-0", summary=summary_of(3.5))) == 4.0
    silent = scene.tell("shard-0")
    assert silent is not None
    assert not silent.others
    assert not silent.asks


def test_who_does_not_speak_is_waited_for_and_forgotten(scene: Scene) -> None:
    scene.wish(3)
    scene.coordinator.round()
    scene.tell("shard-2", summary=summary_of(100.0))
    for _ in range(20):
        scene.pass_round()
        scene.tell("shard-0", summary=summary_of(1.0))
        answer = scene.tell("shard-1", summary=summary_of(1.0))
    assert heard(answer) == 1.0


def test_a_summary_of_another_version_teaches_nobody(scene: Scene) -> None:
    scene.wish(2)
    scene.coordinator.round()
    scene.tell("shard-0", summary=packed({"pages": np.ones(5)}))
    assert heard(scene.tell("shard-1", summary=summary_of(4.0))) == 0.0
    again = scene.tell("shard-0")
    assert again is not None
    assert not again.asks
