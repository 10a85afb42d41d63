"""What is said of a store whose schema is brought up to date: that it takes long, or that there is no room for it.

All pending steps are one transaction. Some copy whole tables, so a large store takes minutes, and room for the copies.
"""

from __future__ import annotations

from recrawl.errors import StoreFullError

LARGE_BYTES = 200_000_000
"""What is smaller, about a million crawls, is done in seconds and without a word."""


def tell(name: str, taken: int, needed: int, size: int) -> None:
    """Say that it begins, of a store of so many bytes that took some steps and needs more of them.

    By the standard library's loggers: without any settings that is a line on standard error.
    """
    if not 0 < taken < needed or size < LARGE_BYTES:
        return
    import logging

    logging.getLogger("recrawl").warning(
        "store %s (%.1f GB): upgrading from schema %d to %d, which takes about a minute per GB and needs as much free "
        "space again; if it is interrupted, the store stays as it was",
        name, size / 1e9, taken, needed,
    )  # fmt: skip


def no_room(name: str, taken: int, needed: int, size: int, way_out: str) -> StoreFullError:
    """The error where the disk was full before it ended."""
    return StoreFullError(
        f"store {name}: no space left to upgrade it from schema {taken} to {needed}; it is as it was. "
        f"Its {-(-size // 1_000_000):,} MB may need as much free space again while that lasts: {way_out}"
    )
