"""Domains to buckets, buckets to shards."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from recrawl.cluster.placement import BUCKETS, bucket_of, buckets_of, owners

NAMES = st.lists(st.integers(0, 500).map(lambda n: f"shard-{n}"), min_size=1, max_size=12, unique=True)


def test_all_hosts_of_a_registrable_domain_share_a_bucket() -> None:
    urls = ["https://www.example.co.uk/", "http://news.example.co.uk:8080/feed", "https://EXAMPLE.co.uk/a?b"]
    assert len({bucket_of(url) for url in urls}) == 1


def test_hosts_under_a_public_suffix_are_apart() -> None:
    assert bucket_of("https://one.github.io/") != bucket_of("https://two.github.io/")


def test_ports_of_an_address_are_apart() -> None:
    buckets = {bucket_of(f"http://127.0.0.1:{port}/") for port in range(9000, 9100)}
    assert len(buckets) > 80


@given(NAMES)
def test_every_bucket_has_one_owner_whatever_the_order_of_names(names: list[str]) -> None:
    parts = [buckets_of(name, names) for name in names]
    assert sorted(bucket for part in parts for bucket in part) == list(range(BUCKETS))
    assert parts == [buckets_of(name, names[::-1]) for name in names]


@given(NAMES, st.integers(501, 600))
def test_a_newcomer_takes_from_everybody_and_moves_nothing_else(names: list[str], number: int) -> None:
    newcomer = f"shard-{number}"
    before, after = owners(tuple(names)), owners((*names, newcomer))
    assert all(new in (old, newcomer) for old, new in zip(before, after, strict=True))


def test_the_parts_are_about_equal() -> None:
    counts = Counter(owners(tuple(f"shard-{n}" for n in range(8))))
    assert min(counts.values()) > 0.7 * BUCKETS / 8
    assert max(counts.values()) < 1.3 * BUCKETS / 8


def test_without_members_nobody_owns_anything() -> None:
    assert buckets_of("shard-0", ()) == set()
