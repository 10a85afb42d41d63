"""What a WebSub hub is asked for, and whom it has to tell: bounded, and judged before anybody is called back.

A hub calls whoever it is told to. This one calls back to this machine, and to the address a request came from, alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal
from urllib.parse import SplitResult, parse_qs, urlsplit

from recrawl.errors import ParameterError

Mode = Literal["subscribe", "unsubscribe"]
MODES: dict[str, Mode] = {"subscribe": "subscribe", "unsubscribe": "unsubscribe"}
MOST = 10_000
"""Subscriptions a hub keeps."""
WRITTEN = re.compile(r"[!-~]+")
"""How a URL is written: no blanks, nothing but ASCII."""
LONGEST_URL, LONGEST_SECRET = 2048, 199
USUAL_LEASE_S = 864_000
"""Ten days, where a subscriber asks for nothing [WebSub, 5.1]."""


@dataclass(frozen=True)
class Asked:
    """A request to a hub that makes sense."""

    mode: Mode
    source: int
    topic: str
    callback: str
    secret: str
    lease_s: int


@dataclass
class Subscription:
    """Somebody to be told of news of a source.

    Parameters
        expires: in Unix seconds
        told: how many items the source had published when the subscriber was told last, or subscribed
        busy: whether a delivery is under way
    """

    source: int
    topic: str
    callback: str
    secret: str
    expires: float
    told: int
    busy: bool = False


def asked(body: bytes, topics: Mapping[str, int], remote: str) -> Asked:
    """What a form asks for; `topics` are sources by URL, `remote` is the address it came from."""
    fields = {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace"), max_num_fields=20).items()}
    mode, topic = MODES.get(fields.get("hub.mode", "")), fields.get("hub.topic", "")
    if mode is None:
        raise ParameterError("hub.mode", "subscribe or unsubscribe", repr(fields.get("hub.mode", "")[:40]))
    if topic not in topics:
        raise ParameterError("hub.topic", "the URL of a source of this web", repr(topic[:200]))
    secret = fields.get("hub.secret", "")
    if len(secret.encode()) > LONGEST_SECRET:
        raise ParameterError("hub.secret", f"at most {LONGEST_SECRET} bytes", f"{len(secret.encode())} bytes")
    callback = _callback(fields.get("hub.callback", ""), remote)
    return Asked(mode, topics[topic], topic, callback, secret, _lease(fields.get("hub.lease_seconds", "")))


def _callback(url: str, remote: str) -> str:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.port != 0 and not parts.fragment and _near(parts, remote)
    except ValueError:
        known = False
    if not known or len(url) > LONGEST_URL or not WRITTEN.fullmatch(url):
        raise ParameterError("hub.callback", "an http(s) URL of this machine or of yours", repr(url[:200]))
    return url


def _near(parts: SplitResult, remote: str) -> bool:
    host = parts.hostname or ""
    if host == "localhost" or host.endswith(".localhost") or host == remote:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _lease(text: str) -> int:
    if not text:
        return USUAL_LEASE_S
    if not (text.isdecimal() and text.isascii() and len(text) <= 12) or int(text) == 0:
        raise ParameterError("hub.lease_seconds", "a whole number above 0", repr(text[:40]))
    return int(text)


class Subscriptions:
    """Who is to be told, by (topic, callback): whoever subscribes again has the new terms."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Subscription] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def all(self) -> list[Subscription]:
        """All of them."""
        return list(self._kept.values())

    def full(self, one: Asked) -> bool:
        """Whether there is no room for one more."""
        return len(self._kept) >= MOST and (one.topic, one.callback) not in self._kept

    def begin(self, one: Asked, expires: float, told: int) -> None:
        """Somebody has confirmed; one who renews misses nothing."""
        known = self._kept.get((one.topic, one.callback))
        if known is None:
            self._kept[one.topic, one.callback] = Subscription(
                one.source, one.topic, one.callback, one.secret, expires, told
            )
        else:
            known.secret, known.expires = one.secret, expires

    def end(self, topic: str, callback: str) -> bool:
        """Somebody is not to be told any more; whether they were."""
        return self._kept.pop((topic, callback), None) is not None

    def expire(self, now: float) -> int:
        """Forget those whose lease is over; how many."""
        over = [key for key, each in self._kept.items() if each.expires <= now]
        for key in over:
            del self._kept[key]
        return len(over)
