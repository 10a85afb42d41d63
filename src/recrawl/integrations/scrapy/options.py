"""From Scrapy's settings to recrawl's."""

from __future__ import annotations

from scrapy import Spider
from scrapy.settings import BaseSettings

from recrawl.clock import Clock
from recrawl.errors import ParameterError
from recrawl.scheduler import Scheduler

PARALLEL_WITH_DELAY = 2
"""Visits to one host given to Scrapy where its own delays decide when they start."""


def make_scheduler(settings: BaseSettings, spider: Spider, clock: Clock | None) -> Scheduler:
    """recrawl's scheduler as the settings want it."""
    said = {
        name: settings.get(f"RECRAWL_{name.upper()}")
        for name in ("budget", "burst", "policy", "objective", "half_life", "max_age", "min_interval")
    }
    per_host = settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
    if settings.getfloat("DOWNLOAD_DELAY") > 0.0 or settings.getbool("AUTOTHROTTLE_ENABLED"):
        per_host = min(per_host, PARALLEL_WITH_DELAY)
    return Scheduler(
        str(settings.get("RECRAWL_STORE", "recrawl.db")).replace("%(name)s", spider.name),
        **{name: value for name, value in said.items() if value is not None},
        scope="host",
        parallel_per_host=max(per_host, 1),
        write_every=1e9,
        clock=clock,
    )


def choice(settings: BaseSettings, name: str, allowed: tuple[str, ...]) -> str:
    """A setting that is one of a few words, the first of them by default."""
    chosen = settings.get(name, allowed[0])
    if chosen not in allowed:
        raise ParameterError(name, f"one of {', '.join(allowed)}", repr(chosen))
    return str(chosen)
