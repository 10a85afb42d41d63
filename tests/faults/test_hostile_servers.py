"""Every way a server can misbehave, met by the real crawler over real sockets: one run, each fault on its own host.

What each source's log must say is in the table; that nobody else suffers, that no rule is broken and that nothing takes
longer than it may is asked of the run as a whole.
"""

from __future__ import annotations

import asyncio
import datetime
import re
import ssl
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
import trustme

from crawling import HASTY, LONGEST_S, Account, a_store, crawl, crawled, only_this_machine, world_of
from recrawl.clock import SystemClock
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.synthweb.faults import FAULTS, Rule
from recrawl.synthweb.server import SynthWeb

HEALTHY = ("rss", "atom", "json", "page", "sitemap")
SECONDS = 8.0
NO_ANSWER = r"failed: 127\.0\.0\.1: no complete answer in time \(5 s in all, 3 s without a byte\)"
CUT = r"failed: 127\.0\.0\.1: the connection ended before the answer did"
BOMB = r"failed: the answer unpacks to more than 1000000 bytes"
ENTITIES = r"failed: the feed declares entities of its own, which is refused"
TOO_LARGE = r"failed: 127\.0\.0\.1: the answer has more than 1000000 bytes"
READ = r"first|new|unchanged"
PAGE = r"first|changed|unchanged"

SAID: dict[str, str] = {
    **{name: f"failed: HTTP status {name[:3]}" for name in FAULTS if name[:3] in ("429", "503")},
    "500": "failed: HTTP status 500",
    "403": "failed: HTTP status 403",
    "403_reset": "failed: HTTP status 403",
    "404": "failed: HTTP status 404",
    "gone": "failed: HTTP status 410: gone",
    "moved": READ,
    "moved_308": READ,
    "redirect_temporary": READ,
    "redirect_other_host": READ,
    "redirect_password": READ,
    "redirect_loop": "failed: redirects go round in circles",
    "redirect_chain": "failed: more than 5 redirects",
    "redirect_nowhere": "failed: HTTP status 302",
    "redirect_garbage": "failed: redirected to what is no address",
    "redirect_private": r"refused: 10\.0\.0\.1 is a private address",
    "redirect_metadata": r"refused: 169\.254\.169\.254 is a link-local address",
    "redirect_mapped": r"refused: ::ffff:(10\.0\.0\.1|a00:1) is an IPv4-mapped form of a private address",
    "redirect_loopback": r"failed: 127\.0\.0\.1: no connection|refused: robots\.txt cannot be read: no answer",
    "redirect_file": "refused: redirected to another scheme: file",
    "redirect_scheme": "refused: redirected to another scheme: gopher",
    "reset_before_headers": CUT,
    "reset_in_headers": CUT,
    "reset_in_body": CUT,
    "cut_short": CUT,
    "drip": NO_ANSWER,
    "drip_headers": NO_ANSWER,
    "never": NO_ANSWER,
    "never_body": NO_ANSWER,
    "endless": TOO_LARGE,
    "endless_headers": r"failed: 127\.0\.0\.1: the answer is not proper HTTP: .+",
    "endless_continue": r"failed: 127\.0\.0\.1: the answer is not proper HTTP: more than 32 interim answers",
    "endless_hints": r"failed: 127\.0\.0\.1: the answer is not proper HTTP: more than 32 interim answers",
    "endless_extension": r"failed: 127\.0\.0\.1: the answer is not proper HTTP: too much around the body",
    "tiny_chunks": r"failed: 127\.0\.0\.1: the answer is not proper HTTP: too much around the body",
    "not_http": r"failed: 127\.0\.0\.1: the answer is not proper HTTP: .+",
    **{name: BOMB for name in FAULTS if name.startswith("bomb_")},
    **{name: ENTITIES for name in FAULTS if name.startswith("entity_")},
    "empty": "failed: the document is empty",
    "malformed": READ,
    "truncated": READ,
    "garbage": "first|changed",
    "undated": READ,
    "without_ids": READ,
    "changing_ids": READ,
    "control_characters": READ,
    "restless": PAGE,
    "ttl": "first",
    "cache_control": "first",
    "wrong_charset": READ,
    "unknown_charset": READ,
    "wrong_type": READ,
    "html_type": READ,
    "no_type": READ,
    "long_type": READ,
    "hostile_links": READ,
    "dates_future": READ,
    "dates_past": READ,
    "huge_title": TOO_LARGE,
    "many_entries": READ,
    "century": READ,
    "huge_sitemap": TOO_LARGE,
    "deep_xml": "first|unchanged|failed: .+",
    "long_label": READ,
    "marked_hosts": READ,
    "long_digits": READ,
    "many_lines": PAGE,
    "many_links": PAGE,
    "deep_html": PAGE,
    "open_brackets": PAGE,
    "shuffled_lines": PAGE,
    "huge_index": READ,
    "robots_huge": READ,
    "robots_html": READ,
    "robots_garbage": READ,
    "robots_redirect": READ,
    "robots_loop": READ,
    "robots_alternating": READ,
    "robots_404": READ,
    "robots_never": NO_ANSWER + r"|refused: robots\.txt cannot be read: no answer",
    "robots_503": r"refused: robots\.txt cannot be read: status 503|refused: status 503.*",
}
"""What the log of a source may say, fault by fault; the whole of each line matches."""
NAMES = tuple(FAULTS)
NOTED = ("500", "bomb_nested", "entity_bomb", "reset_in_body", "empty")
"""Some that fail each time, soon."""
SIZES = {"endless": 3_000_000, "huge_title": 3_000_000, "huge_sitemap": 2_000_000, "many_entries": 2000,
         "robots_huge": 2_000_000, "deep_xml": 20_000, "endless_headers": 400_000, "huge_index": 1000}  # fmt: skip
KINDS = {"huge_sitemap": "sitemap", "huge_index": "sitemap", "restless": "page"}


def rule(number: int, name: str) -> Rule:
    seconds = 0.05 if name.startswith("drip") else 1.0 if name[:3] in ("429", "503") or name == "403_reset" else None
    seconds = None if name.endswith("_year") else seconds
    size = SIZES.get(name, 8_000_000 if name.startswith("bomb_") else None)
    return Rule(name=name, host=str(number), seconds=seconds, size=size)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Account:
    kinds = [*(KINDS.get(name, "rss") for name in NAMES), *HEALTHY]
    rules = [rule(number, name) for number, name in enumerate(NAMES)]
    world = world_of(kinds)  # type: ignore[arg-type]
    return crawled(world, tmp_path_factory.mktemp("hostile"), rules, seconds=SECONDS, enough=enough)


def enough(web: SynthWeb) -> bool:
    """Every healthy host was asked often, and every fault was met; those that shall be noted, often enough for that."""
    asked = Counter(access.host for access in web.log)
    met = Counter(access.fault for access in web.log)
    often = all(asked[host] >= 8 for host in web.netlocs[len(NAMES) :])
    return often and all(met[name] for name in NAMES) and all(met[name] >= 4 for name in NOTED)


def test_every_fault_there_is_has_its_words() -> None:
    assert set(SAID) == set(FAULTS)


@pytest.mark.parametrize("name", NAMES)
def test_the_log_says_what_happened(account: Account, name: str) -> None:
    said = account.said(NAMES.index(name))
    told = [line for line in said if re.fullmatch(f"(?:{SAID[name]}).*", line)]
    assert told, said
    # A machine under load may not get through an answer in time: then that is what is said.
    assert all(line in told or re.fullmatch(NO_ANSWER, line) for line in said), said


def test_healthy_sources_are_fetched_all_the_while(account: Account) -> None:
    for number in range(len(NAMES), len(NAMES) + len(HEALTHY)):
        crawls = account.crawls[number]
        assert {crawl.outcome for crawl in crawls} <= {"first", "new", "changed", "unchanged"}
        assert len(crawls) >= 4, account.web.netlocs[number]
        gaps = [later.at - earlier.at for later, earlier in pairwise(crawls)]
        assert max(gaps) < account.elapsed_s / 2


def test_no_rule_is_broken(account: Account) -> None:
    assert account.broken_rules() == {}


def test_the_run_ends_when_it_should(account: Account) -> None:
    assert account.elapsed_s < LONGEST_S + HASTY.fetch.timeout_s + 5.0


@pytest.mark.parametrize("name", ["drip", "drip_headers", "never", "never_body", "endless", "endless_headers",
                                  "endless_continue", "endless_hints", "endless_extension", "tiny_chunks"])  # fmt: skip
def test_every_single_fetch_ends_in_time(account: Account, name: str) -> None:
    """By the web's own watch: when it began to answer, and when the crawler hung up."""
    met = [access for access in account.seen(NAMES.index(name)) if access.fault == name]
    assert met
    for access in met:
        assert access.end is not None
        assert access.end - access.start < 3.0 * HASTY.fetch.timeout_s  # 1.0 and a little where nothing else runs


@pytest.mark.parametrize("status", ["429", "503"])
def test_hosts_that_ask_for_time_are_given_it(account: Account, status: str) -> None:
    asked_for_a_year = account.seen(NAMES.index(f"{status}_year"))
    assert len([access for access in asked_for_a_year if access.fault]) == 1
    nonsense = [access for access in account.seen(NAMES.index(f"{status}_nonsense")) if access.fault]
    gaps = [later.start - earlier.start for earlier, later in pairwise(nonsense)]
    # Longer than its schedule and the delay would have it; a single moment may be noted late where much else runs.
    assert median(gaps) > HASTY.politeness.backoff_s


def test_failing_sources_are_noted_in_the_catalogue(account: Account) -> None:
    for name in NOTED:
        assert account.sources[NAMES.index(name)].note.startswith("failing: "), name


def test_a_source_that_is_gone_is_retired_and_one_that_moved_follows(account: Account) -> None:
    assert account.sources[NAMES.index("gone")].state == "retired"
    for name in ("moved", "moved_308"):
        assert "/moved/" in account.sources[NAMES.index(name)].url
    assert "/moved/" not in account.sources[NAMES.index("redirect_temporary")].url


def test_files_and_canaries_are_not_read(account: Account) -> None:
    """External entities: neither the machine's files nor a request to where they point."""
    assert not [access for access in account.log if "canary" in access.path]
    assert not account.items[NAMES.index("entity_external_file")]


@pytest.mark.parametrize("name", ["malformed", "truncated", "undated", "without_ids", "changing_ids", "dates_past",
                                  "dates_future", "control_characters", "wrong_charset", "unknown_charset",
                                  "wrong_type", "html_type", "no_type", "long_type",
                                  "redirect_other_host"])  # fmt: skip
def test_what_can_be_read_is_found_once(account: Account, name: str) -> None:
    number = NAMES.index(name)
    items = account.items[number]
    links = [item.link for item in items if item.link]
    assert len(items) >= 10
    assert len(set(links)) == len(links)
    # A backlog of twenty, and about one item in a second more.
    assert len(items) <= 20 + 4 * account.elapsed_s


def test_what_is_malformed_is_noted(account: Account) -> None:
    assert "malformed" in account.sources[NAMES.index("malformed")].note


def test_ids_that_change_at_every_fetch_are_noted(account: Account) -> None:
    assert "ids change" in account.sources[NAMES.index("changing_ids")].note


def test_no_item_is_dated_after_it_was_found(account: Account) -> None:
    for item in account.items[NAMES.index("dates_future")]:
        assert item.published is None or item.published <= item.first_seen


def test_nothing_that_reaches_a_terminal_is_stored(account: Account) -> None:
    for item in account.items[NAMES.index("control_characters")]:
        assert item.title.isprintable()


# -- certificates


def context_of(ca: trustme.CA, *names: str, **more: object) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(*names, **more).configure_cert(context)  # type: ignore[arg-type]
    return context


PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
CERTIFICATES: dict[str, tuple[Callable[[trustme.CA], ssl.SSLContext], str]] = {
    "trusted": (lambda ca: context_of(ca, "127.0.0.1"), r"first|new|unchanged"),
    "bad": (lambda ca: context_of(trustme.CA(), "127.0.0.1"), r"failed: .*no trusted connection: .*certificate.*"),
    "expired": (
        lambda ca: context_of(ca, "127.0.0.1", not_before=PAST, not_after=PAST),
        r"failed: .*no trusted connection: certificate has expired.*",
    ),
    "wrong host": (lambda ca: context_of(ca, "other.example"), r"failed: .*no trusted connection: .*mismatch.*"),
}


@pytest.mark.parametrize("case", CERTIFICATES)
def test_certificates_are_checked(case: str, tmp_path: Path) -> None:
    ca = trustme.CA()
    trust = ssl.create_default_context()
    ca.configure_trust(trust)
    server, words = CERTIFICATES[case]

    async def scene() -> Account:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the server's side of a refused handshake
        async with SynthWeb(world_of(["rss"]), ssl=server(ca)) as web:
            transport = HttpTransport(HASTY.fetch, SystemClock(), ssl_context=trust, refusal=only_this_machine)
            with a_store(tmp_path) as store:
                return await crawl(web, store, once=True, transport=transport)

    account = asyncio.run(scene())
    assert account.said(0)
    assert all(re.fullmatch(words, line) for line in account.said(0)), account.said(0)
    if case != "trusted":
        assert account.log == []
