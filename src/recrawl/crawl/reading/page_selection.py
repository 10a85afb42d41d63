"""What counts on a page, by its owner's word: which part of it, how it is compared, and what is left out.

The same words make the name of the rule by which a digest was made: two digests can be compared only if their rules are
the same (`digests`).
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import msgspec

from recrawl.config.conditions import parsed
from recrawl.crawl.reading.findings import UnreadableError

if TYPE_CHECKING:
    from recrawl.store.source_terms import EffectiveOptions

XPATH, JSON_PATH = "xpath:", "json:"
"""What a selector begins with that is none of CSS."""
RULES = 6
"""Grows whenever the same words come to mean another digest of the same page."""


BYTES = "9"
"""In front of the version of recrawl's own part, where the bytes were compared of what may be text."""


class WhatCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What of a page is compared from visit to visit.

    Parameters
        select: selector of what counts (CSS, or behind `xpath:` or `json:`); empty for the main text
        digest: "text", or "raw" for the bytes as they came
        ignore: selectors of what does not count
        ignore_text: regular expressions of text that does not count
        keep: selectors of what always counts
        keep_text: regular expressions of lines that always count
        number: which number is watched; it always counts
        matching: regular expressions of lines that are told apart; they change nothing of what is compared
        ignore_noise: whether what certainly changes by itself is left out (`noise`)
        rendered: whether it is the page as a browser shows it
    """

    select: str = ""
    digest: Literal["text", "raw"] = "text"
    ignore: tuple[str, ...] = ()
    ignore_text: tuple[str, ...] = ()
    ignore_noise: bool = True
    keep: tuple[str, ...] = ()
    keep_text: tuple[str, ...] = ()
    number: str = ""
    matching: tuple[str, ...] = ()
    rendered: bool = False

    @classmethod
    def of(cls, select: str, options: EffectiveOptions) -> WhatCounts:
        """What counts for a source with these options."""
        return cls(
            select=select,
            digest=options.digest,
            ignore=options.ignore,
            ignore_text=options.ignore_text,
            ignore_noise=options.ignore_noise,
            keep=options.keep,
            keep_text=options.keep_text,
            number=options.number,
            matching=_matching(options.when) if options.when else (),
        )

    @property
    def takes_patience(self) -> bool:
        """Whether its owner's patterns have to be looked for: on strangers' text they may take for ever."""
        pointed_at = self.number not in ("", "price", "stock", "version")
        owned = (self.select, self.ignore, self.ignore_text, self.keep, self.keep_text, self.matching)
        return pointed_at or any(owned)

    @property
    def rule(self) -> str:
        """The name of the rule: the version of recrawl's own part, and a digest of the owner's."""
        return f"{RULES}-{blake2b(msgspec.json.encode(_encodable(self)), digest_size=4).hexdigest()}"

    @property
    def rule_of_bytes(self) -> str:
        """Of what may be read as text at another visit, but was not: its bytes are compared with bytes alone."""
        return BYTES + self.rule

    @property
    def words(self) -> str:
        """The same for people.

        >>> WhatCounts(select=".price", ignore=(".ad",), ignore_noise=False).words
        'what .price picks, without what .ad picks'
        """
        if self.digest == "raw":
            return "every byte"
        said = [f"what {self.select} picks" if self.select else "its main text"]
        if self.ignore:
            said.append(f"without what {', '.join(self.ignore)} picks")
        if self.ignore_text:
            said.append(f"without text like {', '.join(self.ignore_text)}")
        if self.keep or self.keep_text:
            said.append(f"always with {', '.join([*self.keep, *(f'lines like {each}' for each in self.keep_text)])}")
        if self.number:
            said.append(f"with the number {self.number}")
        if self.rendered:
            said.append("as a browser shows it")
        if self.ignore_noise == bool(self.select):
            said.append("without clocks, ages and counters" if self.ignore_noise else "clocks and counters included")
        return ", ".join(said)


def is_json_path(select: str) -> bool:
    """Whether a selector is for JSON."""
    return select.startswith(JSON_PATH)


def compiled(pattern: str) -> re.Pattern[str]:
    """An owner's pattern; `^` and `$` are the ends of a line. UnreadableError if it is none."""
    try:
        return re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise UnreadableError(f"{pattern[:200]!r} is not a regular expression: {error}") from error


def _encodable(counts: WhatCounts) -> list[object]:
    """Its fields in an order that stays, every text in it fit for UTF-8."""
    said = [_mended(value) for value in (counts.select, counts.digest, counts.ignore, counts.ignore_text)]
    kept = [_mended(value) for value in (counts.keep, counts.keep_text)]
    number = [_mended(counts.number)] if counts.number else []
    shown = [True] if counts.rendered else []
    return [*said, counts.ignore_noise, *(kept if number or any(kept) else []), *number, *shown]


def _matching(when: tuple[str, ...]) -> tuple[str, ...]:
    """The regular expressions in conditions."""
    conditions = filter(None, map(parsed, when))
    return tuple(each.text for each in conditions if each.kind == "matches")


def _mended(value: str | tuple[str, ...]) -> str | list[str]:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return [each.encode("utf-8", "replace").decode() for each in value]
