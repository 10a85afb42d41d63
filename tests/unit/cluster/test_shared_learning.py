"""What shards tell each other: how it is packed, who is believed, when it is told, and what it is good for."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from recrawl.cluster.shared_learning import (
    LOOK_S,
    MOST_BYTES,
    TELL_S,
    Exchange,
    Pool,
    Sparse,
    Summary,
    packed,
    unpacked,
)
from recrawl.learning.beliefs import SUMMARIES
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import Visits

START, HOUR = 1.7e9, 3600.0


def pages(*numbers: float) -> Summary:
    row = np.zeros(SUMMARIES["pages"])
    row[: len(numbers)] = numbers
    return {"pages": row}


def learned(kind: str, rates: np.ndarray, seed: int = 0) -> LearnedWhittle:
    """A policy that has visited sources of these rates (per hour) every three hours for two days."""
    random = np.random.default_rng(seed)
    policy = LearnedWhittle("freshness" if kind == "pages" else "ephemeral", half_life=24 * HOUR)
    policy.start(len(rates), START)
    seen = np.random.default_rng(7).random((16, 1000))[:, : len(rates)]
    for k in range(16):
        now = START + (k + 1) * 3 * HOUR
        ids = np.arange(len(rates))
        if kind == "pages":
            policy.observe(Visits(ids=ids, now=now, changed=seen[k] < -np.expm1(-3.0 * rates)))
        else:
            found = [now - 3 * HOUR * random.random(count) for count in random.poisson(3.0 * rates)]
            policy.observe(Visits(ids=ids, now=now, published=found))
    return policy


def told(message: bytes) -> Summary:
    summary = unpacked(message)
    assert summary is not None
    return summary


def test_a_summary_arrives_as_it_was_sent_and_takes_little_room() -> None:
    summary = learned("feeds", np.full(30, 0.2)).summary()
    message = packed(summary)
    assert len(message) < 1500
    arrived = told(message)
    assert set(arrived) == set(summary)
    for name, row in summary.items():
        np.testing.assert_allclose(arrived[name], row, rtol=1e-6)


def test_the_lengths_are_those_of_the_models() -> None:
    for kind in ("feeds", "pages"):
        assert {kind: SUMMARIES[kind]} == {k: len(v) for k, v in learned(kind, np.ones(3)).summary().items()}


@pytest.mark.parametrize(
    "message",
    [
        packed(pages(math.nan)),
        packed(pages(math.inf)),
        packed(pages(-1.0)),
        packed(pages(1e20)),
        packed({"pages": np.ones(7)}),
        packed({"feeds": np.ones(48)}),
        packed({"of another version": np.ones(48)}),
        msgspec.msgpack.encode({"pages": Sparse(48, b"\xff\xff", b"\0\0\0\0")}),
        msgspec.msgpack.encode({"pages": Sparse(48, b"\1\0\2\0", b"\0\0\0\0\0\0\0\0\0\0\0\0")}),
        b"nonsense",
        b"\x80" * (MOST_BYTES + 1),
    ],
)
def test_what_no_catalogue_could_have_said_is_not_believed(message: bytes) -> None:
    assert unpacked(message) is None
    pool = Pool()
    pool.hear("a", "1", packed(pages(5.0)))
    assert not pool.hear("b", "1", message)
    assert not any(row.any() for row in pool.others("a").values())
    np.testing.assert_array_equal(pool.others("b")["pages"], pages(5.0)["pages"])


def test_each_hears_the_sum_of_what_the_others_said_last() -> None:
    pool = Pool()
    for name, number in (("a", 0.1), ("b", 20.3), ("c", 300.7), ("b", 40.9)):
        assert pool.hear(name, "1", packed(pages(number, 0.0, number)))
    np.testing.assert_allclose(pool.others("a")["pages"][:3], [341.6, 0.0, 341.6], rtol=1e-6)
    np.testing.assert_allclose(pool.others("c")["pages"][:3], [41.0, 0.0, 41.0], rtol=1e-6)
    pool.keep(("a", "b"))
    np.testing.assert_allclose(pool.others("a")["pages"][:3], [40.9, 0.0, 40.9], rtol=1e-6)
    pool.keep(("a",))
    assert not any(row.any() for row in pool.others("a").values())


def test_a_new_life_of_a_shard_has_said_nothing_yet() -> None:
    pool = Pool()
    pool.hear("a", "1", packed(pages(5.0)))
    assert pool.told("a", "1")
    assert not pool.told("a", "2")
    assert pool.complete(("a",))
    assert not pool.complete(("a", "b"))


class Stub:
    """A policy that counts what it is told."""

    def __init__(self) -> None:
        self.known = pages(100.0)
        self.adopted: list[Summary] = []

    def summary(self) -> Summary:
        return {name: row.copy() for name, row in self.known.items()}

    def adopt(self, others: Summary) -> None:
        self.adopted.append(others)


def test_it_tells_at_first_then_after_a_leap_and_otherwise_now_and_then() -> None:
    exchange, policy = Exchange(), Stub()
    assert told(exchange.word(policy, 0.0))["pages"][0] == 100.0
    later = LOOK_S + 1.0
    assert exchange.word(policy, later) == b""
    policy.known = pages(110.0)
    assert exchange.word(policy, 2 * later) == b""
    policy.known = pages(200.0)
    assert told(exchange.word(policy, 3 * later))["pages"][0] == 200.0
    policy.known = pages(201.0)
    assert exchange.word(policy, 3 * later + TELL_S - 1.0) == b""
    assert told(exchange.word(policy, 3 * later + TELL_S + LOOK_S))["pages"][0] == 201.0


def test_a_new_coordinator_that_asks_is_told_at_once() -> None:
    exchange, policy = Exchange(), Stub()
    exchange.word(policy, 0.0)
    assert exchange.word(policy, 1.0) == b""
    exchange.asked()
    assert exchange.word(policy, 1.5)


def test_only_news_is_adopted() -> None:
    exchange, policy = Exchange(), Stub()
    for number in (100.0, 101.0, 103.0, 130.0):
        exchange.hear(policy, packed(pages(number)), 0.0)
    exchange.hear(policy, b"nonsense", 0.0)
    exchange.hear(policy, packed({}), 0.0)
    assert [told["pages"][0] if told else 0.0 for told in policy.adopted] == [100.0, 130.0, 0.0]


@pytest.mark.parametrize("kind", ["feeds", "pages"])
def test_a_shard_believes_of_a_new_source_what_one_process_of_all_would(kind: str) -> None:
    rates = np.random.default_rng(3).lognormal(-2.0, 1.0, 800)
    rates[:100] *= 8.0  # what a shard has is not like the rest
    whole = learned(kind, rates)
    shards = [learned(kind, rates[at : at + 100], seed=at) for at in range(0, 800, 100)]
    alone = _newcomer(learned(kind, rates[:100]))
    for _ in range(3):
        pool = Pool()
        for number, shard in enumerate(shards):
            pool.hear(str(number), "1", packed(shard.summary()))
        for number, shard in enumerate(shards):
            shard.adopt(told(packed(pool.others(str(number)))))
    expected = _newcomer(whole)
    for shard in shards:
        assert _newcomer(shard) == pytest.approx(expected, rel=0.06)
    assert alone != pytest.approx(expected, rel=0.5)


def _newcomer(policy: LearnedWhittle) -> float:
    """The rate, or per rate the value, that is believed of a source that showed nothing yet."""
    ids = policy.add(1)
    policy.load_rows(ids, [b""], policy.now)
    believed = policy.beliefs(ids)
    return float(believed.rate[0] if policy.objective == "freshness" else believed.value[0])


def test_parts_make_the_profile_and_the_prior_of_the_whole() -> None:
    rates = np.random.default_rng(5).lognormal(-1.0, 1.0, 300)
    parts = [learned("feeds", part, seed) for seed, part in enumerate(np.split(rates, 3))]
    whole = parts[0].summary()["feeds"] + parts[1].summary()["feeds"] + parts[2].summary()["feeds"]
    first = parts[0]
    first.adopt({"feeds": whole - first.summary()["feeds"]})
    listener = LearnedWhittle("ephemeral", half_life=24 * HOUR)
    listener.start(1, START)
    listener.adopt({"feeds": whole})
    listener.observe(Visits(ids=np.array([0]), now=START + HOUR, published=[[]]))
    laws = [policy.learned.models[1].shared() for policy in (first, listener)]
    np.testing.assert_allclose(laws[0]["profile"][0], laws[1]["profile"][0], rtol=0.01)
    np.testing.assert_allclose(laws[0]["prior"], laws[1]["prior"], rtol=0.1)


def test_what_has_moved_away_is_counted_no_longer() -> None:
    rates = np.random.default_rng(5).lognormal(-1.0, 1.0, 100)
    for kind in ("feeds", "pages"):
        policy = learned(kind, rates)
        everything = policy.summary()[kind]
        policy.remove(np.arange(40))
        kept = policy.summary()[kind]
        count = slice(0, 1200, 3) if kind == "feeds" else slice(None)
        assert everything[count].sum() == pytest.approx(100.0)
        assert kept[count].sum() == pytest.approx(60.0)


def test_when_the_others_are_gone_they_are_forgotten() -> None:
    policy = learned("pages", np.full(50, 0.01))
    before = _newcomer(policy)
    policy.adopt(learned("pages", np.full(500, 2.0)).summary())
    assert _newcomer(policy) > 5.0 * before
    for _ in range(5):
        policy.adopt({})
    assert _newcomer(policy) == pytest.approx(before, rel=0.2)
