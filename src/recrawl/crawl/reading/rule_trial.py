"""What a rule would have done: tried on items that are there, in a process that can be ended.

A regular expression may take for ever, and nothing in Python stops one.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import msgspec

from recrawl.config.item_rules import ItemRule, matches
from recrawl.errors import ParameterError

PATIENCE_S = 10.0
_COMMAND = "from recrawl.crawl.reading.rule_trial import serve; serve()"


class Tried(msgspec.Struct, frozen=True):
    """An item as rules see it: what it says, and which source and tags it is of."""

    title: str
    content: str
    author: str
    link: str
    source: int = 0
    tags: tuple[str, ...] = ()


def hits(rule: ItemRule, items: Sequence[Tried], patience_s: float = PATIENCE_S) -> list[int]:
    """The places of items that a rule matches; ParameterError if it takes too long."""
    if not rule.is_pattern:
        return _hits(rule, items)
    sent = msgspec.msgpack.encode((rule, items))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _COMMAND], input=sent, capture_output=True, timeout=patience_s, check=False
        )
        found: list[int] = msgspec.msgpack.decode(done.stdout, type=list[int])
    except (subprocess.TimeoutExpired, msgspec.DecodeError):
        raise ParameterError("words", f"a pattern that is through within {patience_s:g} s", "one that is not") from None
    return found


def serve() -> None:
    """What that process does."""
    rule, items = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[ItemRule, list[Tried]])
    sys.stdout.buffer.write(msgspec.msgpack.encode(_hits(rule, items)))


def _hits(rule: ItemRule, items: Sequence[Tried]) -> list[int]:
    return [
        place
        for place, each in enumerate(items)
        if rule.concerns(each.source, each.tags) and matches(rule, each.title, each.content, each.author, each.link)
    ]
