"""Whether an address may be a site's, as far as that can be told from the address alone: light, for `recrawl add`."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from recrawl.crawl.urls import host

NO_NAMES = (".example", ".invalid", ".test", ".localhost")
"""Under these nobody is [RFC 6761, 6]."""
_TELLING = re.compile(
    r"\.(?:xml|rss|atom|rdf|json|pdf|txt|csv)(?:\.gz)?$|/(?:feeds?|rss2?|atom)/?$|/sitemap[^/]*$", re.IGNORECASE
)


def is_worth_a_look(url: str, allow_private: bool) -> bool:
    """Not what names a document by its ending, nor what cannot be reached or may not be."""
    name = host(url).rstrip(".").lower()
    if name.endswith(NO_NAMES) or _TELLING.search(urlsplit(url).path):
        return False
    if allow_private:
        return True
    from recrawl.crawl.fetching.address_guard import host_refusal

    return not host_refusal(name)
