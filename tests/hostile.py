"""What strangers may put into feeds and pages, and a store that is full of it."""

from __future__ import annotations

from html import escape

from made_up import NOW
from recrawl.store.records import Batch, Crawl, Hold, Item, Progress, Source, Version, VisitUpdate, item_key
from recrawl.store.sqlite import SqliteStore

CORPUS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'><iframe srcdoc='<script>alert(1)</script>'>",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    'https://a.example/"onmouseover="alert(1)',
    "https://a.example/<script>alert(1)</script>",
    "https://a.example/\r\nSet-Cookie: a=b",
    "//evil.example/",
    "https:evil",
    "{{ 7 * 7 }}{% raw %}",
    "<math><mtext></title><style><img src onerror=alert(1)>",
    "</textarea></title></script><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202egnp.exe\u202c\u0000\u001b[31m\ufeff\u200b",
    "\ud800 half a pair",
    '<a href="javascript:alert(1)">x</a>',
    "]]><!--<x",
    "+ADw-script+AD4-",
)


def hostile(store: SqliteStore) -> None:
    for k, text in enumerate(CORPUS):
        source = Source(
            url=f"https://x{k}.example/{k}" if "\n" in text or "\r" in text else f"https://x{k}.example/?{text}",
            title=text,
            note=text,
            tags=(text,),
            kind="page" if k % 2 else "feed",
            select=text,
            added=NOW - 9,
        )
        (added,) = store.add([source])
        item = Item(
            source=added.id,
            key=item_key(text),
            title=text,
            link=text,
            summary=text,
            published=NOW - 5,
            first_seen=NOW - 4,
        )
        other = Item(
            source=added.id, key=k, title=text, link=f"https://a.example/?{text}", summary="alert", first_seen=NOW
        )
        version = Version(
            source=added.id, at=NOW - 3, digest=text, text=text, diff=f"@@ {text}\n+{text}\n-{text}\n {text}"
        )
        update = VisitUpdate(
            crawl=Crawl(source=added.id, at=NOW - 4, outcome="failed", error=text, value=1.0, value_sd=1.0),
            progress=Progress(source=added.id, last=NOW - 4, failures=1, held_until=NOW + 60, held_by=text, value=1.0,
                              value_sd=0.5, rate=1e-4, rate_sd=1e-5, due=NOW + 5),
            items=[item, other],
            version=version if k % 2 else None,
        )  # fmt: skip
        store.commit(Batch(updates=[update], holds=[Hold(host=f"x{k}.example", until=NOW + 60, reason=text)]))


def hostile_feed(base: str) -> bytes:
    """An RSS feed whose items say everything of the corpus, escaped as a feed must and as careless ones do not."""
    items = []
    for k, text in enumerate(CORPUS):
        said = escape("".join(c for c in text if c >= " " and not "\ud800" <= c <= "\udfff"))
        items.append(
            f"<item><guid>{k}</guid><title>{said}</title><link>{said}</link><description>{said}</description></item>"
            f"<item><guid>{k}c</guid><title><![CDATA[{text.replace(']]>', '')}]]></title>"
            f"<link>{base}/{k}?{said}</link><description><![CDATA[{text.replace(']]>', '')}]]></description></item>"
        )
    body = f"<rss version='2.0'><channel><title>{escape(CORPUS[0])}</title>{''.join(items)}</channel></rss>"
    return body.encode("utf-8", "replace") + b"<!-- \xff\xfe -->"


def hostile_page(turn: int) -> bytes:
    """A page whose text says everything of the corpus, and something else each time."""
    said = "".join(f"<p>{escape(text)} {turn}</p>" for text in CORPUS)
    main = f"<main><h1>Turn {turn}</h1>{said}{CORPUS[1]}</main>"
    return f"<html><title>{escape(CORPUS[2])}</title><body>{main}</body></html>".encode("utf-8", "replace")
