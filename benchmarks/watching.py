"""How many changes of pages are found, and how many alarms are false: 200 pages of 20 shapes whose truth is known.

A server on loopback has ten pages of each shape. Between two visits a page changes in what matters with a chance of one
in twelve; what does not matter (advertisements, counters, tokens, the order of links …) changes as it does on such
pages. A real crawler visits every page in every round. A change that is reported at the visit after it counts as found;
one that is reported when nothing that matters had changed is a false alarm.

Three watchers see the very same answers: recrawl as it is, recrawl that learns nothing (`restless = false`), and the
documented defaults of changedetection.io: all the text of a page without scripts and styles, compared as a whole, no
filter, no browser. The last is computed here, not run. Shells are empty until a browser has run their scripts: the
first two let one show them (extra `browser`, and a Chromium). "Learned" is what the last half of the rounds gave.

    python -m benchmarks.watching [--rounds 40] [--pages 10] [--shape NAME …] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from lxml import etree, html

from recrawl.config import Config, SourceOptions
from recrawl.config.loading import replaced
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from recrawl.wiring import make_crawler

CHANCE = 1 / 12
WORDS = (
    "harbour", "ledger", "meadow", "signal", "copper", "window", "orchard", "bridge", "lantern", "summit", "canal",
    "archive", "pepper", "marble", "forest", "engine", "violin", "anchor", "candle", "desert", "button", "island",
)  # fmt: skip
SETTINGS = {
    "budget": "5000/s",
    "politeness.delay": "0s",
    "politeness.min_interval": "0s",
    "politeness.parallel_per_host": 32,
    "politeness.backoff": "1ms",
    "fetch.allow_private": True,
    "cold_start": 1.0,
    "retention.versions": 10_000,
    "browser.sandbox": os.geteuid() != 0,
    "browser.pages": 2,
    "browser.screenshots": False,
}


@dataclass
class Page:
    """One page: `version` is how often what matters has changed, `noise` draws what does not."""

    shape: str
    number: int
    version: int = 0
    changes: list[int] = field(default_factory=list)
    """The visits at which something that matters had changed."""
    noise: random.Random = field(default_factory=random.Random)
    visit: int = 0
    body: tuple[str, bytes] = ("", b"")

    def words(self, name: object, count: int) -> str:
        """Words of this page, always the same for a name."""
        return " ".join(random.Random(f"{self.shape} {self.number} {name}").choices(WORDS, k=count))

    def sentence(self, name: object, count: int = 9) -> str:
        """The same as a sentence."""
        return self.words(name, count).capitalize() + "."


Shape = Callable[[Page], tuple[str, bytes]]
SHAPES: dict[str, Shape] = {}


def shape(make: Shape) -> Shape:
    SHAPES[make.__name__] = make
    return make


def document(page: Page, body: str, head: str = "") -> tuple[str, bytes]:
    whole = (
        f"<!doctype html><html><head><title>{page.words('title', 3)}</title>{head}</head><body>"
        f"<nav><a href='/'>Home</a> <a href='/about'>About</a></nav><main>{body}</main>"
        f"<footer>{page.words('footer', 4)}</footer></body></html>"
    )
    return "text/html", whole.encode()


def text(page: Page, paragraphs: int = 8) -> str:
    """The text that matters: one of its paragraphs is another one after each change."""
    newest = {(each * 5) % paragraphs: each for each in range(1, page.version + 1)}
    return "".join(f"<p>{page.sentence((place, newest.get(place, 0)), 14)}</p>" for place in range(paragraphs))


def paragraphs(page: Page, first: int, last: int) -> str:
    """Text that never changes."""
    return "".join(f"<p>{page.sentence(('still', place), 14)}</p>" for place in range(first, last))


@shape
def terms(page: Page) -> tuple[str, bytes]:
    return document(page, f"<h1>Terms</h1>{text(page)}")


@shape
def clock(page: Page) -> tuple[str, bytes]:
    return document(page, f"<p>Page generated {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())} UTC</p>{text(page)}")


@shape
def ads(page: Page) -> tuple[str, bytes]:
    number = page.noise.randrange(1000)
    offer = f"<div class='a1'><p>{page.sentence(('ad', number), 6)}</p><p>From {number % 97},95 euros</p></div>"
    return document(page, f"<h1>Guide</h1>{paragraphs(page, 0, 3)}{offer}{text(page)}")


@shape
def comments(page: Page) -> tuple[str, bytes]:
    page.noise.random()
    return document(page, f"<h1>Post</h1>{text(page)}<p>{800 + 3 * page.visit + page.noise.randrange(3)} comments</p>")


@shape
def views(page: Page) -> tuple[str, bytes]:
    return document(page, f"<h1>Post</h1><p>By Ann · {9000 + 7 * page.visit} views</p>{text(page)}")


@shape
def price(page: Page) -> tuple[str, bytes]:
    amount = f"{20 + page.number + 3 * (page.version % 7)}.90"
    offer = {"@context": "https://schema.org", "@type": "Product", "name": page.words("name", 2),
             "offers": {"@type": "Offer", "price": amount, "priceCurrency": "EUR"}}  # fmt: skip
    others = "".join(f"<li>{page.sentence(('other', page.noise.randrange(40)), 4)}</li>" for _ in range(4))
    body = (f"<h1>{page.words('name', 2)}</h1><p>{amount} €</p>{paragraphs(page, 0, 6)}"
            f"<p>{page.noise.randrange(5, 60)} people look at this</p><h2>Others</h2><ul>{others}</ul>")  # fmt: skip
    return document(page, body, f"<script type='application/ld+json'>{json.dumps(offer)}</script>")


@shape
def table(page: Page) -> tuple[str, bytes]:
    cells = {(each * 3) % 12: each for each in range(1, page.version + 1)}
    rows = "".join(
        f"<tr><td>{page.words(('row', row), 2)}</td><td>{10 + row + cells.get(row, 0)}.50</td></tr>"
        for row in range(12)
    )
    return document(page, f"<h1>Prices</h1><table>{rows}</table><p>Rates by {page.words('by', 2)}</p>")


@shape
def json_api(page: Page) -> tuple[str, bytes]:
    items = [{"name": page.words(("item", k), 2), "price": 10 + k + page.version * (k == 2)} for k in range(5)]
    said = {"request": f"{page.noise.getrandbits(64):016x}", "took_ms": page.noise.randrange(90), "items": items,
            "server": f"node-{page.noise.randrange(30)}"}  # fmt: skip
    return "application/json", json.dumps(said).encode()


@shape
def plain_text(page: Page) -> tuple[str, bytes]:
    lines = re.sub(r"</?p>", "\n", text(page))
    return "text/plain", f"serial {page.noise.randrange(10**9)}\n{lines}\n".encode()


@shape
def pdf(page: Page) -> tuple[str, bytes]:
    made = f"D:2026{page.noise.randrange(10**10):010d}"
    return "application/pdf", simple_pdf([page.sentence(("line", page.version * (k == 1), k)) for k in range(5)], made)


@shape
def shuffled_links(page: Page) -> tuple[str, bytes]:
    links = [f"<li><a href='/{k}'>{page.words(('link', k), 5)}</a></li>" for k in range(6)]
    page.noise.shuffle(links)
    return document(page, f"<h1>Page</h1>{text(page)}<p>More of this</p><ul>{''.join(links)}</ul><p>Imprint</p>")


@shape
def cookie_wall(page: Page) -> tuple[str, bytes]:
    wall = "<div class='box'><p>We and our 812 partners value your privacy.</p><p>Accept all</p></div>"
    return document(page, f"{wall if page.noise.random() < 0.5 else ''}<h1>Notice</h1>{text(page)}")


@shape
def a_or_b(page: Page) -> tuple[str, bytes]:
    slogan = page.noise.choice(["Try it free for thirty days", "Start now and pay later"])
    return document(page, f"<h1>Product</h1><p>{slogan}</p>{text(page)}")


@shape
def related(page: Page) -> tuple[str, bytes]:
    chosen = page.noise.sample(range(40), 4)
    others = "".join(f"<p>{page.sentence(('related', k), 6)}</p>" for k in chosen)
    return document(page, f"<article>{text(page)}</article><h2>Read on</h2>{others}<p>Imprint of the paper</p>")


@shape
def news(page: Page) -> tuple[str, bytes]:
    items = "".join(f"<li>{page.sentence(('news', k), 8)}</li>" for k in range(page.version + 12, page.version, -1))
    return document(page, f"<h1>News</h1><ul>{items}</ul>{paragraphs(page, 0, 2)}<p>{page.visit * 3} readers wrote</p>")


@shape
def shell(page: Page) -> tuple[str, bytes]:
    return "text/html", (
        b"<!doctype html><html><head><title>App</title></head><body><div id='root'></div>"
        b"<noscript>You need to enable JavaScript to run this app.</noscript><script>"
        b"fetch('?data').then(answer => answer.json()).then(data => { for (const text of data.text) {"
        b"const line = document.createElement('p'); line.innerText = text; document.getElementById('root').append(line)"
        b"} })</script></body></html>"
    )


def shell_data(page: Page) -> dict[str, list[str]]:
    """What the script of a shell asks for."""
    return {"text": [page.sentence(("shell", page.version * (k == 0), k)) for k in range(6)]}


@shape
def forum(page: Page) -> tuple[str, bytes]:
    posts = "".join(
        f"<p>{page.words(('poster', k), 1)} · {page.visit + 3 * k + 2} minutes ago</p>"
        f"<p>{page.sentence(('post', k))}</p>"
        for k in range(page.version, page.version + 6)
    )
    return document(page, f"<h1>Thread</h1>{posts}<p>{page.noise.randrange(20, 90)} users are reading this</p>")


@shape
def tokens(page: Page) -> tuple[str, bytes]:
    token = f"{page.noise.getrandbits(160):040x}"
    form = f"<form><input type='hidden' name='csrf' value='{token}'></form><p>Request id: {token}</p>"
    return document(page, f"<h1>Account</h1>{text(page)}{form}<p>Ref {page.noise.getrandbits(64):X}</p>")


@shape
def stock(page: Page) -> tuple[str, bytes]:
    state = "Sold out" if page.version % 2 else "In stock"
    body = (f"<h1>{page.words('name', 2)}</h1><p>{state}</p><p>{40 + page.number} €</p>{paragraphs(page, 0, 5)}"
            f"<p>{page.noise.randrange(2, 50)} people have this in their cart</p>")  # fmt: skip
    return document(page, body)


@shape
def release(page: Page) -> tuple[str, bytes]:
    body = (f"<h1>Releases</h1><p>Version 4.{page.version}.0</p>{paragraphs(page, 0, 4)}"
            f"<p>{120_000 + 37 * page.visit} downloads</p><p>{page.sentence(('tip', page.noise.randrange(30)), 7)}</p>"
    )  # fmt: skip
    return document(page, body)


def simple_pdf(lines: list[str], made: str) -> bytes:
    """One page of text; the date at which it was made is in it."""
    drawn = b"BT /F1 12 Tf 50 750 Td 14 TL " + b" ".join(f"({line}) Tj T*".encode() for line in lines) + b" ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
        f"<< /CreationDate ({made}) >>".encode(),
    ]
    out, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table_at = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer << /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        table_at,
    )


# -- changedetection.io's defaults, computed


def all_text(kind: str, body: bytes) -> str:
    """Of a page all text a browser might show; of a PDF the text in it; of anything else all of it."""
    if kind == "text/html":
        root = html.document_fromstring(body)
        etree.strip_elements(root, "script", "style", "template", "head", with_tail=False)
        return "\n".join(" ".join(line.split()) for line in root.itertext() if line.strip())
    if kind == "application/pdf":
        return "\n".join(each.decode() for each in re.findall(rb"\(([^)]*)\) Tj", body))
    return body.decode()


class Defaults:
    """Says of each visit whether all text is as it was."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int], bytes] = {}

    def changed(self, page: Page) -> bool:
        """At this visit."""
        now = hashlib.md5(all_text(*page.body).encode(), usedforsecurity=False).digest()
        before, self._seen[page.shape, page.number] = self._seen.get((page.shape, page.number)), now
        return before is not None and before != now


# -- the run


class Site:
    """Serves the pages of a round, the same answer to everybody."""

    def __init__(self, shapes: list[str], count: int) -> None:
        self.pages = {
            f"{name}/{number}": Page(name, number, noise=random.Random(f"{name} {number}"))
            for name in shapes
            for number in range(count)
        }
        self._draw = random.Random(1)

    def turn(self, visit: int) -> None:
        """The next round: what changes on each page, and what it answers."""
        for page in self.pages.values():
            page.visit = visit
            if visit and self._draw.random() < CHANCE:
                page.version += 1
                page.changes.append(visit)
            page.body = SHAPES[page.shape](page)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The page by the last two parts of its address; the first names the watcher."""
        page = self.pages.get(request.path.partition("/w/")[2].partition("/")[2])
        if page is None:
            return web.Response(status=404)
        if request.query_string == "data":
            return web.json_response(shell_data(page))
        kind, body = page.body
        return web.Response(body=body, content_type=kind)


async def crawled(config: Config) -> None:
    with open_store(config.store) as store:
        store.claim("a benchmark", time.time())
        await make_crawler(config, store).run(time.time() + 600.0, once=True)


async def visited(folder: Path, site: Site, rounds: int) -> dict[str, dict[str, set[int]]]:
    """By watcher and page the visits at which it reported a change."""
    config = replaced(Config(), {"store": str(folder / "recrawl.db"), **SETTINGS})
    runner = web.ServerRunner(web.Server(site.answer))
    await runner.setup()
    place = web.TCPSite(runner, "127.0.0.1", 0)
    await place.start()
    base, others = f"http://127.0.0.1:{runner.addresses[0][1]}/w", Defaults()
    reported: dict[str, dict[str, set[int]]] = {"defaults": {name: set() for name in site.pages}}
    watchers = {"learning": None, "not learning": False}
    with open_store(config.store) as store:
        store.add([
            Source(url=f"{base}/{watcher.replace(' ', '-')}/{name}", kind="page", options=SourceOptions(restless=said))
            for watcher, said in watchers.items() for name in site.pages
        ])  # fmt: skip
    for visit in range(rounds):
        site.turn(visit)
        for name, page in site.pages.items():
            if others.changed(page):
                reported["defaults"][name].add(visit)
        await crawled(config)
    await runner.cleanup()
    with open_store(config.store) as store:
        for watcher in watchers:
            reported[watcher] = {name: set() for name in site.pages}
        for source in store.sources():
            watcher, _, name = source.url.partition("/w/")[2].partition("/")
            log = [*reversed(store.crawls(source=source.id, limit=10 * rounds))]
            if len(log) != rounds or any(each.outcome in ("failed", "refused") for each in log):
                raise SystemExit(f"{source.url}: {[(each.outcome, each.error) for each in log][-3:]}")
            said = {visit for visit, each in enumerate(log) if each.outcome == "changed"}
            reported[watcher.replace("-", " ")][name] = said
    return reported


@dataclass
class Count:
    """Over some pages and visits."""

    visits: int = 0
    changes: int = 0
    found: int = 0
    false: int = 0

    def add(self, page: Page, said: set[int], visits: range) -> None:
        """What was reported of a page at these visits."""
        true = {visit for visit in page.changes if visit in visits}
        self.visits += len(visits)
        self.changes += len(true)
        self.found += len(true & said)
        self.false += sum(visit in visits for visit in said - set(page.changes))

    @property
    def per_thousand(self) -> float:
        """False alarms per thousand visits."""
        return 1000.0 * self.false / max(self.visits, 1)

    def __str__(self) -> str:
        return f"{self.found:4}/{self.changes:<4} {self.per_thousand:6.1f}"


def counts(site: Site, reported: dict[str, dict[str, set[int]]], rounds: int) -> Iterator[tuple[str, dict[str, Count]]]:
    """By shape, and in the end over all."""
    halves = {
        "defaults": ("defaults", range(1, rounds)),
        "not learning": ("not learning", range(1, rounds)),
        "learning": ("learning", range(1, rounds)),
        "learned": ("learning", range(rounds // 2, rounds)),
    }
    shapes = list(dict.fromkeys(page.shape for page in site.pages.values()))
    for name in [*shapes, "all"]:
        row = {column: Count() for column in halves}
        for path, page in site.pages.items():
            for column, (watcher, visits) in halves.items():
                if name in (page.shape, "all"):
                    row[column].add(page, reported[watcher][path], visits)
        yield name, row


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rounds", type=int, default=40)
    asked.add_argument("--pages", type=int, default=10, help="of each shape")
    asked.add_argument("--shape", nargs="*", choices=list(SHAPES), default=list(SHAPES))
    asked.add_argument("--quick", action="store_true", help="two pages of each shape, 20 rounds")
    asked.add_argument("--json", type=Path)
    given = asked.parse_args()
    rounds, pages = (20, 2) if given.quick else (given.rounds, given.pages)
    site = Site(given.shape, pages)
    with tempfile.TemporaryDirectory() as folder:
        reported = asyncio.run(visited(Path(folder), site, rounds))
    print(f"{len(site.pages)} pages, {rounds} visits of each; found/changes, and false alarms per 1000 visits")
    print(f"{'':16}{'all text':>17}{'not learning':>17}{'learning':>17}{'learned':>17}")
    told: dict[str, Any] = {}
    for name, row in counts(site, reported, rounds):
        print(f"{name:16}" + "".join(f"{row[column]!s:>17}" for column in row))
        told[name] = {
            column: {"visits": each.visits, "changes": each.changes, "found": each.found, "false": each.false}
            for column, each in row.items()
        }
    if given.json:
        given.json.write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
