"""From bytes to characters, and from characters to an XML tree that cannot bite.

Charset. Labels lie, bytes less so: a byte order mark decides; else, what decodes as UTF-8 is UTF-8 (no other encoding
does so by accident, save those that shift with escape characters). The rest is read as browsers do: by the label of
the Content-Type header, else by the document's own, else as windows-1252, unless most of it is UTF-8. Bytes without a
meaning become U+FFFD one by one. Everything is handed on as UTF-8.

XML. Trees are built without loading DTDs, without the network, without resolving entities and with libxml2's bounds on
depth and size. A document that declares entities of its own is refused: feeds, sitemaps and OPML have no need of them,
and bombs and theft of files are made of them. It is refused before it is parsed where a look at its beginning shows
them, and afterwards where only the parser saw them: what a broken declaration means is what the parser makes of it.

Ends. Half a title, link or id makes an item nobody ever published. A parser that repairs closes what was open, and
afterwards nobody can tell; so the text itself is looked at for the entry a document breaks off in, passing over
comments and CDATA sections, whose contents are words.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from enum import IntEnum
from html.entities import html5
from typing import Any

from lxml import etree

from recrawl.crawl.reading import charsets
from recrawl.crawl.reading.findings import UnreadableError
from recrawl.crawl.work_limit import slow_work

MOST_ELEMENTS = 1_000_000
"""In one tree: some hundreds of megabytes."""
MOST_AMPERSANDS = 200_000
"""In a broken document, past which each is taken for itself instead of being looked at."""
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
          (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_UNMARKED = (
    (b"<\x00?\x00", "utf-16-le"),
    (b"\x00<\x00?", "utf-16-be"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)
_SHIFTING = frozenset(("iso-2022-jp", "replacement", "utf-16le", "utf-16be", "utf_32", "utf_32_be", "utf_32_le"))
"""Encodings in which a document may look like UTF-8, or even ASCII."""
_PROLOG = re.compile(rb"\s+|<\?.*?(?:\?>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_DOCTYPE = re.compile(rb"<!DOCTYPE\s*([A-Za-z_][\w:.-]*)?", re.IGNORECASE)
_SUBSET = re.compile(rb"""(?:[^<>\["']|"[^"]*+"|'[^']*+'|["'])*+(\[)?""")
_ROOT = re.compile(rb"<([A-Za-z_][\w:.-]*)")
_EMBEDDED = re.compile(rb"<\?xml|<rss[\s>]|<feed[\s>]|<rdf:RDF[\s>]|<urlset[\s>]|<sitemapindex[\s>]")
_CONTROLS = bytes(code for code in range(32) if code not in (9, 10, 13))
_REFERENCE = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|&(?:#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7}));|([A-Za-z][A-Za-z0-9]{1,30};))?", re.DOTALL
)
_ENTRIES = frozenset((b"item", b"entry", b"url", b"sitemap"))
_ENTRY_MARKUP = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    rb"|<(/?)(?:[\w.-]{1,50}:)?(item|entry|url|sitemap|rss|feed|rdf|channel|urlset|sitemapindex)(?=[\s/>]|\Z)"
    rb"(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+(>?)",
    re.IGNORECASE | re.DOTALL,
)


def utf8(body: bytes, content_type: str = "") -> bytes:
    """The document in valid UTF-8, without a byte order mark."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :] if name == "utf-8" and _decodes(body) else _transcoded(body, name)
    body = _with_a_whole_end(body)
    if b"\x1b" not in body and b"\0" not in body and _decodes(body):
        return body
    for start, name in _UNMARKED:
        if body.startswith(start):
            return _transcoded(body, name)
    label = charsets.of_header(content_type) or charsets.of_document(body)
    if label not in _SHIFTING and _decodes(body):
        return body
    return charsets.decoded(body, label or _likeliest(body)).lstrip("\ufeff").encode("utf-8", "replace")


REFUSED = charsets.REPLACED.encode()
"""All that is left of a document in an encoding browsers refuse to read."""


def document_start(body: bytes) -> tuple[str, int]:
    """The name of the root element, in lower case without prefix, and where the document begins.

    Junk before an XML document (a warning of the server's scripts) is passed over. The name is empty where there is no
    markup, and `html` where a document type says so and no root of a feed, sitemap or OPML list follows.
    """
    root = _root(body)
    if root == "html" or root in KNOWN_ROOTS:
        return root, 0
    embedded = _EMBEDDED.search(body, 0, 8192)
    inner = "" if embedded is None else _root(body[embedded.start() :])
    return (inner, embedded.start()) if embedded is not None and inner in KNOWN_ROOTS else (root, 0)


LIST_ROOTS = frozenset(("rss", "rdf", "feed", "channel", "urlset", "sitemapindex"))
KNOWN_ROOTS = LIST_ROOTS | {"opml"}


def refuse_entities(document: Any, what: str) -> None:
    """UnreadableError for a document whose type declaration declares entities.

    Parameters
        document: UTF-8, before it is parsed; or an element of the tree made of it
        what: "the feed", for the message
    """
    found = _shows_entities(document) if isinstance(document, bytes) else _holds_entities(document)
    if found:
        raise UnreadableError(f"{what} declares entities of its own, which is refused: it may be a bomb or steal files")


class Damage(IntEnum):
    """What is wrong with an XML document: nothing; something that repair undoes; ends of elements that never began."""

    NONE = 0
    REPAIRED = 1
    MISNESTED = 2


def tree(body: bytes, what: str) -> tuple[Any, Damage]:
    """The root element, and what had to be repaired; UnreadableError if nothing can be made of it.

    Parameters
        body: UTF-8
        what: "feed", for the message
    """
    refuse_entities(body, f"the {what}")
    if len(body) > MOST_ELEMENTS and body.count(b"<") - body.count(b"</") > MOST_ELEMENTS:
        raise UnreadableError(f"the {what} has more than {MOST_ELEMENTS} elements")
    root, damage = _parsed(body, what)
    refuse_entities(root, f"the {what}")
    return root, damage


def _parsed(body: bytes, what: str) -> tuple[Any, Damage]:
    try:
        return etree.fromstring(body, _STRICT), Damage.NONE
    except (etree.XMLSyntaxError, ValueError):
        pass
    body = repaired(body)
    refuse_entities(body, f"the {what}")
    recovering = _parser(True)  # of its own: the log of a shared one may be another thread's by the time it is read
    try:
        root = etree.fromstring(body, recovering)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableError(f"not a readable {what}: {str(error)[:200]}") from error
    if root is None:
        raise UnreadableError(f"not a readable {what}: no markup in it")
    misnested = any(error.type == etree.ErrorTypes.ERR_TAG_NAME_MISMATCH for error in recovering.error_log)
    return root, Damage.MISNESTED if misnested else Damage.REPAIRED


def repaired(body: bytes) -> bytes:
    """Without characters XML forbids, with all named characters as numbers, and with every & a valid one.

    Names go because the parser drops them once it has met an error, `&amp;` too; CDATA sections have no references.
    """
    body = body.translate(None, _CONTROLS)
    if body.count(b"&") > MOST_AMPERSANDS:
        return body.replace(b"&", b"&#38;")
    slow_work(body.count(b"&") // 4)
    return _REFERENCE.sub(_mended, body) if b"&" in body else body


def whole_entries(body: bytes) -> tuple[bytes, bool]:
    """A feed or sitemap up to the entry it breaks off in, and whether it breaks off.

    >>> whole_entries(b"<rss><item>1</item><item>2"), whole_entries(b"<rss><item>1</item></rss> ")
    ((b'<rss><item>1</item>', True), (b'<rss><item>1</item></rss> ', False))
    """
    opened: list[tuple[bytes, int]] = []
    names: Counter[bytes] = Counter()
    for found in _ENTRY_MARKUP.finditer(body):
        if found[2] is None:
            continue
        name = found[2].lower()
        if found[1]:
            while found[3] and names[name]:  # with all that was left open in it
                last, _ = opened.pop()
                names[last] -= 1
                if last == name:
                    break
        elif not found[0].endswith(b"/>"):
            opened.append((name, found.start()))
            names[name] += 1
    if not opened:
        return body, False
    place = next((place for name, place in opened if name in _ENTRIES), len(body))
    return body[:place], True


def _parser(recover: bool) -> Any:
    return etree.XMLParser(
        encoding="utf-8", resolve_entities=False, load_dtd=False, dtd_validation=False, no_network=True,
        huge_tree=False, recover=recover, remove_comments=True, remove_pis=True, collect_ids=False,
    )  # fmt: skip


_STRICT = _parser(False)


def _root(body: bytes) -> str:
    """The name of the first element, whatever may come before it; "html" for a type that says so, save of feeds."""
    place, page = 0, False
    while True:
        while (skipped := _PROLOG.match(body, place)) and skipped.end() > place:
            place = skipped.end()
        kind = _DOCTYPE.match(body, place)
        if kind is None:
            break
        page = page or (kind[1] or b"").lower() == b"html"
        place = _end_of_doctype(body, kind.end())
    root = _ROOT.match(body, place)
    name = "" if root is None else root[1].rpartition(b":")[2].decode("ascii", "replace").lower()
    return "html" if page and name not in KNOWN_ROOTS else name


def _end_of_doctype(body: bytes, place: int) -> int:
    opened = _SUBSET.match(body, place)
    if opened is not None:
        place = opened.end()
        if opened[1]:
            closed = body.find(b"]", place)
            place = len(body) if closed < 0 else closed
    end = body.find(b">", place)
    return len(body) if end < 0 else end + 1


def _holds_entities(element: Any) -> bool:
    """Whether the parser met a declaration."""
    declared = element.getroottree().docinfo.internalDTD
    return declared is not None and any(True for _ in declared.iterentities())


def _shows_entities(body: bytes) -> bool:
    """Whether a document type with an internal subset comes before the first element, and an entity after it."""
    if b"<!ENTITY" not in body:
        return False
    place = 0
    while (skipped := _PROLOG.match(body, place)) and skipped.end() > place:
        place = skipped.end()
    kind = _DOCTYPE.match(body, place)
    if kind is None:
        return False
    opened = _SUBSET.match(body, kind.end())
    return opened is not None and bool(opened[1]) and body.find(b"<!ENTITY", opened.end()) >= 0


def _decodes(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _with_a_whole_end(body: bytes) -> bytes:
    """With U+FFFD for half a character at the end, where all before it is UTF-8: the document was cut there."""
    for size in range(1, min(4, len(body) + 1)):
        byte = body[-size]
        if byte >= 0xC0:
            before = body[:-size]
            whole = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            cut = size < whole and not before.isascii() and _decodes(before)
            return before + charsets.REPLACED.encode() if cut else body
        if byte < 0x80:
            break
    return body


def _likeliest(body: bytes) -> str:
    """Without a label: UTF-8 if most of what is not ASCII is, as where the end was cut off; else windows-1252."""
    text = body.decode("utf-8", "replace")
    broken = text.count(charsets.REPLACED)
    return "utf-8" if 2 * broken <= len(text) - len(text.encode("ascii", "ignore")) else "windows-1252"


def _transcoded(body: bytes, name: str) -> bytes:
    return body.decode(name, "replace").lstrip("\ufeff").encode("utf-8", "replace")


def _mended(found: re.Match[bytes]) -> bytes:
    if found[0][:1] == b"<":
        return found[0]
    if found[1] or found[2]:
        return found[0] if _allowed(int(found[1], 16) if found[1] else int(found[2])) else b""
    characters = html5.get(found[3].decode("ascii")) if found[3] else None
    if characters is None:
        return b"&#38;" + found[0][1:]
    return b"".join(b"&#%d;" % ord(character) for character in characters)


def _allowed(code: int) -> bool:
    return code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
