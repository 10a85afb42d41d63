"""Which shard has which source: a domain is hashed to a bucket for ever, a bucket to a shard by rendezvous hashing.

All sources of a registrable domain are in one bucket, so that politeness to a site (delays, holds, its robots.txt)
concerns one shard. A bucket belongs to the member with the largest hash of (bucket, member): when members come or go,
only the buckets of those move, and everybody finds the same owner from the list of names alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from recrawl.crawl.fetching.politeness import authority_of, domain_of

BUCKETS = 1024
"""Numbers of buckets are kept in the store: changing this means placing every source anew."""


def bucket_of(url: str) -> int:
    """The bucket of an URL's registrable domain.

    >>> bucket_of("https://a.example.co.uk/feed") == bucket_of("http://b.example.co.uk:8080/")
    True
    """
    return _hash(domain_of(authority_of(url)).encode("utf-8", "surrogatepass")) % BUCKETS


def bucket_of_host(key: str) -> int:
    """The bucket of what politeness calls a host: a host, a domain or an URL, by the scope of the settings."""
    return bucket_of(key if "://" in key else f"http://{key}")


@lru_cache(maxsize=16)
def owners(members: tuple[str, ...]) -> tuple[str, ...]:
    """The member that has each bucket; none where there are no members.

    >>> before, after = owners(("a", "b", "c")), owners(("a", "c"))
    >>> all(old == new for old, new in zip(before, after) if old != "b")
    True
    """
    if not members:
        return ()
    return tuple(max(members, key=lambda name: (_weight(bucket, name), name)) for bucket in range(BUCKETS))


def buckets_of(member: str, members: Sequence[str]) -> set[int]:
    """The buckets of one member."""
    return {bucket for bucket, owner in enumerate(owners(tuple(sorted(members)))) if owner == member}


def scope(bucket: int) -> str:
    """The name of a bucket's lease."""
    return f"bucket/{bucket:04d}"


def _weight(bucket: int, name: str) -> int:
    return _hash(f"{bucket}/{name}".encode())


def _hash(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
