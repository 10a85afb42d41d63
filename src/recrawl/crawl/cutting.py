"""Documents that end in the middle: what is whole in them, without the entry they break off in.

Half a title, link or id makes an item nobody ever published. A parser that repairs closes what was open, and afterwards
nobody can tell; so the text itself is looked at, passing over comments and CDATA sections, whose contents are words.
"""

from __future__ import annotations

import re
from collections import Counter

_ENTRIES = frozenset((b"item", b"entry", b"url", b"sitemap"))
_MARKUP = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    rb"|<(/?)(?:[\w.-]{1,50}:)?(item|entry|url|sitemap|rss|feed|rdf|channel|urlset|sitemapindex)(?=[\s/>]|\Z)"
    rb"(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+(>?)",
    re.IGNORECASE | re.DOTALL,
)


def whole(body: bytes) -> tuple[bytes, bool]:
    """A feed or sitemap up to the entry it breaks off in, and whether it breaks off.

    >>> whole(b"<rss><item>1</item><item>2"), whole(b"<rss><item>1</item></rss> ")
    ((b'<rss><item>1</item>', True), (b'<rss><item>1</item></rss> ', False))
    """
    opened: list[tuple[bytes, int]] = []
    names: Counter[bytes] = Counter()
    for found in _MARKUP.finditer(body):
        if found[2] is None:
            continue
        name = found[2].lower()
        if found[1]:
            while found[3] and names[name]:  # with all that was left open in it
                last, _ = opened.pop()
                names[last] -= 1
                if last == name:
                    break
        elif not found[0].endswith(b"/>"):
            opened.append((name, found.start()))
            names[name] += 1
    if not opened:
        return body, False
    place = next((place for name, place in opened if name in _ENTRIES), len(body))
    return body[:place], True
