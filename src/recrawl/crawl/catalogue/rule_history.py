"""A rule tried on what was found last, before it is saved."""

from __future__ import annotations

from typing import Protocol

import msgspec

from recrawl.config.item_rules import ItemRule, checked_rule
from recrawl.crawl.reading.in_full import content_words
from recrawl.crawl.reading.rule_trial import Tried, hits
from recrawl.errors import ParameterError
from recrawl.store.records import Content, Item
from recrawl.store.roles import Catalogue, Items

LOOKED_AT = 5000
SHOWN = 10
_DONE = {"block": "blocked", "keep": "kept", "tag": "tagged", "star": "starred"}


class Shelves(Catalogue, Items, Protocol):
    """A store's sources and items."""


class Trial(msgspec.Struct, kw_only=True):
    """Of so many items that were found last, those that a rule meant, and the latest of them."""

    rule: ItemRule
    of: int
    hit: int
    items: list[Item]

    @property
    def words(self) -> str:
        """In words: `would have blocked 214 of the last 5,000`."""
        return f"would have {_DONE[self.rule.act]} {self.hit:,} of the last {self.of:,}"


def tried(store: Shelves, rule: ItemRule, most: int = LOOKED_AT) -> Trial:
    """What a rule would have done to the items found last, those of its source or tag."""
    rule = checked_rule(rule)
    if rule.source and store.source(rule.source) is None:
        raise ParameterError("source", "the number of a source", rule.source)
    found = store.items(kind="item", limit=most, source=rule.source or None, tag=rule.tag or None)
    contents = store.contents([item.id for item in found]) if rule.field in ("any", "content", "author") else {}
    places = hits(rule, [_as_rules_see(item, contents.get(item.id, Content()), rule) for item in found])
    return Trial(rule=rule, of=len(found), hit=len(places), items=[found[place] for place in places[:SHOWN]])


def _as_rules_see(item: Item, content: Content, rule: ItemRule) -> Tried:
    """One of those that were looked for: its source and tags are the rule's."""
    tags = (rule.tag,) if rule.tag else ()
    words = content_words(item.summary, content.record)
    return Tried(item.title, words, content.author, item.link, item.source, tags)
