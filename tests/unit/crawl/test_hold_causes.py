"""Holds stand as long as the settings they rest on."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from recrawl.clock import ManualClock
from recrawl.config import Config, Fetching, HintSwitches, Politeness, SourceOptions, TagSettings
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.hold_causes import BUSY, PUBLISHER, RESTS_ON, RETRY_AFTER, UNREADABLE, Causes
from recrawl.store.records import Source
from recrawl.store.source_terms import Defaults

START = 1_700_000_000.0
SOURCE = Source(id=1, url="http://a.example/feed")
USUAL = Config()


def stands(cause: str, before: Config, after: Config, source: Source = SOURCE, later: Source = SOURCE) -> bool:
    under = Causes.of(before).of_source(cause, source, source.terms(Defaults.of(before)))
    return Causes.of(after).source_stands(cause, under, later, later.terms(Defaults.of(after)))


@pytest.mark.parametrize(
    ("cause", "changed"),
    [
        ("address", Config(fetch=Fetching(allow_private=True))),
        ("address", Config(fetch=Fetching(proxy="http://proxy.example:3128"))),
        ("robots", Config(politeness=Politeness(robots=False))),
        ("robots", Config(fetch=Fetching(user_agent="another"))),
        ("robots", Config(tags={"mine": TagSettings(robots=False)})),
        (BUSY, Config(politeness=Politeness(robots=False))),
        ("too large", Config(fetch=Fetching(max_size="1GB"))),
        ("timeout", Config(fetch=Fetching(timeout="3m"))),
        ("tls", Config(fetch=Fetching(verify_tls=False))),
        ("redirects", Config(fetch=Fetching(max_redirects=9))),
        ("status", Config(fetch=Fetching(user_agent="another"))),
        ("dns", Config(fetch=Fetching(proxy="http://proxy.example:3128"))),
        (PUBLISHER, Config(hints=HintSwitches(ttl=False))),
    ],
)
def test_a_hold_does_not_outlast_the_setting_it_rests_on(cause: str, changed: Config) -> None:
    source = msgspec.structs.replace(SOURCE, tags=("mine",))
    assert not stands(cause, USUAL, changed, source, source)
    assert stands(cause, USUAL, USUAL, source, source)
    assert stands(cause, changed, changed, source, source)


@pytest.mark.parametrize("cause", [*RESTS_ON, "protocol", "unreadable"])
def test_it_does_outlast_any_other(cause: str) -> None:
    changed = Config(budget="1/s", half_life="2h", politeness=Politeness(delay="9s"), fetch=Fetching(parallel=3))
    assert stands(cause, USUAL, changed)


def test_nor_does_it_outlast_what_was_said_of_the_source() -> None:
    own = msgspec.structs.replace(SOURCE, options=SourceOptions(robots=False))
    assert not stands("robots", USUAL, USUAL, SOURCE, own)
    assert stands("dns", USUAL, USUAL, SOURCE, own)
    assert not stands(UNREADABLE, USUAL, USUAL, SOURCE, msgspec.structs.replace(SOURCE, kind="page"))
    assert stands("dns", USUAL, USUAL, SOURCE, msgspec.structs.replace(SOURCE, kind="page"))
    elsewhere = msgspec.structs.replace(SOURCE, url="http://a.example/other")
    assert not stands("status", USUAL, USUAL, SOURCE, elsewhere)
    assert stands(PUBLISHER, USUAL, USUAL, SOURCE, elsewhere)


def test_what_was_kept_without_a_cause_stands() -> None:
    assert Causes.of(USUAL).host_stands("", "")
    assert Causes.of(USUAL).source_stands("", "", SOURCE, SOURCE.terms(Defaults()))


def test_of_settings_that_are_secret_nothing_can_be_read() -> None:
    secret = Config(fetch=Fetching(proxy="http://me:pa55word@proxy.example:3128"))
    assert len(Causes.of(secret).of_host("dns")) == 8


def slots(config: Config) -> HostSlots:
    return HostSlots(config.politeness, START, Random(1), Causes.of(config))


def test_a_host_is_not_held_any_more_for_want_of_a_proxy_that_is_there_now() -> None:
    before = slots(USUAL)
    for _ in range(2):
        before.failed("a.example", "dns", START)
    before.answered("b.example", 429, "60", START)
    holds = before.drain_holds()
    assert {hold.host: hold.cause for hold in holds} == {"a.example": "dns", "b.example": RETRY_AFTER}
    same, other = slots(USUAL), slots(Config(fetch=Fetching(proxy="http://proxy.example:3128")))
    for after in (same, other):
        after.restore(holds)
    assert same.held("a.example", START)[0] > START
    assert other.held("a.example", START) == (0.0, "")
    assert other.held("b.example", START)[0] == START + 60, "what a host asked for rests on no setting"
    assert [(hold.host, hold.until) for hold in other.drain_holds()] == [("a.example", 0.0)]


def test_a_hold_that_is_lifted_leaves_the_delay() -> None:
    clock, host = ManualClock(START), slots(USUAL)
    host.take("a.example", clock.now())
    host.done("a.example", clock.now())
    host.answered("a.example", 429, None, clock.now())
    assert host.lift("a.example")
    assert host.free_at("a.example") == START + 1.0
    assert not host.lift("a.example")
