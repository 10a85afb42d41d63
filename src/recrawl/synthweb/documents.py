"""What sources look like on the wire: feeds, sitemaps and pages as bytes, for a list of items and nothing else.

Atom, JSON Feed and sitemaps carry microseconds, because hours pass in seconds here; RSS has whole seconds, rounded
down so that nothing is dated in the future.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate

import msgspec

from recrawl.synthweb.world import Kind, SynthSource

ADJECTIVES = ("Amber", "Brisk", "Calm", "Distant", "Early", "Formal", "Gentle", "Hollow", "Ivory", "Joint", "Kindred")
NOUNS = ("harbour", "ledger", "orchard", "signal", "quarry", "festival", "railway", "glacier", "archive", "market",
         "committee", "lantern", "meadow")  # fmt: skip
VERBS = ("opens", "returns", "grows", "moves north", "is restored", "doubles", "closes early", "changes hands")

ATOM_PREFIX = ' xmlns:atom="http://www.w3.org/2005/Atom"'
CONTENT_TYPES: dict[Kind, str] = {
    "rss": "application/rss+xml; charset=utf-8",
    "atom": "application/atom+xml; charset=utf-8",
    "json": "application/feed+json",
    "sitemap": "application/xml",
    "news": "application/xml",
    "page": "text/html; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class PublishedItem:
    """One item: its number within the source, and when it came out in Unix seconds."""

    number: int
    published: float


@dataclass(frozen=True, slots=True)
class View:
    """A source at a moment: the items its document shows, newest first, the host's URL without a slash, and the URL of
    the hub that tells of its news, if there is one."""

    source: SynthSource
    base: str
    entries: Sequence[PublishedItem]
    hub: str = ""


def title(source: int, number: int) -> str:
    """A headline; the same for the same item, always."""
    k = source * 7919 + number
    return f"{ADJECTIVES[k % 11]} {NOUNS[k % 13]} {VERBS[k % 8]} ({source}.{number})"


def summary(source: int, number: int) -> str:
    """A sentence or two about it."""
    k = source * 104729 + number
    return (
        f"Report {number} of source {source}: the {NOUNS[k % 13]} near the {NOUNS[(k + 5) % 13]} {VERBS[k % 8]}, "
        f"and observers expect the {NOUNS[(k + 9) % 13]} to follow within the season."
    )


def iso(moment: float) -> str:
    """A W3C date with microseconds."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds")


def link(view: View, number: int) -> str:
    """Where an item itself can be read."""
    return f"{view.base}{view.source.home}i/{number}"


def link_header(view: View) -> dict[str, str]:
    """The header that names the hub of a document, and the document as its topic [WebSub, 4]."""
    topic = f"{view.base}{view.source.path}"
    return {"Link": f'<{view.hub}>; rel="hub", <{topic}>; rel="self"'} if view.hub else {}


def hub_links(view: View, prefix: str = "") -> str:
    """The same as elements of Atom."""
    topic = f"{view.base}{view.source.path}"
    return f'<{prefix}link rel="hub" href="{view.hub}"/><{prefix}link rel="self" href="{topic}"/>' if view.hub else ""


def render(view: View) -> bytes:
    """The document of a source."""
    return RENDERERS[view.source.kind](view).encode()


def rss(view: View) -> str:
    """RSS 2.0."""
    at = view.source.number
    items = "".join(
        f"<item><title>{title(at, e.number)}</title><link>{link(view, e.number)}</link>"
        f'<guid isPermaLink="false">synth:{at}:{e.number}</guid>'
        f"<pubDate>{formatdate(int(e.published), usegmt=True)}</pubDate>"
        f"<description>{summary(at, e.number)}</description></item>\n"
        for e in view.entries
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"{ATOM_PREFIX if view.hub else ""}><channel>'
        f"{hub_links(view, 'atom:')}<title>Source {at}</title><link>{view.base}{view.source.home}</link>"
        f"<description>A synthetic source</description>\n{items}</channel></rss>\n"
    )


def atom(view: View) -> str:
    """Atom 1.0."""
    at = view.source.number
    items = "".join(
        f'<entry><id>synth:{at}:{e.number}</id><title>{title(at, e.number)}</title>'
        f'<link href="{link(view, e.number)}"/><published>{iso(e.published)}</published>'
        f"<updated>{iso(e.published)}</updated><summary>{summary(at, e.number)}</summary></entry>\n"
        for e in view.entries
    )  # fmt: skip
    updated = iso(view.entries[0].published) if view.entries else iso(0.0)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f'<id>synth:{at}</id><title>Source {at}</title><link href="{view.base}{view.source.home}"/>'
        f"{hub_links(view)}<updated>{updated}</updated>\n{items}</feed>\n"
    )


def json_feed(view: View) -> str:
    """JSON Feed 1.1."""
    at = view.source.number
    items = [
        {
            "id": f"synth:{at}:{e.number}",
            "url": link(view, e.number),
            "title": title(at, e.number),
            "content_text": summary(at, e.number),
            "date_published": iso(e.published),
        }
        for e in view.entries
    ]
    head = {"version": "https://jsonfeed.org/version/1.1", "title": f"Source {at}", "home_page_url": view.base}
    hubs = {"hubs": [{"type": "WebSub", "url": view.hub}]} if view.hub else {}
    return msgspec.json.encode({**head, **hubs, "items": items}).decode()


def sitemap(view: View) -> str:
    """A sitemap of the latest articles."""
    urls = "".join(
        f"<url><loc>{link(view, e.number)}</loc><lastmod>{iso(e.published)}</lastmod></url>\n" for e in view.entries
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )


def news(view: View) -> str:
    """A news sitemap."""
    at = view.source.number
    urls = "".join(
        f"<url><loc>{link(view, e.number)}</loc><news:news><news:publication><news:name>Source {at}</news:name>"
        f"<news:language>en</news:language></news:publication><news:publication_date>{iso(e.published)}"
        f"</news:publication_date><news:title>{title(at, e.number)}</news:title></news:news></url>\n"
        for e in view.entries
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        f'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">\n{urls}</urlset>\n'
    )


def page(view: View) -> str:
    """A page whose main text is that of its latest version."""
    number = view.entries[0].number if view.entries else -1
    at = view.source.number
    return html_page(f"Source {at}", f"<h2>{title(at, number)}</h2>\n<p>{summary(at, number)}</p>")


def article(source: int, number: int) -> str:
    """The page of one item."""
    return html_page(title(source, number), f"<p>{summary(source, number)}</p>")


def html_page(heading: str, body: str, head: str = "") -> str:
    """A small page with the usual surroundings: navigation, main text, footer."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>{head}</head>\n'
        f'<body><nav><a href="/">Home</a></nav>\n<main><h1>{heading}</h1>\n{body}\n</main>\n'
        "<footer>A synthetic web</footer></body></html>\n"
    )


def home(source: SynthSource, base: str) -> str:
    """The front page of a source, which names its feed in the head where it has one."""
    kinds = {"rss": "application/rss+xml", "atom": "application/atom+xml", "json": "application/feed+json"}
    offered = kinds.get(source.kind)
    head = (
        f'<link rel="alternate" type="{offered}" href="{source.path}" title="Source {source.number}">'
        if offered
        else ""
    )
    return html_page(f"Source {source.number}", f'<p>See <a href="{base}{source.path}">{source.path}</a>.</p>', head)


def sitemap_index(sitemaps: Sequence[tuple[str, float]]) -> str:
    """An index of sitemaps: (URL, when it last gained something)."""
    parts = "".join(f"<sitemap><loc>{u}</loc><lastmod>{iso(t)}</lastmod></sitemap>\n" for u, t in sitemaps)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{parts}</sitemapindex>\n'
    )


def page_sitemap(pages: Sequence[tuple[str, float | None]]) -> str:
    """A sitemap of pages: (URL, when it says that it changed)."""
    urls = "".join(
        f"<url><loc>{url}</loc>{'' if moment is None else f'<lastmod>{iso(moment)}</lastmod>'}</url>\n"
        for url, moment in pages
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )


def listing(pages: Sequence[tuple[str, str, float | None]]) -> str:
    """A page of links: (path, title, when it says that this changed)."""
    rows = ""
    for path, name, moment in pages:
        time = "" if moment is None else f' <time datetime="{iso(moment)}">{iso(moment)}</time>'
        rows += f'<li><a href="{path}">{name}</a>{time}</li>\n'
    return html_page("Latest changes", f"<ul>\n{rows}</ul>")


def opml(feeds: Sequence[tuple[str, str, str]]) -> str:
    """An OPML of (folder, title, URL), a folder per host."""
    folders: dict[str, list[str]] = {}
    for folder, name, url in feeds:
        folders.setdefault(folder, []).append(f'<outline type="rss" text="{name}" xmlUrl="{url}"/>')
    body = "\n".join(
        f'<outline text="{folder}">\n' + "\n".join(outlines) + "\n</outline>" for folder, outlines in folders.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<opml version="2.0"><head><title>A synthetic web</title></head>\n'
        f"<body>\n{body}\n</body></opml>\n"
    )


RENDERERS: dict[Kind, Callable[[View], str]] = {
    "rss": rss,
    "atom": atom,
    "json": json_feed,
    "sitemap": sitemap,
    "news": news,
    "page": page,
}
