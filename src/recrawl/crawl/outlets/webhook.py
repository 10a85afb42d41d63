"""POST to a URL of the owner's: batches of events as JSON, signed, again and again until they are taken.

What an answer means: 2xx, taken. 400, 413, 415 and 422 speak of what was sent: smaller batches are tried, and a single
event that is still refused is passed over after a few tries. Everything else (no answer, 5xx, 429, but also 401, 404
or a redirect) speaks of the receiver, which may be mended: the events wait in the store, and nothing is passed over.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import urlsplit

import aiohttp

from recrawl.clock import Clock
from recrawl.crawl.fetching.retry_after import retry_after_s
from recrawl.crawl.outlets.base import BATCH, NotDeliveredError, RefusedError
from recrawl.errors import ParameterError
from recrawl.redaction import only_host, without_credentials
from recrawl.store.records import Event

TRIES = 5
REFUSALS = frozenset({400, 413, 415, 422})
TIMEOUT_S = 30.0
CONNECT_S = 10.0
ANSWER_BYTES = 65536
"""Of an answer's body, read so that the connection can be used again; it is not looked at."""


class WebhookOutlet:
    """POSTs `{"events": […]}`; redirects are not followed, so the signature and the events go to this URL alone.

    Parameters
        url: http or https; a user name and password in it are sent as Basic authentication, and never shown
        secret: key of the signature; without one, nothing is signed
        clock: for Retry-After given as a date
        timeout_s: of one delivery, from connecting to the end of the answer
    """

    batch = BATCH

    def __init__(self, url: str, secret: str, clock: Clock, timeout_s: float = TIMEOUT_S) -> None:
        _check(url)
        self.name = f"webhook:{without_credentials(url)}"
        self._url, self._secret, self._clock = url, secret.encode(), clock
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, connect=min(CONNECT_S, timeout_s))
        self._session: aiohttp.ClientSession | None = None

    async def deliver(self, events: Sequence[Event]) -> None:
        """POST one batch."""
        body = b'{"events":[' + b",".join(event.body for event in events) + b"]}"
        headers = {"Content-Type": "application/json", "X-Recrawl-Delivery": f"{events[0].seq}-{events[-1].seq}"}
        if self._secret:
            headers["X-Recrawl-Signature"] = signature(self._secret, body)
        try:
            status, retry_after = await self._post(body, headers)
        except TimeoutError as error:
            raise NotDeliveredError("no answer in time") from error
        except (aiohttp.ClientError, OSError) as error:
            raise NotDeliveredError(f"no answer: {_reason(error)}") from error
        if status in REFUSALS:
            raise RefusedError(f"answered {status}", TRIES)
        if not 200 <= status < 300:
            raise NotDeliveredError(
                f"answered {status}{_advice(status)}", retry_after_s(retry_after, self._clock.now())
            )

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "recrawl"},
                auto_decompress=False,
            )
        async with self._session.post(self._url, data=body, headers=headers, allow_redirects=False) as answer:
            await answer.content.read(ANSWER_BYTES)
            return answer.status, answer.headers.get("Retry-After", "")


def signature(secret: bytes, body: bytes) -> str:
    """What the receiver recomputes to know that a delivery is ours.

    >>> signature(b"key", b'{"events":[]}')[:20]
    'sha256=42bcfd9fc3529'
    """
    return "sha256=" + hmac.new(secret, body, sha256).hexdigest()


def _check(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ParameterError("webhook", "an http or https URL", repr(only_host(url)))


def _advice(status: int) -> str:
    if 300 <= status < 400:
        return " (a redirect, which is not followed: give the address it leads to)"
    return {401: " (the credentials are wrong or missing)", 404: " (there is nothing at this address)"}.get(status, "")


def _reason(error: Exception) -> str:
    """In words, without the URL, which may hold credentials."""
    system = getattr(error, "os_error", error)
    return str(getattr(system, "strerror", None) or type(error).__name__)
