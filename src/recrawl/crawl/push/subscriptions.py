"""The life of a subscription at a hub, as rules without clock, network or store.

::

    wanted ─► asked ─► confirmed ─► (asked again before the lease ends) ─► confirmed …
                │           └► leaving ─► asked ─► forgotten
                └► refused ─► (asked again after a week)

A hub that does not answer is asked again after a minute, two, four, up to a day. Meanwhile sources are visited as if
there were no hub.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from recrawl.crawl import urls
from recrawl.crawl.reading.findings import Findings
from recrawl.store.records import Subscription
from recrawl.units import show_duration, whole_number

DAY_S = 86400.0
FIRST_RETRY_S, LONGEST_RETRY_S = 60.0, DAY_S
REFUSED_S = 7.0 * DAY_S
"""A hub that refuses is asked again after so long."""
RENEWED_AT = 0.8
"""Of a lease, when it is asked for again."""
LONGEST_LEASE_S = 365.0 * DAY_S
SOONEST_S = 3600.0
"""Before a hub is asked to go on; a lease that is shorter ends meanwhile."""
SETTLED_S = 3600.0
"""A source that names another hub, or none, is believed so long after the last one was asked."""
FAREWELLS = 5
"""So often a hub is told that a subscription is over; then it is left to notice."""
PATH = "/push/websub/"
_LOOPBACK = re.compile(r"127(?:\.[0-9]+){3}|::1|(?:.+\.)?localhost")
"""Hosts on the way to which nobody can listen."""


class Advert(NamedTuple):
    """Where a source says that its changes are told, and by which name."""

    hub: str
    topic: str


def advert_of(findings: Findings, url: str) -> Advert | None:
    """What a document says of itself that came from `url`; None if nobody tells of its changes."""
    return Advert(by_https(findings.hubs[0]), findings.topic or url) if findings.hubs else None


def by_https(hub: str) -> str:
    """Where a hub is asked: by https, whatever the document says, for it is told a secret. One on this machine is not.

    >>> by_https("http://hub.example/?a"), by_https("http://127.0.0.1:8080/")
    ('https://hub.example/?a', 'http://127.0.0.1:8080/')
    """
    return hub if _LOOPBACK.fullmatch(urls.host(hub)) else hub.replace("http://", "https://", 1)


def wanted(source: int, advert: Advert, now: float) -> Subscription:
    """A new subscription, to be asked for now; nobody can guess what it is called or what signs it."""
    token, secret = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    return Subscription(token=token, source=source, hub=advert.hub, topic=advert.topic, secret=secret, due=now)


def is_token(text: str) -> bool:
    """Whether a text could be one of ours."""
    return len(text) == 43 and text.isascii() and all(letter.isalnum() or letter in "-_" for letter in text)


def asked(subscription: Subscription, now: float) -> Subscription:
    """The hub is being asked: unless it answers, it is asked again after a while."""
    tries = subscription.tries + 1
    wait_s = min(FIRST_RETRY_S * 2.0 ** min(tries - 1, 30), LONGEST_RETRY_S)
    return msgspec.structs.replace(subscription, asked=now, tries=tries, due=now + wait_s)


def leaving(subscription: Subscription, now: float) -> Subscription:
    """It is wanted no more."""
    return msgspec.structs.replace(subscription, mode="unsubscribe", tries=0, due=now)


def is_settled(kept: Iterable[Subscription], advert: Advert | None, now: float) -> bool:
    """Whether a source may have another hub now, or none: one that names another at every visit is not followed."""
    return all(now - each.asked >= SETTLED_S for each in kept if (each.hub, each.topic) != advert)


def changed(source: int, advert: Advert | None, kept: Iterable[Subscription], now: float) -> list[Subscription]:
    """What is to be written where a source's subscriptions, `kept`, are to be to what it advertises now."""
    mine = [each for each in kept if each.mode == "subscribe"]
    changes = [leaving(each, now) for each in mine if (each.hub, each.topic) != advert]
    if advert is not None and len(changes) == len(mine):
        changes.append(wanted(source, advert, now))
    return changes


def in_words(kept: Iterable[Subscription], now: float) -> str:
    """How far a source's subscription has got, for its owner; empty if it has none."""
    mine = next((each for each in kept if each.mode == "subscribe"), None)
    if mine is None:
        return ""
    if mine.until > now:
        last = f"; last told {show_duration(now - mine.delivered)} ago" if mine.delivered else "; nothing told so far"
        return f"{mine.hub} tells of changes for {show_duration(mine.until - now)} more{last}"
    if not mine.asked:
        return f"{mine.hub} is to be asked to tell of changes"
    why = mine.note or ("its lease has ended" if mine.confirmed else "it was asked, and has not called back")
    return f"{mine.hub} does not tell of changes: {why}; asked again in {show_duration(max(mine.due - now, 0.0))}"


def is_over(subscription: Subscription, now: float) -> bool:
    """Whether there is nothing more to say to the hub: it was never asked, has been told, or the lease has ended."""
    if subscription.mode == "subscribe":
        return False
    return not subscription.asked or subscription.tries >= FAREWELLS or 0.0 < subscription.until <= now


def form_of(subscription: Subscription, callback: str, lease_s: float) -> bytes:
    """What the hub is sent [WebSub, section 5.1]."""
    fields = {
        "hub.callback": callback.rstrip("/") + PATH + subscription.token,
        "hub.mode": subscription.mode,
        "hub.topic": subscription.topic,
    }
    if subscription.mode == "subscribe":
        fields |= {"hub.lease_seconds": str(int(lease_s)), "hub.secret": subscription.secret}
    return urlencode(fields).encode()


class Lease(NamedTuple):
    """Until when a hub tells us, and when to ask it to go on; Unix seconds."""

    until: float
    due: float


def lease_of(said: str, asked_s: float, now: float) -> Lease:
    """What a hub grants by `hub.lease_seconds`; what was asked for, if it does not say.

    >>> lease_of("10000", 864000.0, now=0.0), lease_of("1000", 864000.0, now=0.0)
    (Lease(until=10000.0, due=8000.0), Lease(until=1000.0, due=3600.0))
    """
    granted = whole_number(said.strip(), 10**12)
    seconds = min(asked_s if granted is None else float(granted), LONGEST_LEASE_S)
    return Lease(now + seconds, now + max(RENEWED_AT * seconds, SOONEST_S))


def is_refusal(status: int) -> bool:
    """Whether asking again soon would change nothing."""
    return 300 <= status < 500 and status not in (408, 425, 429)
