"""Lists that are cheap to append to and cheap to read in order.

A chain is a linked list of 64-byte blocks, each holding up to 15 members: reading it costs one cache miss per block,
not per member. Members are never taken out of the middle. A source says in `place` which chain holds its live entry;
entries elsewhere are stale and are dropped when read.

Blocks come from one array that the caller keeps large enough (:mod:`~recrawl.scheduling.capacity`): reading frees
blocks, appending takes them, and only the head block of a chain may be part empty.
"""

from __future__ import annotations

from recrawl.scheduling.compiled import inlined, inner
from recrawl.scheduling.state import ENTRIES, FILL, FREE, HEAD, UNUSED, Chains, Int64Array

MEMBERS = 15


@inlined
def push(chains: Chains, which: int, member: int) -> None:
    """Append one member."""
    block, used = chains.heads[which, HEAD], chains.heads[which, FILL]
    if block < 0 or used == MEMBERS:
        fresh = chains.ledger[FREE]
        if fresh >= 0:
            chains.ledger[FREE] = chains.blocks[fresh, 0]
        else:
            fresh = chains.ledger[UNUSED]
            if fresh >= len(chains.blocks):
                # never, if room was made; but an error can be read, and a write past the end destroys the process
                raise IndexError("no room for another block of a chain")
            chains.ledger[UNUSED] += 1
        chains.blocks[fresh, 0] = block
        chains.heads[which, HEAD] = fresh
        block, used = fresh, 0
    chains.blocks[block, used + 1] = member
    chains.heads[which, FILL] = used + 1
    chains.ledger[ENTRIES] += 1


@inlined
def unhook(chains: Chains, which: int) -> int:
    """Empty a chain without reading it; the first of its blocks, or -1. Read them with :func:`next_block`."""
    block = chains.heads[which, HEAD]
    chains.heads[which, HEAD] = -1
    chains.heads[which, FILL] = 0
    return block


@inlined
def next_block(chains: Chains, block: int, used: int) -> int:
    """Free a block whose `used` members have been read; the block after it, which is full, or -1."""
    following = chains.blocks[block, 0]
    chains.blocks[block, 0] = chains.ledger[FREE]
    chains.ledger[FREE] = block
    chains.ledger[ENTRIES] -= used
    return following


@inner
def drain(chains: Chains, which: int, out: Int64Array, start: int) -> int:
    """Move all entries to `out` from `start` on; the position after the last."""
    used = chains.heads[which, FILL]
    block = unhook(chains, which)
    while block >= 0:
        for k in range(used):
            out[start + k] = chains.blocks[block, k + 1]
        start += used
        block, used = next_block(chains, block, used), MEMBERS
    return start
