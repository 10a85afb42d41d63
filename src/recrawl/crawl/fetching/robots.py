"""robots.txt by RFC 9309: what a site asks crawlers to leave alone, remembered for at most a day.

==================================  ==================================================================================
the answer to /robots.txt           what follows
==================================  ==================================================================================
2xx                                 its rules, from the first 500 KiB; HTML has none
4xx (429 apart), too many redirects  no rules: everything is allowed
5xx, 429, no answer                 the last good copy; without one, nothing is allowed. Asked again after a while
no connection                       the last good copy; without one, nothing is fetched, and nothing remembered
==================================  ==================================================================================

Fetching is the fetcher's part; here is what to make of an answer, and the memory. Memory is bounded by entries and by
text, since one hostile file can hold as many rules as thousands of honest ones; what falls out is read again through
`load`. Which lines are for us is told in `robots_groups`; what their patterns match, by protego.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable

import msgspec
from protego import Protego

from recrawl.crawl.fetching.politeness import MAX_CRAWL_DELAY_S
from recrawl.crawl.fetching.robots_groups import names_of, ours
from recrawl.store.records import Robots

MAX_TEXT_BYTES = 500 * 1024
MAX_AGE_S = 86_400.0
MIN_AGE_S = 3_600.0
"""A shorter Cache-Control is not followed: robots.txt would cost as many requests as what it governs."""
RETRY_S = 900.0
"""After a server failed."""
MAX_SITEMAPS = 1_000
MEMORY_ENTRIES = 4_096
MEMORY_CHARACTERS = 4_000_000

_MAX_AGE = re.compile(r"max-age\s*=\s*\"?(\d{1,9})", re.IGNORECASE)

Load = Callable[[str], Robots | None]


class Rules:
    """What one origin asks of us."""

    __slots__ = ("_parsed", "characters", "crawl_delay_s", "expires", "refusal", "sitemaps")

    def __init__(self, text: str, names: tuple[str, ...], *, expires: float, refusal: str = "") -> None:
        found = ours(text, names)
        rules = "\n".join(["User-agent: *", *found.rules])
        self._parsed = Protego.parse(rules) if found.rules else None
        self.sitemaps = tuple(found.sitemaps[:MAX_SITEMAPS])
        self.characters = len(rules) + sum(map(len, self.sitemaps))
        self.expires = expires
        self.refusal = refusal
        """Why nothing at all is allowed, or empty."""
        self.crawl_delay_s = max(map(_sane_delay, found.delays), default=0.0)

    def allow(self, url: str) -> bool:
        """Whether this URL may be fetched."""
        if self.refusal:
            return False
        return self._parsed is None or self._parsed.can_fetch(url, "*")


class RobotsCache:
    """The rules of many origins, and what is to be stored about them.

    Parameters
        user_agent: as requests send it; rules are addressed to a name in it (`robots_groups.names_of`)
        load: what the store has for an origin
    """

    def __init__(self, user_agent: str, load: Load, *, entries: int = MEMORY_ENTRIES) -> None:
        self.names = names_of(user_agent)
        self._load = load
        self._entries = entries
        self._rules: OrderedDict[str, Rules] = OrderedDict()
        self._characters = 0
        self._changed: dict[str, Robots] = {}

    def rules(self, origin: str, now: float) -> Rules | None:
        """Those in force for an origin; None if they must be fetched (again)."""
        rules = self._rules.get(origin)
        if rules is not None:
            self._rules.move_to_end(origin)
        else:
            record = self.stored(origin, now)
            if record is None:
                return None
            rules = self._remember(origin, self.read(record))
        return rules if rules.expires > now else None

    def stored(self, origin: str, now: float) -> Robots | None:
        """A copy in force that is not in memory, and has yet to be read; None if there is none."""
        record = None if origin in self._rules else self._record(origin)
        return record if record is not None and now < record.expires <= now + MAX_AGE_S else None

    def recall(self, record: Robots, rules: Rules) -> None:
        """Remember the rules of a stored copy."""
        self._remember(record.origin, rules)

    def judged(self, origin: str, status: int, body: bytes, cache_control: str | None, now: float) -> Robots:
        """What an answer to /robots.txt, its redirects followed, amounts to. Nothing is remembered yet."""
        if status == 429 or status >= 500:
            return self.unreachable(origin, status, now)
        text = _text(body) if 200 <= status < 300 else ""
        return Robots(
            origin=origin, fetched=now, status=status, body=text, good=text, expires=now + _lifetime(cache_control)
        )

    def unreachable(self, origin: str, status: int, now: float) -> Robots:
        """The same for a server that failed (`status`, 0 for no answer at all)."""
        before = self._record(origin)
        good = before.good if before is not None else None
        return Robots(origin=origin, fetched=now, status=status, body=good or "", good=good, expires=now + RETRY_S)

    def read(self, record: Robots) -> Rules:
        """The rules of a record. Takes a while for a large one; may be done in another thread."""
        if record.good is not None:
            return Rules(record.body, self.names, expires=record.expires)
        why = f"status {record.status}" if record.status else "no answer"
        return Rules("", self.names, expires=record.expires, refusal=f"robots.txt cannot be read: {why}")

    def keep(self, record: Robots, rules: Rules) -> Rules:
        """Remember a record and its rules, and have it stored."""
        self._changed[record.origin] = record
        return self._remember(record.origin, rules)

    def expire(self, origin: str) -> None:
        """Whatever is known is old; the last usable text stays, for when the server fails."""
        record, rules = self._record(origin), self._rules.pop(origin, None)
        self._characters -= rules.characters if rules else 0
        if record is not None:
            self._changed[origin] = msgspec.structs.replace(record, expires=0.0)

    def drain(self) -> list[Robots]:
        """What changed since the last call, to be stored."""
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def _record(self, origin: str) -> Robots | None:
        return self._changed.get(origin) or self._load(origin)

    def _remember(self, origin: str, rules: Rules) -> Rules:
        known = self._rules.pop(origin, None)
        self._characters += rules.characters - (known.characters if known else 0)
        self._rules[origin] = rules
        while len(self._rules) > self._entries or (self._characters > MEMORY_CHARACTERS and len(self._rules) > 1):
            self._characters -= self._rules.popitem(last=False)[1].characters
        return rules


def _lifetime(cache_control: str | None) -> float:
    """Seconds a copy is good for."""
    found = _MAX_AGE.search(cache_control or "")
    return min(max(float(found[1]), MIN_AGE_S), MAX_AGE_S) if found else MAX_AGE_S


def _text(body: bytes) -> str:
    """Characters of a robots.txt, cut at the last whole line within the limit; none if it is a web page."""
    text = body[:MAX_TEXT_BYTES].removeprefix(b"\xef\xbb\xbf")
    if len(body) > MAX_TEXT_BYTES:
        text = text[: max(text.rfind(b"\n"), 0)]
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return text.decode("utf-16", "replace")
    if _is_page(text):
        return ""
    return text.decode("utf-8", "replace").replace("\x00", "")


def _is_page(text: bytes) -> bool:
    """Whether it begins with markup; comments before it are none, since people write them into robots.txt too."""
    place = 0
    while True:
        while text[place : place + 1].isspace():
            place += 1
        if not text.startswith(b"<!--", place):
            return text.startswith(b"<", place)
        end = text.find(b"-->", place)
        if end < 0:
            return False
        place = end + 3


def _sane_delay(written: str) -> float:
    """Seconds between requests that the site asks for; 0 if none or nonsense, an hour at most."""
    try:
        delay = float(written[:40])
    except ValueError:
        return 0.0
    return min(delay, MAX_CRAWL_DELAY_S) if 0.0 < delay < math.inf else 0.0
