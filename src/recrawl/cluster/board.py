"""What the fleet looks like, for people: kept in the store, so that whoever can read it needs no way to the machines.

The coordinator writes the board once a second; what a person wants of the fleet (`Wish`) is written here too, and the
coordinator carries it out. Both are notes of the store.
"""

from __future__ import annotations

import math
from typing import Protocol, TypeVar

import msgspec

from recrawl.errors import StoreVersionError
from recrawl.store.base import FLEET_RECORDS

Told = TypeVar("Told")
BOARD, WISH = "fleet/board", "fleet/wish"
STALE_S = 10.0
"""A board this old was left by a coordinator that is gone."""


class Notes(Protocol):
    """The part of a store that is needed here."""

    def note(self, name: str) -> bytes | None:
        """What is kept under a name."""
        ...

    def write_note(self, name: str, text: bytes | None) -> None:
        """Keep it; None forgets."""
        ...


class Records(Notes, Protocol):
    """The same, with the learner's record."""

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


class Board(msgspec.Struct, kw_only=True):
    """The fleet.

    Parameters
        at: when it was written, Unix seconds
        since: when this coordinator took office
        leader, leader_epoch: who coordinates
        budget, burst: tokens per second, tokens
        price: None before anything is known
        spend: tokens per second over the last seconds
        wanted: shards asked for
        buckets, held: how many there are, and how many some shard holds
        messages, bytes: reports and grants since the coordinator took office
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


def read_board(store: Notes) -> Board | None:
    """The board as last written; None where there never was a fleet."""
    return _understood(store.note(BOARD), Board)


def write_board(store: Notes, board: Board) -> None:
    """Put it up."""
    store.write_note(BOARD, msgspec.json.encode(board))


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
        board = read_board(store)
    except StoreVersionError:
        return store.shared()
    shards = (store.note(FLEET_RECORDS + line.name) for line in (board.shards if board is not None else ()))
    own, of_fleet = store.shared(), next((record for record in shards if record is not None), None)
    return (of_fleet or own) if is_up(board, now) else (own or of_fleet)


def _understood(text: bytes | None, kind: type[Told]) -> Told | None:
    try:
        return None if text is None else msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise StoreVersionError(
            f"another version of recrawl runs a fleet on this store, or did ({error}): use one version everywhere"
        ) from error


def is_up(board: Board | None, now: float) -> bool:
    """Whether the fleet was alive a moment ago."""
    return board is not None and not board.ended and now - board.at < STALE_S


def finite(number: float) -> float | None:
    """As JSON has it: NaN and inf are None."""
    return number if math.isfinite(number) else None
