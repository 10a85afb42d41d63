"""A fleet as its coordinator would write it down: two shards well, one on its way, one silent, one in trouble."""

from __future__ import annotations

from recrawl.cluster.status import FleetStatus, ShardLine, Wish, write_status, write_wish
from recrawl.store.roles import Notes


def fleet_status(at: float, **changed: object) -> FleetStatus:
    """One second's status."""
    shards = [
        ShardLine(
            name="shard-1", state="working", node="10.0.0.11", pid=4211, heard_s=0.4, rate=3.1, spend=3.05, demand=3.2,
            own_price=0.213, lag_s=2.5, sources=25_012, hosts=1840, buckets=256, newcomers=12, requests=81_200,
            captured=5120.5, failed=311,
        ),
        ShardLine(
            name="shard-2", state="working", node="10.0.0.11", pid=4212, heard_s=0.7, rate=2.9, spend=2.84, demand=2.9,
            own_price=0.208, lag_s=0.0, sources=24_377, hosts=1795, buckets=249, newcomers=0, requests=79_004,
            captured=4987.0, failed=290,
        ),
        ShardLine(name="shard-3", state="silent", node="10.0.0.12", pid=3977, heard_s=21.0, sources=24_900, hosts=1811),
        ShardLine(
            name="shard-4", state="waiting", node="10.0.0.12", pid=3978, heard_s=0.9, rate=0.0, demand=2.7,
            sources=25_100, hosts=1820, buckets=251, trouble="the store cannot be written: connection refused",
        ),
        ShardLine(name="shard-10", state="joining", node="10.0.0.13", pid=118, heard_s=0.2),
    ]  # fmt: skip
    made = FleetStatus(
        at=at, since=at - 7300, leader="coordinator on 10.0.0.11", leader_epoch=3, budget=10.0, burst=10.0,
        price=0.211, spend=5.89, wanted=5, buckets=1024, held=756, messages=36_000, bytes=7_200_000,
        shards=shards,
    )  # fmt: skip
    for name, value in changed.items():
        setattr(made, name, value)
    return made


def well(at: float) -> FleetStatus:
    """Everybody at work, everything held."""
    made = fleet_status(at, held=1024, wanted=2, spend=5.89, budget=6.0)
    made.shards = made.shards[:2]
    return made


def put_up(store: Notes, made: FleetStatus, wanted: int | None = None, address: str = "auto") -> None:
    """Write it down, with what was asked for."""
    write_status(store, made)
    asked = made.wanted if wanted is None else wanted
    write_wish(store, Wish(shards=asked, budget=made.budget, burst=made.burst, address=address))
