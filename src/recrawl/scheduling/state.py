"""The arrays a calendar is made of, in the shape compiled code takes them.

Plain flat arrays in a few named tuples. Nothing here decides anything. A source costs 32 bytes of record, 4 of place
and 4 (16/15 of it) in the one chain that holds it; a host number, unequal costs and unequal `max_age` cost 4, 8 and 8
more where they are given.

A **ward** is a wheel, a pool and a mark: sources below the mark sleep in the wheel, the others are awake in the pool.
Ward 0 holds the catalogue; a crowded host gets a ward of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
Float64Array = npt.NDArray[np.float64]

# columns of SourceRecords.record
VALUE, RATE, LAST, NOT_BEFORE = 0, 1, 2, 3
# SourceRecords.place of a source that is gone; any other place is the number of a chain
GONE = -1

# columns of Wards.dial
ORIGIN = 0  # the time at which the ward's clock stood at 0
AHEAD = 1  # by how much the clock has run ahead of time because the mark fell
NOW = 2  # the time of the latest turn of the wheel
MARK = 3  # every sleeping source has an index below this
STEEPNESS = 4  # ρ: the clock runs ahead by (fall of ln mark)/ρ
WIDTH = 5  # of a slot, in time; 0 until tuned
DEMAND = 6  # smoothed: sources chosen per call
LATEST = 7  # the time of the latest call
LOWEST = 8  # index of the last source chosen by index in the latest call
DIALS = 9

# columns of Wards.knob
POOL, ARRIVALS, FIRST_SLOT, SLOTS = 0, 1, 2, 3  # chain numbers, and how many slots
CURRENT = 4  # number of the slot the clock is in
AWAKE = 5  # entries in POOL and ARRIVALS
GROUP = 6  # the host this ward belongs to
ROSE = 7  # 1 if the mark rose since the last survey
LABOUR = 8  # naps computed beyond what steady work needs, since the last tuning
RUNG = 9  # the rung of the ladder at which the mark was when the ladder was last looked at
KNOBS = 10

# columns of HostColumns.table
TIMER = 0  # the slot in which the wheel of ward 0 will look whether the hold is over, or -1
SHELF = 1  # the chain of candidates that wait for the hold to end
WAITING = 2  # how many these are
WARD = 3  # the ward of a crowded host, or 0
BEST, COUNT = 4, 5  # scratch of one call
CROWD = 6  # row k: the k-th group that should get a ward
COLUMNS = 7

# columns of Chains.heads
HEAD, FILL = 0, 1

# places of Chains.ledger
FREE, UNUSED, ENTRIES, TICK, NEWCOMERS, CROWDS = 0, 1, 2, 3, 4, 5
LEDGER = 6

# the chain number that stands for "in the heap of newcomers"; chains proper start after it
NEWCOMER = 0


class SourceRecords(NamedTuple):
    """One row or element per source; `cost` and `max_age` have one element where all sources agree."""

    record: Float64Array
    place: Int32Array
    cost: Float64Array
    max_age: Float64Array
    group: Int32Array


class Chains(NamedTuple):
    """Lists of sources as chains of blocks: `blocks[b]` is the next block's number and up to 15 members.

    `heads[c]` is the first block of chain c and how many members it has.

    `newcomers` and `ceilings` are the heap of sources never crawled and its keys.
    """

    blocks: Int32Array
    heads: Int32Array
    ledger: Int64Array
    newcomers: Int32Array
    ceilings: Float64Array


class Wards(NamedTuple):
    """One row per ward."""

    dial: Float64Array
    knob: Int64Array


class HostColumns(NamedTuple):
    """One row per group: held until when, and a table of whole numbers."""

    until: Float64Array
    table: Int64Array
