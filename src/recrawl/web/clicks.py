"""What counts as a click: a person who opens an item. Who that was is never kept.

A client is a keyed hash of address, user agent and day, cut to eight bytes. The key lives in memory only, so nobody,
with the store or without, can tell whose hash it is, and tomorrow's differs from today's.
"""

from __future__ import annotations

import hmac
import re

from starlette.datastructures import Headers

_ROBOTS = re.compile(
    r"bot\b|bot/|crawl|spider|slurp|preview|prefetch|fetch|scan|monitor|check|archive|validator|headless-?lib|"
    r"python|curl|wget|httpie|http-client|httpclient|java/|okhttp|go-http|libwww|perl|ruby|node|axios|postman|"
    r"facebookexternalhit|whatsapp|telegram|slack|discord|embed|lighthouse|feed|rss|recrawl",
    re.IGNORECASE,
)
_AHEAD = ("prefetch", "prerender", "preview")
DAY_S = 86400.0


def is_click(method: str, headers: Headers) -> bool:
    """Whether a request for an item is a person opening it: no robot, no prefetch, no picture on another page."""
    if method != "GET" or is_robot(headers.get("user-agent", "")):
        return False
    purposes = (headers.get(name, "").lower() for name in ("purpose", "sec-purpose", "x-purpose", "x-moz"))
    if any(word in purpose for purpose in purposes for word in _AHEAD):
        return False
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    return headers.get("sec-fetch-dest", "document") == "document"


def is_robot(user_agent: str) -> bool:
    """Whether a user agent names a program rather than a browser, or nothing at all.

    >>> is_robot("Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0"), is_robot("Googlebot/2.1"), is_robot("")
    (False, True, True)
    """
    return not user_agent.strip() or bool(_ROBOTS.search(user_agent))


def client_of(key: bytes, address: str, user_agent: str, now: float) -> str:
    """A name for whoever it is, good for a day."""
    text = f"{address}\0{user_agent}\0{int(now // DAY_S)}"
    return hmac.new(key, text.encode("utf-8", "replace"), "sha256").hexdigest()[:16]
