"""What is kept of beliefs over a restart: a row of bytes per source, and plain numbers for the whole catalogue.

A row has a fixed layout: a version, the kind, the numbers of that kind, and, once anybody has clicked, those of the
source's readers. What lists have said of the source stands behind, with its length. What belongs to the whole catalogue
(priors, pooled profiles) is kept apart. Rows and laws of the layout before are read too
(:mod:`recrawl.learning.layouts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recrawl.learning import layouts
from recrawl.learning.beliefs import FEEDS, ITEMS, NAMES, PAGES, UNKNOWN, WORTH, CatalogueBeliefs
from recrawl.learning.feed_model import FeedModel
from recrawl.records import BoolArray, FloatArray, IntArray

MARK = b"\xc1told\0"
"""Before what lists have said of a source."""


def pack(beliefs: CatalogueBeliefs, ids: IntArray) -> list[bytes]:
    """All that is known of some sources; empty for one never learned from."""
    out = [b""] * len(ids)
    for kind, model in beliefs.models.items():
        mine = np.flatnonzero(beliefs.kind[ids] == kind)
        if not len(mine):
            continue
        rows, head = beliefs.place[ids[mine]].astype(np.int64), bytes((layouts.LAYOUT, kind))
        for place, packed in zip(mine.tolist(), model.pack(rows), strict=True):
            out[place] = head + packed
        if kind == FEEDS and beliefs.readers.heard:
            read, size = beliefs.readers.pack(rows).tobytes(), beliefs.readers.layout.itemsize
            for k, place in enumerate(mine.tolist()):
                out[place] += read[k * size : (k + 1) * size]
    if beliefs.signals is not None:
        for place, told in enumerate(beliefs.signals.pack(ids)):
            if told:
                row = out[place] or bytes((layouts.LAYOUT, UNKNOWN))
                out[place] = row + MARK + told + len(told).to_bytes(4, "big")
    return out


def _parted(row: bytes) -> tuple[bytes, bytes]:
    """A row without what lists have said, and that."""
    size = int.from_bytes(row[-4:], "big")
    start = len(row) - 4 - size
    if start < 2 + len(MARK) or row[start - len(MARK) : start] != MARK:
        return row, b""
    return row[: start - len(MARK)], row[start:-4]


def unpack(beliefs: CatalogueBeliefs, ids: IntArray, rows: Sequence[bytes], last: FloatArray) -> BoolArray:
    """Put rows back; which of them could be used. One of an unknown layout leaves its source unknown.

    `last` is when each was last looked at.
    """
    used = np.array([len(row) == 0 for row in rows], dtype=bool)
    whole = [_parted(row) for row in rows]
    told = [layouts.read(row, at) for (row, _), at in zip(whole, last.tolist(), strict=True)]
    for kind in (FEEDS, PAGES, WORTH, ITEMS):
        some = [k for k, row in enumerate(told) if len(row) > 1 and row[0] == layouts.LAYOUT and row[1] == kind]
        if not some:
            continue
        model, more = beliefs.model(kind), beliefs.readers.layout.itemsize if kind == FEEDS else 0
        size = model.row_bytes + 2
        mine = [k for k in some if len(told[k]) in (size, size + more)]
        places = beliefs.rows_in(kind, ids[mine])
        model.unpack(places, [told[k][2:size] for k in mine])
        if isinstance(model, FeedModel):
            model.looked_at(places, last[mine])  # which has been mended where a clock was ahead
        used[mine] = True
        read = [k for k in mine if more and len(told[k]) == size + more]
        if not read:
            continue
        beliefs.hear_readers()
        packed = np.frombuffer(b"".join([told[k][size:] for k in read]), beliefs.readers.layout)
        beliefs.readers.unpack(beliefs.place[ids[read]].astype(np.int64), packed)
    heard = [k for k, (_, said) in enumerate(whole) if said]
    if heard:
        used[heard] |= np.array([len(told[k]) == 2 and told[k][1] == UNKNOWN for k in heard])
        beliefs.told().unpack(ids[heard], [whole[k][1] for k in heard])
    return used


def shared(beliefs: CatalogueBeliefs) -> dict[str, Any]:
    """What belongs to no single source."""
    laws = {NAMES[kind]: model.shared() for kind, model in beliefs.models.items()}
    told = {} if beliefs.signals is None else {"signals": beliefs.signals.shared()}
    return laws | {"latest": beliefs.latest, "readers": beliefs.readers.shared()} | told


def load_shared(beliefs: CatalogueBeliefs, state: dict[str, Any]) -> None:
    """Go on from `shared`."""
    latest = int(state["latest"])
    if latest not in NAMES:
        raise ValueError("sources of a kind nobody knows")
    beliefs.latest = latest
    for kind, name in NAMES.items():
        if name in state:
            beliefs.model(kind).load_shared(state[name])
    if "readers" in state:
        beliefs.readers.load_shared(state["readers"])
        if beliefs.readers.heard:
            beliefs.hear_readers()
    if "signals" in state:
        beliefs.told().load_shared(state["signals"])
