"""The main text of pages beside that of trafilatura and readability-lxml: quality, changes noticed, processor time.

Sets of pages with texts that people chose are looked for in folders that are named; none is part of this repository.
Known are checkouts of scrapinghub/article-extraction-benchmark, Murrough-Foley/web-content-extraction-benchmark (WCXB:
articles, and also products, forums, listings, documentation …), mozilla/readability and adbar/trafilatura (sentences,
not whole texts). The libraries are measured where they are installed; recrawl needs neither.

Quality: precision and recall of runs of four words, their means over pages, and F1 of these, as the first of the sets
has it. Changes: words are put into passages that the gold text has, and into passages that have nothing of it; numbers
of the gold text become others; one reading of the changed page tells which of them reached the text. A page is *blind*
if nothing of what was changed in its gold text did. Hostile pages: each in a process of its own, with a limit of time.

Long, because sets, readers and measures are of use only together.

Run: python -m benchmarks.main_text FOLDER … [--set NAME …] [--pages N] [--only READER …] [--json FILE]
     python -m benchmarks.main_text --hostile [--seconds S]
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import random
import re
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from recrawl.crawl.reading.decoding import utf8
from recrawl.crawl.reading.main_text import picked_text
from recrawl.crawl.reading.pages import read_page

NOW = 1.79e9
RUN = 4
"""Words of a run."""
EDITS = 6
"""Of each kind, on a page."""
UNSEEN = frozenset(("script", "style", "template", "head", "noscript", "textarea", "select", "iframe", "svg", "title"))
WORD = re.compile(r"\w+")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
PARSER = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
Reader = Callable[[str], str]


class Page(NamedTuple):
    """A page with its gold text, or with sentences that are part of it and others that are not."""

    kind: str
    source: str
    gold: str = ""
    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()


# Sets of pages.


def decoded(body: bytes) -> str:
    return utf8(body, "text/html").decode("utf-8", "replace")


def all_text(source: str) -> str:
    """All that can be seen, line by line."""
    root = etree.fromstring(source.encode("utf-8", "replace"), PARSER)
    return "" if root is None else "\n".join(picked_text(root).lines)


def articles(folder: Path) -> Iterator[Page]:
    """Of article-extraction-benchmark."""
    for name, gold in sorted(json.loads((folder / "ground-truth.json").read_text()).items()):
        body = gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes())
        yield Page("article", decoded(body), gold["articleBody"])


def kinds(folder: Path) -> Iterator[Page]:
    """Of one half of WCXB."""
    for path in sorted((folder / "ground-truth").glob("*.json")):
        entry = json.loads(path.read_text())
        truth = entry["ground_truth"]
        body = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        kind = ((entry.get("_internal") or {}).get("page_type") or {}).get("primary", "article")
        yield Page(kind, decoded(body), truth.get("main_content") or "")


def readable(folder: Path) -> Iterator[Page]:
    """Of readability's tests: its own text, looked over by people."""
    for place in sorted(folder.iterdir()):
        yield Page(
            "article", decoded((place / "source.html").read_bytes()), all_text((place / "expected.html").read_text())
        )


def sentences(folder: Path) -> Iterator[Page]:
    """Of trafilatura's evaluation."""
    for entry in json.loads((folder / "evaldata.json").read_text()).values():
        path = next(path for part in ("cache", "eval") if (path := folder / part / entry["file"]).exists())
        yield Page(
            "sentences",
            decoded(path.read_bytes()),
            wanted=tuple(entry["with"] or ()),
            unwanted=tuple(entry["without"] or ()),
        )


SETS: dict[str, tuple[str, str, Callable[[Path], Iterator[Page]]]] = {
    "articles": ("ground-truth.json", ".", articles),
    "kinds": ("dev/ground-truth", "dev", kinds),
    "kinds, held out": ("test/ground-truth", "test", kinds),
    "readability": ("test/test-pages", "test/test-pages", readable),
    "trafilatura": ("tests/evaldata.json", "tests", sentences),
}
"""What tells that a folder has the set, where it is in it, and how it is read."""


# Readers.


def ours(source: str) -> str:
    return read_page(source.encode("utf-8", "replace"), "https://example.org/", NOW, keep_text=10_000_000).text


def of_trafilatura(**options: Any) -> Reader:
    from trafilatura import extract

    return lambda source: extract(source, **options) or ""


def of_readability() -> Reader:
    from readability import Document

    return lambda source: all_text(Document(source).summary())


READERS: dict[str, Callable[[], Reader]] = {
    "recrawl": lambda: ours,
    "trafilatura, fast": lambda: of_trafilatura(fast=True),
    "trafilatura": lambda: of_trafilatura(),
    "trafilatura, recall": lambda: of_trafilatura(favor_recall=True),
    "readability": of_readability,
    "all text": lambda: all_text,
}


def installed(only: Iterable[str]) -> dict[str, Reader]:
    readers = {}
    for name, make in READERS.items():
        if not only or name in only:
            try:
                readers[name] = make()
            except ImportError as missing:
                print(f"{name}: not measured, {missing}")
    return readers


# Quality.


def words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def runs(text: str) -> Counter[tuple[str, ...]]:
    """Of four words; a shorter text is one run."""
    found = words(text)
    return Counter(tuple(found[k : k + RUN]) for k in range(max(len(found) - RUN + 1, min(len(found), 1))))


def shares(text: str, page: Page) -> tuple[float | None, float | None]:
    """Precision and recall, of runs or of sentences; None where there is nothing to be counted."""
    if page.gold:
        read, gold = runs(text), runs(page.gold)
        common, size, expected = (read & gold).total(), read.total(), gold.total()
    else:
        shown = " ".join(text.split())
        common, wrong = (sum(" ".join(s.split()) in shown for s in part) for part in (page.wanted, page.unwanted))
        size, expected = common + wrong, len(page.wanted)
    return common / size if size else None, common / expected if expected else None


# Changes.


class Edit(NamedTuple):
    """A token that was put into a page, and what it is part of: passage, number, outside."""

    token: str
    kind: str


def texts(root: Any) -> Iterator[tuple[Any, str]]:
    """Where a text stands that may be seen: an element, and `text` or `tail`."""
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "start":
            if not isinstance(element.tag, str) or element.tag in UNSEEN:
                walk.skip_subtree()
            elif element.text and not element.text.isspace():
                yield element, "text"
        elif element.tail and not element.tail.isspace() and element is not root:
            yield element, "tail"


def is_outside(
    said: list[str], here: Counter[tuple[str, ...]], gold: Counter[tuple[str, ...]], known: set[str]
) -> bool:
    """Whether a text has nothing of the gold text: of a long one no run, of a short one few words."""
    if len(said) >= 2 * RUN:
        return not any(run in gold for run in here)
    return bool(said) and sum(word in known for word in said) * 4 <= len(said)


def edited(page: Page, rng: random.Random) -> tuple[str, str, list[Edit]] | None:
    """The page written anew, the same with tokens in it, and these."""
    root = etree.fromstring(page.source.encode("utf-8", "replace"), PARSER)
    if root is None or not page.gold:
        return None
    plain = etree.tostring(root, encoding="unicode", method="html")
    gold = runs(page.gold)
    known, lines = set(words(page.gold)), {" ".join(words(line)) for line in page.gold.splitlines()}
    places: dict[str, list[tuple[Any, str]]] = {"passage": [], "number": [], "outside": []}
    seen = Counter(" ".join(words(getattr(element, side))) for element, side in texts(root))
    for element, side in texts(root):
        text = getattr(element, side)
        said = words(text)
        if seen[" ".join(said)] > 1:
            continue  # Which of them people meant cannot be told.
        here = runs(text)
        if (len(said) >= RUN and all(run in gold for run in here)) or " ".join(said) in lines:
            places["number" if NUMBER.search(text) else "passage"].append((element, side))
        elif is_outside(said, here, gold, known):
            places["outside"].append((element, side))
    made = []
    for kind, found in places.items():
        for element, side in rng.sample(found, min(EDITS, len(found))):
            token = f"{rng.randrange(10**8, 10**9)}" if kind == "number" else f"zq{rng.randrange(10**8, 10**9)}"
            text = getattr(element, side)
            if kind == "number":
                text = NUMBER.sub(token, text, count=1)
            else:
                middle = text.find(" ", len(text) // 2)
                middle = middle if middle > 0 else len(text)
                text = f"{text[:middle]} {token} {text[middle:]}"
            setattr(element, side, text)
            made.append(Edit(token, kind))
    return plain, etree.tostring(root, encoding="unicode", method="html"), made


# Measuring.


@dataclass
class Score:
    """Of one reader on one set, or on the pages of one kind in it."""

    pages: int = 0
    empty: int = 0
    failed: int = 0
    blind: int = 0
    cpu_ms: list[float] = field(default_factory=list)
    precision: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    made: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)

    def add(self, page: Page, text: str, cpu_ms: float) -> None:
        """A page that was read."""
        self.pages += 1
        self.empty += not text.strip()
        self.cpu_ms.append(cpu_ms)
        for share, kept in zip(shares(text, page), (self.precision, self.recall), strict=True):
            if share is not None:
                kept.append(share)

    def add_changes(self, text: str, edits: list[Edit]) -> None:
        """A page that was read with tokens in it."""
        seen = [edit for edit in edits if edit.token in text]
        self.made.update(edit.kind for edit in edits)
        self.noticed.update(edit.kind for edit in seen)
        inside = [edit for edit in edits if edit.kind != "outside"]
        self.blind += bool(inside) and not any(edit.kind != "outside" for edit in seen)

    def row(self) -> dict[str, float]:
        """The figures."""
        precision, recall = (sum(part) / len(part) if part else 0.0 for part in (self.precision, self.recall))
        times = sorted(self.cpu_ms)
        return {
            "pages": self.pages,
            "F1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
            "precision": precision,
            "recall": recall,
            **{kind: self.noticed[kind] / self.made[kind] if self.made[kind] else 0.0
               for kind in ("passage", "number", "outside")},
            "blind": self.blind,
            "empty": self.empty,
            "failed": self.failed,
            "ms": sum(times) / len(times),
            "p99": times[len(times) * 99 // 100],
        }  # fmt: skip


def measure(pages: Iterable[Page], readers: dict[str, Reader]) -> dict[tuple[str, str], Score]:
    """By reader and kind of page; "" for all kinds."""
    scores: dict[tuple[str, str], Score] = {}
    for number, page in enumerate(pages):
        change = edited(page, random.Random(number))
        for name, read in readers.items():
            counts = [scores.setdefault((name, kind), Score()) for kind in ("", page.kind)]
            text, spent = timed(read, page.source)
            for score in counts:
                score.add(page, text or "", spent)
                score.failed += text is None
            if change:
                after, _ = timed(read, change[1])
                for score in counts:
                    score.add_changes(after or "", change[2])
    return scores


def timed(read: Reader, source: str) -> tuple[str | None, float]:
    """What was read, None if it failed, and the processor time in milliseconds."""
    started = time.process_time()
    try:
        text: str | None = read(source)
    except Exception:
        text = None
    return text, 1000.0 * (time.process_time() - started)


# Hostile pages.

SIZE = 250_000
HOSTILE: dict[str, Callable[[int], str]] = {
    "deep": lambda n: "<div>" * (n // 5),
    "deep, text": lambda n: "<div>a b c " * (n // 11),
    "deep spans": lambda n: "<span>a " * (n // 8),
    "links": lambda n: '<a href="?">a</a>' * (n // 17),
    "lines": lambda n: "a\n" * (n // 2),
    "breaks": lambda n: "a<br>" * (n // 5),
    "paragraphs": lambda n: "<p>some words, a sentence here, and on." * (n // 39),
    "open brackets": lambda n: "<" * n,
    "open tags": lambda n: "<b><i><p>a" * (n // 10),
    "cells": lambda n: "<table>" + "<tr><td>a<td>b" * (n // 14),
    "tables in tables": lambda n: "<table><tr><td>a" * (n // 16),
    "lists in lists": lambda n: "<ul><li>a" * (n // 9),
    "attributes": lambda n: "<p " + " ".join(f"a{k}=1" for k in range(n // 8)) + ">a",
    "class of commas": lambda n: "<p class='" + "comment-" * (n // 8) + "'>a",
    "one word": lambda n: "a" * n,
    "commas": lambda n: "<p>" + "," * n,
    "spaces": lambda n: "<p>" + "a" + " " * n + "b",
    "entities": lambda n: "&amp;" * (n // 5),
    "combining": lambda n: "<p>" + "a\u0301\u0323" * (n // 6),
}


def hostile(readers: dict[str, Reader], seconds: float) -> None:
    """A table of processor seconds."""
    print(f"{SIZE // 1000} KB each; processor seconds, at most {seconds:g}")
    print(f"{'':<20}" + "".join(f"{name:>22}" for name in readers))
    for name, make in HOSTILE.items():
        source = f"<!doctype html><html><head><title>a</title></head><body>{make(SIZE)}</body></html>"
        print(f"{name:<20}" + "".join(f"{alone(read, source, seconds):>22}" for read in readers.values()), flush=True)


def alone(read: Reader, source: str, seconds: float) -> str:
    """Read in a process of its own."""
    context = multiprocessing.get_context("fork")
    ours_, its = context.Pipe()
    child = context.Process(target=_read_alone, args=(read, source, seconds, its))
    child.start()
    its.close()
    child.join()
    return str(ours_.recv()) if ours_.poll() else f"killed ({child.exitcode})"


def _read_alone(read: Reader, source: str, seconds: float, answer: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    text, spent = timed(read, source)
    answer.send(f"{spent / 1000:.2f}{' failed' if text is None else '' if text.strip() else ' empty'}")


# Printing.

COLUMNS = (
    "pages",
    "F1",
    "precision",
    "recall",
    "passage",
    "number",
    "outside",
    "blind",
    "empty",
    "failed",
    "ms",
    "p99",
)


def show(title: str, scores: dict[tuple[str, str], Score]) -> None:
    print(f"\n{title}\n{'':<34}" + "".join(f"{column:>10}" for column in COLUMNS))
    for (name, kind), score in sorted(scores.items(), key=lambda each: each[0][1]):
        row = score.row()
        cells = (f"{row[c]:>10.1f}" if c in ("ms", "p99") else f"{row[c]:>10.3f}" if c in COLUMNS[1:7] else
                 f"{row[c]:>10.0f}" for c in COLUMNS)  # fmt: skip
        print(f"{name + (f' ({kind})' if kind else ''):<34}" + "".join(cells), flush=True)


def found_in(folders: Iterable[Path]) -> dict[str, Callable[[], Iterator[Page]]]:
    return {
        name: lambda read=read, place=folder / place: read(place)  # type: ignore[misc]
        for folder in folders
        for name, (sign, place, read) in SETS.items()
        if (folder / sign).exists()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--set", action="append", choices=SETS, help="Only these.")
    parser.add_argument("--pages", type=int, default=10_000, help="Of each set, at most, evenly chosen.")
    parser.add_argument("--only", action="append", choices=READERS, default=[], help="Only these readers.")
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--seconds", type=float, default=20.0, help="For a hostile page.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    readers = installed(options.only)
    kept = {}
    for name, pages in found_in(options.folders).items():
        if not options.set or name in options.set:
            chosen = list(pages())
            step = max(1, -(-len(chosen) // options.pages))
            scores = measure(chosen[::step], readers)
            show(name, scores)
            kept[name] = {f"{reader}|{kind}": score.row() for (reader, kind), score in scores.items()}
    if options.hostile:
        hostile(readers, options.seconds)
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
