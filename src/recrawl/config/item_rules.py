"""What an owner wants done with items by what they say: keep, block, tag, star.

A rule looks for its words in any case, wherever they stand; `/…/` is a regular expression instead. A blocked item is
not kept, unless another rule keeps it; tags and stars are given for everybody who reads its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, get_args

import msgspec

from recrawl.config.option_rules import LONGEST_PATTERN, pattern
from recrawl.errors import ParameterError

Act = Literal["keep", "block", "tag", "star"]
Field = Literal["any", "title", "content", "author", "link"]
MOST_RULES = 200
LONGEST_LABEL = 100
LONGEST_LOOK = 5000
"""Characters of a field that are looked at."""


class ItemRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One of them.

    Parameters
        id: given when it is saved
        words: what is looked for, or `/…/`
        source, tag: only items of this source, or of sources with this tag; 0 and empty for all
        label: what to tag with
    """

    id: int = 0
    act: Act
    field: Field = "any"
    words: str
    source: int = 0
    tag: str = ""
    label: str = ""

    @property
    def is_pattern(self) -> bool:
        """Whether it is a regular expression: how long that takes nobody knows."""
        return len(self.words) > 2 and self.words[0] == self.words[-1] == "/"

    def concerns(self, source: int, tags: Sequence[str]) -> bool:
        """Whether it is about the items of a source."""
        return (not self.source or self.source == source) and (not self.tag or self.tag in tags)


def checked_rule(rule: ItemRule) -> ItemRule:
    """One that can be used; ParameterError names what is wrong."""
    words = rule.words.strip()
    rule = msgspec.structs.replace(
        rule, words=words, label=" ".join(rule.label.split()), tag=" ".join(rule.tag.split())
    )
    if rule.act not in get_args(Act):
        raise ParameterError("act", f"one of {', '.join(get_args(Act))}", repr(rule.act[:80]))
    if rule.field not in get_args(Field):
        raise ParameterError("field", f"one of {', '.join(get_args(Field))}", repr(rule.field[:80]))
    if not words or len(words) > LONGEST_PATTERN + 2:
        raise ParameterError("words", f"words or /a pattern/ of at most {LONGEST_PATTERN} characters", repr(words[:80]))
    if rule.is_pattern:
        pattern("words", words[1:-1])
    if rule.act == "tag" and not (rule.label and len(rule.label) <= LONGEST_LABEL and "/" not in rule.label):
        raise ParameterError("label", f"a name of at most {LONGEST_LABEL} characters without /", repr(rule.label[:80]))
    if rule.act != "tag" and rule.label:
        raise ParameterError("label", "a name only where items are tagged", repr(rule.label[:80]))
    if rule.source < 0:
        raise ParameterError("source", "the number of a source", rule.source)
    return rule


def matches(rule: ItemRule, title: str, content: str, author: str, link: str) -> bool:
    """Whether an item is meant.

    >>> matches(ItemRule(act="block", words="Sale"), "Big sale!", "", "", "")
    True
    >>> matches(ItemRule(act="block", field="author", words="/^bot/"), "bot", "", "A bot", "")
    False
    """
    looks = _finder(rule.words)
    fields = {"title": title, "content": content, "author": author, "link": link}
    given = fields.values() if rule.field == "any" else (fields[rule.field],)
    return any(looks(text[:LONGEST_LOOK]) for text in given if text)


@lru_cache(maxsize=2 * MOST_RULES)
def _finder(words: str) -> Callable[[str], object]:
    if len(words) > 2 and words[0] == words[-1] == "/":
        return re.compile(words[1:-1], re.IGNORECASE).search
    looked_for = words.casefold()
    return lambda text: looked_for in text.casefold()


def verdict(matched: Sequence[int], rules: Sequence[ItemRule]) -> tuple[bool, bool, tuple[str, ...]]:
    """Of the rules that an item matches: whether it is blocked, whether starred, and how it is tagged."""
    hit = [rule for rule in rules if rule.id in matched]
    acts = {rule.act for rule in hit}
    labels = tuple(dict.fromkeys(rule.label for rule in hit if rule.act == "tag"))
    return "block" in acts and "keep" not in acts, "star" in acts, labels
