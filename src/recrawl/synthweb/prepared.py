"""Answers prepared once and sent as they are until the document changes, and conditional requests for them."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from aiohttp import web

from recrawl.synthweb.wire import head, http_date, whole

SMALLEST_TO_COMPRESS = 500


@dataclass(slots=True)
class Prepared:
    """A document's answers for as long as it stays as it is, without the Date header.

    Parameters
        count: of what it is made of: items published, for a source
        lasting: whether its date can be a validator yet
        latest: when it changed last, in Unix seconds
    """

    count: int
    lasting: bool
    latest: float
    etag: str
    modified: str
    plain: bytes
    packed: bytes
    unchanged: bytes


def prepare(
    body: bytes,
    headers: Mapping[str, str],
    *,
    now: float,
    latest: float,
    etag: str = "",
    dated: bool = True,
    compress: bool = True,
    count: int = 0,
) -> Prepared:
    """The answers for a document that last changed at `latest`; `dated` if it sends that as its Last-Modified."""
    # A date of this very second would still be the same after another change: not a validator yet.
    lasting = now >= latest + 1.0
    modified = http_date(latest) if dated and lasting else ""
    validators = {**({"ETag": etag} if etag else {}), **({"Last-Modified": modified} if modified else {})}
    common = {**headers, "Vary": "Accept-Encoding", **validators}
    plain = packed = whole(200, body, common)
    if compress and len(body) >= SMALLEST_TO_COMPRESS:
        packed = whole(200, gzip.compress(body, 6), {**common, "Content-Encoding": "gzip"})
    unchanged = head(304, validators) + b"\r\n"
    return Prepared(count, lasting, latest, etag, modified, plain, packed, unchanged)


def still_good(request: web.BaseRequest, ready: Prepared) -> bool:
    """Whether the client's copy is still good [RFC 9110, 13.2.2]: its ETag decides, else its date."""
    known = request.headers.get("If-None-Match")
    if known is not None:
        return bool(ready.etag) and (known.strip() == "*" or ready.etag in known)
    since = request.headers.get("If-Modified-Since")
    if since is None or not ready.modified:
        return False
    if since == ready.modified:
        return True
    try:
        return parsedate_to_datetime(since) >= parsedate_to_datetime(ready.modified)
    except (TypeError, ValueError):
        return False
