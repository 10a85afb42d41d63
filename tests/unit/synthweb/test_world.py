"""A world is what its seed says, and its documents show what it has published."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.errors import ParameterError
from recrawl.synthweb.world import Robots, Timeline, World


def test_the_same_seed_makes_the_same_world() -> None:
    one, other = World.make(50, 5, seed=4, mix="mixed"), World.make(50, 5, seed=4, mix="mixed")
    assert one.sources == other.sources
    assert one.events(17, -50, 400).tolist() == other.events(17, -50, 400).tolist()
    assert World.make(50, 5, seed=5, mix="mixed").sources != one.sources


def test_the_order_of_questions_does_not_matter() -> None:
    one, other = World.make(20, 2), World.make(20, 2)
    forwards = [one.events(k, -9, 90).tolist() for k in range(20)]
    backwards = [other.events(k, -9, 90).tolist() for k in reversed(range(20))]
    assert forwards == backwards[::-1]


def test_rates_spread_over_orders_of_magnitude_around_the_median() -> None:
    rates = np.array([s.law.rate for s in World.make(4000, 10, median_rate=0.5, rate_spread=1.5).sources])
    assert np.median(rates) == pytest.approx(0.5, rel=0.1)
    assert np.log(rates).std() == pytest.approx(1.5, rel=0.05)


def test_a_mix_has_all_its_kinds_and_laws() -> None:
    sources = World.make(300, 7, mix="mixed").sources
    assert {s.kind for s in sources} == {"rss", "atom", "json", "sitemap", "news", "page"}
    assert {s.law.name for s in sources} == {"steady", "diurnal", "drifting", "bursty"}
    assert {s.host for s in sources} == set(range(7))
    assert all(s.window == (1 if s.kind == "page" else 20) for s in sources)


def test_forbidden_sources_are_those_robots_txt_forbids() -> None:
    world = World.make(200, 4, forbidden_share=0.3)
    forbidden = [s.forbidden for s in world.sources]
    assert 30 < sum(forbidden) < 90
    assert forbidden == [not world.robots[s.host].allows(s.path) for s in world.sources]


def test_the_longest_rule_decides_and_allows_on_a_tie() -> None:
    rules = Robots(disallow=("/a/", "/b/"), allow=("/a/open/", "/b/"), crawl_delay_s=2)
    assert [rules.allows(p) for p in ("/", "/a/x", "/a/open/x", "/b/x")] == [True, False, True, True]
    assert rules.text().splitlines() == [
        "User-agent: *", "Allow: /a/open/", "Allow: /b/", "Disallow: /a/", "Disallow: /b/", "Crawl-delay: 2",
    ]  # fmt: skip


def test_virtual_hours_pass_at_the_stated_speed() -> None:
    line = Timeline(1000.0, 3600.0)
    assert (line.moment(5.0), line.hour(1005.0), line.seconds(2.0)) == (1005.0, 5.0, 2.0)


@pytest.mark.parametrize(
    ("argument", "value"), [("sources", 0), ("hosts", 0), ("mix", "soup"), ("law", "none"), ("window", 0),
                            ("forbidden_share", 2.0)],
)  # fmt: skip
def test_an_impossible_world_is_refused_by_name(argument: str, value: object) -> None:
    with pytest.raises(ParameterError, match=argument):
        World.make(**{argument: value})
