"""Which addresses may be connected to: the guard against server-side request forgery.

Strangers choose the URLs (feeds, redirects, sitemaps), so a crawler inside a network would fetch for them what only
insiders may see. The guard stands at the last moment: a socket is made for an address only after that very address was
checked (`Guard.socket`), whatever the name was, whatever DNS said before and says next. Names are looked up once per
connection, and the connection goes to what was checked; a name that answers differently the second time gains nothing.

Not guarded: the proxy of the settings, which its owner chose, and what that proxy connects to; through a proxy only
addresses written in URLs are checked here, since it is the proxy that looks up names.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohappyeyeballs import AddrInfoType

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Refusal = Callable[[str], str]
"""Why an IP address may not be visited, in words; empty if it may."""

_KINDS = (
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "reserved"),
    ("192.88.99.0/24", "reserved"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "private"),
    ("198.51.100.0/24", "reserved"),
    ("203.0.113.0/24", "reserved"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("100::/64", "reserved"),
    ("2001:2::/48", "private"),
    ("2001:db8::/32", "reserved"),
    ("3fff::/20", "reserved"),
    ("5f00::/16", "reserved"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "private"),
    ("ff00::/8", "multicast"),
)
_NETWORKS = tuple((ipaddress.ip_network(network), kind) for network, kind in _KINDS)
_PUBLIC_V6 = (ipaddress.IPv6Network("2000::/3"), ipaddress.IPv6Network("64:ff9b::/96"))
"""All that has been given out [IANA], and the well-known translation prefix; the rest of IPv6 is reserved."""
_PROTOCOLS_V6 = ipaddress.IPv6Network("2001::/23")
"""Within that, for protocols rather than hosts [IANA]."""
_EMBEDDING = (
    (ipaddress.IPv6Network("::ffff:0:0/96"), 0, "IPv4-mapped"),
    (ipaddress.IPv6Network("::ffff:0:0:0/96"), 0, "IPv4-translated"),
    (ipaddress.IPv6Network("::/96"), 0, "IPv4-compatible"),
    (ipaddress.IPv6Network("64:ff9b::/96"), 0, "NAT64"),
    (ipaddress.IPv6Network("64:ff9b:1::/48"), 0, "NAT64"),
    (ipaddress.IPv6Network("2002::/16"), 80, "6to4"),
)
"""Where an IPv4 address hides in an IPv6 one: the network, by how many bits to shift right, and its name."""
_TEREDO = ipaddress.IPv6Network("2001::/32")


class RefusedAddressError(OSError):
    """A connection that was not made, because of where it would have gone."""


@lru_cache(maxsize=4096)
def refusal(address: str) -> str:
    """Why an IP address may not be visited, in words; empty for a public one.

    >>> refusal("127.0.0.1"), refusal("93.184.216.34")
    ('a loopback address', '')
    >>> refusal("64:ff9b::a00:1")
    'a NAT64 form of a private address'
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "not an address"
    return _refusal_v4(parsed) if isinstance(parsed, ipaddress.IPv4Address) else _refusal_v6(parsed)


def _refusal_v4(address: ipaddress.IPv4Address) -> str:
    kind = _kind(address)
    return f"{_article(kind)} {kind} address" if kind else ""


def _refusal_v6(address: ipaddress.IPv6Address) -> str:
    kind = _kind(address)
    if kind:
        return f"{_article(kind)} {kind} address"
    for form, inner in _embedded(address):
        kind = _kind(inner)
        if kind:
            return f"{_article(form)} {form} form of {_article(kind)} {kind} address"
    if address in _PROTOCOLS_V6 or not any(address in network for network in _PUBLIC_V6):
        return "a reserved address"
    return ""


def _embedded(address: ipaddress.IPv6Address) -> list[tuple[str, ipaddress.IPv4Address]]:
    """Every IPv4 address a translator or tunnel would make of this one."""
    value = int(address)
    if address in _TEREDO:
        return [
            ("Teredo", ipaddress.IPv4Address((value >> 64) & 0xFFFFFFFF)),
            ("Teredo", ipaddress.IPv4Address(~value & 0xFFFFFFFF)),
        ]
    return [
        (form, ipaddress.IPv4Address((value >> shift) & 0xFFFFFFFF))
        for network, shift, form in _EMBEDDING
        if address in network
    ]


def _kind(address: Address) -> str:
    return next((kind for network, kind in _NETWORKS if address in network), "")


def _article(word: str) -> str:
    return "an" if word[0] in "aeiouI" else "a"


def literal(host: str) -> str | None:
    """The address a host name *is*, canonical, if it is one in any spelling a C library knows; None for real names.

    >>> literal("0x7f.1"), literal("2130706433"), literal("[::1]"), literal("example.com")
    ('127.0.0.1', '127.0.0.1', '::1', None)
    """
    bare = host.strip("[]").rstrip(".")
    if ":" in bare:
        try:
            return str(ipaddress.IPv6Address(bare.partition("%")[0]))
        except ValueError:
            return None
    if not bare or not (bare[-1].isdigit() or bare.rpartition(".")[2].lower().startswith("0x")):
        return None
    try:
        return socket.inet_ntoa(socket.inet_aton(bare))
    except (OSError, ValueError):
        return None


def is_localhost(host: str) -> bool:
    """Whether a name means this machine by definition [RFC 6761].

    >>> is_localhost("feeds.localhost"), is_localhost("localhost.example.com")
    (True, False)
    """
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost")


def anywhere(address: str) -> str:
    """Refuses no address: the rule of who asked for private networks too."""
    return ""


@lru_cache(maxsize=4096)
def host_refusal(host: str, rule: Refusal = refusal) -> str:
    """Why a host as written in a URL may not be visited, as far as that can be told without looking it up."""
    address = "127.0.0.1" if is_localhost(host) else literal(host)
    return rule(address) if address is not None else ""


class Guard:
    """Makes the sockets connections go through: none for an address that is refused."""

    def __init__(self, rule: Refusal = refusal) -> None:
        self._rule = rule

    def socket(self, info: AddrInfoType) -> socket.socket:
        """A socket for the address in `info`, or RefusedAddressError."""
        family, kind, protocol, _, sockaddr = info
        reason = self._rule(str(sockaddr[0]))
        if reason:
            raise RefusedAddressError(f"{sockaddr[0]} is {reason}")
        return socket.socket(family=family, type=kind, proto=protocol)
