"""Which addresses may be connected to: the guard against server-side request forgery.

Strangers choose the URLs (feeds, redirects, sitemaps), so a crawler inside a network would fetch for them what only
insiders may see. The guard stands at the last moment: a socket is made for an address only after that very address was
checked (`Guard.socket`), whatever the name was, whatever DNS said before and says next. Names are looked up once per
connection, and the connection goes to what was checked; a name that answers differently the second time gains nothing.

Not guarded: the proxy of the settings, which its owner chose, and what that proxy connects to; through a proxy only
addresses written in URLs are checked here, since it is the proxy that looks up names.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable
from functools import lru_cache

from aiohappyeyeballs import AddrInfoType
from aiohttp.abc import AbstractResolver, ResolveResult

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup = Callable[[str, int], list[str]]
Refusal = Callable[[str], str]
"""Why an IP address may not be visited, in words; empty if it may."""

LOOKUP_TIMEOUT_S = 10.0
LOOKUP_THREADS = 32
"""So many names are looked up at once; one that takes long holds a thread, not the others."""
CACHE_S = 60.0
"""How long a looked-up name is good for new connections."""
CACHE_SIZE = 4096

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


def system_lookup(host: str, port: int) -> list[str]:
    """What the operating system says; blocks."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class Resolver(AbstractResolver):
    """Names to addresses, each lookup in a thread of its own and for a bounded time.

    Addresses that would be refused are left out at once, so that a name with both kinds is reached on the public one;
    if none is left, RefusedAddressError says why.
    """

    def __init__(
        self, *, rule: Refusal = refusal, lookup: Lookup = system_lookup, timeout_s: float = LOOKUP_TIMEOUT_S
    ) -> None:
        self._rule = rule
        self._lookup = lookup
        self._timeout_s = timeout_s
        self._threads = asyncio.Semaphore(LOOKUP_THREADS)
        self._known: dict[str, tuple[float, list[str]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Where to connect for a name."""
        addresses = await self._addresses(host, port)
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, f"{host} has no address")
        refusals = [self._rule(address) for address in addresses]
        allowed = [address for address, reason in zip(addresses, refusals, strict=True) if not reason]
        if not allowed:
            raise RefusedAddressError(f"{host} is {refusals[0]}")
        return [_result(host, address, port) for address in allowed]

    async def close(self) -> None:
        """Nothing to give back: threads end with their lookup."""

    async def _addresses(self, host: str, port: int) -> list[str]:
        if is_localhost(host):
            return ["127.0.0.1"]
        address = literal(host)
        if address is not None:
            return [address]
        now = asyncio.get_running_loop().time()
        known = self._known.get(host)
        if known is None or known[0] < now:
            known = self._known[host] = (now + CACHE_S, await self._looked_up(host, port))
            if len(self._known) > CACHE_SIZE:
                del self._known[next(iter(self._known))]
        return known[1]

    async def _looked_up(self, host: str, port: int) -> list[str]:
        try:
            async with asyncio.timeout(self._timeout_s), self._threads:
                return await self._in_thread(host, port)
        except TimeoutError as error:
            raise socket.gaierror(socket.EAI_AGAIN, f"looking up {host} took too long") from error

    async def _in_thread(self, host: str, port: int) -> list[str]:
        """In a daemon thread: a lookup that hangs keeps neither the event loop nor the program's end waiting."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[str]] = loop.create_future()

        def settle(addresses: list[str] | None, error: Exception | None) -> None:
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(addresses or [])

        def look() -> None:
            addresses, error = None, None
            try:
                addresses = self._lookup(host, port)
            except (OSError, UnicodeError) as problem:
                error = (
                    problem
                    if isinstance(problem, socket.gaierror)
                    else socket.gaierror(socket.EAI_NONAME, "not a valid name")
                )
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, addresses, error)

        threading.Thread(target=look, name="recrawl-dns", daemon=True).start()
        return await answer


def _result(host: str, address: str, port: int) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )


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
