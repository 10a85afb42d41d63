"""What is kept of lists over a restart.

With a source go its places in lists, and with a source that is a list the account of how far that is trusted. Pushes
have no source of their own: their accounts go with what belongs to the whole catalogue. What is kept of a batch of
signals is how likely it is false for each page that waits in it.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from recrawl.learning.list_names import key_of
from recrawl.learning.lists import Lists
from recrawl.records import IntArray

MOST_PARTS = 8
"""Of a list's folders, so many of those that were judged most."""
MOST_PUSHES = 2000
"""Of the sites that push, likewise."""
LATEST, MOST_KEYS = 1e15, 2**63
"""No time is later, and no number of a list or of readings larger."""


class Account(msgspec.Struct, array_like=True):
    """How far a list, or a part of one, is trusted: what `ListTrust` and the record of its batches hold."""

    laws: bytes
    plain_laws: bytes
    figures: tuple[float, float, float]
    hits: bytes = b""
    misses: bytes = b""


class KeptList(msgspec.Struct, array_like=True):
    """A list: when it was read last, how often, and its accounts."""

    read: float
    reads: int
    account: Account
    parts: dict[str, Account] = {}
    failures: int = 0


class KeptSource(msgspec.Struct, array_like=True):
    """A source: its places, and what it is as a list; what was told apart by other rates is not used."""

    fastest: float
    places: bytes = b""
    itself: KeptList | None = None


def pack(lists: Lists, ids: IntArray) -> list[bytes]:
    """What is kept with some sources; empty for one that is neither a list nor named by any."""
    positions, places = lists.sources.rings(ids)
    packed = lists.sources.pack(places)
    packed["doubt"] = lists.doubt(places)
    of: dict[int, list[bytes]] = {}
    for position, row in zip(positions.tolist(), packed, strict=True):
        of.setdefault(position, []).append(row.tobytes())
    out = []
    for position, target in enumerate(ids.tolist()):
        row, said = lists.row_of.get(target), b"".join(of.get(position, ()))
        kept = KeptSource(float(lists.rates[-1]), said, None if row is None else _kept(lists, row))
        out.append(msgspec.msgpack.encode(kept) if said or kept.itself else b"")
    return out


def unpack(lists: Lists, ids: IntArray, labels: list[str], rows: list[bytes]) -> None:
    """Go on with sources as `pack` gave them; of one that cannot be read nothing is known."""
    layout = lists.sources.layout
    targets, places, heard = [], [], []
    for target, label, row in zip(ids.tolist(), labels, rows, strict=True):
        try:
            kept = msgspec.msgpack.decode(row, type=KeptSource)
            found = _sound(np.frombuffer(kept.places if kept.fastest == lists.rates[-1] else b"", layout))
        except (msgspec.DecodeError, ValueError):
            continue
        if kept.itself is not None and _whole(lists, kept.itself):
            _go_on(lists, lists.row(key_of(label, target), target), kept.itself)
        targets.append(np.full(len(found), target))
        places.append(found)
        heard.append(np.arange(len(found)) == 0)
    if places:
        listed, kept_places, first = np.concatenate(targets), np.concatenate(places), np.concatenate(heard)
        for some in (first, ~first):
            lists.resume(listed[some], kept_places[some])


def _sound(found: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Those places of a source that can have been packed, one of each list."""
    sound = (found["owner_key"] >= 0) & (found["pending"] >= 0)
    for name in ("stated", "counted_to", "covered_from", "signalled"):
        sound &= ~(np.abs(found[name]) > LATEST) | (found[name] == -np.inf)
    sound &= ~np.isnan(found["covered_from"]) & ~np.isnan(found["signalled"]) & ~np.isinf(found["stated"])
    for name, most in (("count", LATEST), ("time", LATEST), ("doubt", 1.0)):
        sound &= (found[name] >= 0.0) & (found[name] <= most)
    found = found[sound & np.isfinite(found["evidence"]).all(axis=1)]
    result: npt.NDArray[Any] = found[np.sort(np.unique(found["owner_key"], return_index=True)[1])]
    return result


def shared(lists: Lists) -> dict[str, Any]:
    """What belongs to no single source: the accounts of pushes, by site."""
    pushed = [row for row in lists.by_key.values() if lists.rows.pushed[row]]
    pushed.sort(key=lambda row: -float(lists.trust.visits[row]))
    kept = {int(lists.rows.key[row]): _kept(lists, row) for row in pushed[:MOST_PUSHES]}
    return {"pushes": [[key, msgspec.msgpack.encode(each)] for key, each in kept.items()]}


def load_shared(lists: Lists, state: dict[str, Any]) -> None:
    """Go on from `shared`, or raise ValueError with nothing done."""
    read = [(int(key), msgspec.msgpack.decode(packed, type=KeptList)) for key, packed in state["pushes"]]
    if not all(0 <= key < MOST_KEYS and _whole(lists, kept) for key, kept in read):
        raise ValueError("accounts of pushes that nobody can have written")
    for key, kept in read:
        _go_on(lists, lists.row(key, pushed=True), kept)


def _kept(lists: Lists, row: int) -> KeptList:
    trust = lists.trust
    parts = [(name, part) for name, part in lists.parts.get(row, {}).items() if trust.visits[part] > 0.0]
    parts.sort(key=lambda each: -float(trust.visits[each[1]]))
    return KeptList(
        float(lists.rows.read[row]),
        int(lists.rows.reads[row]),
        _account(lists, row),
        {name: _account(lists, part) for name, part in parts[:MOST_PARTS]},
        int(lists.rows.failures[row]),
    )


def _account(lists: Lists, row: int) -> Account:
    trust, classes = lists.trust, lists.batches.classes
    return Account(
        _halves(trust.laws[row]),
        _halves(trust.plain_laws[row]),
        (float(trust.lead[row]), float(trust.part_lead[row]), float(trust.visits[row])),
        classes.hits[row].tobytes(),
        classes.misses[row].tobytes(),
    )


def _halves(log_weights: npt.NDArray[np.float32]) -> bytes:
    """Half precision is enough for weights of which only the differences count."""
    return np.maximum(log_weights - log_weights.max(), -6e4).astype(np.float16).tobytes()


def _whole(lists: Lists, kept: KeptList) -> bool:
    """Whether a list, as it was kept, can have been written so."""
    accounts = [kept.account, *kept.parts.values()]
    return abs(kept.read) <= LATEST and 0 <= kept.reads < MOST_KEYS and all(_readable(lists, each) for each in accounts)


def _readable(lists: Lists, account: Account) -> bool:
    trust, classes = lists.trust, lists.batches.classes
    columns = (
        (trust.laws, account.laws, np.float16),
        (trust.plain_laws, account.plain_laws, np.float16),
        (classes.hits, account.hits, np.float32),
        (classes.misses, account.misses, np.float32),
    )
    for column, data, kind in columns:
        if len(data) not in (0, column.shape[1] * np.dtype(kind).itemsize):
            return False
        if not np.isfinite(np.frombuffer(data, kind)).all():
            return False
    counted = np.frombuffer(account.hits + account.misses, np.float32)
    return bool(np.isfinite(account.figures).all() and account.figures[2] >= 0.0 and (counted >= 0.0).all())


def _go_on(lists: Lists, row: int, kept: KeptList) -> None:
    lists.rows.read[row], lists.rows.reads[row], lists.rows.failures[row] = kept.read, kept.reads, kept.failures
    _resume(lists, row, kept.account)
    for name, account in kept.parts.items():
        _resume(lists, lists.part(row, name), account)


def _resume(lists: Lists, row: int, account: Account) -> None:
    trust, classes = lists.trust, lists.batches.classes
    for column, halves in ((trust.laws, account.laws), (trust.plain_laws, account.plain_laws)):
        weights = np.frombuffer(halves, np.float16)
        if weights.shape == column[row].shape:
            column[row] = weights
    trust.lead[row], trust.part_lead[row], trust.visits[row] = account.figures
    for column, counts in ((classes.hits, account.hits), (classes.misses, account.misses)):
        read = np.frombuffer(counts, np.float32)
        if read.shape == column[row].shape:
            column[row] = read
    trust.summarise(np.array([row]))
