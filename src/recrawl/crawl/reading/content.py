"""What an item says in full, made fit to be kept and shown: markup without anything that acts.

Kept are text, its structure, links and pictures by reference; http and https alone. What acts goes: scripts, styles,
forms, frames, objects, event handlers; so do pictures of one pixel, which only count readers. A page that shows it has
a second lock of its own (a frame without scripts): a fault here is not to be enough.

The work is bounded before anything is parsed, and what is left is at most `MOST` bytes; it is stored compressed, which
leaves a third of it.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from html import escape, unescape
from typing import Any

from recrawl.crawl import urls
from recrawl.crawl.reading.plain_text import visible

MOST = 64 * 1024
"""Bytes of what is kept of an item."""
MOST_READ = 512 * 1024
"""Characters that are looked at."""
MOST_DEPTH = 200
"""Elements within each other; more are no text."""
_TAGS = frozenset((
    "a", "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd", "del",
    "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i",
    "img", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby", "s", "samp", "small", "span",
    "strike", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time", "tr", "tt",
    "u", "ul", "var", "wbr",
))  # fmt: skip
_SWALLOWED = frozenset(("script", "style", "template", "noscript", "iframe", "object", "embed", "svg", "math", "form",
                        "textarea", "select", "title", "head", "noembed", "noframes", "xmp", "plaintext"))  # fmt: skip
"""Of which nothing is kept, not even the text in them."""
_ATTRIBUTES = {
    "a": {"href", "title"}, "img": {"src", "alt", "title", "width", "height"}, "time": {"datetime"}, "ol": {"start"},
    "td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}, "abbr": {"title"}, "*": {"dir", "lang"},
}  # fmt: skip
_ADDRESSES = ("href", "src")
_PICTURE = re.compile(r'<img((?:\s+[a-z]+="[^"]*")*)\s*/?>')
"""As it stands in what was sanitised: a value may hold any sign but quotes."""
_VALUE = re.compile(r'\s([a-z]+)="([^"]*)"')
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")


def sanitised(html: str, base: str) -> str:
    """Markup that does nothing, its addresses absolute; empty if nothing is left of it.

    >>> sanitised('<p onclick="x()">Hi <a href="/a">there</a><script>x()</script></p>', "https://a.example/f")
    '<p>Hi <a href="https://a.example/a" rel="noopener noreferrer nofollow">there</a></p>'
    """
    import nh3

    given = _shallow(html[:MOST_READ].encode("utf-8", "replace").decode())  # half a surrogate pair is no text

    def address(tag: str, name: str, value: str) -> str | None:
        return urls.link(base, value) if name in _ADDRESSES else value[:500]

    # Twice at most: what is too long is cut in its text, and has to be made whole again.
    for _ in range(2):
        clean = nh3.clean(
            given,
            tags=set(_TAGS),
            clean_content_tags=set(_SWALLOWED),
            attributes=_ATTRIBUTES,
            attribute_filter=address,
            url_schemes={"http", "https"},
            link_rel="noopener noreferrer nofollow",
            set_tag_attribute_values={"img": {"referrerpolicy": "no-referrer"}},
        )
        clean = _PICTURE.sub(_seen, clean).strip()
        size = len(clean.encode("utf-8", "replace"))
        if size <= MOST:
            return clean if clean.isascii() else "\n".join(visible(line) for line in clean.splitlines())
        given = _cut(clean, MOST - 2048)
    return ""


def _seen(found: re.Match[str]) -> str:
    """A picture that somebody sees; nothing for one without an address, or of one pixel."""
    values = dict(_VALUE.findall(found[1]))
    tiny = any(values.get(name, "").removesuffix("px") in ("0", "1") for name in ("width", "height"))
    return "" if tiny or "src" not in values else found[0]


def without_pictures(html: str) -> str:
    """What was sanitised, with words in place of its pictures.

    >>> without_pictures('<p><img src="https://a.example/x" alt="A cat > a dog"></p>')
    '<p><span class="picture">A cat &gt; a dog</span></p>'
    """

    def words(found: re.Match[str]) -> str:
        said = unescape(dict(_VALUE.findall(found[1])).get("alt", "")).strip() or "a picture"
        return f'<span class="picture">{escape(said)}</span>'

    return _PICTURE.sub(words, html)


def paragraphs(text: str) -> str:
    """Plain text as markup, a paragraph per line."""
    return "".join(f"<p>{escape(line)}</p>" for line in text.splitlines() if line.strip())


def packed(html: str) -> bytes:
    """As it is stored; nothing for nothing."""
    return _zstd().compress(html.encode("utf-8", "replace"), level=3) if html else b""


def unpacked(record: bytes) -> str:
    """What `packed` was given; nothing for what nobody can read."""
    if not record:
        return ""
    try:
        found: bytes = _zstd().ZstdDecompressor().decompress(record, max_length=4 * MOST)
    except (_zstd().ZstdError, EOFError):
        return ""
    return found.decode("utf-8", "replace")


@lru_cache(1)
def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd  # type: ignore[import-not-found]
    else:
        from backports import zstd
    return zstd


def _shallow(html: str) -> str:
    """The beginning of it, up to where elements stand too deep within each other for any text."""
    depth = 0
    if html.count("<") <= MOST_DEPTH:
        return html
    for found in _TAG.finditer(html):
        depth = (
            max(depth - 1, 0) if found[1] else depth + (found[2].lower() not in ("br", "hr", "img", "wbr", "p", "li"))
        )
        if depth > MOST_DEPTH:
            return html[: found.start()]
    return html


def _cut(html: str, most: int) -> str:
    """So many bytes of it at most, and no tag in pieces."""
    part = html.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
    return part[: part.rfind("<")] if part.rfind("<") > part.rfind(">") else part
