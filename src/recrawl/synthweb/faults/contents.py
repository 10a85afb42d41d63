"""Faults of the document: broken, mislabelled, misdated, oversized, or meant for the reader's terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from recrawl.synthweb.documents import CONTENT_TYPES, PublishedItem, View, iso, render
from recrawl.synthweb.faults.statuses import Fault
from recrawl.synthweb.wire import Exchange

YEAR_S = 365.25 * 86400.0
DATES = re.compile(
    rb"<pubDate>.*?</pubDate>|<published>.*?</published>|<updated>.*?</updated>|<lastmod>.*?</lastmod>"
    rb'|<news:publication_date>.*?</news:publication_date>|,"date_published":"[^"]*"'
)
IDS = re.compile(rb'<guid[^>]*>.*?</guid>|<id>.*?</id>|"id":"[^"]*",')
ID = re.compile(rb"synth:(\d+):(\d+)")
TITLE = re.compile(rb'(<title>|"title":"|<news:title>|<h2>)')
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m \u202egnorw\u202c \x00\x08\x7f\u009b5m".encode()
MANY = 50_000
SITEMAP_BYTES = 30_000_000
TITLE_BYTES = 10_000_000

Edit = Callable[[bytes, Exchange], bytes]


def document(x: Exchange, view: View | None = None) -> tuple[bytes, str]:
    """What the source honestly shows (or would show with another view), and its content type."""
    shown = view or x.view
    if shown is None:
        return x.honest().partition(b"\r\n\r\n")[2], "text/html; charset=utf-8"
    return render(shown), CONTENT_TYPES[shown.source.kind]


def edited(edit: Edit) -> Fault:
    """The document, changed."""

    async def send(x: Exchange) -> bool:
        body, content_type = document(x)
        x.answer(200, edit(body, x), {"Content-Type": content_type})
        return True

    return send


def labelled(content_type: str | None) -> Fault:
    """The document under another content type, or none."""

    async def send(x: Exchange) -> bool:
        x.answer(200, document(x)[0], {} if content_type is None else {"Content-Type": content_type})
        return True

    return send


async def cache_control(x: Exchange) -> bool:
    """The document, with the wish to be left alone for `seconds` (60)."""
    body, content_type = document(x)
    x.answer(200, body, {"Content-Type": content_type, "Cache-Control": f"max-age={_wish(x)}"})
    return True


def shifted(seconds: float) -> Fault:
    """The document with all dates moved."""

    async def send(x: Exchange) -> bool:
        view = x.view and replace(
            x.view, entries=[PublishedItem(e.number, e.published + seconds) for e in x.view.entries]
        )
        body, content_type = document(x, view)
        x.answer(200, body, {"Content-Type": content_type})
        return True

    return send


def streamed(content_type: str, make: Callable[[Exchange], Iterator[bytes]]) -> Fault:
    """A large document, made while it is sent."""

    async def send(x: Exchange) -> bool:
        x.begin(200, {"Content-Type": content_type})
        for part in make(x):
            await x.stream(part)
        x.send(b"0\r\n\r\n")
        return True

    return send


def huge_title(x: Exchange) -> Iterator[bytes]:
    """A feed of one item with a title of 10 MB."""
    yield b'<?xml version="1.0"?><rss version="2.0"><channel><title>Huge</title><item><guid>synth:huge</guid><title>'
    for _ in range((x.rule.size or TITLE_BYTES) // 100_000):
        yield b"long " * 20_000
    yield b"</title></item></channel></rss>"


def many_entries(x: Exchange) -> Iterator[bytes]:
    """An Atom feed of 50 000 entries, a minute apart."""

    def entry(k: int) -> str:
        moment, link = iso(x.entry.start - 60.0 * k), f"{x.base}/many/{k}"
        return f'<title>Entry {k}</title><updated>{moment}</updated><link href="{link}"/>'

    return _atom("many", "Many", x.rule.size or MANY, 1000, entry)


def century(x: Exchange) -> Iterator[bytes]:
    """A feed of an item a week for a hundred years."""

    def entry(k: int) -> str:
        return f"<title>Week {k}</title><updated>{iso(x.entry.start - 7 * 86400.0 * k)}</updated>"

    return _atom("old", "Old", 5200, 520, entry)


def _atom(name: str, title: str, count: int, portion: int, entry: Callable[[int], str]) -> Iterator[bytes]:
    """An Atom feed in portions of so many entries, the last one whole too."""
    head = '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">'
    yield f"{head}<id>synth:{name}</id><title>{title}</title>".encode()
    for start in range(0, count, portion):
        entries = (f"<entry><id>synth:{name}:{k}</id>{entry(k)}</entry>\n" for k in range(start, start + portion))
        yield "".join(entries).encode()
    yield b"</feed>"


def huge_sitemap(x: Exchange) -> Iterator[bytes]:
    """A sitemap of 30 MB."""
    yield b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    number, left = 0, x.rule.size or SITEMAP_BYTES
    where = x.path[: x.path.rindex("/") + 1]
    while left > 0:
        day = iso(x.entry.start - 86400.0 * (1 + number // 1000))
        part = "".join(
            f"<url><loc>{x.base}{where}i/{k}</loc><lastmod>{day}</lastmod></url>\n"
            for k in range(number, number + 1000)
        ).encode()
        yield part
        number, left = number + 1000, left - len(part)
    yield b"</urlset>"


def deep(x: Exchange) -> Iterator[bytes]:
    """XML a million elements deep."""
    depth = x.rule.size or 1_000_000
    for tag in (b"<a>", b"</a>"):
        for _ in range(depth // 1000):
            yield tag * 1000


def _wish(x: Exchange) -> int:
    return 60 if x.rule.seconds is None else round(x.rule.seconds)


def _with_ttl(body: bytes, x: Exchange) -> bytes:
    """RSS that says how many minutes it may be kept."""
    return body.replace(b"<channel>", b"<channel><ttl>%d</ttl>" % -(-_wish(x) // 60))


def _other_charset(body: bytes, x: Exchange) -> bytes:
    """Says UTF-8, is Latin-1 with bytes UTF-8 cannot have."""
    return TITLE.sub(lambda found: found[0] + b"Caf\xe9 \xff\xfe ", body)


def _misnested(body: bytes, x: Exchange) -> bytes:
    return body.replace(b"</item>", b"</itme>").replace(b"</entry>", b"</entyr>").replace(b'"items":', b'"items";')


def _restless(body: bytes, x: Exchange) -> bytes:
    """A nonce, a view counter and the time: a page that differs on every fetch and says nothing new."""
    served = f'<p class="served">Served at {iso(x.entry.start)}, request {x.turn}</p>'
    nonce = f'<input type="hidden" name="token" value="{x.entry.start:.6f}">'
    return body.replace(b"</main>", f"</main>{served}{nonce}".encode())


def _hostile_links(body: bytes, x: Exchange) -> bytes:
    """Links with a host that a careless pattern would look at for ever."""
    return body.replace(b"<link>http", b"<link>https://" + b"a" * 40 + b"%20/http")


FAITHFUL = frozenset({
    "cache_control", "changing_ids", "control_characters", "dates_future", "dates_past", "html_type",
    "long_type", "no_type", "restless", "ttl", "undated", "unknown_charset", "without_ids", "wrong_charset",
    "wrong_type",
})  # fmt: skip
"""Faults of form alone: the items can still be seen, so such an answer counts as a crawl of its source."""

CONTENTS: dict[str, Fault] = {
    "empty": edited(lambda body, x: b""),
    "malformed": edited(_misnested),
    "truncated": edited(lambda body, x: body[: len(body) * 2 // 3]),
    "garbage": edited(lambda body, x: bytes((k * 197 + x.turn) % 256 for k in range(4096))),
    "undated": edited(lambda body, x: DATES.sub(b"", body)),
    "without_ids": edited(lambda body, x: IDS.sub(b"", body)),
    "changing_ids": edited(lambda body, x: ID.sub(rb"synth:\1:\2:%d" % x.turn, body)),
    "control_characters": edited(lambda body, x: TITLE.sub(lambda found: found[0] + ESCAPES, body)),
    "restless": edited(_restless),
    "ttl": edited(_with_ttl),
    "cache_control": cache_control,
    "wrong_charset": edited(_other_charset),
    "unknown_charset": labelled("application/rss+xml; charset=klingon"),
    "wrong_type": labelled("image/png"),
    "html_type": labelled("text/html"),
    "no_type": labelled(None),
    "long_type": labelled("application/rss+xml; charset=" + " " * 15_000 + "?"),
    "hostile_links": edited(_hostile_links),
    "dates_future": shifted(10 * YEAR_S),
    "dates_past": shifted(-60 * YEAR_S),
    "huge_title": streamed("application/rss+xml", huge_title),
    "many_entries": streamed("application/atom+xml", many_entries),
    "century": streamed("application/atom+xml", century),
    "huge_sitemap": streamed("application/xml", huge_sitemap),
    "deep_xml": streamed("application/xml", deep),
}
