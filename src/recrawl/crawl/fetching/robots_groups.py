"""Which lines of a robots.txt are for us [RFC 9309, 2.2].

A group is one or more User-agent lines and the rules after them; it ends where a User-agent line follows an Allow or
Disallow, and nowhere else: Sitemap, Crawl-delay and lines nobody knows neither begin nor end one. All groups that name
us count together; without any, those for `*`.

We answer to the name in our User-Agent with its digits, and, where no group has that, to what is left of it without
the parts after its last hyphens and without digits at its end: `recrawl-news-3` is also `recrawl-news` and `recrawl`,
as Googlebot-News is a Googlebot. A name in a file counts up to the first character that no name has, so versions and
stars after it say nothing. Spelling is taken as generously as large crawlers do.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FALLBACK = "recrawl"
"""Our name where the User-Agent has none of its own."""
_BROWSERS = frozenset({"mozilla", "applewebkit", "khtml", "gecko", "chrome", "chromium", "safari", "firefox", "version",
                       "mobile", "edg", "opr", "compatible"})  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_PRODUCT = re.compile(r"(?:^|[\s(;])([A-Za-z0-9_-]+)(?=/|\s*(?:;|\)|$))")
_KINDS = {
    "user agent": "agent", "useragent": "agent", "allow": "Allow", "disallow": "Disallow", "dissallow": "Disallow",
    "dissalow": "Disallow", "disalow": "Disallow", "diasllow": "Disallow", "disallaw": "Disallow",
    "crawl delay": "delay", "crawldelay": "delay", "sitemap": "sitemap", "sitemaps": "sitemap", "site map": "sitemap",
}  # fmt: skip


class Ours(NamedTuple):
    """What a file says to us: rules as `Allow: …` and `Disallow: …`, delays in seconds as written, sitemaps."""

    rules: list[str]
    delays: list[str]
    sitemaps: list[str]


def names_of(user_agent: str) -> tuple[str, ...]:
    """What robots.txt files may call us, the most particular first.

    >>> names_of("recrawl-3/0"), names_of("Mozilla/5.0 (compatible; MyBot2/0.1; +https://example.org/bot)")
    (('recrawl-3', 'recrawl'), ('mybot2', 'mybot'))
    """
    first = _NAME.match(user_agent.strip())
    if first is not None and first[0].lower() not in _BROWSERS:
        found = [first[0]]
    else:
        found = [name for name in _PRODUCT.findall(user_agent) if name.lower() not in _BROWSERS]
        found = [name for name in found if f"{name}/" in user_agent or f"compatible; {name}" in user_agent]
    name = (found[0] if found else FALLBACK).lower().strip("-_") or FALLBACK
    names = [name]
    while shorter := _shortened(names[-1]):
        names.append(shorter)
    return tuple(names)


def ours(text: str, names: tuple[str, ...]) -> Ours:
    """The lines of a file that are for whoever answers to these names."""
    groups: dict[str, tuple[list[str], list[str]]] = {name: ([], []) for name in (*names, "*")}
    named: set[str] = set()
    sitemaps: list[str] = []
    current: set[str] = set()
    ruled = False
    for line in text.splitlines():
        kind, value = _record(line)
        if kind == "agent":
            current, ruled = set() if ruled else current, False
            if (name := _addressee(value)) in groups:
                current.add(name)
                named.add(name)
        elif kind in ("Allow", "Disallow"):
            ruled = True
            for name in current:
                groups[name][0].append(f"{kind}: {value}")
        elif kind == "delay":
            for name in current:
                groups[name][1].append(value)
        elif kind == "sitemap" and value:
            sitemaps.append(value)
    rules, delays = groups[next((name for name in names if name in named), "*")]
    return Ours(rules, delays, sitemaps)


def _record(line: str) -> tuple[str, str]:
    """What kind of line it is, and what it says; an empty kind for a line that means nothing to us."""
    line = line.partition("#")[0]
    field, colon, value = line.partition(":")
    if colon and (kind := _kind(field)):
        return kind, value.strip()
    *words, value = line.split(maxsplit=3) or [""]  # some leave out the colon; sentences are no lines of this kind
    return (kind, value) if len(words) <= 2 and (kind := _kind(" ".join(words))) else ("", "")


def _kind(field: str) -> str:
    return _KINDS.get(" ".join(field.lower().replace("-", " ").split()), "") if len(field) < 100 else ""


def _addressee(value: str) -> str:
    """Whom a User-agent line names, in lower case; empty for nobody."""
    if value.split(maxsplit=1)[:1] == ["*"]:
        return "*"
    found = _NAME.match(value)
    return "" if found is None else found[0].lower()


def _shortened(name: str) -> str:
    """The name without its last part, or without the digits at its end; empty if there is no shorter one."""
    bare = name.rstrip("0123456789").rstrip("-_")
    if bare != name:
        return bare
    return max(name.rpartition("-")[0], name.rpartition("_")[0], key=len).rstrip("-_")
