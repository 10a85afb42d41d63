"""Lists of sources as people have them: OPML (read by `opml`), plain text and CSV, told apart by their beginning, and
those of other programs that watch pages (`changedetection`, `urlwatch`).

Text: an address a line, a title after white space if there is one; empty lines and lines that begin with # are left
out. CSV: a heading row that has `url`, and any of the columns below, and options of sources, several lines in one cell
where there may be several (written only where a source has them); comma, semicolon or tab; cells a spreadsheet would
run as formulas are written with an apostrophe before them, which is taken off again. Nothing is fetched, and an address
that cannot be used is not an error of the whole list.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from recrawl.config.option_rules import OPTIONS
from recrawl.errors import ParameterError

if TYPE_CHECKING:
    from recrawl.store.records import Source

Format = Literal["opml", "csv", "text", "changedetection", "urlwatch"]
COLUMNS = ("url", "title", "kind", "importance", "half_life", "max_age", "cost", "tags", "select", "state")
_ALIASES = {"xmlurl": "url", "feed": "url", "link": "url", "address": "url", "name": "title", "text": "title",
            "tag": "tags", "folder": "tags", "category": "tags", "header": "headers"}  # fmt: skip
KINDS = "OPML, CSV with a heading `url`, text with an address a line, or a list of changedetection.io or urlwatch"
# The second is what is left of the first where it was taken for text.
_PACKED = {b"\x1f\x8b": "gzip", b"\x1f\xef\xbf\xbd": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
CHANGEDETECTION, URLWATCH = "changedetection.io", "urlwatch"
"""Other programs that watch pages."""
_STATES = ("active", "paused", "retired")
SHOWN = 20
"""Of the lines that are refused, so many are shown to people; the others are counted."""
_SAMPLE, _NO_TEXT = 65536, 0.1
"""Characters looked at, and the part of them that no text has: control characters, and bytes that mean nothing."""


@dataclass(frozen=True)
class ListedSource:
    """One line of a list: where it stood, the address as written, and fields of a `Source` as written.

    Of another watcher's, also what could not be carried over, in words, and whom it notified, which may be secret.
    """

    line: int
    url: str
    fields: dict[str, Any] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    notify_urls: tuple[str, ...] = ()


def decoded(data: bytes) -> str:
    """The text of a list, whatever program wrote it."""
    for encoding in ("utf-8-sig", "utf-16") if data[:2] in _UTF_16 else ("utf-8-sig",):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("cp1252", "replace")


def format_of(data: bytes) -> Format:
    """What a list looks like by its beginning.

    >>> format_of(b'<?xml version="1.0"?><opml>'), format_of(b"title;url"), format_of(b"https://example.org/feed")
    ('opml', 'csv', 'text')
    """
    # Not `decoded`: a character that is cut in two at the end is no sign of another encoding.
    start = data[:4096].decode("utf-16" if data[:2] in _UTF_16 else "utf-8-sig", "replace").lstrip()
    if start.startswith("<"):
        return "opml"
    if start.startswith("{"):
        return "changedetection"
    if _is_urlwatch(start):
        return "urlwatch"
    heading = next((line for line in start.splitlines() if line.strip()), "")
    return "csv" if "url" in _names(heading, _delimiter(heading)) and "://" not in heading else "text"


class NoListError(ParameterError):
    """A file is no list of any kind: a picture, a program."""

    def __init__(self, name: str) -> None:
        super().__init__(name, KINDS, "something else")
        self.args = (f"{name} is neither OPML, CSV nor a list of addresses",)


@dataclass(frozen=True)
class Listing:
    """What is in a list; of an OPML list, whether it is damaged, and whether its end is missing.

    Of another watcher's, whom it notified of all pages that name nobody, and which watcher that is.
    """

    entries: list[ListedSource]
    damaged: bool = False
    cut: bool = False
    notify_urls: tuple[str, ...] = ()
    watcher: str = ""


def read_list(data: bytes, most: int | None = None, name: str = "the list") -> Listing:
    """The entries of a list of any kind, at most so many; ParameterError, with its name, for what is none."""
    packed = next((name for start, name in _PACKED.items() if data.startswith(start)), "")
    if packed == "zip" and data.startswith(b"PK\x03\x04"):
        return _zipped(data, name)
    if packed:
        raise ParameterError("the list", KINDS, f"a file packed with {packed}: unpack it first")
    form = format_of(data)
    if form == "opml":
        found = _subscriptions(data)
    elif form in _WATCHERS:
        found = _WATCHERS[form](data, name)
    else:
        found = Listing(_READERS[form](_text(data, name), most))
    if not found.entries and not found.cut:
        raise ParameterError("the list", KINDS, "one without any address" if data.strip() else "an empty file")
    return found


def _is_urlwatch(start: str) -> bool:
    from recrawl.crawl.catalogue.urlwatch import is_urlwatch

    return is_urlwatch(start)


def _zipped(data: bytes, name: str) -> Listing:
    from recrawl.crawl.catalogue.changedetection import read_zip

    return read_zip(data, name)


def _unzipped(data: bytes, name: str) -> Listing:
    from recrawl.crawl.catalogue.changedetection import read_json

    return read_json(data.removeprefix(b"\xef\xbb\xbf"), name)


def _jobs(data: bytes, name: str) -> Listing:
    from recrawl.crawl.catalogue.urlwatch import read_urlwatch

    return Listing(read_urlwatch(_text(data, name), name), watcher=URLWATCH)


_WATCHERS: dict[Format, Callable[[bytes, str], Listing]] = {
    "changedetection": _unzipped,
    "urlwatch": _jobs,
}
"""Lists of other programs that watch pages."""


def _text(data: bytes, name: str) -> str:
    text = decoded(data)
    sample = text[:_SAMPLE]
    strange = sum(not (each.isprintable() or each.isspace()) or each == "\ufffd" for each in sample)
    if "\0" in text or strange > _NO_TEXT * len(sample):
        raise NoListError(name)
    return text


def _subscriptions(data: bytes) -> Listing:
    from recrawl.crawl.catalogue.opml import read_opml
    from recrawl.crawl.reading.findings import UnreadableError

    try:
        found = read_opml(data)
    except UnreadableError as error:
        raise ParameterError("the list", KINDS, str(error)) from error
    entries = [ListedSource(each.line, each.url, {"title": each.title, "tags": each.tags}) for each in found]
    return Listing(entries, found.broken, found.cut)


def read_text(text: str, most: int | None = None) -> list[ListedSource]:
    """The entries of a plain list."""
    return list(islice(_lines(text), most))


def _lines(text: str) -> Iterator[ListedSource]:
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        url, _, title = line.strip().partition("\t" if "\t" in line.strip() else " ")
        if url and not url.startswith("#"):
            yield ListedSource(number, url, {"title": title.strip()} if title.strip() else {})


def read_csv(text: str, most: int | None = None) -> list[ListedSource]:
    """The entries of a CSV file with headings; columns of other programs are left out."""
    return list(islice(_rows(text), most))


def _rows(text: str) -> Iterator[ListedSource]:
    from recrawl.crawl.reading.plain_text import revived

    lines = io.StringIO(text.lstrip("\r\n"), newline="")
    heading = next(lines, "")
    delimiter = _delimiter(heading)
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        names = _names(heading, delimiter)
        for row in rows:
            cells = {
                name: revived(cell.strip()).strip() for name, cell in zip(names, row, strict=False) if cell.strip()
            }
            if any(cells.values()):
                fields = {name: cell for name, cell in cells.items() if name in (*COLUMNS[1:], *OPTIONS, "headers")}
                yield ListedSource(rows.line_num + 1, cells.get("url", ""), _split(fields))
    except csv.Error as error:
        raise ParameterError(f"line {rows.line_num + 1}", "a row of CSV", str(error)) from error


_READERS: dict[Format, Callable[[str, int | None], list[ListedSource]]] = {"csv": read_csv, "text": read_text}


def write_csv(sources: Iterable[Source], with_headers: bool) -> str:
    """The catalogue as `read_csv` reads it."""
    from recrawl.crawl.reading.plain_text import inert

    out, listed = io.StringIO(), list(sources)
    writer = csv.writer(out, lineterminator="\n")
    options = [name for name in OPTIONS if any(getattr(each.options, name) not in (None, ()) for each in listed)]
    writer.writerow([*COLUMNS, *options, "headers"] if with_headers else [*COLUMNS, *options])
    for source in listed:
        row = [_cell(getattr(source, name)) for name in COLUMNS]
        row += [_option_cell(getattr(source.options, name)) for name in options]
        headers = "\n".join(f"{name}: {value}" for name, value in source.headers.items())
        writer.writerow([inert(cell) for cell in ([*row, headers] if with_headers else row)])
    return out.getvalue()


def write_text(sources: Iterable[Source]) -> str:
    """Addresses, a line each, with their titles."""
    return "".join(f"{source.url} {' '.join(source.title.split())}".rstrip() + "\n" for source in sources)


def state(name: str, value: str) -> str:
    """A state a source can have."""
    if value.lower() not in _STATES:
        raise ParameterError(name, f"one of {', '.join(_STATES)}", repr(value))
    return value.lower()


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return ";".join(value)
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else str(value)


def _option_cell(value: Any) -> str:
    if isinstance(value, tuple):
        return "\n".join(value)
    return ("no", "yes")[value] if isinstance(value, bool) else _cell(value)


def _split(fields: dict[str, Any]) -> dict[str, Any]:
    if "tags" in fields:
        fields["tags"] = [tag.strip() for tag in re.split(r"[;,|]", fields["tags"]) if tag.strip()]
    if "headers" in fields:
        fields["headers"] = [line for line in fields["headers"].splitlines() if line.strip()]
    return fields


def _delimiter(heading: str) -> str:
    return max(",;\t", key=heading.count)


def _names(heading: str, delimiter: str) -> Sequence[str]:
    names = [
        re.sub(r"[ -]+", "_", cell.strip().lower()) for cell in next(csv.reader([heading], delimiter=delimiter), [])
    ]
    return [_ALIASES.get(name, name) if _ALIASES.get(name) not in names else name for name in names]
