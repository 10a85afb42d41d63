"""Faults of the connection: cut, slow, silent, endless."""

from __future__ import annotations

from recrawl.synthweb.faults.statuses import Fault
from recrawl.synthweb.wire import LONGEST_WAIT_S, Exchange

ENDLESS_BYTES = 1 << 33
ITEM = (
    b'<item><title>And another</title><guid isPermaLink="false">synth:more:%d</guid>'
    b"<description>There is always one more.</description></item>\n"
)


async def reset_before_headers(x: Exchange) -> bool:
    """A reset instead of an answer."""
    x.reset()
    return False


async def reset_in_headers(x: Exchange) -> bool:
    """A reset within the headers."""
    x.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nX-Half-A-Hea")
    await x.wait(0.02)
    x.reset()
    return False


async def reset_in_body(x: Exchange) -> bool:
    """A reset after half of the promised body."""
    sent = x.honest()
    x.entry.status = 200
    x.send(sent[: len(sent) // 2])
    await x.wait(0.02)
    x.reset()
    return False


async def cut_short(x: Exchange) -> bool:
    """An orderly end after half of the promised body."""
    sent = x.honest()
    x.entry.status = 200
    x.send(sent[: len(sent) // 2])
    await x.drain()
    return False


async def drip(x: Exchange) -> bool:
    """The right answer, a byte at a time, `seconds` apart."""
    sent = x.honest()
    x.entry.status = 200
    body = sent.index(b"\r\n\r\n") + 4
    x.send(sent[:body])
    return await _by_bytes(x, sent[body:])


async def drip_headers(x: Exchange) -> bool:
    """The right answer, a byte at a time from the first one on."""
    return await _by_bytes(x, x.honest())


async def never(x: Exchange) -> bool:
    """No answer, until the client has had enough (or ten minutes have passed)."""
    await x.wait(LONGEST_WAIT_S)
    return False


async def never_body(x: Exchange) -> bool:
    """Headers at once, a body never."""
    x.begin(200, {"Content-Type": "application/rss+xml", "Content-Length": "5000"}, chunked=False)
    await x.wait(LONGEST_WAIT_S)
    return False


async def endless(x: Exchange) -> bool:
    """A feed without an end."""
    x.begin(200, {"Content-Type": "application/rss+xml"})
    await x.stream(b'<?xml version="1.0"?><rss version="2.0"><channel><title>Endless</title>\n')
    sent, number = 0, 0
    while sent < (x.rule.size or ENDLESS_BYTES):
        block = b"".join(ITEM % (number + k) for k in range(400))
        await x.stream(block)
        sent, number = sent + len(block), number + 400
    return False


async def endless_headers(x: Exchange) -> bool:
    """Headers without an end."""
    x.send(b"HTTP/1.1 200 OK\r\n")
    sent = 0
    while sent < (x.rule.size or 1 << 26):
        block = b"".join(b"X-More-%d: %b\r\n" % (sent + k, b"m" * 80) for k in range(100))
        x.send(block)
        await x.drain()
        sent += len(block)
    return False


async def endless_continue(x: Exchange) -> bool:
    """Interim answers ("go on") without an end."""
    return await _on_and_on(x, b"HTTP/1.1 100 Continue\r\n\r\n")


async def endless_hints(x: Exchange) -> bool:
    """Early hints of an answer that never comes."""
    return await _on_and_on(x, b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")


async def endless_extension(x: Exchange) -> bool:
    """A chunk whose size is followed by words without an end."""
    x.begin(200, {"Content-Type": "application/rss+xml"})
    x.send(b"1;note=")
    return await _on_and_on(x, b"more-of-it-")


async def tiny_chunks(x: Exchange) -> bool:
    """A body without an end, in chunks of one byte."""
    x.begin(200, {"Content-Type": "application/rss+xml"})
    return await _on_and_on(x, b"1\r\n \r\n")


async def not_http(x: Exchange) -> bool:
    """Something that is not HTTP at all."""
    x.send(b"SSH-2.0-OpenSSH_9.6\r\n\x00\x01\x02")
    await x.drain()
    return False


async def _on_and_on(x: Exchange, more: bytes) -> bool:
    block = more * (65_536 // len(more))
    for _ in range((x.rule.size or ENDLESS_BYTES) // len(block)):
        x.send(block)
        await x.drain()
    return False


async def _by_bytes(x: Exchange, data: bytes) -> bool:
    pause = 0.5 if x.rule.seconds is None else x.rule.seconds
    for k in range(len(data)):
        x.send(data[k : k + 1])
        await x.wait(pause)
    return True


CONNECTIONS: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        reset_before_headers, reset_in_headers, reset_in_body, cut_short, drip, drip_headers, never, never_body,
        endless, endless_headers, endless_continue, endless_hints, endless_extension, tiny_chunks, not_http,
    )
}  # fmt: skip
