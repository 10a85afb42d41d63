"""The synthetic web over real sockets: what it serves, what it logs, and every fault by name."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from collections.abc import Callable
from urllib.parse import urlsplit
from urllib.request import urlopen

import brotli
import feedparser
import msgspec
import pytest

from raw_requests import Answer, get, served
from recrawl.cli import run
from recrawl.clock import ManualClock
from recrawl.errors import ParameterError, RecrawlError
from recrawl.synthweb.faults import FAULTS, Rule, parse
from recrawl.synthweb.ledger import read_log, read_truth, score_log
from recrawl.synthweb.process import running
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.world import World
from until import soon


def struck(
    name: str, check: Callable[[Answer], None], most: int = 1 << 27, kind: str = "rss", **rule: object
) -> SynthWeb:
    """One request that meets a fault."""

    async def visit(web: SynthWeb) -> None:
        source = next(s for s in web.world.sources if s.kind == kind)
        check(await get(web.base.replace(web.netlocs[0], web.netlocs[source.host]) + source.path, most=most))

    web = served(visit, Rule(name=name, **rule), mix="mixed", sources=60)
    assert [a.fault for a in web.log] == [name]
    return web


# What it serves


def test_documents_grow_as_time_passes_and_show_only_their_window() -> None:
    clock = ManualClock()

    async def visit(web: SynthWeb) -> None:
        url = web.urls()[0]
        for hours in range(0, 200, 20):
            document = feedparser.parse((await get(url)).body)
            ids = [int(entry.id.rpartition(":")[2]) for entry in document.entries]
            count = len(web.truth(0).times)
            assert ids == list(range(count - 1, max(count - 5, 0) - 1, -1))
            clock.advance(20.0)
            assert len(web.truth(0).times) > count, hours

    web = served(visit, clock=clock, mix="feeds", window=5, median_rate=2.0)
    result = score_log(web.truths(), web.log)
    assert result.sources[0].found == 45
    assert result.sources[0].lost > 100


def test_an_unchanged_document_is_not_sent_again() -> None:
    clock = ManualClock()

    async def visit(web: SynthWeb) -> None:
        url = web.urls()[0]
        first = await get(url)
        again = await get(url, If_None_Match=first.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        assert (await get(url, If_None_Match='"other"', If_Modified_Since=first.headers["last-modified"])).status == 200
        assert (await get(url, If_Modified_Since=first.headers["last-modified"])).status == 304
        assert (await get(url, If_Modified_Since="yesterday")).status == 200
        clock.advance(200.0)
        assert (await get(url, If_None_Match=first.headers["etag"])).status == 200

    web = served(visit, clock=clock, median_rate=0.05)
    assert [a.status for a in web.log] == [200, 304, 200, 304, 200, 200]
    assert all(a.shown is not None for a in web.log)


def test_a_date_that_another_item_could_share_is_no_validator() -> None:
    clock = ManualClock()

    async def visit(web: SynthWeb) -> None:
        newest = web.world.arrivals(0).between(1.0, 200.0)[0]
        clock.advance(web.timeline.moment(newest) - clock.now() + 1e-3)
        assert "last-modified" not in (await get(web.urls()[0])).headers
        clock.advance(1.1)
        assert "etag" in (await get(web.urls()[0])).headers

    served(visit, clock=clock, median_rate=0.05, validators="both")


def test_gzip_is_for_those_who_accept_it() -> None:
    async def visit(web: SynthWeb) -> None:
        url = web.urls()[0]
        plain, packed = await get(url), await get(url, Accept_Encoding="gzip, br")
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body
        head = await get(url, method="HEAD")
        assert head.body == b""
        assert head.headers["content-length"] == str(len(plain.body))

    served(visit, clock=ManualClock())


@pytest.mark.parametrize("hosts_by", ["port", "address", "name"])
def test_hosts_are_told_apart(hosts_by: str) -> None:
    async def go() -> None:
        async with SynthWeb(World.make(6, 3), hosts_by=hosts_by, clock=ManualClock()) as web:
            assert len(set(web.netlocs)) == 3
            for source in web.world.sources:
                where = (
                    web.url(source)
                    if hosts_by != "name"
                    else f"http://127.0.0.1:{urlsplit(web.base).port}{source.path}"
                )
                assert (await get(where, Host=web.netlocs[source.host])).status == 200
                assert (await get(where, Host=web.netlocs[(source.host + 1) % 3])).status == 404
            assert [a.host for a in web.log[::2]] == [web.netlocs[k % 3] for k in range(6)]

    asyncio.run(go())


def test_everything_a_feed_links_to_exists() -> None:
    async def visit(web: SynthWeb) -> None:
        entry = feedparser.parse((await get(web.urls()[0])).body).entries[0]
        assert entry.title.encode() in (await get(entry.link)).body
        front = await get(web.base + "/s0/")
        assert web.world.sources[0].path.encode() in front.body
        assert b"/s3/" in (await get(web.base + "/")).body
        assert (await get(web.base + "/robots.txt")).body.startswith(b"User-agent: *")
        assert (await get(web.base + "/nothing")).status == 404

    served(visit, clock=ManualClock(), mix="feeds")


def test_a_sitemap_index_lists_the_sitemaps_of_its_host() -> None:
    async def visit(web: SynthWeb) -> None:
        index = (await get(web.base + "/sitemap_index.xml")).body.decode()
        assert [web.url(s) in index for s in web.world.sources] == [s.host == 0 for s in web.world.sources]

    served(visit, clock=ManualClock(), mix="sitemaps")


# The admin


def test_the_admin_tells_the_truth_and_is_not_logged() -> None:
    async def visit(web: SynthWeb) -> None:
        admin = web.base + "/_synthweb/"
        await get(web.urls()[1])
        truths = read_truth((await get(admin + "truth")).body)
        assert [t.url for t in truths] == web.urls()
        assert truths[1] == web.truth(1)
        assert truths[1].times[-1] <= web.clock.now()
        assert truths[1].half_life_s == pytest.approx(6.0)
        assert not read_truth((await get(admin + "truth?events=0")).body)[1].times
        assert read_log((await get(admin + "log")).body) == web.log
        assert (await get(admin + f"log?since={web.clock.now() + 1}")).body == b""
        assert (await get(admin + "text")).body.decode().split() == web.urls()
        assert (await get(admin + "opml")).body.count(b"xmlUrl") == 12
        assert (await get(admin + "csv")).body.decode().splitlines()[2].startswith(web.urls()[1] + ",feed,1,6s")
        assert json.loads((await get(admin + "clock")).body)["speed"] == 3600.0
        assert (await get(admin + "nothing")).status == 404
        assert len(web.log) == 1

    served(visit, mix="feeds", clock=ManualClock())


def test_faults_are_set_and_ended_at_the_admin() -> None:
    async def visit(web: SynthWeb) -> None:
        admin, url = web.base + "/_synthweb/faults", web.urls()[0]
        await get(admin, method="POST", body=b'{"name": "500", "times": 1}')
        assert [(await get(url)).status for _ in range(2)] == [500, 200]
        await get(admin, method="POST", body=b'[{"name": "gone", "prefix": "/s0/"}]')
        assert [(await get(u)).status for u in web.urls()[:2]] == [410, 200]
        refused = await get(admin, method="POST", body=b'{"name": "kindness"}')
        assert refused.status == 400
        assert b"name[1] must be one of" in refused.body
        assert json.loads((await get(admin, method="DELETE")).body) == []
        assert (await get(url)).status == 200

    served(visit)


def test_robots_rules_are_set_at_the_admin() -> None:
    async def visit(web: SynthWeb) -> None:
        rules = msgspec.json.encode({web.netlocs[0]: {"disallow": ["/s0/"], "crawl_delay_s": 3}})
        await get(web.base + "/_synthweb/robots", method="POST", body=rules)
        said = [(await get(base + "/robots.txt")).body for base in web.bases]
        assert [b"Disallow: /s0/" in text for text in said] == [True, False, False]
        assert (await get(web.base + "/_synthweb/robots", method="POST", body=b'{"x": {}}')).status == 400

    served(visit)


# Faults


def test_a_share_of_requests_is_struck_and_the_same_ones_every_time() -> None:
    async def visit(web: SynthWeb) -> None:
        for _ in range(20):
            for url in web.urls():
                await get(url)

    logs = [served(visit, Rule(name="500", share=0.25)).log for _ in range(2)]
    assert [a.fault for a in logs[0]] == [a.fault for a in logs[1]]
    assert 35 < sum(a.fault == "500" for a in logs[0]) < 85
    sticky = served(visit, Rule(name="500", share=0.3, sticky=True)).log
    by_path = {path: {a.fault for a in sticky if a.path == path} for path in {a.path for a in sticky}}
    assert all(len(met) == 1 for met in by_path.values())
    assert {"500"} in by_path.values()


def test_robots_txt_is_spared_unless_it_is_meant() -> None:
    async def visit(web: SynthWeb) -> None:
        assert (await get(web.base + "/robots.txt")).status == 200

    served(visit, Rule(name="500"))

    async def refused(web: SynthWeb) -> None:
        assert (await get(web.base + "/robots.txt")).status == 500

    served(refused, Rule(name="500", prefix="/robots.txt"))


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("form", ["", "_seconds", "_date", "_nonsense", "_year"])
def test_refusals(status: int, form: str) -> None:
    def check(answer: Answer) -> None:
        said = answer.headers.get("retry-after")
        assert answer.status == status
        assert (said is None) == (form == "")
        if form == "_seconds":
            assert said == "7"
        if form == "_date":
            assert said is not None
            assert said.endswith("GMT")
        if form == "_year":
            assert said == "31536000"

    entry = struck(f"{status}{form}", check, seconds=7).log[0]
    held = {"": None, "_seconds": 7.0, "_date": 7.5, "_nonsense": None, "_year": 31536000.0}[form]
    assert entry.retry_after_s == (None if held is None else pytest.approx(held, abs=0.5))
    assert entry.shown is None


@pytest.mark.parametrize(("name", "status"), [("500", 500), ("403", 403), ("404", 404), ("gone", 410)])
def test_plain_errors(name: str, status: int) -> None:
    """`struck` checks what a client sees."""
    struck(name, lambda answer: _same(answer.status, status))


@pytest.mark.parametrize(
    ("name", "status", "location"),
    [
        ("moved", 301, "/moved/s"),
        ("moved_308", 308, "/moved/s"),
        ("redirect_temporary", 302, "/moved/s"),
        ("redirect_loop", 302, "/s"),
        ("redirect_chain", 302, "/s"),
        ("redirect_other_host", 302, "http://127.0.0.1:"),
        ("redirect_private", 302, "http://10.0.0.1/"),
        ("redirect_metadata", 302, "http://169.254.169.254/"),
        ("redirect_loopback", 302, "http://127.0.0.1:9/"),
        ("redirect_mapped", 302, "http://[::ffff:10.0.0.1]/"),
        ("redirect_file", 302, "file:///etc/passwd"),
        ("redirect_scheme", 302, "gopher:"),
        ("redirect_password", 302, "http://user:secret@127"),
        ("redirect_nowhere", 302, ""),
        ("redirect_garbage", 302, "http://[not"),
    ],
)
def test_redirects(name: str, status: int, location: str) -> None:
    def check(answer: Answer) -> None:
        assert answer.status == status
        assert answer.headers.get("location", "").startswith(location)
        assert ("location" in answer.headers) == (name != "redirect_nowhere")

    struck(name, check)


@pytest.mark.parametrize(("name", "hops"), [("moved", 1), ("redirect_other_host", 1), ("redirect_chain", 12)])
def test_redirects_that_lead_somewhere_lead_to_the_document(name: str, hops: int) -> None:
    async def visit(web: SynthWeb) -> None:
        url, seen = web.urls()[0], 0
        while (answer := await get(url)).status != 200:
            where, seen = answer.headers["location"], seen + 1
            url = where if where.startswith("http") else web.base + where
        assert seen == hops
        assert b"synth:0:" in answer.body

    served(visit, Rule(name=name), mix="feeds")


@pytest.mark.parametrize("name", ["reset_before_headers", "reset_in_headers", "reset_in_body"])
def test_resets(name: str) -> None:
    def check(answer: Answer) -> None:
        assert answer.reset
        assert (b"\r\n\r\n" in answer.raw) == (name == "reset_in_body")

    web = struck(name, check)
    assert web.log[0].end is not None


def test_a_body_cut_short() -> None:
    """`struck` checks what a client sees."""
    struck("cut_short", lambda answer: _same(len(answer.body) < int(answer.headers["content-length"]), True))


@pytest.mark.parametrize("name", ["drip", "drip_headers"])
def test_a_slow_drip_is_the_right_answer_in_the_end(name: str) -> None:
    web = struck(name, lambda answer: _same(feedparser.parse(answer.body).bozo, False), seconds=0.0)
    assert web.log[0].end is not None


@pytest.mark.parametrize("name", ["never", "never_body", "drip", "endless", "endless_headers", "robots_never"])
def test_a_client_that_gives_up_ends_the_exchange(name: str) -> None:
    async def visit(web: SynthWeb) -> None:
        path = "/robots.txt" if name.startswith("robots") else web.world.sources[0].path
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(web.base).port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {web.netlocs[0]}\r\n\r\n".encode())
        if name not in ("never", "robots_never"):
            assert await reader.read(10)
        else:
            while not web.log:
                await asyncio.sleep(0)
        assert web.log[0].end is None
        writer.transport.abort()
        await soon(lambda: web.log[0].end is not None)

    served(visit, Rule(name=name))


def test_an_endless_body_goes_on_as_long_as_it_is_read() -> None:
    web = struck("endless", lambda answer: _same(len(answer.raw) >= 5_000_000, True), most=5_000_000)
    assert web.log[0].end is not None


def test_endless_headers_interim_answers_and_framing_and_no_http_at_all() -> None:
    struck("endless_headers", lambda answer: _same(b"\r\n\r\n" in answer.raw, False), most=1_000_000)
    for name in ("endless_continue", "endless_hints", "endless_extension", "tiny_chunks"):
        web = struck(name, lambda answer: _same(len(answer.raw) >= 500_000, True), most=500_000)
        assert web.log[0].end is not None
    struck("not_http", lambda answer: _same(answer.raw[:4], b"SSH-"))


SIZE = 20 << 20


@pytest.mark.parametrize("name", sorted(n for n in FAULTS if n.startswith("bomb_")))
def test_bombs_are_small_and_unpack_to_what_they_promise(name: str) -> None:
    from backports import zstd

    unpack = {
        "bomb_gzip": gzip.decompress,
        "bomb_gzip_file": gzip.decompress,
        "bomb_deflate": zlib.decompress,
        "bomb_nested": lambda b: gzip.decompress(gzip.decompress(b)),
        "bomb_nested_file": lambda b: gzip.decompress(gzip.decompress(b)),
        "bomb_brotli": brotli.decompress,
        "bomb_zstd": zstd.decompress,
    }[name]

    def check(answer: Answer) -> None:
        assert len(answer.body) < SIZE / 500
        unpacked = unpack(answer.body)
        assert len(unpacked) >= SIZE
        assert unpacked.startswith(b"<?xml")

    struck(name, check, size=SIZE)


def test_entity_bombs_and_external_entities() -> None:
    """`struck` checks what a client sees."""
    struck("entity_bomb", lambda a: _same(a.body.count(b"<!ENTITY") == 11 and len(a.body) < 2000, True))
    struck("entity_quadratic", lambda a: _same(a.body.count(b"&a;"), 40_000))
    struck("entity_external_file", lambda a: _same(b'SYSTEM "file:///etc/passwd"' in a.body, True))
    struck("entity_external_http", lambda a: _same(b'SYSTEM "http://127.0.0.1:' in a.body, True))


def entries(answer: Answer) -> list[feedparser.FeedParserDict]:
    return feedparser.parse(answer.body).entries


CONTENT_CHECKS: dict[str, Callable[[Answer], bool]] = {
    "empty": lambda a: a.body == b"",
    "malformed": lambda a: bool(feedparser.parse(a.body).bozo),
    "truncated": lambda a: bool(feedparser.parse(a.body).bozo) and len(entries(a)) > 3,
    "garbage": lambda a: not entries(a),
    "undated": lambda a: len(entries(a)) == 20 and not any("published" in e for e in entries(a)),
    "without_ids": lambda a: len(entries(a)) == 20 and not any("synth:" in e.get("id", "") for e in entries(a)),
    "changing_ids": lambda a: entries(a)[0].id.count(":") == 3,
    "control_characters": lambda a: b"\x1b[2J" in a.body,
    "restless": lambda a: a.status == 200,
    "ttl": lambda a: b"<ttl>1</ttl>" in a.body and len(entries(a)) == 20,
    "cache_control": lambda a: a.headers["cache-control"] == "max-age=60" and len(entries(a)) == 20,
    "wrong_charset": lambda a: b"Caf\xe9" in a.body and "utf-8" in a.headers["content-type"],
    "unknown_charset": lambda a: "klingon" in a.headers["content-type"],
    "wrong_type": lambda a: a.headers["content-type"] == "image/png" and len(entries(a)) == 20,
    "html_type": lambda a: a.headers["content-type"] == "text/html" and len(entries(a)) == 20,
    "no_type": lambda a: "content-type" not in a.headers and len(entries(a)) == 20,
    "dates_future": lambda a: entries(a)[0].published_parsed.tm_year > time.gmtime().tm_year + 5,
    "dates_past": lambda a: entries(a)[0].published_parsed.tm_year < time.gmtime().tm_year - 50,
    "huge_title": lambda a: len(a.body) > 10_000_000 and a.body.count(b"<item>") == 1,
    "many_entries": lambda a: a.body.count(b"<entry>") == 50_000,
    "century": lambda a: a.body.count(b"<entry>") == 5200,
    "huge_sitemap": lambda a: 30_000_000 < len(a.body) < 31_000_000 and a.body.endswith(b"</urlset>"),
    "deep_xml": lambda a: a.body.count(b"<a>") == a.body.count(b"</a>") == 1_000_000,
}


@pytest.mark.parametrize("name", CONTENT_CHECKS)
def test_broken_and_hostile_documents(name: str) -> None:
    """`struck` checks what a client sees."""
    struck(name, lambda answer: _same(CONTENT_CHECKS[name](answer), True))


@pytest.mark.parametrize("kind", ["atom", "json", "news", "sitemap", "page"])
@pytest.mark.parametrize("name", ["undated", "without_ids", "changing_ids", "control_characters", "dates_future"])
def test_faults_of_form_work_on_every_kind(name: str, kind: str) -> None:
    web = struck(name, lambda answer: _same(answer.status, 200), kind=kind)
    assert web.log[0].shown is not None


def test_a_restless_page_differs_every_time_outside_its_main_text() -> None:
    async def visit(web: SynthWeb) -> None:
        one, other = (await get(web.urls()[0])).body, (await get(web.urls()[0])).body
        assert one != other
        assert one.partition(b"</main>")[0] == other.partition(b"</main>")[0]

    served(visit, Rule(name="restless"), mix="pages", clock=ManualClock())


def test_faults_of_robots_txt() -> None:
    async def visit(web: SynthWeb) -> None:
        url = web.base + "/robots.txt"
        for name, check in {
            "robots_huge": lambda a: (
                len(a.body) > 10_000_000 and a.body.startswith(b"User-agent: *\nDisallow: /private/")
            ),
            "robots_html": lambda a: b"<!doctype" in a.body,
            "robots_garbage": lambda a: a.status == 200,
            "robots_redirect": lambda a: a.headers["location"] == web.bases[1] + "/guest/robots.txt",
            "robots_loop": lambda a: a.headers["location"] == "/robots.txt",
            "robots_404": lambda a: a.status == 404,
            "robots_503": lambda a: a.status == 503,
        }.items():
            web.faults.set([Rule(name=name)])
            assert check(await get(url)), name
            assert (await get(web.urls()[0])).status == 200
        web.faults.set([Rule(name="robots_alternating")])
        assert [(await get(url)).status for _ in range(4)] == [200, 503, 200, 503]
        assert (await get(web.bases[1] + "/guest/robots.txt")).status == 200

    served(visit, forbidden_share=0.2, seed=1)


def test_no_fault_breaks_the_web_itself_whatever_is_asked_for() -> None:
    slow = {"never", "never_body", "robots_never", "endless", "endless_headers", "drip", "drip_headers"}

    async def visit(web: SynthWeb) -> None:
        for name in sorted(set(FAULTS) - slow):
            web.faults.set([Rule(name=name, prefix="/", size=2000)])
            for path in ("/robots.txt", "/", "/nothing", web.world.sources[0].path):
                answer = await get(web.base + path)
                assert (b"500 Internal" in answer.raw) == (name == "500"), (name, path)
        web.faults.set([])
        assert (await get(web.urls()[0])).status == 200
        assert all(a.end is not None for a in web.log)

    served(visit)


# In a process of its own, and from the command line


def test_it_runs_in_a_process_of_its_own() -> None:
    with running(
        "--warm", "--sources", 20, "--hosts", 4, "--mix", "mixed", "--fault", "500:0.0", "--forbidden", 0.5
    ) as web:
        assert len(web.urls()) == web.sources == 20
        assert len(web.hosts) == 4
        asyncio.run(get(web.urls()[0]))
        assert [a.status for a in web.log()] == [200]
        assert len(web.truths()) == 20
        web.set_faults([Rule(name="gone")])
        assert asyncio.run(get(web.urls()[0])).status == 410
        assert web.robots()[web.hosts[0]].disallow == ("/private/",)


def test_it_serves_https_if_given_a_certificate() -> None:
    import ssl

    import trustme

    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(client)

    async def go() -> None:
        async with SynthWeb(World.make(1, 1), ssl=server) as web:
            assert web.base.startswith("https://")
            reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(web.base).port, ssl=client)
            writer.write(f"GET /robots.txt HTTP/1.1\r\nHost: {web.netlocs[0]}\r\nConnection: close\r\n\r\n".encode())
            assert b"200 OK" in await reader.read()
            writer.close()
            await writer.wait_closed()

    asyncio.run(go())


def test_the_command_says_what_it_serves_and_ends_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthweb", "--sources", "5", "--hosts", "2", "--port", "0", "--for", "50ms"]) == 0
    said = capsys.readouterr().out
    assert "5 sources" in said
    assert "/_synthweb/csv" in said
    assert "--allow-private" in said
    assert run(["synthweb", "--list-faults"]) == 0
    assert capsys.readouterr().out.split() == list(FAULTS)


@pytest.mark.parametrize(
    "wrong", [["--fault", "kindness"], ["--fault", "500:much"], ["--fault", "500:2"], ["--for", "x"]]
)
def test_a_mistake_on_the_command_line_is_one_line(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthweb", "--port", "0", *wrong]) == 2
    assert capsys.readouterr().err.startswith("recrawl: ")


def test_a_port_in_use_is_said_plainly() -> None:
    async def visit(web: SynthWeb) -> None:
        with pytest.raises(RecrawlError, match=r"cannot listen on 127\.0\.0\.1, port"):
            await SynthWeb(World.make(1, 1), port=urlsplit(web.base).port or 0).start()

    served(visit)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--bind", "localhost"], "IPv4"),
        (["--bind", "0.0.0.0"], "one address"),
        (["--bind", "10.231.0.1", "--by", "name"], "loopback"),
        (["--bind", "203.0.113.7"], "cannot listen on 203.0.113.7"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_said_plainly(
    options: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["synthweb", "--port", "0", *options]) == 2
    assert expected in capsys.readouterr().err


def test_it_listens_where_it_is_told_and_says_who_came() -> None:
    async def visit() -> None:
        async with SynthWeb(World.make(1, 1), bind="127.0.0.9") as web:
            assert web.base.startswith("http://127.0.0.9:")
            await asyncio.to_thread(lambda: urlopen(web.urls()[0]).close())
            assert [access.client for access in web.log] == ["127.0.0.1"]

    asyncio.run(visit())


def test_faults_parse_from_text() -> None:
    assert (parse("500").share, parse("drip:0.5").share) == (1.0, 0.5)
    with pytest.raises(ParameterError, match="NAME:SHARE"):
        parse("drip:x")


def _same(got: object, expected: object) -> None:
    assert got == expected
