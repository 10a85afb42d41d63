"""The network as aiohttp sees it, made safe for URLs that strangers chose.

One GET per call: no redirects followed, no cookies kept, no proxy from the environment. Every answer ends within the
total timeout, pauses for less than the idle timeout, has headers of bounded size and a body of at most `max_bytes`,
before and after decompression. Bodies are kept only of answers that bring a document (2xx); of others they are read a
little, to keep the connection, and dropped.

Messages never hold credentials: the userinfo of an URL is cut off before anything else happens to it.
"""

from __future__ import annotations

import re
import ssl
from base64 import b64encode
from collections import OrderedDict
from urllib.parse import unquote

import aiohttp
from yarl import URL

from recrawl.clock import Clock
from recrawl.config import Fetching
from recrawl.crawl import addresses, unpacking
from recrawl.crawl.transport import Reason, Request, Response, TransportError

ACCEPT = (
    "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, "
    "text/html;q=0.8, */*;q=0.5"
)
MAX_LINE_BYTES = 8190
MAX_FIELD_BYTES = 16_384
DROPPED_BODY_BYTES = 65_536
"""Of an answer whose body nobody wants, so much is read before the connection is closed instead."""
KEEP_ALIVE_S = 4.0
"""Shorter than servers keep idle connections (5 s is common): a request into one just closed would be lost."""
POOLED_ORIGINS = 256
"""Connections are kept open to so many origins at once; every one is an open file."""
_PLAIN_URL = re.compile(r"https?://[!-~]+", re.IGNORECASE)
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
    """`Transport` over aiohttp. To be used within one event loop, and closed there."""

    def __init__(
        self,
        fetching: Fetching,
        clock: Clock,
        *,
        ssl_context: ssl.SSLContext | None = None,
        lookup: addresses.Lookup = addresses.system_lookup,
    ) -> None:
        self._clock = clock
        self._fetching = fetching
        self._timeout_s = fetching.timeout_s
        self._idle_s = fetching.idle_timeout_s
        self._allow_private = fetching.allow_private
        self._tls: ssl.SSLContext | bool = ssl_context or fetching.verify_tls
        self._lookup = lookup
        self._pooling: aiohttp.ClientSession | None = None
        self._closing: aiohttp.ClientSession | None = None
        self._pooled: OrderedDict[str, float] = OrderedDict()

    async def fetch(self, request: Request) -> Response:
        """Send it; the answer whatever its status, or TransportError. Always ends within the configured timeout."""
        began = self._clock.now()
        shown = without_userinfo(request.url)
        url = self._checked(shown)
        headers = self._headers(request)
        try:
            answer = await self._session(url, began).get(url, headers=headers, allow_redirects=False)
            try:
                body = await _body(answer, request)
            finally:
                if not answer.content.at_eof():
                    answer.close()
        except TransportError:
            raise
        except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError, ValueError, RuntimeError) as error:
            raise self._explained(error, url.host or "") from error
        fields = _fields(answer)
        if body:
            body = unpacking.unpacked(body, fields.get("content-encoding", ""), request.max_bytes, cut=request.cut)
        return Response(shown, answer.status, fields, body, self._clock.now() - began)

    async def close(self) -> None:
        """Give back connections."""
        for session in (self._pooling, self._closing):
            if session is not None:
                await session.close()
        self._pooling = self._closing = None
        self._pooled.clear()

    def _checked(self, url: str) -> URL:
        """Its parts, if it is an http(s) URL of a host that may be visited as far as its name tells."""
        if not url[:8].lower().startswith(("http://", "https://")):
            raise TransportError("scheme", f"only http and https URLs are fetched, not {url.partition(':')[0][:20]!r}")
        try:
            parts = URL(url, encoded=_PLAIN_URL.fullmatch(url) is not None)
            host, _ = parts.host, parts.port
        except ValueError as error:
            raise TransportError("protocol", "the URL is not valid") from error
        if not host:
            raise TransportError("protocol", "the URL names no host")
        if not self._allow_private and (reason := addresses.host_refusal(host)):
            raise TransportError("address", f"{host} is {reason}")
        return parts

    def _headers(self, request: Request) -> dict[str, str] | None:
        credentials = authorisation(request.url)
        if credentials is None:
            return dict(request.headers) if request.headers else None
        return {"Authorization": credentials, **request.headers}

    def _session(self, url: URL, now: float) -> aiohttp.ClientSession:
        """The one that keeps connections, for as many origins as may be kept; for others the one that closes them."""
        if self._pooling is None or self._closing is None:
            self._pooling, self._closing = self._opened(keep=True), self._opened(keep=False)
        origin = f"{url.scheme}:{url.raw_authority}" if url.scheme == "https" else url.raw_authority
        pooled = self._pooled
        while pooled and next(iter(pooled.values())) < now - KEEP_ALIVE_S:
            pooled.popitem(last=False)
        if origin not in pooled and len(pooled) >= POOLED_ORIGINS:
            return self._closing
        pooled[origin] = now
        pooled.move_to_end(origin)
        return self._pooling

    def _opened(self, *, keep: bool) -> aiohttp.ClientSession:
        proxy = self._fetching.proxy
        trusted = self._allow_private or bool(proxy)
        connector = aiohttp.TCPConnector(
            ssl=self._tls,
            limit=0,
            resolver=addresses.Resolver(allow_private=trusted, lookup=self._lookup),
            ttl_dns_cache=addresses.CACHE_S,
            dns_cache_max_size=addresses.CACHE_SIZE,
            socket_factory=addresses.Guard(allow_private=trusted).socket,
            **({"keepalive_timeout": KEEP_ALIVE_S} if keep else {"force_close": True}),
        )
        session = aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": user_agent(self._fetching), "Accept": ACCEPT, "Accept-Encoding": unpacking.ACCEPTED},
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self._timeout_s, sock_connect=self._idle_s, sock_read=self._idle_s),
            auto_decompress=False,
            trust_env=False,
            proxy=proxy or None,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_FIELD_BYTES,
        )
        # A request repeated behind our back would be neither in its host's turn nor paid for.
        session._retry_connection = False
        return session

    def _explained(self, error: Exception, host: str) -> TransportError:
        """The same in one of our words, and a sentence without anything secret."""
        reason, sentence = _reason(error)
        limits = {"timeout": f" ({self._timeout_s:g} s in all, {self._idle_s:g} s without a byte)"}
        return TransportError(reason, f"{host}: {sentence}{limits.get(reason, '')}")


async def _body(answer: aiohttp.ClientResponse, request: Request) -> bytes:
    """All of it, or TransportError past the limit; empty if it is no document's."""
    wanted = 200 <= answer.status < 300
    limit = request.max_bytes if wanted else DROPPED_BODY_BYTES
    length = answer.content_length
    if wanted and not request.cut and length is not None and length > limit:
        raise TransportError("too large", f"the answer has {length} bytes, more than {limit}")
    parts: list[bytes] = []
    size = 0
    while size <= limit and (part := await answer.content.readany()):
        parts.append(part)
        size += len(part)
    if not wanted:
        return b""
    if size > limit and not request.cut:
        raise TransportError("too large", f"the answer has more than {limit} bytes")
    return parts[0] if len(parts) == 1 and size <= limit else b"".join(parts)[:limit]


def _fields(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """Headers, names in lower case, repeated ones joined by commas; cookies are nobody's business."""
    fields: dict[str, str] = {}
    for name, text in answer.headers.items():
        key = name.lower()
        if key in fields:
            fields[key] += ", " + text
        elif key != "set-cookie":
            fields[key] = text
    return fields


def _reason(error: Exception) -> tuple[Reason, str]:
    """Which of our words an exception is, and how to say it. The order matters: some are kinds of others."""
    cause = getattr(error, "os_error", None) or error
    match error:
        case _ if isinstance(cause, addresses.RefusedAddressError):
            return "address", str(cause)
        case aiohttp.ClientSSLError():
            return "tls", f"no trusted connection: {_tls_words(error)}"
        case aiohttp.ClientConnectorDNSError():
            return "dns", f"the name has no address: {_words(cause)}"
        case aiohttp.ClientConnectorError() | aiohttp.ClientHttpProxyError():
            return "connect", f"no connection: {_words(cause)}"
        case TimeoutError():
            return "timeout", "no complete answer in time"
        case aiohttp.InvalidURL():
            return "protocol", "the URL is not valid"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | aiohttp.ClientOSError() | OSError():
            return "reset", "the connection ended before the answer did"
        case aiohttp.ClientResponseError() | aiohttp.http.HttpProcessingError():
            return "protocol", f"the answer is not proper HTTP: {_first_line(error.message)}"
        case _:
            return "protocol", f"the request could not be made: {type(error).__name__}"


def _tls_words(error: aiohttp.ClientSSLError) -> str:
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    return getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or type(cause).__name__


def _words(cause: BaseException) -> str:
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def _first_line(message: str) -> str:
    """What is wrong, without the bytes of the answer that parsers like to quote."""
    line = message.strip().partition("\n")[0][:80]
    return "".join(letter if letter.isprintable() else "?" for letter in line)
