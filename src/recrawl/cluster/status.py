"""What the fleet looks like, for people: kept in the store, so that whoever can read it needs no way to the machines.

The coordinator writes the status once a second; what a person wants of the fleet (`Wish`) is written here too, and the
coordinator carries it out. Both are notes of the store.
"""

from __future__ import annotations

import math
from typing import Protocol, TypeVar

import msgspec

from recrawl.errors import StoreVersionError
from recrawl.store.records import FLEET_RECORDS
from recrawl.store.roles import Notes

Told = TypeVar("Told")
STATUS, WISH = "fleet/board", "fleet/wish"
"""Names of the notes."""
STALE_S = 10.0
"""A status this old was left by a coordinator that is gone."""


class Records(Notes, Protocol):
    """Notes, and the learner's record."""

    def shared(self) -> bytes | None:
        """Of the whole catalogue, as whoever crawled alone left it."""
        ...


class ShardLine(msgspec.Struct, kw_only=True):
    """One shard as last heard of.

    Parameters
        state: "working", "joining" (holds nothing yet), "leaving", "silent" (not heard of), "waiting" (trouble)
        heard_s: seconds since it was heard of
        rate, spend: tokens per second granted, and spent over the last seconds
        lag_s: how long it would take to crawl what is due at the fleet's price, at its rate
    """

    name: str
    state: str
    node: str = ""
    pid: int = 0
    heard_s: float = 0.0
    rate: float = 0.0
    spend: float = 0.0
    demand: float = 0.0
    own_price: float | None = None
    lag_s: float | None = None
    sources: int = 0
    hosts: int = 0
    buckets: int = 0
    newcomers: int = 0
    requests: int = 0
    captured: float = 0.0
    failed: int = 0
    trouble: str = ""


class FleetStatus(msgspec.Struct, kw_only=True):
    """The fleet.

    Parameters
        at: when it was written, Unix seconds
        since: when this coordinator became leader
        leader, leader_epoch: who coordinates
        budget, burst: tokens per second, tokens
        price: None before anything is known
        spend: tokens per second over the last seconds
        wanted: shards asked for
        buckets, held: how many there are, and how many some shard holds
        messages, bytes: reports and grants since the coordinator became leader
        ended: somebody ended the fleet, and everything is handed in
    """

    at: float
    since: float
    leader: str
    leader_epoch: int
    budget: float
    burst: float
    price: float | None = None
    spend: float = 0.0
    wanted: int = 0
    buckets: int = 0
    held: int = 0
    messages: int = 0
    bytes: int = 0
    shards: list[ShardLine] = []
    trouble: str = ""
    ended: bool = False


class Wish(msgspec.Struct, kw_only=True):
    """What a person wants of the fleet.

    Parameters
        shards: how many; 0 to end the fleet
        budget, burst: tokens per second, tokens
        address: of the Ray cluster it was started on, for people to read
    """

    shards: int
    budget: float
    burst: float
    address: str = ""


def read_status(store: Notes) -> FleetStatus | None:
    """The status as last written; None where there never was a fleet."""
    return _understood(store.note(STATUS), FleetStatus)


def write_status(store: Notes, status: FleetStatus) -> None:
    """For everybody who can read the store."""
    store.write_note(STATUS, msgspec.json.encode(status))


def read_wish(store: Notes) -> Wish | None:
    """What is wanted; None where nobody ever said."""
    return _understood(store.note(WISH), Wish)


def write_wish(store: Notes, wish: Wish) -> None:
    """Ask for it; the coordinator sees it within a second or two."""
    store.write_note(WISH, msgspec.json.encode(wish))


def common_record(store: Records, now: float) -> bytes | None:
    """What the learner knows of the catalogue as a whole: of a fleet at work as one of its shards has it, or as the
    store has it; each where there is nothing of the other."""
    try:
        status = read_status(store)
    except StoreVersionError:
        return store.shared()
    shards = (store.note(FLEET_RECORDS + line.name) for line in (status.shards if status is not None else ()))
    own, of_fleet = store.shared(), next((record for record in shards if record is not None), None)
    return (of_fleet or own) if is_up(status, now) else (own or of_fleet)


def _understood(text: bytes | None, kind: type[Told]) -> Told | None:
    try:
        return None if text is None else msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise StoreVersionError(
            f"another version of recrawl runs a fleet on this store, or did ({error}): use one version everywhere"
        ) from error


def is_up(status: FleetStatus | None, now: float) -> bool:
    """Whether the fleet was alive a moment ago."""
    return status is not None and not status.ended and now - status.at < STALE_S


def finite(number: float) -> float | None:
    """As JSON has it: NaN and inf are None."""
    return number if math.isfinite(number) else None
