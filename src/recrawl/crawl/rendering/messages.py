"""What crawler and rendering process tell each other: frames of MessagePack over pipes, each of a bounded size."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping

import msgspec

_LENGTH = struct.Struct("<I")
LARGEST = 40_000_000
"""Bytes of one message: a document and its picture."""
MOST_HTML = 4_000_000
"""Bytes of a rendered page that are handed on: readers look at no more."""
MOST_PICTURE = 400_000
"""Bytes of a screenshot."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one page may take.

    Parameters
        timeout_s: from its start to its end, steps included
        memory: bytes, of the browser with all its processes
        requests: that it makes beside its document
        size: bytes that come in for these
    """

    timeout_s: float = 20.0
    memory: int = 1_500_000_000
    requests: int = 300
    size: int = 20_000_000


class Setting(msgspec.Struct, frozen=True, kw_only=True, tag="setting"):
    """How the browser is started; the first thing it is told.

    Parameters
        path: of the browser; empty for the system's or, where there is none, Playwright's own
        sandbox: whether it is to run in its own sandbox
        home: a folder for whatever it writes
    """

    user_agent: str
    path: str = ""
    sandbox: bool = True
    verify_tls: bool = True
    allow_private: bool = False
    home: str = ""
    limits: Limits = Limits()


class Fetched(msgspec.Struct, frozen=True, kw_only=True, tag="fetched"):
    """A document as it was fetched, for page number `page`; `error` says why there is none."""

    page: int
    url: str = ""
    status: int = 200
    headers: Mapping[str, str] = {}
    cookies: tuple[str, ...] = ()
    body: bytes = b""
    error: str = ""


class Order(msgspec.Struct, frozen=True, kw_only=True, tag="order"):
    """A page to be rendered.

    Parameters
        steps: what is done on it before it is read (`config.page_steps`), secrets filled in
        cookies: of the source, as in a Cookie header; for the document's host alone
        picture: whether a screenshot is wanted
    """

    document: Fetched
    steps: tuple[str, ...] = ()
    cookies: str = ""
    picture: bool = False


class Wanted(msgspec.Struct, frozen=True, kw_only=True, tag="wanted"):
    """The page leads to another document, which the crawler is to fetch; it answers with a `Fetched`."""

    page: int
    url: str


class Rendered(msgspec.Struct, frozen=True, kw_only=True, tag="rendered"):
    """What the browser shows.

    Parameters
        url: where the page stood in the end
        error, reason: why there is nothing, in words and in one
        remark: what its owner should know
        requests, refused, received: of the page's own requests: made, not let through, what came in
        refusals: why some were not let through, the first of each kind
        seconds, cpu_s: that it took, and of processor time; of all processes of the browser
        memory: the most they held at once
        last: the rendering process ends with this
    """

    page: int
    url: str = ""
    html: bytes = b""
    picture: bytes = b""
    error: str = ""
    reason: str = ""
    remark: str = ""
    requests: int = 0
    refused: int = 0
    refusals: tuple[str, ...] = ()
    received: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    memory: int = 0
    last: bool = False


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """The browser is up; or why it is not."""

    error: str = ""


ToWorker = Setting | Order | Fetched
FromWorker = Ready | Wanted | Rendered
_TO_WORKER: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)
_FROM_WORKER: msgspec.msgpack.Decoder[FromWorker] = msgspec.msgpack.Decoder(FromWorker)


def framed(message: ToWorker | FromWorker) -> bytes:
    """A message as it is sent."""
    packed = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(packed)) + packed


async def _frame(pipe: asyncio.StreamReader) -> bytes:
    (size,) = _LENGTH.unpack(await pipe.readexactly(_LENGTH.size))
    if size > LARGEST:
        raise ValueError(f"a message of {size} bytes")
    return await pipe.readexactly(size)


async def from_worker(pipe: asyncio.StreamReader) -> FromWorker:
    """The next message; IncompleteReadError at the end, ValueError for what is none."""
    return _FROM_WORKER.decode(await _frame(pipe))


async def to_worker(pipe: asyncio.StreamReader) -> ToWorker:
    """The same on the other side."""
    return _TO_WORKER.decode(await _frame(pipe))
