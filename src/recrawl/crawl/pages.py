"""Pages: their main text, and a digest of it that stands still when nothing was said.

The text is the page's `main_text`, or what a CSS selector picks.

The digest is taken after replacing what changes by itself: times of day and moments, ages ("5 minutes ago"), dates that
stand alone on a line or after words such as *updated* or *as of*, long random tokens, and counts of views and likes.
Prices, other numbers and dates within sentences stay: those are what people watch pages for.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from lxml import etree

from recrawl.crawl import urls
from recrawl.crawl.findings import Findings, UnreadableError
from recrawl.crawl.main_text import main_text, picked_text
from recrawl.crawl.text import TITLE_CHARACTERS, clean, visible

FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json",
                        "application/json+feed"))  # fmt: skip
MOST_FEEDS = 20
LARGEST = 4_000_000
"""Bytes of a page or text that are looked at."""
SHORTEST = 4
"""Characters of a time of day such as 1:15; nothing shorter changes by itself."""
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:[a-z]{1,6})?\.?"
_ORDINAL = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_DATE = (
    r"(?:[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}"
    rf"|{_ORDINAL} {_MONTH},? [0-9]{{4}}|{_MONTH} {_ORDINAL},? [0-9]{{4}})"
)
_ZONE = r"(?: ?(?:UTC|GMT|Z|[A-Z]{3,4}T|[+-][0-9]{2}:?[0-9]{2})\b)?"
_TIME = rf"[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,9}})?)?(?: ?[ap]\.?m\.?)?{_ZONE}"
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
_SAID = r"updated|modified|changed|generated|rendered|retrieved|accessed|as of|today is|today:|current date"
_AGE = r"s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?|months?|years?"
_COUNTED = r"views?|visitors?|reads|likes?|shares?|online|people online"
_VOLATILE = tuple(
    (marks, f"⟨{name}⟩", re.compile(pattern, re.IGNORECASE))
    for marks, name, pattern in (
        ((":",), "moment", rf"\b{_WEEKDAY}{_DATE}(?:T| at |,? ?){_TIME}"),
        ((":",), "time", rf"\b{_TIME}(?![0-9:])"),
        (tuple(_SAID.split("|")), "said", rf"\b(?:{_SAID})(?: on)?:? {_WEEKDAY}{_DATE}"),
        ((" ago",), "age", rf"\b(?:[0-9]{{1,5}}|an?|one|few) ?(?:{_AGE}) ago\b"),
        (("just now",), "age", r"\bjust now\b"),
        (("-",), "token", r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
        (
            ("view", "visitor", "reads", "like", "share", "online"),
            "count",
            rf"\b[0-9][0-9,.]{{0,14}}[km]? ?(?:{_COUNTED})\b",
        ),
    )
)
"""What changes by itself: of what a line must contain something to be worth looking, the placeholder, the pattern."""
_DATE_ALONE = re.compile(rf"{_WEEKDAY}{_DATE}", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]+")
_TOKEN = re.compile(r"[A-Za-z0-9+/_=-]{16,512}")
_HTML = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)


def read_page(body: bytes, url: str, select: str, keep_text: int, raw: bytes | None = None) -> Findings:
    """What an HTML page says.

    Parameters
        body: UTF-8
        select: CSS selector of what counts; empty for the main text
        keep_text: bytes of the text that is kept; the digest is of all of it
        raw: the body as it came, where the digest is to be of that
    """
    root = _tree(body[:LARGEST])
    if root is None:
        return Findings(kind="page", digest=digest_of_bytes(body if raw is None else raw))
    lines, remark = (_lines_of_picked(root, select), "") if select else main_text(root)
    text = "\n".join(lines)
    return Findings(
        kind="page",
        title=clean(root.findtext(".//title") or "", TITLE_CHARACTERS),
        text=bounded(text, keep_text),
        digest=digest_of_text(text) if raw is None else digest_of_bytes(raw),
        advertises=advertised(root, url),
        remark=_remark(body) or (remark if raw is None else ""),
    )


def read_text(body: bytes, keep_text: int, raw: bytes | None = None) -> Findings:
    """What a plain text says.

    Parameters
        body: UTF-8
    """
    text = "\n".join(
        filter(
            None, (" ".join(visible(line).split()) for line in body[:LARGEST].decode("utf-8", "replace").split("\n"))
        )
    )
    digest = digest_of_text(text) if raw is None else digest_of_bytes(raw)
    return Findings(kind="page", text=bounded(text, keep_text), digest=digest, remark=_remark(body))


def advertised(root: Any, url: str) -> tuple[str, ...]:
    """The feeds a page names in its head."""
    base = ""
    found: dict[str, None] = {}
    for element in root.iter("base", "link"):
        href = element.get("href")
        if not href:
            continue
        if element.tag == "base":
            base = base or urls.join(url, href) or url
        elif (
            "alternate" in element.get("rel", "").lower().split() and _media_type(element.get("type", "")) in FEED_TYPES
        ):
            target = urls.join(base or url, href)
            if target:
                found[target] = None
            if len(found) >= MOST_FEEDS:
                break
    return tuple(found)


def digest_of_text(text: str) -> str:
    """Of a text, without what changes by itself."""
    return digest_of_bytes(steady(text).encode("utf-8", "replace"))


def digest_of_bytes(body: bytes) -> str:
    """Of the bytes as they came."""
    return blake2b(body, digest_size=16).hexdigest()


def steady(text: str) -> str:
    """The text with placeholders for times, ages, stamps of date and random tokens; lines that are only a date go too.

    >>> steady("Updated on 5 May 2026\\n3 minutes ago\\nNow 5.99 until 7 May 2026")
    '⟨said⟩\\n⟨age⟩\\nNow 5.99 until 7 May 2026'
    """
    return "\n".join([line if len(line) < SHORTEST else _steady_line(line) for line in text.split("\n")])


def bounded(text: str, size: int) -> str:
    """At most so many bytes of UTF-8, with … where something was cut."""
    if len(text) * 4 <= size or len(encoded := text.encode("utf-8", "replace")) <= size:
        return text
    return encoded[: max(size - 3, 0)].decode("utf-8", "ignore") + "…"


def _steady_line(line: str) -> str:
    if len(line) < 60 and _DATE_ALONE.fullmatch(line):
        return "⟨date⟩"
    lower = line.lower()
    for marks, placeholder, pattern in _VOLATILE:
        if any(mark in lower for mark in marks):
            line = pattern.sub(placeholder, line)
    return _TOKEN.sub(_token_or_word, line) if max(map(len, line.split()), default=0) >= 16 else line


def _token_or_word(found: re.Match[str]) -> str:
    """A random token has digits and letters, and is hexadecimal or keeps changing case; words and numbers do not."""
    word = found[0]
    if word.isdigit() or not any(character.isdigit() for character in word):
        return word
    if _HEXADECIMAL.fullmatch(word):
        return "⟨token⟩" if any(character.isalpha() for character in word) else word
    sorts = ["0" if character.isdigit() else "a" if character.islower() else "A" for character in word]
    switches = sum(one != other for one, other in pairwise(sorts))
    return "⟨token⟩" if len(word) >= 20 and len(set(sorts)) == 3 and switches * 3 >= len(word) else word


def _tree(body: bytes) -> Any:
    try:
        return etree.fromstring(body, _HTML) if body.strip() else None
    except (etree.XMLSyntaxError, etree.ParserError, ValueError):
        return None


def _lines_of_picked(root: Any, select: str) -> list[str]:
    picked = picked_elements(root, select)
    if not picked:
        raise UnreadableError(f"the selector {select[:200]!r} picks nothing on this page")
    inside: set[Any] = set()
    lines: list[str] = []
    for element in picked:
        if not any(ancestor in inside for ancestor in element.iterancestors()):
            inside.add(element)
            lines.extend(picked_text(element))
    return lines


def picked_elements(root: Any, select: str) -> list[Any]:
    """What a CSS selector picks; UnreadableError if it is none."""
    from cssselect import GenericTranslator, SelectorError

    try:
        return list(root.xpath(GenericTranslator().css_to_xpath(select)))
    except (SelectorError, etree.XPathError) as error:
        raise UnreadableError(f"the selector {select[:200]!r} is not a CSS selector: {error}") from error


def _remark(body: bytes) -> str:
    return f"only the first {LARGEST // 1_000_000} MB were looked at" if len(body) > LARGEST else ""


def _media_type(value: str) -> str:
    return value.partition(";")[0].strip().lower()
