"""Faults of robots.txt."""

from __future__ import annotations

from collections.abc import Iterator

from recrawl.synthweb.faults.contents import streamed
from recrawl.synthweb.faults.statuses import Fault, plain
from recrawl.synthweb.wire import Exchange

ROBOTS_BYTES = 10_000_000


def _rules(x: Exchange) -> bytes:
    return x.honest().partition(b"\r\n\r\n")[2]


def huge(x: Exchange) -> Iterator[bytes]:
    """The rules, then 10 MB of others."""
    yield _rules(x)
    for block in range((x.rule.size or ROBOTS_BYTES) // 100_000):
        yield b"".join(b"Disallow: /nothing/%08d/%04d/\n" % (block, k) for k in range(3300))


async def html(x: Exchange) -> bool:
    """A web page in place of the rules."""
    x.answer(200, b"<!doctype html><title>Welcome</title><p>Disallow nothing.", {"Content-Type": "text/html"})
    return True


async def garbage(x: Exchange) -> bool:
    """Bytes of no meaning in place of the rules."""
    x.answer(200, bytes((k * 131) % 256 for k in range(5000)), {"Content-Type": "text/plain"})
    return True


async def redirecting(x: Exchange) -> bool:
    """A redirect to the next host's robots.txt."""
    x.answer(302, b"", {"Location": x.bases[(x.host + 1) % len(x.bases)] + "/guest/robots.txt"})
    return True


async def looping(x: Exchange) -> bool:
    """A redirect to itself."""
    x.answer(302, b"", {"Location": "/robots.txt"})
    return True


async def alternating(x: Exchange) -> bool:
    """The rules, then a 503, and so on in turn."""
    if x.turn % 2:
        x.answer(503)
    else:
        x.answer(200, _rules(x), {"Content-Type": "text/plain"})
    return True


async def never(x: Exchange) -> bool:
    """No answer."""
    await x.wait()
    return False


ROBOTS: dict[str, Fault] = {
    "robots_huge": streamed("text/plain", huge),
    "robots_html": html,
    "robots_garbage": garbage,
    "robots_redirect": redirecting,
    "robots_loop": looping,
    "robots_alternating": alternating,
    "robots_never": never,
    "robots_404": plain(404),
    "robots_503": plain(503),
}
