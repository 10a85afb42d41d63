"""What counts for a source: its own words, else its tags', else the settings'."""

from __future__ import annotations

import pytest

from recrawl.config import Config, Effective, SourceOptions, TagSettings, effective
from recrawl.config.settings import Pages, Politeness
from recrawl.store.base import Source


def source(*tags: str, select: str = "", importance: float = 1.0, **said: object) -> Source:
    return Source(url="u", tags=tags, select=select, importance=importance, options=SourceOptions(**said))  # type: ignore[arg-type]


def test_where_nobody_says_anything_the_usual_counts() -> None:
    assert effective(source(), Config()) == Effective()


def test_the_settings_count_for_all() -> None:
    config = Config(pages=Pages(digest="raw"), politeness=Politeness(robots=False))
    counts = effective(source(), config)
    assert (counts.digest, counts.robots) == ("raw", False)


def test_its_own_words_come_before_its_tags_and_those_before_the_settings() -> None:
    config = Config(
        politeness=Politeness(robots=False),
        tags={
            "a": TagSettings(robots=True, interval="2h", importance=3.0, half_life="6h"),
            "b": TagSettings(robots=False, interval="4h", hints=False, notify=False, max_age="1d"),
        },
    )
    both = effective(source("none", "a", "b"), config)
    assert (both.robots, both.interval, both.hints, both.notify) == (True, 7200.0, False, False)
    assert (both.importance, both.half_life, both.max_age) == (3.0, 21600.0, 86400.0)
    assert effective(source("b", "a"), config).interval == 14400.0
    own = effective(source("b", robots=True, interval=60.0, hints=True, importance=5.0), config)
    assert (own.robots, own.interval, own.hints, own.notify, own.importance) == (True, 60.0, True, False, 5.0)


@pytest.mark.parametrize(("said", "select", "ignored"), [(None, "", True), (None, "main", False), (True, "main", True)])
def test_noise_is_left_out_but_not_under_a_selector(said: bool | None, select: str, ignored: bool) -> None:
    assert effective(source(select=select, ignore_noise=said), Config()).ignore_noise is ignored
