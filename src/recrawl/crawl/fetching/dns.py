"""Names to addresses: looked up in threads, for a bounded time, and only those that may be visited."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

from aiohttp.abc import AbstractResolver, ResolveResult

from recrawl.crawl.fetching.address_guard import Refusal, RefusedAddressError, is_localhost, literal, refusal

Lookup = Callable[[str, int], list[str]]

LOOKUP_TIMEOUT_S = 10.0
LOOKUP_THREADS = 32
"""So many names are looked up at once; one that takes long holds a thread, not the others."""
CACHE_S = 60.0
"""How long a looked-up name is good for new connections."""
CACHE_SIZE = 4096


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

        def deliver(addresses: list[str] | None, error: Exception | None) -> None:
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
                loop.call_soon_threadsafe(deliver, addresses, error)

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
