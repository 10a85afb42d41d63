"""Who looks after a source: from the store alone, for people to read."""

from __future__ import annotations

import msgspec

from recrawl.cluster.board import Board, ShardLine
from recrawl.cluster.placing import bucket_of, scope
from recrawl.crawl.politeness import authority_of, domain_of
from recrawl.store.base import Source
from recrawl.store.postgres import PostgresStore


class Owner(msgspec.Struct, kw_only=True):
    """The shard that looks after a source.

    Parameters
        domain, bucket: where the source belongs
        shard: its owner's words for itself; empty if nobody has it
        epoch: of the lease; it grows with every change of owner
        left_s: how long the lease still holds, by the store's clock; negative once it has run out
        price: of the fleet
        line: the shard as the board has it
    """

    domain: str
    bucket: int
    shard: str = ""
    epoch: int = 0
    left_s: float = 0.0
    price: float | None = None
    line: ShardLine | None = None


def owner_of(store: PostgresStore, source: Source, board: Board) -> Owner:
    """Of a source, with the fleet's board."""
    bucket = bucket_of(source.url)
    owner = Owner(domain=domain_of(authority_of(source.url)), bucket=bucket, price=board.price)
    for lease in store.leases(scope(bucket)):
        if lease.left_s > 0.0:
            owner.shard, owner.epoch, owner.left_s = lease.owner, lease.epoch, lease.left_s
    name = owner.shard.partition(" ")[0]
    owner.line = next((line for line in board.shards if line.name == name), None)
    return owner
