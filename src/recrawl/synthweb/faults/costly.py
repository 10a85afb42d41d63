"""Small on the wire, dear to read: documents made to keep a careless reader's processor busy."""

from __future__ import annotations

from collections.abc import Iterator

from recrawl.synthweb.faults.contents import edited, streamed
from recrawl.synthweb.faults.statuses import Fault
from recrawl.synthweb.wire import Exchange

SMALL_BYTES = 250_000
"""Just less than what a reader may take for a small document."""
CHILDREN = 20_000
LABEL = "a" * 38


def feed_of(channel: str, items: str) -> bytes:
    """An RSS feed."""
    text = f'<?xml version="1.0"?><rss version="2.0"><channel><title>Dear</title>{channel}{items}</channel></rss>'
    return text.encode()


def linked(link: str) -> bytes:
    """A feed whose items, as many as are still small, link to such an address."""
    item = f"<item><title>Dear</title><link>{link}</link></item>\n"
    return feed_of("", "".join(item.replace("#", str(k)) for k in range(SMALL_BYTES // len(item.encode()))))


def page_of(body: str) -> bytes:
    """A page."""
    return f"<!doctype html><html><head><title>Dear</title></head><body>{body}</body></html>".encode()


def shuffled_lines(turn: int) -> bytes:
    """A page of short lines, few of them different, in another order at every fetch: the worst for a diff."""
    state, lines = turn + 1, []
    for _ in range(SMALL_BYTES // 10):
        state = (state * 1103515245 + 12345) % 2**31
        lines.append(f"<p>{state >> 26}</p>")
    return page_of("\n".join(lines))


def huge_index(x: Exchange) -> Iterator[bytes]:
    """A sitemap index of 20 000 sitemaps."""
    yield b'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    for start in range(0, x.rule.size or CHILDREN, 1000):
        yield "".join(
            f"<sitemap><loc>{x.base}/children/{k}.xml</loc></sitemap>\n" for k in range(start, start + 1000)
        ).encode()
    yield b"</sitemapindex>"


COSTLY: dict[str, Fault] = {
    "long_label": edited(lambda body, x: linked(f"http://{LABEL}%20#/")),
    "marked_hosts": edited(lambda body, x: linked("http://" + "a\u0301\u0323" * 60 + "#/")),
    "long_digits": edited(
        lambda body, x: body.replace(
            b"<channel>",
            b"<channel><ttl>%b</ttl><skipHours><hour>00%b</hour></skipHours>" % ((b"1" + b"0" * 5000,) * 2),
        )
    ),
    "many_lines": edited(lambda body, x: page_of("a\n" * (SMALL_BYTES // 2))),
    "many_links": edited(lambda body, x: page_of('<a href="?">a</a>' * (SMALL_BYTES // 17))),
    "deep_html": edited(lambda body, x: page_of("<div>" * (SMALL_BYTES // 5))),
    "open_brackets": edited(lambda body, x: page_of("<" * SMALL_BYTES)),
    "shuffled_lines": edited(lambda body, x: shuffled_lines(x.turn)),
    "huge_index": streamed("application/xml", huge_index),
}
