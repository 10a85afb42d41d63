"""What every store does with signals and with subscriptions at hubs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import postgres
from recrawl.errors import StoreError
from recrawl.store import sql_push
from recrawl.store.opening import open_store
from recrawl.store.records import Batch, Keep, Price, Progress, Signal, Source, Subscription
from recrawl.store.roles import Store


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = postgres.server().url() if request.param == "postgres" else str(tmp_path / "recrawl.db")
    with open_store(place) as opened:
        opened.add([Source(url=f"https://{name}.example/") for name in "abc"])
        yield opened


def told(source: int, at: float = 1.0, proof: str = "") -> Signal:
    return Signal(source=source, at=at, came=at + 0.5, by="websub", proof=proof)


class TestSignals:
    def test_they_wait_in_the_order_in_which_they_came(self, store: Store) -> None:
        assert store.record_signals([told(2, 5.0), told(1, 3.0)]) == 2
        assert store.record_signals([told(2, 4.0)]) == 1
        waiting = store.signals()
        assert [(each.source, each.at, each.came, each.by) for each in waiting] == [
            (1, 3.0, 3.5, "websub"),
            (2, 4.0, 4.5, "websub"),
        ]
        assert store.signals(limit=1) == waiting[:1]

    def test_those_of_sources_that_are_gone_do_not_count(self, store: Store) -> None:
        assert store.record_signals([told(99), told(1), told(2**70), told(-1)]) == 1
        store.remove([1])
        assert store.signals() == []
        assert store.record_signals([]) == 0

    def test_what_was_learned_from_is_taken_away_with_the_commit(self, store: Store) -> None:
        store.record_signals([told(1), told(2)])
        first = store.signals(limit=1)
        store.commit(Batch(progress=[Progress(source=1, due=7.0)], heard=first))
        assert [each.source for each in store.signals()] == [2]
        assert next(store.progress([1])).due == 7.0

    def test_a_commit_that_fails_leaves_them(self, store: Store) -> None:
        store.record_signals([told(1)])
        broken = Batch(heard=store.signals(), price=Price(at=1.0, price=1.0, budget=1.0, requests=2**70, captured=0.0))
        with pytest.raises(StoreError):
            store.commit(broken)
        assert len(store.signals()) == 1

    def test_of_one_source_the_latest_waits_of_each_who_says_so_and_of_each_proof(self, store: Store) -> None:
        for k in range(5):
            store.record_signals([told(1, float(k)), told(1, float(k), "x"), told(2, 1.0)][: 2 if k else 3])
        store.record_signals([told(1, 5.0), told(1, 6.0)])
        store.record_signals([Signal(source=1, at=7.0, came=7.0, by="told")])
        assert [(each.source, each.at, each.by) for each in store.signals()] == [
            (2, 1.0, "websub"),
            (1, 6.0, "websub"),
            (1, 7.0, "told"),
        ]
        assert [each.at for each in store.signals(proof="x")] == [4.0]

    def test_one_that_took_the_place_of_another_outlives_the_hearing_of_that(self, store: Store) -> None:
        store.record_signals([told(1, 5.0)])
        heard = store.signals()
        store.record_signals([told(1, 99.0)])
        store.commit(Batch(heard=heard))
        assert [each.at for each in store.signals()] == [99.0]

    def test_those_that_need_a_proof_wait_for_it(self, store: Store) -> None:
        store.record_signals([told(1, 1.0, "x"), told(2, 2.0), told(3, 3.0, "y"), told(2, 4.0, "x")])
        assert [each.source for each in store.signals()] == [2]
        assert store.proofs() == ["x", "y"]
        assert store.proofs(limit=1) == ["x"]
        assert [each.source for each in store.signals(proof="x")] == [1, 2]
        store.commit(Batch(heard=store.signals(proof="x")))
        assert store.proofs() == ["y"]

    def test_of_those_that_need_a_proof_only_so_many_wait_per_site_and_in_all(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sql_push, "UNPROVEN_PER_SITE", 3)
        monkeypatch.setattr(sql_push, "UNPROVEN", 4)
        first, second, third = "https://a.example/1 k", "https://a.example/2 k", "https://a.example:8443/ k"
        assert store.record_signals([told(k, 1.0, first) for k in (1, 2)]) == 2
        assert store.record_signals([told(k, 1.0, second) for k in (1, 2)]) == 0
        assert store.record_signals([told(3, 1.0, second)]) == 1
        assert store.record_signals([told(1, 1.0, third)]) == 1
        assert store.record_signals([told(2, 1.0, third), told(3)]) == 1
        assert store.proofs() == [first, second, third]

    def test_so_do_only_so_many_proofs(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sql_push, "PROOFS_PER_SITE", 2)
        monkeypatch.setattr(sql_push, "PROOFS", 3)
        proofs = [f"https://{host}.example/{k} k" for host in "abc" for k in (1, 2, 3)]
        assert [store.record_signals([told(1, 1.0, proof)]) for proof in proofs] == [1, 1, 0, 1, 0, 0, 0, 0, 0]
        assert store.record_signals([told(2, 1.0, proofs[0])]) == 1

    def test_they_are_let_go_after_a_while(self, store: Store) -> None:
        store.record_signals([told(1, 1.0, "x"), told(2, 9.0, "x"), told(1, 1.0), told(3, 1.0, "y")])
        store.drop_unproven(5.0)
        assert store.proofs() == ["x"]
        assert [each.source for each in store.signals(proof="x")] == [2]
        assert [each.source for each in store.signals()] == [1]
        store.vacuum(Keep(items=1.0, crawls=1.0, prices=1.0, versions=1), 31 * 86400.0)
        assert (store.proofs(), len(store.signals())) == ([], 1)


def subscribed(source: int, due: float = 0.0, token: str = "") -> Subscription:
    return Subscription(
        token=token or f"token{source}",
        source=source,
        hub="https://hub.example/",
        topic=f"https://{source}.example/",
        secret="s",
        due=due,
    )


class TestSubscriptions:
    def test_they_are_found_by_token_and_by_source(self, store: Store) -> None:
        first, second = subscribed(1), subscribed(2, 9.0)
        store.write_subscriptions([first, second])
        assert store.subscription("token1") == first
        assert store.subscription("another") is None
        assert store.subscriptions() == [first, second]
        assert store.subscriptions(sources=[2, 3]) == [second]

    def test_the_longest_due_come_first(self, store: Store) -> None:
        store.write_subscriptions([subscribed(1, 5.0), subscribed(2, 3.0), subscribed(3, 9.0)])
        assert [each.source for each in store.subscriptions(due=5.0)] == [2, 1]
        assert [each.source for each in store.subscriptions(due=9.0, limit=1)] == [2]

    def test_what_the_hub_answers_stays_whatever_the_crawler_writes(self, store: Store) -> None:
        asked = msgspec.structs.replace(subscribed(1), asked=1.0, tries=1, due=61.0)
        store.write_subscriptions([asked])
        store.confirm_subscription("token1", 2.0, 1000.0, 900.0)
        store.note_delivery("token1", 3.0)
        confirmed = store.subscription("token1")
        assert confirmed == msgspec.structs.replace(
            asked, tries=0, confirmed=2.0, until=1000.0, due=900.0, delivered=3.0
        )
        store.write_subscriptions([msgspec.structs.replace(asked, note="too late")])
        after = store.subscription("token1")
        assert after is not None
        assert (after.confirmed, after.until, after.delivered, after.note) == (2.0, 1000.0, 3.0, "too late")

    def test_a_hub_may_refuse(self, store: Store) -> None:
        store.write_subscriptions([subscribed(1)])
        store.confirm_subscription("token1", 2.0, 1000.0, 900.0)
        store.refuse_subscription("token1", 5000.0, "the hub refuses: no such topic")
        refused = store.subscription("token1")
        assert refused is not None
        assert (refused.until, refused.due, refused.note) == (0.0, 5000.0, "the hub refuses: no such topic")

    def test_one_outlives_its_source_and_is_forgotten_on_demand(self, store: Store) -> None:
        store.write_subscriptions([subscribed(1)])
        store.remove([1])
        assert [each.source for each in store.subscriptions()] == [1]
        store.forget_subscriptions(["token1", "none"])
        assert store.subscriptions() == []


def test_numbers_of_urls_are_found_together(store: Store) -> None:
    assert store.numbers(["https://b.example/", "https://x.example/", "https://a.example/", "a\0\ud800"]) == {
        "https://a.example/": 1,
        "https://b.example/": 2,
    }
    assert store.numbers([]) == {}
