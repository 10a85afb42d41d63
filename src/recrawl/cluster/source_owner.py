"""Which shard has a source, read from the store alone, for people."""

from __future__ import annotations

import msgspec

from recrawl.cluster.placement import bucket_of, scope
from recrawl.cluster.status import FleetStatus, ShardLine
from recrawl.crawl.fetching.politeness import authority_of, domain_of
from recrawl.store.records import Source
from recrawl.store.roles import Leases


class Owner(msgspec.Struct, kw_only=True):
    """The shard that has a source.

    Parameters
        domain, bucket: where the source belongs
        shard: its owner's words for itself; empty if nobody has it
        epoch: of the lease; it grows with every change of owner
        left_s: how long the lease still holds, by the store's clock; negative once it has run out
        price: of the fleet
        line: the shard as the status has it
    """

    domain: str
    bucket: int
    shard: str = ""
    epoch: int = 0
    left_s: float = 0.0
    price: float | None = None
    line: ShardLine | None = None


def owner_of(store: Leases, source: Source, status: FleetStatus) -> Owner:
    """Of a source, with the status of the fleet."""
    bucket = bucket_of(source.url)
    owner = Owner(domain=domain_of(authority_of(source.url)), bucket=bucket, price=status.price)
    for lease in store.leases(scope(bucket)):
        if lease.left_s > 0.0:
            owner.shard, owner.epoch, owner.left_s = lease.owner, lease.epoch, lease.left_s
    name = owner.shard.partition(" ")[0]
    owner.line = next((line for line in status.shards if line.name == name), None)
    return owner
