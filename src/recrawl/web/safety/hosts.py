"""Which names this server answers to. A page elsewhere whose name was rebound to our address sends its own name."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Whether binding to this host is reachable from this machine only.

    >>> is_loopback("localhost"), is_loopback("127.0.0.9"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def name_in(header: str) -> str | None:
    """The host in a Host header, without port, in lower case; None if it is none.

    >>> name_in("LocalHost:8080"), name_in("[::1]:80"), name_in("a b"), name_in("")
    ('localhost', '::1', None, None)
    """
    text = header.strip().lower()
    if text.startswith("["):
        inner, closed, rest = text[1:].partition("]")
        return inner if closed and _is_port(rest) and _address(inner) is not None else None
    name, colon, port = text.partition(":")
    sound = name and all(c.isascii() and (c.isalnum() or c in "-._") for c in name) and _is_port(colon + port)
    return name.removesuffix(".") if sound else None


class HostList:
    """The names allowed.

    A server on loopback answers to loopback names and to those given. On another address it answers to any IP address
    too: names can be rebound by strangers, addresses cannot.
    """

    def __init__(self, bound: str, others: Iterable[str] = ()) -> None:
        self._names = LOOPBACK_NAMES | {each.strip().strip("[]").lower() for each in (bound, *others)}
        self._addresses = not is_loopback(bound)

    def allows(self, header: str | None) -> bool:
        """Whether a request with this Host header is meant for us."""
        name = name_in(header or "")
        if name is None:
            return False
        return name in self._names or (self._addresses and _address(name) is not None)


def _is_port(text: str) -> bool:
    return not text or (text[0] == ":" and len(text) <= 6 and text[1:].isdecimal() and text.isascii())


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
