"""Replay on the real traces: agreement with the referee, and with the reference levels measured by independent code."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from recrawl.cli import replay_through_store
from recrawl.papers.icc2021 import recorded
from recrawl.papers.recordings import Recordings
from recrawl.report.progress import silent
from recrawl.sim.comparison import Contender, Job, run_job
from recrawl.sim.replay import TraceWorld
from recrawl.sim.scenarios import DAY_S, Scenario, read_scenarios
from recrawl.sim.traces import Folder, Trace, write_crawl_log

SHARED = Path(__file__).resolve().parents[3] / "shared"
DATA, REFEREE = SHARED / "data", SHARED / "tools" / "referee.py"

pytestmark = pytest.mark.skipif(
    not (DATA / "scenarios.toml").is_file(),
    reason=f"real traces are not there: no {DATA.name}/scenarios.toml beside us",
)


class Library:
    """Scenarios and their traces, each read once."""

    def __init__(self) -> None:
        files = sorted(DATA.glob("scenarios*.toml"))
        self.scenarios = {each.name: each for file in files for each in read_scenarios(file)}
        self.folder = Folder(DATA)
        self.traces: dict[str, Trace] = {}

    def __call__(self, name: str) -> tuple[Scenario, Trace]:
        if name not in self.traces:
            self.traces[name] = self.folder.trace(self.scenarios[name])
        return self.scenarios[name], self.traces[name]


@pytest.fixture(scope="module")
def library() -> Library:
    return Library()


@pytest.fixture(scope="module")
def referee() -> ModuleType:
    if not REFEREE.is_file():
        pytest.skip("the referee is not there")
    pytest.importorskip("pandas", reason="the referee needs pandas")
    spec = importlib.util.spec_from_file_location("referee", REFEREE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "budget", "policy"),
    [
        ("fresh-coldstart", 720, "stormcrawler_adaptive:filled"),
        ("fresh-coldstart", 240, "learned_whittle"),
        ("eph-facebook", 96, "miniflux"),
        ("eph-facebook", 288, "learned_whittle"),
        ("eph-facebook", 96, "learned_whittle:through_store"),
        ("disc-bbc", 144, "commafeed"),
    ],
)
def test_the_referee_accepts_our_logs_and_agrees_with_our_scores(
    library: Library, referee: ModuleType, tmp_path: Path, name: str, budget: float, policy: str
) -> None:
    import pandas as pd

    scenario, trace = library(name)
    found = run_job(
        Job(scenario, budget, Contender.parse(policy), keep_log=True), trace, stored=replay_through_store.play
    )
    assert found.log is not None
    write_crawl_log(tmp_path / "log.parquet", trace, found.log.ids, found.log.times)
    verdict = referee.judge(DATA, name, budget, pd.read_parquet(tmp_path / "log.parquet"))
    assert verdict["valid"]
    assert verdict["targets"] == len(trace)
    assert found.score.value == pytest.approx(verdict["score"], rel=1e-12)
    assert found.score.used_share == pytest.approx(verdict["used_share"], rel=1e-12)
    for figure in ("captured", "median_delay_h", "within_1h", "undiscovered"):
        if figure in verdict:
            assert found.score.details[figure] == pytest.approx(verdict[figure], rel=1e-12)


listed = pytest.mark.skipif(
    not (DATA / "scenarios-lists.toml").is_file(), reason=f"no lists there: no {DATA.name}/scenarios-lists.toml"
)
"""What needs the lists of the real traces."""


@listed
@pytest.mark.parametrize(
    ("name", "budget", "policy", "days"),
    [
        ("listed-cold", 120, "believes_lists", 60),
        ("listed-cold", 360, "believes_lists:share=0.1,every=6h", 20),
        ("listed-cold", 120, "news_crawl:filled", 20),
    ],
)
def test_the_referee_agrees_where_there_are_lists(
    library: Library, referee: ModuleType, name: str, budget: float, policy: str, days: int
) -> None:
    import pandas as pd

    full, _ = library(name)
    scenario = replace(full, ends_at=full.starts_at + days * DAY_S)
    trace = library.folder.trace(scenario)
    found = run_job(Job(scenario, budget, Contender.parse(policy), keep_log=True), trace)
    assert found.log is not None
    log = pd.DataFrame({"target": trace.names(found.log.ids), "crawled_at": found.log.times})
    told = referee.load_scenario(DATA, name) | {"ends_at": scenario.ends_at}
    events = referee.load_trace(DATA, told)
    verdict = referee.judge_loaded(told, budget, log, *events, lists=referee.load_lists(DATA, told, events[0]))
    assert verdict["valid"]
    assert verdict["targets"] == len(trace)
    assert found.score.value == pytest.approx(verdict["score"], rel=1e-12)
    assert found.score.used_share == pytest.approx(verdict["used_share"], rel=1e-12)
    assert found.score.details["captured"] == pytest.approx(verdict["captured"], rel=1e-12)
    assert found.score.details["list_crawls"] == len(log) - verdict["crawls"]
    assert (found.score.details["list_crawls"] > 0) == policy.startswith("believes_lists")


@listed
@pytest.mark.parametrize("name", ["listed-cold", "listed-year"])
def test_lists_show_what_the_referee_says_they_show(library: Library, referee: ModuleType, name: str) -> None:
    scenario, trace = library(name)
    theirs = referee.load_lists(DATA, referee.load_scenario(DATA, name), trace.targets)
    assert [each.number for each in trace.lists] == list(theirs)
    world = TraceWorld(trace, items=False)
    ids = np.arange(len(trace), len(world))
    for moment in range(scenario.starts_at, scenario.ends_at + 1, 10 * DAY_S):
        (visits,) = world.crawl(ids, float(moment))
        assert visits.sitemap is not None
        for shown, entries in zip(visits.sitemap, theirs.values(), strict=True):
            assert shown is not None
            pages, lastmod = referee.listing(entries, moment)
            np.testing.assert_array_equal(shown[0], pages)
            np.testing.assert_array_equal(shown[1], lastmod)


# Scores in per cent or hours, and the share of the budget used where the table gives it, as in the reference levels.
REFERENCE = [
    ("round_robin", "fresh-coldstart", 240, 84.6, 1.0),
    ("round_robin", "fresh-coldstart", 720, 94.2, 1.0),
    ("round_robin", "eph-facebook", 96, 69.7, 1.0),
    ("round_robin", "disc-bbc", 576, 1.41, 1.0),
    ("nutch_adaptive", "fresh-coldstart", 240, 82.8, 0.65),
    ("nutch_adaptive", "fresh-coldstart", 720, 89.6, 0.22),
    ("nutch_adaptive", "eph-facebook", 96, 0.0, 0.0),
    ("nutch_adaptive", "disc-bbc", 144, 216.78, 0.03),
    ("stormcrawler_adaptive", "fresh-coldstart", 240, 84.6, 1.0),
    ("stormcrawler_adaptive", "fresh-coldstart", 720, 94.1, 0.77),
    ("stormcrawler_adaptive", "eph-facebook", 288, 86.7, 0.97),
    ("stormcrawler_adaptive", "disc-bbc", 144, 9.80, 0.72),
    ("stormcrawler_adaptive:filled", "fresh-coldstart", 240, 85.1, 1.0),
    ("news_crawl", "fresh-coldstart", 720, 94.0, 0.78),
    ("news_crawl", "eph-facebook", 288, 82.5, 0.71),
    ("news_crawl", "disc-bbc", 144, 17.38, 0.36),
    ("news_crawl:filled", "fresh-coldstart", 720, 94.6, 1.0),
    ("miniflux", "eph-facebook", 96, 71.7, 1.0),
    ("miniflux", "eph-facebook", 288, 88.8, 1.0),
    ("miniflux", "disc-bbc", 144, 5.65, 0.81),
]


@pytest.mark.parametrize(("policy", "name", "budget", "level", "used"), REFERENCE)
def test_round_robin_and_peers_reach_the_reference_levels(
    library: Library, policy: str, name: str, budget: float, level: float, used: float
) -> None:
    scenario, trace = library(name)
    found = run_job(Job(scenario, budget, Contender.parse(policy)), trace).score
    measured = found.value if scenario.kind == "discovery" else 100 * found.value
    assert measured == pytest.approx(level, abs=0.0051 if scenario.kind == "discovery" else 0.051)
    assert found.used_share == pytest.approx(used, abs=0.0051)


# What the reference does not pin down: which entries a feed document holds, how LambdaCrawl's estimates are smoothed.
NEAR = [
    ("commafeed", "eph-facebook", 96, 69.1, 0.3),
    ("commafeed", "eph-facebook", 288, 88.0, 0.3),
    ("commafeed", "disc-bbc", 144, 5.60, 0.05),
    ("lambda_crawl", "fresh-coldstart", 240, 84.7, 0.4),
    ("lambda_crawl", "fresh-coldstart", 720, 94.5, 0.4),
]


@pytest.mark.parametrize(("policy", "name", "budget", "level", "within"), NEAR)
def test_rules_with_freedom_come_near_the_reference_levels(
    library: Library, policy: str, name: str, budget: float, level: float, within: float
) -> None:
    scenario, trace = library(name)
    found = run_job(Job(scenario, budget, Contender.parse(policy)), trace).score
    assert (found.value if scenario.kind == "discovery" else 100 * found.value) == pytest.approx(level, abs=within)


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "name", "budget", "level"),
    [
        ("round_robin", "fresh-year", 10, 64.3),
        ("round_robin", "fresh-year", 30, 79.1),
        ("round_robin", "fresh-year", 90, 89.8),
        ("round_robin", "eph-hn", 72, 7.9),
        ("round_robin", "eph-hn", 288, 29.8),
        ("nutch_adaptive", "fresh-year", 10, 65.3),
        ("nutch_adaptive", "fresh-year", 90, 77.8),
        ("nutch_adaptive", "eph-hn", 72, 25.2),
        ("stormcrawler_adaptive", "fresh-year", 90, 91.4),
        ("stormcrawler_adaptive", "eph-hn", 288, 32.5),
        ("stormcrawler_adaptive:filled", "eph-hn", 72, 33.4),
        ("news_crawl", "fresh-year", 90, 83.6),
        ("news_crawl", "eph-hn", 72, 23.9),
        ("miniflux", "eph-hn", 72, 8.3),
        ("miniflux", "eph-hn", 288, 42.6),
    ],
)
def test_the_long_scenarios_reach_the_reference_levels_too(
    library: Library, policy: str, name: str, budget: float, level: float
) -> None:
    scenario, trace = library(name)
    found = run_job(Job(scenario, budget, Contender.parse(policy)), trace).score
    assert 100 * found.value == pytest.approx(level, abs=0.051)


def test_the_policies_of_icc2021_reach_the_levels_of_an_earlier_run(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="the extra `deep` is not installed")
    monkeypatch.setattr(recorded, "QUICK_SEEDS", 1)
    scenario, trace = library("fresh-coldstart")
    recordings = Recordings((replace(scenario, budgets_fetches_per_day=(240.0,)),), {scenario.name: trace})
    found = {each.policy: 100 * each.fresh.value for each in recorded.play(recordings, True, 0, silent)}
    levels = {"ours": 85.5, "round-robin": 84.6, "static": 81.8, "thompson": 78.7}
    assert {name: round(found[name], 1) for name in levels} == levels
    assert found["drl"] == pytest.approx(81.2, abs=1.0)  # float32 arithmetic is not the same on all processors


def test_traces_are_those_of_the_referee(library: Library, referee: ModuleType) -> None:
    for name in library.scenarios:
        _, trace = library(name)
        targets, owners, times = referee.load_trace(DATA, referee.load_scenario(DATA, name))
        assert trace.targets.tolist() == targets.tolist()
        np.testing.assert_array_equal(trace.owners, owners)
        np.testing.assert_array_equal(trace.times, times)
