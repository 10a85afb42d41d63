"""Scrapy with recrawl's scheduler, for real: processes of their own, crawling the synthetic web."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from until import until

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install 'recrawl[scrapy]'")

from processes import witness
from recrawl.scheduler import Scheduler
from recrawl.store.opening import open_store
from recrawl.synthweb.faults.rules import Rule
from recrawl.synthweb.ledger import (
    SeenRequest,
    budget_violations,
    hold_violations,
    robots_violations,
    score_log,
)
from recrawl.synthweb.process import Served

HERE = Path(__file__).parent
GUIDE = HERE.parents[1] / "docs" / "scrapy.md"
PATIENCE_S = 240.0
"""Far more than anything here takes; what has to be compiled first on a busy machine takes minutes."""
RECRAWL = [sys.executable, "-c", "from recrawl.cli import main; main()"]


STARTED: list[subprocess.Popen[bytes]] = []


def started(command: Sequence[str], folder: Path, log: Any) -> subprocess.Popen[bytes]:
    """A process that does not outlive its test."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    STARTED.append(process)
    return process


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.wait()


class Crawl:
    """A spider at work."""

    def __init__(self, folder: Path, spider: str, urls: Sequence[str], **settings: Any) -> None:
        self.folder, self.spider = folder, spider
        (folder / "urls.txt").write_text("\n".join(urls))
        options = {
            "spider": {"urls": str(folder / "urls.txt")},
            "stats": str(folder / f"{spider}.stats"),
            "settings": {"USER_AGENT": spider, "ROBOTSTXT_OBEY": False, "LOG_LEVEL": "INFO", **settings},
        }
        (folder / f"{spider}.json").write_text(json.dumps(options))
        command = [sys.executable, str(HERE / "scrapy_spiders.py"), spider, str(folder / f"{spider}.json")]
        self.began = time.time()
        with open(folder / f"{spider}.log", "wb") as log:
            self.process = started(command, folder, log)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def finish(self) -> dict[str, Any]:
        """Wait for the end, and see that it was a good one; the stats."""
        assert self.process.wait(PATIENCE_S) == 0, self.log
        assert "Traceback" not in self.log
        assert not re.search(r"\] (ERROR|CRITICAL):", self.log), self.log
        stats: dict[str, Any] = json.loads((self.folder / f"{self.spider}.stats").read_text())
        return stats

    @property
    def log(self) -> str:
        return (self.folder / f"{self.spider}.log").read_text(errors="replace")


def revisiting(folder: Path, urls: Sequence[str], spider: str = "revisiting", **settings: Any) -> Crawl:
    chosen = {
        "SCHEDULER": "recrawl.integrations.scrapy.RecrawlScheduler",
        "RECRAWL_STORE": str(folder / "recrawl.db"),
        "RECRAWL_HALF_LIFE": "6s",
    }
    return Crawl(folder, spider, urls, **(chosen | settings))


def seen(web: Served, enough: Callable[[list[SeenRequest]], bool]) -> list[SeenRequest]:
    """Watch the web's log until it shows something."""
    until(lambda: enough(web.log()), again_s=0.1)
    return web.log()


def look(store: Path, *command: str) -> str:
    done = subprocess.run(
        [*RECRAWL, *command, "--store", str(store)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def mixed() -> Iterator[Served]:
    with witness("--sources", 30, "--hosts", 5, "--by", "address", "--speed", 3600, "--mix", "mixed",
                 "--forbidden", 0.3) as web:  # fmt: skip
        yield web


def test_a_crawl_keeps_to_budget_and_robots_and_can_be_looked_at(mixed: Served, tmp_path: Path) -> None:
    forbidden = {truth.source for truth in mixed.truths() if truth.forbidden}
    assert forbidden
    crawl = revisiting(
        tmp_path, mixed.urls(), "pages", ROBOTSTXT_OBEY=True, RECRAWL_BUDGET="10/s", RECRAWL_BURST=1,
        CLOSESPIDER_ITEMCOUNT=45,
    )  # fmt: skip
    stats = crawl.finish()
    log = mixed.log()
    assert budget_violations(log, 10.0, burst=1.0, tolerance=3.0) == []
    assert robots_violations(log, mixed.robots()) == []
    assert {access.source for access in log if access.source is not None} == set(range(30)) - forbidden
    assert stats["recrawl/sources"] == 30
    assert stats["recrawl/failed"] >= len(forbidden)
    assert stats["recrawl/revisits"] > 5
    assert stats["recrawl/changed"] + stats.get("recrawl/unchanged", 0) + stats["recrawl/first"] >= 45
    assert stats["recrawl/price"] > 0.0
    assert "30 active" in look(tmp_path / "recrawl.db", "status")
    allowed = next(url for number, url in enumerate(mixed.urls()) if number not in forbidden)
    assert "price" in look(tmp_path / "recrawl.db", "explain", allowed)


def test_ctrl_c_and_a_restart_lose_nothing_and_bring_no_early_visit(tmp_path: Path) -> None:
    interval_s = 6.0
    terms = {"RECRAWL_BUDGET": "10/s", "RECRAWL_MIN_INTERVAL": f"{interval_s}s"}
    with witness("--sources", 25, "--hosts", 5, "--by", "address", "--speed", 3600) as web:
        first = revisiting(tmp_path, web.urls(), **terms)
        seen(web, lambda log: len({access.source for access in log}) >= 25)
        first.interrupt()
        before = first.finish()
        stopped = time.time()
        store = open_store(str(tmp_path / "recrawl.db"))
        assert store.claimed() is None
        kept = {progress.source: progress for progress in store.progress()}
        store.close()
        assert sum(progress.visits for progress in kept.values()) == before["recrawl/first"] + before.get(
            "recrawl/new", 0
        ) + before.get("recrawl/unchanged", 0)
        second = revisiting(tmp_path, [], **terms)
        seen(web, lambda log: len({access.source for access in log if access.start > stopped}) >= 25)
        second.interrupt()
        after = second.finish()
        log = web.log()
    assert after["recrawl/sources"] == 25, "the sources came from the store alone"
    assert "recrawl/first" not in after
    assert "recrawl/added" not in after
    for source in range(25):
        starts = [access.start for access in log if access.source == source]
        assert min(b - a for a, b in pairwise(starts)) >= interval_s - 0.5
    store = open_store(str(tmp_path / "recrawl.db"))
    assert all(progress.visits > kept[progress.source].visits for progress in store.progress())
    assert len(store.crawls(limit=10_000)) == len(log)
    store.close()


def test_hosts_that_ask_for_it_are_left_alone_and_failures_end_well(tmp_path: Path) -> None:
    with witness("--sources", 20, "--hosts", 4, "--by", "address", "--speed", 3600) as web:
        web.set_faults(
            [
                Rule(name="503_seconds", share=0.3, seconds=2.0, host=web.hosts[0]),
                Rule(name="429_seconds", share=0.3, seconds=2.0, host=web.hosts[1]),
                Rule(name="redirect_temporary", share=0.5, host=web.hosts[2]),
                Rule(name="reset_in_body", share=0.3, host=web.hosts[3]),
                Rule(name="404", share=0.3, host=web.hosts[3]),
            ]
        )
        crawl = revisiting(
            tmp_path, web.urls(), RECRAWL_BUDGET="20/s", RECRAWL_BURST=1, LOG_LEVEL="CRITICAL",
            CONCURRENT_REQUESTS_PER_DOMAIN=1,
        )  # fmt: skip
        seen(web, lambda log: len(log) >= 120)
        crawl.interrupt()
        stats = crawl.finish()
        log = web.log()
    assert hold_violations(log, tolerance_s=0.3) == []
    assert budget_violations(log, 20.0, burst=1.0, tolerance=4.0) == []
    assert stats["recrawl/holds"] > 0
    assert stats["recrawl/extra_requests"] > 0
    assert stats["recrawl/failed"] > 0
    assert "recrawl/lost" not in stats
    ended = sum(stats.get(f"recrawl/{how}", 0) for how in ("first", "new", "unchanged", "failed", "released"))
    assert ended == stats["recrawl/visits"], "every visit ended, once"


def test_unmarked_requests_are_fetched_once_beside_the_sources(tmp_path: Path) -> None:
    with witness("--sources", 10, "--hosts", 2, "--by", "address", "--speed", 3600) as web:
        crawl = revisiting(tmp_path, web.urls(), "following", RECRAWL_BUDGET="10/s")
        seen(web, lambda log: sum(access.source is not None for access in log) >= 40)
        crawl.interrupt()
        stats = crawl.finish()
        pages = Counter((access.host, access.path) for access in web.log() if access.path.startswith("/page/"))
    assert len(pages) > 20
    assert set(pages.values()) == {1}, "the duplicate filter is Scrapy's"
    assert stats["recrawl/sources"] == 10
    assert stats["recrawl/revisits"] >= 20
    assert stats["dupefilter/filtered"] > 0
    # What a response on its way at the interrupt asks for is taken; a closing engine does not hand it out.
    assert stats["scheduler/enqueued"] >= stats["scheduler/dequeued"] == len(pages)


def test_the_spider_of_the_guide_runs(tmp_path: Path) -> None:
    (text,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    with witness("--sources", 6, "--hosts", 2, "--by", "address", "--speed", 3600) as web:
        feeds = [url for url in web.urls() if url.endswith(".xml")]
        text, places = re.subn(r"feeds = \[.*?\]", f"feeds = {feeds!r}", text)
        assert places == 1
        polite = '"RECRAWL_MIN_INTERVAL": "5m"'
        assert polite in text  # two feeds and a budget of 60/min would otherwise be asked every other second
        quick = text.replace("60/min", "20/s").replace(polite, polite.replace("5m", "1s"))
        (tmp_path / "news.py").write_text(quick)
        command = [sys.executable, "-m", "scrapy", "runspider", "news.py", "-o", "items.jl", "-s", "LOG_LEVEL=INFO"]
        with open(tmp_path / "log", "wb") as log:
            process = started(command, tmp_path, log)
        seen(web, lambda log: sum(access.source is not None for access in log) >= 3 * len(feeds))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said
    assert "recrawl/revisits" in said
    assert f"{len(feeds)} active" in look(tmp_path / "news.db", "status")


def test_a_store_somebody_else_works_on_is_left_alone(tmp_path: Path) -> None:
    with Scheduler(tmp_path / "recrawl.db"):
        crawl = revisiting(tmp_path, ["http://127.0.0.1:9/"])
        assert crawl.process.wait(PATIENCE_S) != 0 or "Closing spider" in crawl.log
    assert "process" in crawl.log


@pytest.mark.long
@pytest.mark.alone
def test_visits_start_on_time(tmp_path: Path) -> None:
    """By the web's own account too: with nothing saved up, a budget of 5/s is a request 200 ms after the last."""
    with witness("--sources", 60, "--hosts", 12, "--by", "address", "--speed", 1200) as web:
        crawl = revisiting(tmp_path, web.urls(), RECRAWL_BUDGET="5/s", RECRAWL_BURST=1, CLOSESPIDER_TIMEOUT=40)
        stats = crawl.finish()
        starts = sorted(access.start for access in web.log())
    late = sorted(after - before - 0.2 for before, after in pairwise(starts))
    print(f"p95: {stats['recrawl/lag_s/p95']:.4f} s, by the web {late[int(0.95 * len(late))]:.4f} s")
    assert len(starts) >= 170
    assert stats["recrawl/lag_s/p95"] <= 0.05
    assert late[int(0.95 * len(late))] <= 0.05


@pytest.mark.long
@pytest.mark.alone
def test_it_captures_what_recrawl_run_does_and_more_than_going_round(tmp_path: Path) -> None:
    """All three at once on one web, at one budget; what counts is what the web saw in the time all were at work."""
    ratios = [captured(tmp_path / str(seed), seed) for seed in range(3)]
    for folder in ratios:
        print(folder)
    run, ours, round_robin = (sum(each[name] for each in ratios) for name in ("run", "revisiting", "looping"))
    assert ours >= 0.98 * run
    assert ours > round_robin


def captured(
    folder: Path, seed: int, budget: float = 6.0, warm_s: float = 20.0, seconds: float = 75.0
) -> dict[str, float]:
    """By each of the three, in the same stretch of time, after all have had time to see everything once."""
    folder.mkdir()
    speed = 1200
    half_life = f"{6 * 3600 / speed}s"
    with witness("--sources", 80, "--hosts", 20, "--by", "address", "--speed", speed, "--seed", seed) as web:
        urls = web.urls()
        run = start_run(folder, urls, budget, half_life)
        crawls = [
            revisiting(folder, urls, RECRAWL_BUDGET=f"{budget}/s", RECRAWL_HALF_LIFE=half_life),
            Crawl(folder, "looping", urls, DOWNLOAD_DELAY=1.0 / budget, DOWNLOAD_DELAY_JITTER=0.0),
        ]
        seen(web, lambda log: len({agent(access) for access in log}) == 3)
        time.sleep(warm_s)  # so long they learn
        began = time.time()
        time.sleep(seconds)  # so long they are compared
        run.send_signal(signal.SIGINT)
        for crawl in crawls:
            crawl.interrupt()
        run.wait(PATIENCE_S)
        for crawl in crawls:
            crawl.finish()
        log, truths = web.log(), web.truths()
    result = {}
    for name in ("run", "revisiting", "looping"):
        mine = [access for access in log if agent(access) == name and access.start < began + seconds]
        before = [access for access in mine if access.start < began]
        assert budget_violations(mine, budget, burst=budget, tolerance=3.0) == []
        print(name, len(mine) - len(before), "fetches")
        result[name] = score_log(truths, mine).total.captured - score_log(truths, before).total.captured
    return result


def agent(access: SeenRequest) -> str:
    return access.agent.split()[0].split("/")[0]


def start_run(folder: Path, urls: Sequence[str], budget: float, half_life: str) -> subprocess.Popen[bytes]:
    """`recrawl run` on the same terms."""
    (folder / "all.txt").write_text("\n".join(urls))
    (folder / "recrawl.toml").write_text(
        f"""
        store = "run.db"
        budget = "{budget}/s"
        half_life = "{half_life}"
        [fetch]
        allow_private = true
        user_agent = "run"
        [politeness]
        robots = false
        delay = "0s"
        min_interval = "1s"
        parallel_per_host = 8
        """
    )
    with open(folder / "run.log", "wb") as log:
        assert started([*RECRAWL, "import", "all.txt"], folder, log).wait(PATIENCE_S) == 0
        return started([*RECRAWL, "run", "--json"], folder, log)
