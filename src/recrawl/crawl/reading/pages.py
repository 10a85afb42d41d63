"""Pages: the text of them that counts, and a digest of it that stands still when nothing was said.

The text is the page's `main_text`, or what a selector picks, without what its owner ignores (`page_selection`). The
digest is taken without what certainly changes by itself (`noise`). Prices, other numbers, dates and times stay: those
are what people watch pages for.
"""

from __future__ import annotations

from typing import Any

from lxml import etree

from recrawl.crawl import urls
from recrawl.crawl.reading import hub_links, numbers, shells
from recrawl.crawl.reading.digests import digest_of, relation
from recrawl.crawl.reading.findings import Findings, Number, UnreadableError
from recrawl.crawl.reading.main_text import Text, main_text, picked_text
from recrawl.crawl.reading.noise import without_noise
from recrawl.crawl.reading.page_links import links_of
from recrawl.crawl.reading.page_selection import XPATH, WhatCounts, compiled, is_json_path
from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean, visible
from recrawl.crawl.reading.preview_parts import parts_of, with_kept

FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json",
                        "application/json+feed"))  # fmt: skip
MOST_FEEDS = 20
LARGEST = 4_000_000
"""Bytes of a page or text that are looked at."""
_HTML = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
_USUAL = WhatCounts()


def read_page(
    body: bytes,
    url: str,
    now: float,
    counts: WhatCounts = _USUAL,
    keep_text: int = 200_000,
    raw: bytes | None = None,
    marked: bool = False,
) -> Findings:
    """What an HTML page says.

    Parameters
        body: UTF-8
        now: of the fetch, Unix seconds
        keep_text: bytes of the text that is kept; the digest is of all of it
        raw: the body as it came, if that is another
        marked: whether to say, too, which parts count and why others do not
    """
    root = _tree(body[:LARGEST])
    if root is None:
        return Findings(kind="page", digest=digest_of(counts.rule, body if raw is None else raw))
    ignored = {element: f"ignored: {select}" for select in counts.ignore for element in picked_elements(root, select)}
    text, remark = _read_tree(root, counts.select, ignored)
    if counts.select and counts.digest == "text" and not text.lines:
        _complain_of_no_text(root, counts.select)
    always = [
        line
        for select in counts.keep
        for element in picked_elements(root, select)
        for line in picked_text(element).lines
    ]
    number = _number(root, counts, text.lines)
    if number is not None:
        always.append(number.line)
    parts = parts_of(_read_tree(root, counts.select, ignored, marked=True)[0], counts, now) if marked else ()
    text = what_counts(text, counts, always)
    shown = bounded("\n".join(text.lines), keep_text)
    return Findings(
        kind="page",
        title=clean(root.findtext(".//title") or "", TITLE_CHARACTERS),
        text=shown,
        kept=tuple(sorted(text.kept)),
        number=number,
        numbers=_all_numbers(root, text.lines) if marked else (),
        matched=matched(shown, counts.matching),
        digest=_digest(text, counts, now, body if raw is None else raw),
        advertises=advertised(root, url),
        links=links_of(root, url, picked_elements(root, counts.select) if counts.select else [root], set(ignored)),
        shell=not counts.rendered and shells.is_shell(root),
        remark=_remark(body) or _lacks(number, counts) or (remark if counts.digest == "text" else ""),
        parts=with_kept(parts, text),
        idle=_idle(root, text.lines, counts) if marked else (),
        **hub_links.of_links(root.iterfind("head/link"), url)._asdict(),
    )


def read_text(
    body: bytes,
    now: float,
    counts: WhatCounts = _USUAL,
    keep_text: int = 200_000,
    raw: bytes | None = None,
    marked: bool = False,
) -> Findings:
    """What a plain text says; parameters as of `read_page`."""
    lines = (" ".join(visible(line).split()) for line in body[:LARGEST].decode("utf-8", "replace").split("\n"))
    whole = Text([*filter(None, lines)])
    return of_lines(whole, body, now, counts, keep_text, raw, marked)


def of_lines(
    whole: Text,
    body: bytes,
    now: float,
    counts: WhatCounts,
    keep_text: int,
    raw: bytes | None,
    marked: bool,
    number: Number | None = None,
) -> Findings:
    """What a document says that is lines and no markup; parameters as of `read_page`."""
    always = [whole.lines[place] for place in sorted(whole.kept)]
    number = number or (numbers.in_lines(counts.number, whole.lines) if counts.number else None)
    text = what_counts(whole, counts, [*always, number.line] if number else always)
    shown = bounded("\n".join(text.lines), keep_text)
    return Findings(
        kind="page",
        text=shown,
        kept=tuple(sorted(text.kept)),
        number=number,
        matched=matched(shown, counts.matching),
        digest=_digest(text, counts, now, body if raw is None else raw),
        remark=_remark(body) or _lacks(number, counts),
        parts=with_kept(parts_of(whole, counts, now), text) if marked else (),
    )


def read_bytes(body: bytes, counts: WhatCounts = _USUAL, may_be_text: bool = False) -> Findings:
    """What is neither text nor markup: only how much there is, and whether it is the same.

    Parameters
        may_be_text: it could have been read, and may be at the next visit: that is no change of it
    """
    rule = counts.rule_of_bytes if may_be_text else counts.rule
    return Findings(kind="page", text=f"binary, {len(body):,} bytes", digest=digest_of(rule, body))


def what_counts(text: Text, counts: WhatCounts, always: list[str]) -> Text:
    """By its owner's word: without what is ignored, and with what always counts, wherever it stood.

    Parameters
        always: lines that do
    """
    if not counts.keep and not counts.keep_text and not always:
        return without_ignored(text, counts.ignore_text)
    patterns, wanted = [compiled(pattern) for pattern in counts.keep_text], set(always)
    kept = {
        number
        for number, line in enumerate(text.lines)
        if line in wanted or any(pattern.search(line) for pattern in patterns)
    }
    found, start = Text(), 0
    for end in [*sorted(kept), len(text.lines)]:
        firm = {number - start for number in text.firm if start <= number < end}
        found.add(without_ignored(Text(text.lines[start:end], firm), counts.ignore_text))
        found.add(Text(text.lines[end : end + 1], {0} if end in text.firm else set(), {0}))
        start = end + 1
    found.kept = {number for number in found.kept if number < len(found.lines)}
    there = set(text.lines)
    missing = [line for line in dict.fromkeys(always) if line not in there]
    found.add(Text(missing, kept=set(range(len(missing)))))
    return found


def matched(text: str, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The lines that match one of an owner's patterns, of the text that is kept: the state before is no longer."""
    looked_for = [compiled(pattern) for pattern in patterns]
    return tuple(
        line for line in (text.split("\n") if looked_for else ()) if any(pattern.search(line) for pattern in looked_for)
    )


def _number(root: Any, counts: WhatCounts, lines: list[str]) -> Number | None:
    """The number that its owner wants watched."""
    which = counts.number
    if not which:
        return None
    if which in numbers.NAMES or which.startswith(numbers.BY_TEXT):
        found = numbers.in_page(which, root) or numbers.in_lines(which, lines)
    else:
        said = (" ".join(picked_text(element).lines) for element in picked_elements(root, which))
        found = next(filter(None, (numbers.number_in_text("number", text, "selected") for text in said)), None)
    return found


def _idle(root: Any, lines: list[str], counts: WhatCounts) -> tuple[str, ...]:
    """What its owner says of the page, and is about nothing of it today."""
    selectors = [select for select in (*counts.ignore, *counts.keep) if not picked_elements(root, select)]
    patterns = [each for each in counts.keep_text if not any(compiled(each).search(line) for line in lines)]
    whole = "\n".join(picked_text(root).lines) if counts.ignore_text else ""
    return (*selectors, *patterns, *(each for each in counts.ignore_text if not compiled(each).search(whole)))


def _lacks(number: Number | None, counts: WhatCounts) -> str:
    return numbers.missing(counts.number) if counts.number and number is None else ""


def _all_numbers(root: Any, lines: list[str]) -> tuple[Number, ...]:
    found = (numbers.in_page(name, root) or numbers.in_lines(name, lines) for name in numbers.NAMES)
    return tuple(filter(None, found))


def without_ignored(text: Text, patterns: tuple[str, ...]) -> Text:
    """Without what matches an owner's patterns, and without lines of which nothing is left."""
    if not patterns or not text.lines:
        return text
    whole = "\n".join(text.lines)
    for pattern in patterns:
        whole = compiled(pattern).sub(lambda found: "\n" * found[0].count("\n"), whole)
    left = Text()
    for number, line in enumerate(whole.split("\n")):
        if shown := " ".join(line.split()):
            if number in text.firm:
                left.firm.add(len(left.lines))
            left.lines.append(shown)
    return left


def says_the_same(old: str, old_at: float, new: str, new_at: float, ignore_noise: bool) -> bool:
    """Whether two texts of a page, read at these times, differ in nothing that counts."""
    counts = WhatCounts(ignore_noise=ignore_noise)
    before, after = (_digest(Text(text.split("\n")), counts, at) for text, at in ((old, old_at), (new, new_at)))
    return relation(before, after) == "same"


def _read_tree(root: Any, select: str, ignored: dict[Any, str], marked: bool = False) -> tuple[Text, str]:
    if not select:
        return main_text(root, ignored, marked)
    picked = picked_elements(root, select)
    if not picked:
        shell = f", and {shells.WORDS}" if shells.is_shell(root) else ""
        raise UnreadableError(f"the selector {select[:200]!r} picks nothing on this page{shell}")
    inside: set[Any] = set()
    text = Text()
    for element in picked:
        if element not in ignored and not any(ancestor in inside for ancestor in element.iterancestors()):
            inside.add(element)
            text.add(picked_text(element, ignored, marked))
    return text, ""


def _complain_of_no_text(root: Any, select: str) -> None:
    """UnreadableError if nothing was there to be ignored: no change of it would ever be seen."""
    if not any(picked_text(element).lines for element in picked_elements(root, select)):
        raise UnreadableError(f"the selector {select[:200]!r} picks elements without text on this page")


def _digest(text: Text, counts: WhatCounts, now: float, raw: bytes = b"") -> str:
    if counts.digest == "raw":
        return digest_of(counts.rule, raw)
    lines, stamps = without_noise(text.lines, text.firm, now, text.kept) if counts.ignore_noise else (text.lines, [])
    return digest_of(counts.rule, "\n".join(lines).encode("utf-8", "replace"), stamps)


def advertised(root: Any, url: str) -> tuple[str, ...]:
    """The feeds a page names in its head."""
    base = ""
    found: dict[str, None] = {}
    for element in root.iter("base", "link"):
        href = element.get("href")
        if not href:
            continue
        if element.tag == "base":
            base = base or urls.join(url, href) or url
        elif (
            "alternate" in element.get("rel", "").lower().split() and _media_type(element.get("type", "")) in FEED_TYPES
        ):
            target = urls.join(base or url, href)
            if target:
                found[target] = None
            if len(found) >= MOST_FEEDS:
                break
    return tuple(found)


def bounded(text: str, size: int) -> str:
    """At most so many bytes of UTF-8, with … where something was cut."""
    if len(text) * 4 <= size or len(encoded := text.encode("utf-8", "replace")) <= size:
        return text
    return encoded[: max(size - 3, 0)].decode("utf-8", "ignore") + "…"


def is_whole(text: str) -> bool:
    """Whether nothing was cut of a text that was kept."""
    return not text.endswith("…")


def _tree(body: bytes) -> Any:
    try:
        return etree.fromstring(body, _HTML) if body.strip() else None
    except (etree.XMLSyntaxError, etree.ParserError, ValueError):
        return None


def picked_elements(root: Any, select: str) -> list[Any]:
    """What a selector picks, CSS or behind `xpath:`; UnreadableError if it is none. One for JSON picks nothing."""
    from cssselect import GenericTranslator, SelectorError

    if is_json_path(select):
        return []
    is_css = not select.startswith(XPATH)
    try:
        found = root.xpath(GenericTranslator().css_to_xpath(select) if is_css else select.removeprefix(XPATH))
    except (SelectorError, etree.XPathError) as error:
        kind = "a CSS selector" if is_css else "an XPath"
        raise UnreadableError(f"the selector {select[:200]!r} is not {kind}: {error}") from error
    several = found if isinstance(found, list) else [found]
    return [each if isinstance(each, etree._Element) else _told(each) for each in several]


def _told(value: object) -> Any:
    """An attribute, a text or a number that an XPath picks, as an element that says it."""
    element = etree.Element("p")
    element.text = visible(numbers.in_digits(value) if isinstance(value, float) else str(value))
    return element


def _remark(body: bytes) -> str:
    return f"only the first {LARGEST // 1_000_000} MB were looked at" if len(body) > LARGEST else ""


def _media_type(value: str) -> str:
    return value.partition(";")[0].strip().lower()
