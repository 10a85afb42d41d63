"""What counts for a source: its own words, else its tags', else the settings'."""

from __future__ import annotations

import pytest

from recrawl.config import Config, SourceOptions, TagSettings
from recrawl.config.settings import Pages, Politeness
from recrawl.store.records import Source
from recrawl.store.source_terms import Defaults, EffectiveOptions


def source(*tags: str, select: str = "", importance: float = 1.0, **said: object) -> Source:
    return Source(url="u", tags=tags, select=select, importance=importance, options=SourceOptions(**said))  # type: ignore[arg-type]


def test_where_nobody_says_anything_the_usual_counts() -> None:
    assert source().terms(Defaults.of(Config())) == EffectiveOptions()


def test_the_settings_count_for_all() -> None:
    config = Config(pages=Pages(digest="raw"), politeness=Politeness(robots=False))
    counts = source().terms(Defaults.of(config))
    assert (counts.digest, counts.robots) == ("raw", False)


def test_its_own_words_come_before_its_tags_and_those_before_the_settings() -> None:
    config = Config(
        politeness=Politeness(robots=False),
        tags={
            "a": TagSettings(robots=True, interval="2h", importance=3.0, half_life="6h"),
            "b": TagSettings(robots=False, interval="4h", hints=False, notify=False, max_age="1d"),
        },
    )
    both = source("none", "a", "b").terms(Defaults.of(config))
    assert (both.robots, both.interval, both.hints, both.notify) == (True, 7200.0, False, False)
    assert (both.importance, both.own_half_life, both.own_max_age) == (3.0, 21600.0, 86400.0)
    assert (both.half_life_s, both.max_age_s) == (21600.0, 86400.0)
    assert source("b", "a").terms(Defaults.of(config)).interval == 14400.0
    own = source("b", robots=True, interval=60.0, hints=True, importance=5.0).terms(Defaults.of(config))
    assert (own.robots, own.interval, own.hints, own.notify, own.importance) == (True, 60.0, True, False, 5.0)


def test_none_takes_back_what_its_tags_say() -> None:
    tag = TagSettings(number="price", when=("number falls",), keep=(".a",), ignore=(".b",), ignore_text=("c",))
    defaults = Defaults.of(Config(tags={"a": tag}))
    none = ("none",)
    counts = source("a", number="none", when=none, keep=none, ignore=none, ignore_text=none).terms(defaults)
    assert (counts.number, counts.when, counts.keep, counts.ignore) == ("", (), (), ())
    assert counts.ignore_text == none
    assert source("a").terms(defaults).when == ("number falls",)


@pytest.mark.parametrize(("said", "select", "ignored"), [(None, "", True), (None, "main", False), (True, "main", True)])
def test_noise_is_left_out_but_not_under_a_selector(said: bool | None, select: str, ignored: bool) -> None:
    assert source(select=select, ignore_noise=said).terms(Defaults.of(Config())).ignore_noise is ignored


def test_when_finds_become_visible_is_said_by_the_source_its_tags_or_the_settings_and_may_be_at_once() -> None:
    config = Config(
        index_delay="30m",
        index_batch="1h",
        tags={"a": TagSettings(index_delay="0s"), "b": TagSettings(index_batch="1d")},
    )
    defaults = Defaults.of(config)
    said = [
        (each.index_delay, each.index_batch)
        for each in (
            source().terms(defaults),
            source("a", "b").terms(defaults),
            source("b", index_batch=0.0).terms(defaults),
        )
    ]
    assert said == [(1800.0, 3600.0), (0.0, 86400.0), (1800.0, 0.0)]


def test_what_is_left_when_a_find_is_visible_follows_from_delay_batch_and_half_life() -> None:
    at = 1000 * 86400.0
    terms = EffectiveOptions(half_life_s=7200.0, index_delay=3600.0, index_batch=21600.0)
    assert terms.visible_share(at) == pytest.approx(2.0**-0.5)
    assert terms.visible_share(at + 60.0) == pytest.approx(2.0 ** -((3600.0 + 21540.0) / 7200.0))
    assert EffectiveOptions().visible_share(at + 60.0) == 1.0


def test_half_life_and_maximum_age_are_the_settings_unless_somebody_gives_others() -> None:
    defaults = Defaults(half_life_s=600.0, max_age_s=7200.0, tags={"a": TagSettings(notify=False)})
    for each in (source(), source("a")):
        usual = each.terms(defaults)
        assert (usual.half_life_s, usual.max_age_s) == (600.0, 7200.0)
        assert (usual.own_half_life, usual.own_max_age) == (None, None)
    own = Source(url="u", half_life=60.0, max_age=90.0).terms(defaults)
    assert (own.half_life_s, own.max_age_s, own.own_half_life, own.own_max_age) == (60.0, 90.0, 60.0, 90.0)


def test_steps_need_a_browser_unless_it_is_said_that_there_is_none() -> None:
    by_tag = Defaults.of(Config(tags={"shop": TagSettings(steps=("click #more",))}))
    said = [source("shop", render=render).terms(by_tag).render for render in (None, "auto", "never", "browser")]
    assert said == ["browser", "browser", "never", "browser"]
    assert source("shop", steps=("none",)).terms(by_tag).render == "auto"
