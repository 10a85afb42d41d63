"""What lists and their folders are known by: numbers that stay the same over a restart."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from urllib.parse import urlsplit


def key_of(label: str, target: int) -> int:
    """What a list is known by over a restart: its label, or where there is none its number."""
    return stable_hash(label) if label else target + 1


def push_key(label: str) -> int:
    """What the pushes of a source's site are known by."""
    return stable_hash("push " + (urlsplit(label).netloc if "://" in label else ""))


def stable_hash(text: str) -> int:
    """A number of 63 bits that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def folders_below(labels: Sequence[str]) -> list[str]:
    """For each label the first folder in which not all are; empty for those directly in the common one.

    >>> folders_below(["a/b/x", "a/b/c/y", "a/b/c/z", "a/b/d/e/f"])
    ['', 'c', 'c', 'd']
    """
    low, high = min(labels, default=""), max(labels, default="")
    differ = (k for k, (one, other) in enumerate(zip(low, high, strict=False)) if one != other)
    start = low[: next(differ, min(len(low), len(high)))].rfind("/") + 1
    return [label[start:].rpartition("/")[0].partition("/")[0] for label in labels]
