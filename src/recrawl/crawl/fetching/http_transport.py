"""The network, made safe for URLs that strangers chose.

One request per call, a GET but for the few forms sent to hubs: no redirects followed, no cookies kept, no proxy from
the environment, nothing sent twice. Every answer ends within the total timeout, pauses for less than the idle timeout,
has headers of bounded size and a body of at most `max_bytes`, before and after decompression. Bodies are kept only of
answers that bring a document (2xx); of others they are read a little, to keep the connection, and dropped.

Messages never hold credentials: the userinfo of an URL is cut off before anything else happens to it.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from urllib.parse import unquote

from multidict import CIMultiDictProxy
from yarl import URL

from recrawl.clock import Clock
from recrawl.config import Fetching
from recrawl.crawl.fetching import address_guard, answer_limits, dns
from recrawl.crawl.fetching.answer_limits import SMALL_BYTES
from recrawl.crawl.fetching.http1 import HttpPool, Origin, Permit, Timeouts
from recrawl.crawl.fetching.proxy import ProxiedSession
from recrawl.crawl.fetching.tls_sessions import client_context
from recrawl.crawl.fetching.transport import Request, Response, TransportError

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, "
    "text/html;q=0.8, */*;q=0.5"
)
MOST_COOKIES = 50
FORM_TYPE = "application/x-www-form-urlencoded"
_URL = re.compile(r"(https?)://([A-Za-z0-9._~:\[\]-]+)([/?][!\"$-~]*)?(?:#.*)?", re.IGNORECASE)
"""One that can go out as it is: scheme, authority, path and query."""
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FRAMING = frozenset({"host", "connection", "content-length", "transfer-encoding", "upgrade", "expect", "te"})
"""Headers that say where a request goes and ends; not for anybody to set."""
_NOT_IN_HEADER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#]*@", re.IGNORECASE)


def without_userinfo(url: str) -> str:
    """The URL as it may be shown and stored.

    >>> without_userinfo("https://me:secret@example.com/feed?a=b@c")
    'https://example.com/feed?a=b@c'
    """
    return _USERINFO.sub(r"\1", url) if "@" in url else url


def authorisation(url: str) -> str | None:
    """The Authorization header that the userinfo of an URL stands for; None without any.

    >>> authorisation("https://me:secret@example.com/")
    'Basic bWU6c2VjcmV0'
    """
    found = _USERINFO.match(url) if "@" in url else None
    if found is None:
        return None
    user, _, password = found[0][len(found[1]) : -1].partition(":")
    return "Basic " + b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode("ascii")


def user_agent(fetching: Fetching) -> str:
    """What requests call themselves: the name of the settings, with a way to reach who runs it."""
    return f"{fetching.user_agent} (+{fetching.contact})" if fetching.contact else fetching.user_agent


class HttpTransport:
    """`Transport` over real sockets. To be used within one event loop, and closed there.

    Parameters
        ssl_context: instead of the machine's own certificates
        lookup: instead of the machine's own names
        refusal: which addresses may not be visited, instead of the rule of the settings
        permit: asked with the URL when the request is about to be written to its connection, whatever has happened
            since it was begun; the words it answers with, if any, are why nothing is sent
    """

    def __init__(
        self,
        fetching: Fetching,
        clock: Clock,
        *,
        ssl_context: ssl.SSLContext | None = None,
        lookup: dns.Lookup = dns.system_lookup,
        refusal: address_guard.Refusal | None = None,
        permit: Callable[[str], str] | None = None,
    ) -> None:
        self._clock, self._fetching, self._lookup = clock, fetching, lookup
        self._tls, self._permit = ssl_context, permit
        self._refusal = refusal or (address_guard.anywhere if fetching.allow_private else address_guard.refusal)
        self._timeouts = Timeouts(fetching.timeout_s, fetching.idle_timeout_s)
        self._common = {
            "User-Agent": user_agent(fetching),
            "Accept": ACCEPT,
            "Accept-Encoding": answer_limits.ACCEPTED,
        }
        self._common_bytes = _serialised(self._common)
        # One, because every thread keeps memory of its own that it does not give back.
        self._unpacker = ThreadPoolExecutor(1, thread_name_prefix="unpacking")
        self._connections: HttpPool | None = None
        self._proxied: ProxiedSession | None = None

    async def fetch(self, request: Request) -> Response:
        """Send it; the answer whatever its status, or TransportError. Always ends within the configured timeout."""
        began, end = self._clock.now(), asyncio.get_running_loop().time() + self._timeouts.total_s
        shown = without_userinfo(request.url)
        scheme, authority, target = _parts(shown)
        origin = _origin(scheme, authority)
        if reason := address_guard.host_refusal(origin.host, self._refusal):
            raise TransportError("address", f"{origin.host} is {reason}")
        try:
            status, headers, body = await self._exchanged(origin, authority, target, request)
        except TransportError as failure:
            raise TransportError(failure.reason, f"{origin.host}: {failure}{self._limits(failure)}") from failure
        except (OSError, RuntimeError) as error:
            raise _explained(error, origin.host) from error
        fields = _fields(headers)
        if body:
            encoding = fields.get("content-encoding", "")
            body = await self._unpacked(body, encoding, request, end) if 200 <= status < 300 else b""
        cookies = tuple(headers.getall("Set-Cookie", ())[:MOST_COOKIES])
        return Response(shown, status, fields, body, self._clock.now() - began, cookies)

    async def close(self) -> None:
        """Give back connections."""
        if self._connections is not None:
            self._connections.close()
            self._connections = None
        if self._proxied is not None:
            await self._proxied.close()
            self._proxied = None
        self._unpacker.shutdown(wait=False)

    async def _exchanged(
        self, origin: Origin, authority: str, target: str, request: Request
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        own, form = request.headers, request.form
        if form is not None:
            own = {**own, "Content-Type": FORM_TYPE}
        credentials = authorisation(request.url)
        if credentials is not None:
            own = {"Authorization": credentials, **own}
        if self._fetching.proxy:
            _serialised(own)  # refuses what cannot be sent
            return await self._proxy().exchange(
                without_userinfo(request.url), dict(own), request, self._permit_for(request)
            )
        start = f"{'GET' if form is None else 'POST'} {target} HTTP/1.1\r\nHost: {authority}\r\n".encode("ascii")
        length = b"" if form is None else f"Content-Length: {len(form)}\r\n".encode("ascii")
        head = start + self._common_beside(own) + _serialised(own) + length + b"\r\n" + (form or b"")
        message, body = await self._direct().exchange(
            origin, head, request.max_bytes, cut=request.cut, memory=request.memory, permit=self._permit_for(request)
        )
        return message.code, message.headers, body

    def _permit_for(self, request: Request) -> Permit | None:
        """Whether it may be sent: in a borrowed turn for as long as that was lent, else by our own permit."""
        until = request.lent_until
        if until is not None:
            return lambda: "" if self._clock.now() < until else "the turn that was lent for it is over"
        return None if self._permit is None else partial(self._permit, without_userinfo(request.url))

    async def _unpacked(self, body: bytes, encoding: str, request: Request, end: float) -> bytes:
        """The body as it was before it was compressed, in the memory there is or will be before the `end`."""
        memory, limit = request.memory, request.max_bytes
        if memory is not None and not memory.size and limit > SMALL_BYTES:
            small = _if_small(body, encoding)
            if small is not None:
                return small
            try:
                async with asyncio.timeout_at(end):
                    await memory.take(limit)
            except TimeoutError as error:
                raise TransportError("timeout", "no room for a large answer in time") from error
        if len(body) > SMALL_BYTES or (memory is not None and memory.size):  # tens of milliseconds: not on the loop
            work = partial(answer_limits.unpacked, body, encoding, limit, cut=request.cut)
            body = await asyncio.get_running_loop().run_in_executor(self._unpacker, work)
        else:
            body = answer_limits.unpacked(body, encoding, limit, cut=request.cut)
        if memory is not None:
            memory.shrink(len(body))
        return body

    def _common_beside(self, own: Mapping[str, str]) -> bytes:
        """What every request says, unless it says it otherwise."""
        said = {name for name in self._common if any(name.lower() == each.lower() for each in own)} if own else None
        if not said:
            return self._common_bytes
        return _serialised({name: text for name, text in self._common.items() if name not in said})

    def _direct(self) -> HttpPool:
        if self._connections is None:
            resolver = dns.Resolver(rule=self._refusal, lookup=self._lookup)
            self._connections = HttpPool(resolver, address_guard.Guard(self._refusal), self._context, self._timeouts)
        return self._connections

    def _proxy(self) -> ProxiedSession:
        if self._proxied is None:
            self._proxied = ProxiedSession(self._fetching, self._context(), self._common)
        return self._proxied

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = client_context(verify=self._fetching.verify_tls)
        return self._tls

    def _limits(self, failure: TransportError) -> str:
        if failure.reason != "timeout":
            return ""
        return f" ({self._timeouts.total_s:g} s in all, {self._timeouts.idle_s:g} s without a byte)"


def _if_small(body: bytes, encoding: str) -> bytes | None:
    """The body unpacked, if that is small; None if it is not."""
    if len(body) > SMALL_BYTES:
        return None
    try:
        return answer_limits.unpacked(body, encoding, SMALL_BYTES)
    except TransportError as failure:
        if failure.reason == "too large":
            return None
        raise


def _parts(url: str) -> tuple[str, str, str]:
    """Scheme, authority and request target of an URL, quoted where it cannot go out as it is written."""
    found = _URL.fullmatch(url)
    if found is None:
        if not url[:8].lower().startswith(("http://", "https://")):
            raise TransportError("scheme", f"only http and https URLs are fetched, not {url.partition(':')[0][:20]!r}")
        try:
            found = _URL.fullmatch(str(URL(url).with_user(None)))
        except (ValueError, UnicodeError) as error:
            raise TransportError("protocol", "the URL is not valid") from error
        if found is None:
            raise TransportError("protocol", "the URL is not valid")
    target = found[3] or "/"
    return found[1].lower(), found[2], target if target.startswith("/") else f"/{target}"


@lru_cache(maxsize=4096)
def _origin(scheme: str, authority: str) -> Origin:
    """Where an authority is to be found."""
    try:
        parts = URL(f"{scheme}://{authority}/")
        host, port = parts.raw_host, parts.port
    except ValueError as error:
        raise TransportError("protocol", "the URL is not valid") from error
    if not host or not port:
        raise TransportError("protocol", "the URL names no host")
    return Origin(scheme == "https", host.rstrip("."), port)


def _serialised(headers: Mapping[str, str]) -> bytes:
    for name, text in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _FRAMING or _NOT_IN_HEADER.search(text):
            raise TransportError("protocol", f"the header {name[:40]!r} cannot be sent")
    return "".join([f"{name}: {text}\r\n" for name, text in headers.items()]).encode("utf-8", "replace")


def _fields(headers: CIMultiDictProxy[str]) -> dict[str, str]:
    """Names in lower case, repeated ones joined by commas; cookies are nobody's business."""
    fields: dict[str, str] = {}
    for name, text in headers.items():
        key = name.lower()
        if key in fields:
            fields[key] += ", " + text
        elif key != "set-cookie":
            fields[key] = text
    return fields


def _explained(error: OSError | RuntimeError, host: str) -> TransportError:
    """Why there is no connection, in one of our words. The order matters: some are kinds of others."""
    match error:
        case address_guard.RefusedAddressError():
            return TransportError("address", str(error))
        case ssl.SSLError():
            words = getattr(error, "verify_message", "") or error.reason or "no handshake"
            return TransportError("tls", f"{host}: no trusted connection: {words}")
        case socket.gaierror():
            return TransportError("dns", f"{host}: the name has no address: {error.strerror}")
        case ConnectionResetError() | ConnectionAbortedError() | BrokenPipeError():
            return TransportError("reset", f"{host}: the connection ended before the answer did")
        case _:
            return TransportError("connect", f"{host}: no connection: {getattr(error, 'strerror', None) or error}")
