"""Reverse proxies that are believed: who the client is and whether it speaks TLS, as they say.

Only what comes straight from such a proxy counts. Of the addresses in X-Forwarded-For the last one that is no such
proxy is the client; what stands before it was written by strangers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

_PROTO = re.compile(r"(?:^|[;,\s])proto=\"?(https?)\b", re.IGNORECASE)
_PORT = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?", re.IGNORECASE)


def parsed(address: str) -> IPv4Address | IPv6Address | None:
    """An address, that of IPv4 where IPv6 merely carries it; None for anything else."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def place_of(address: str) -> str:
    """What counts as one sender: an address, of IPv6 the network of a customer, who has very many addresses.

    >>> place_of("192.0.2.1"), place_of("::ffff:192.0.2.1"), place_of("2001:db8::1:2:3:4"), place_of("testclient")
    ('192.0.2.1', '192.0.2.1', '2001:db8::/64', 'testclient')
    """
    found = parsed(address)
    if isinstance(found, IPv6Address) and not found.is_loopback:
        return str(ip_network((int(found) >> 64 << 64, 64)))
    return address if found is None else str(found)


def client_place(scope: Scope) -> str:
    """The sender of a request."""
    client = scope.get("client")
    return place_of(client[0]) if client else ""


class Proxies:
    """Those that are believed.

    Parameters
        given: their addresses or networks
    """

    def __init__(self, given: Iterable[str] = ()) -> None:
        self._networks = tuple(ip_network(each, strict=False) for each in given)

    def trust(self, address: str) -> bool:
        """Whether it is one of them."""
        found = parsed(address) if self._networks else None
        return found is not None and any(found in network for network in self._networks)

    def client(self, headers: Headers) -> str | None:
        """The last address on the way here that is none of them; the first one if all are."""
        hops = [_bare(hop) for hop in ",".join(headers.getlist("x-forwarded-for")).split(",")]
        known = None
        for hop in reversed(hops):
            if parsed(hop) is None:
                break
            known = hop
            if not self.trust(hop):
                break
        return known

    @staticmethod
    def scheme(headers: Headers) -> str | None:
        """How the client reached the proxy."""
        said = ",".join(headers.getlist("x-forwarded-proto")).rpartition(",")[2].strip().lower()
        if said in ("http", "https"):
            return said
        told = _PROTO.findall(",".join(headers.getlist("forwarded")))
        return told[-1].lower() if told else None


class BehindProxies:
    """ASGI middleware that puts the client in the proxy's place."""

    def __init__(self, app: ASGIApp, proxies: Proxies) -> None:
        self._app, self._proxies = app, proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, as the proxy saw it."""
        client = scope.get("client")
        if scope["type"] == "http" and client and self._proxies.trust(client[0]):
            headers = Headers(scope=scope)
            scope["client"] = (self._proxies.client(headers) or client[0], 0)
            scope["scheme"] = self._proxies.scheme(headers) or scope["scheme"]
        await self._app(scope, receive, send)


def _bare(hop: str) -> str:
    """Without port and brackets."""
    found = _PORT.fullmatch(hop.strip())
    return hop.strip() if found is None else found[1] or found[2]
