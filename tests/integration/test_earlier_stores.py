"""Stores that earlier versions wrote are opened, and crawling goes on with all they know.

`tests/earlier_stores` keeps a store of every layout the learner's rows have had, and beside each what its rows say, by
the code that wrote them (`make.py` there says how). A new layout reads the rows of the one before; those of layout 1,
which lack how well hours and weekdays predicted, leave a source known as crawled.
"""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.scheduler import Scheduler
from recrawl.store import upgrading
from recrawl.store.opening import open_store
from recrawl.store.roles import Store
from recrawl.store.sqlite.migrations import steps
from recrawl.wiring import make_decider

KEPT = Path(__file__).parent.parent / "earlier_stores"
NAMES = sorted(file.name.removesuffix(".db.xz") for file in KEPT.glob("*.db.xz"))
READ = [name for name in NAMES if not name.startswith("layout1")]
"""Stores whose rows are read."""
PAUSED = {"https://feeds.example/f", "https://pages.example/often/0", "https://late.example/feed"}
GONE, FAILING, HELD = (f"https://others.example/{name}" for name in ("gone", "failing", "held"))
HELD_HOST = "https://pages.example/often/1"
LATE = "https://late.example/page"


class Kept:
    """A store of an earlier version, unpacked, and what its rows say."""

    def __init__(self, name: str, folder: Path) -> None:
        self.path = folder / f"{name}.db"
        self.path.write_bytes(lzma.decompress((KEPT / f"{name}.db.xz").read_bytes()))
        said = json.loads((KEPT / f"{name}.json").read_text())
        self.objective, self.now = said["objective"], said["ends_at"]
        self.sources: dict[str, dict[str, Any]] = said["sources"]

    def open(self) -> Store:
        return open_store(str(self.path))

    def scheduler(self) -> Scheduler:
        return Scheduler(self.path, "14/d", burst=2.0, objective=self.objective, clock=ManualClock(self.now))


@pytest.fixture(params=NAMES)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    return Kept(request.param, tmp_path)


@pytest.fixture(params=READ)
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    return Kept(request.param, tmp_path)


def test_catalogue_holds_and_progress_are_all_there(kept: Kept) -> None:
    store = kept.open()
    lines = {line.url: line for line in store.sources()}
    progress = {each.source: each for each in store.progress()}
    holds, clicks = store.holds(kept.now), store.clicks()
    crawls = store.crawls(limit=1000)
    store.close()
    assert lines.keys() == kept.sources.keys()
    assert {url for url, line in lines.items() if line.state == "paused"} == PAUSED & lines.keys()
    assert lines[GONE].state == "retired"
    assert lines[HELD].tags == ("a",)
    assert lines[HELD].memo == "b"
    if "https://feeds.example/c" in lines:
        assert lines["https://feeds.example/c"].importance == 3.0
        assert lines["https://feeds.example/d"].half_life == 3 * 3600.0
    assert [hold.host for hold in holds] == [HELD_HOST]
    assert {url: progress[line.id].visits for url, line in lines.items()} == {
        url: said["visits"] for url, said in kept.sources.items()
    }
    assert progress[lines[FAILING].id].failures > 2
    assert progress[lines[HELD].id].held_until > kept.now
    assert all(progress[line.id].belief for url, line in lines.items() if kept.sources[url]["visits"])
    assert len(crawls) > 50
    assert bool(clicks) == (
        kept.path.name
        in (
            "layout2.db",
            "layout3.db",
            "layout3-before-readers.db",
            "layout3-before-contents.db",
            "layout3-before-articles.db",
            "layout3-before-rendering.db",
        )
    )


def test_a_scheduler_goes_on_with_what_it_knew(kept: Kept) -> None:
    scheduler = kept.scheduler()
    assert len(scheduler) == len(kept.sources)
    before = {url: scheduler.progress(url) for url in kept.sources}
    handed: list[str] = []
    for _ in range(30 * 12):
        scheduler.clock.advance(7200.0)
        keys = scheduler.due()
        assert not keys or not PAUSED & {*keys}
        for key in keys:
            if kept.sources[key]["kind"] == "feed":
                scheduler.report(key, published=[])
            else:
                scheduler.report(key, changed=False)
        handed += keys
    assert LATE in handed[:2]
    assert GONE not in handed
    assert HELD not in handed[:10]
    assert HELD_HOST not in handed[:10]
    others = {url for url in kept.sources if url not in {*PAUSED, GONE, FAILING, HELD}}
    assert {url for url in others if "seldom" not in url} <= {*handed}  # those are not worth it at this budget
    after = scheduler.progress(HELD_HOST)
    assert after is not None
    assert before[HELD_HOST] is not None
    assert after.visits > before[HELD_HOST].visits
    scheduler.close()


def test_a_crawler_goes_on_with_what_it_knew(kept: Kept) -> None:
    store = kept.open()
    config = Config(budget="60/min", objective=kept.objective)
    now = kept.now + 3600.0
    decider = make_decider(config, store, HostSlots(config.politeness, now, random.Random(1)), now)
    chosen = {intent.source.url: intent for intent in decider.choose(now + 60.0, 100.0)}
    store.close()
    assert LATE in chosen
    assert not {*PAUSED, GONE, HELD, FAILING} & chosen.keys()
    for url, intent in chosen.items():
        if kept.sources[url]["visits"]:
            assert intent.progress.last is not None
            assert np.isfinite(intent.index)


def test_what_rows_of_the_second_layout_say_is_believed_again(read: Kept) -> None:
    scheduler = read.scheduler()
    policy, number = scheduler._decider.policy, scheduler._decider.roster.urls.get
    for url, said in read.sources.items():
        if said["visits"]:
            (reason,) = policy.reasons([number(url)], read.now)
            numbers = reason.numbers
            per_day = numbers["items_per_day"] if reason.form == "rhythm" else 86400 * numbers["change_rate_per_s"]
            assert per_day == pytest.approx(said["per_day"], rel=1e-3), url
            if "appeal" in said:
                assert policy.appeal([number(url)])[0][0] == pytest.approx(said["appeal"], rel=1e-6), url
    scheduler.close()


@pytest.mark.parametrize("read", [name for name in READ if not name.startswith("layout3")], indirect=True)
def test_rows_say_how_often_sources_bring_something(read: Kept) -> None:
    """What the posterior means beside the stores are worth: near what sources were drawn with.

    Beside layout 3 stands the present pace, in which the last days count most: it is up to 40 % off.
    """
    for url, said in read.sources.items():
        if said["visits"] > 20:
            assert said["per_day"] == pytest.approx(said["true_per_day"], rel=0.25, abs=0.05), url


def test_rows_of_the_first_layout_leave_sources_known_as_crawled(tmp_path: Path) -> None:
    kept = Kept("layout1", tmp_path)
    scheduler = kept.scheduler()
    policy = scheduler._decider.policy
    survey = policy.survey(float("nan"), kept.now)
    crawled = [url for url, said in kept.sources.items() if said["visits"] and url not in {*PAUSED, GONE}]
    assert survey.sources == len(crawled)
    assert survey.newcomers == 1
    scheduler.close()


def test_that_a_large_one_is_upgraded_is_said_when_it_begins_and_never_again(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(upgrading, "LARGE_BYTES", kept.path.stat().st_size)
    for _ in range(2):
        kept.open().close()
    (said,) = caplog.messages
    assert said.startswith(f"store {kept.path} ")
    assert f"to {len(steps())}, which takes about a minute per GB" in said


def test_a_small_one_is_upgraded_without_a_word(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.open().close()
    assert caplog.messages == []
