"""Digests of pages: what is kept of one to tell, at the next visit, whether it is the same.

`RULE:HASH:STAMPS`. The rule says how it was made (`page_selection`). The hash is of all that counts, with a placeholder
for each stamp: a date or time that may be the page's own clock (`noise`). The stamps follow, each as a short hash of
what it says, and `@` with how it stands to the moment of the fetch if it is near it. Of two visits, a stamp is the same
if it says the same, or if it was near the fetch both times, by the same zone.

A digest without a rule is one of an earlier version, or of a fetcher of one's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple

_RULED = re.compile(r"([0-9]{1,4}-[0-9a-f]{8}):([0-9a-f]{32})(?::(.*))?", re.DOTALL)
_OF_BYTES = re.compile(r"9[0-9]+-")
Relation = Literal["same", "differs", "another rule"]


class Stamp(NamedTuple):
    """What a page says where its clock may be, and where that lies beside the fetch's own ("" for not near it)."""

    text: str
    near: str


class _Digest(NamedTuple):
    rule: str
    hash: str
    stamps: tuple[str, ...] = ()


def digest_of(rule: str, content: bytes, stamps: Sequence[Stamp] = ()) -> str:
    """Of what counts, made by a rule."""
    written = [_hash(stamp.text.encode("utf-8", "replace"), 4) + (stamp.near and f"@{stamp.near}") for stamp in stamps]
    return ":".join([rule, _hash(content, 16), *([",".join(written)] if written else [])])


def relation(before: str, now: str) -> Relation:
    """Of the digests of two visits."""
    old, new = _parsed(before), _parsed(now)
    if old.rule != new.rule:
        return "same" if old.hash == new.hash and not (old.rule and new.rule) and not new.stamps else "another rule"
    same = old.hash == new.hash and len(old.stamps) == len(new.stamps)
    return "same" if same and all(map(_same_stamp, old.stamps, new.stamps)) else "differs"


def is_by(rule: str, digest: str) -> bool:
    """Whether a digest was made by a rule."""
    return _parsed(digest).rule == rule


def is_of_bytes(digest: str) -> bool:
    """Whether it is of the bytes of what may be read as text at another visit (`page_selection`)."""
    return _OF_BYTES.match(_parsed(digest).rule) is not None


def has_the_view_of(before: str, now: str) -> bool:
    """Whether they are of the same part of a page, as far as that can be told: only recrawl's own rules may differ."""
    old, new = _parsed(before).rule, _parsed(now).rule
    return not old or old.partition("-")[2] == new.partition("-")[2]


def name_of(digest: str) -> str:
    """Of what was said alone, whenever: a page that says the same again has the same name again."""
    parsed = _parsed(digest)
    if not parsed.stamps:
        return parsed.hash
    said = ",".join([parsed.hash, *(stamp.partition("@")[0] for stamp in parsed.stamps)])
    return _hash(said.encode(), 16)


def _parsed(digest: str) -> _Digest:
    found = _RULED.fullmatch(digest)
    if found is None:
        return _Digest("", digest)
    rule, content, stamps = found.groups()
    return _Digest(rule, content, tuple(stamps.split(",")) if stamps else ())


def _same_stamp(old: str, new: str) -> bool:
    (old_said, _, old_near), (new_said, _, new_near) = old.partition("@"), new.partition("@")
    return old_said == new_said or (old_near != "" and old_near == new_near)


def _hash(content: bytes, size: int) -> str:
    return blake2b(content, digest_size=size).hexdigest()
