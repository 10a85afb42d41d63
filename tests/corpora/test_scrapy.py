"""Scrapy's own tests with our scheduler in the place of Scrapy's: whatever passed must still pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpora import others_tests
from corpora.packages import unpacked

pytestmark = pytest.mark.corpora
OURS = "recrawl.integrations.scrapy.RecrawlScheduler"
SUBJECTS = (
    "closespider core_downloader crawl crawler downloadermiddleware downloadermiddleware_redirect "
    "downloadermiddleware_retry downloadermiddleware_robotstxt downloaderslotssettings dupefilters engine "
    "engine_close_spider engine_download engine_loop engine_stop_download_bytes engine_stop_download_headers "
    "extension_telnet extension_throttle logstats pipeline_crawl pipelines pqueues request_attribute_binding "
    "request_cb_kwargs request_left scheduler scheduler_base signals spider_crawl spider_start "
    "spidermiddleware_httperror spidermiddleware_output_chain spidermiddleware_process_start spidermiddleware_start "
    "squeues_request"
)
"""Everything that runs a crawl through a scheduler; the rest of Scrapy's tests never meets one."""


def outcomes(folder: Path, scheduler: str) -> dict[str, str]:
    """What became of each of Scrapy's tests."""
    written = folder / f"outcomes-{bool(scheduler)}.json"
    environment = {
        "CORPORA_SCHEDULER": scheduler, "CORPORA_OUTCOMES": str(written), "CORPORA_STORES": str(folder)
    }  # fmt: skip
    files = [f"tests/test_{subject}.py" for subject in SUBJECTS.split()]
    said = others_tests.run(unpacked("scrapy"), "scrapys_tests", files, environment, "--timeout", "60")
    assert written.exists(), said[-3000:]
    return dict(json.loads(written.read_text()))


def test_scrapys_tests_pass_with_our_scheduler(judged, tmp_path):
    _compile(tmp_path)
    own = {name for name, outcome in outcomes(tmp_path, "").items() if outcome == "passed"}
    with judged("Scrapy's tests") as corpus:
        ours = outcomes(tmp_path, OURS)
        for name in sorted(own):
            corpus.check(name, "passed", lambda n=name: ours.get(n, "did not run"))


def _compile(folder: Path) -> None:
    """Once, here: what is compiled at first use takes longer than Scrapy's tests wait."""
    from recrawl import Scheduler

    with Scheduler(store=str(folder / "first.db"), budget="60/min") as scheduler:
        scheduler.add("https://example.org/")
        scheduler.due()
