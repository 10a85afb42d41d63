"""Ages: "5 minutes ago", "just now", where they say how old something on the page is.

In a sentence an age may be a limit ("bought less than 30 days ago") or a story, and is content. So it is taken for one
only where it stands for itself, alone in its line or set off in it, or behind a word that dates something ("posted",
"by Ann"); and where nothing before it makes it a condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

REACH = 200
"""Characters before an age that are looked at."""
_UNIT = r"(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?|months?|years?)"
_AGE = re.compile(
    r"(?<![0-9][,.])(?:\b(?:about|around|approximately|almost|nearly) |~ ?)?"
    rf"\b(?:[0-9]{{1,5}}|an?|one|(?:a )?few|(?:a )?couple(?: of)?) ?{_UNIT}"
    rf"(?:,? (?:and )?[0-9]{{1,2}} ?{_UNIT}){{0,2}} ago\b|\bjust now\b",
    re.IGNORECASE,
)
_APART = "|·•,;:()[]–—/"
_NAME = r"[@\w][\w.'/-]{0,40}"
_AFTER = re.compile(
    rf"(?: (?:by|in|from|via)(?: {_NAME}){{1,4}})?(?:$|[.!](?= |$)| ?[{re.escape(_APART)}]| - )", re.IGNORECASE
)
_DATED = frozenset((
    "posted", "published", "updated", "modified", "changed", "revised", "edited", "commented", "replied", "answered",
    "asked", "submitted", "uploaded", "shared", "written", "reviewed", "created", "added", "joined", "opened", "closed",
    "merged", "committed", "pushed", "released", "refreshed", "checked", "generated", "fetched", "read", "viewed",
    "seen", "active",
))  # fmt: skip
_LATEST = frozenset(("activity", "post", "reply", "comment", "message", "visit", "login", "update", "edit", "change"))
"""These date something behind "last"."""
_LIMITS = frozenset(("than", "over", "under", "within", "least", "most", "for", "who", "that", "which"))
"""Before an age, within the same part of a line."""
_CONDITIONS = frozenset(("if", "unless", "whether"))
"""Before an age, within the same sentence."""


def ages_in(line: str) -> Iterator[tuple[int, int]]:
    """Where the ages of a line begin and end.

    >>> [*ages_in("Posted 3 minutes ago")], [*ages_in("Bought less than 30 days ago")]
    ([(7, 20)], [])
    """
    for found in _AGE.finditer(line):
        before = line[max(0, found.start() - REACH) : found.start()].lower()
        if _AFTER.match(line, found.end()) and _may_end_in_an_age(before):
            yield found.span()


def _may_end_in_an_age(before: str) -> bool:
    """Of what stands before one, in lower case."""
    part = _behind_the_last(_APART, before.replace(" - ", " – ")).split()
    if part and not (_dates(part) and _LIMITS.isdisjoint(part)):
        return False
    if not any(word in before for word in _CONDITIONS):
        return True
    sentence = _behind_the_last("|·•.!?", before).split()
    return _CONDITIONS.isdisjoint(word.strip(_APART) for word in sentence)


def _dates(words: list[str]) -> bool:
    """Whether what follows these words is the age of something."""
    return words[-1] in _DATED or (words[-1] in _LATEST and words[-2:-1] == ["last"]) or "by" in words[-4:-1]


def _behind_the_last(characters: str, text: str) -> str:
    return text[max(map(text.rfind, characters)) + 1 :]
