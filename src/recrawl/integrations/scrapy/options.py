"""From Scrapy's settings to recrawl's."""

from __future__ import annotations

from difflib import get_close_matches

from scrapy import Spider
from scrapy.settings import BaseSettings

from recrawl.arguments import one_of, shown
from recrawl.clock import Clock
from recrawl.errors import ParameterError
from recrawl.scheduler import Scheduler

PARALLEL_WITH_DELAY = 2
"""Visits to one host given to Scrapy where its own delays decide when they start."""


OPTIONS = ("store", "budget", "burst", "policy", "objective", "half_life", "max_age", "min_interval")
"""Arguments of :class:`~recrawl.scheduler.Scheduler`, each as `RECRAWL_…`."""
SETTINGS = tuple(f"RECRAWL_{name.upper()}" for name in (*OPTIONS, "conditional", "digest"))


def check_names(settings: BaseSettings) -> None:
    """ParameterError for a setting that looks like ours and is not."""
    for name in settings:
        if isinstance(name, str) and name.startswith("RECRAWL_") and name not in SETTINGS:
            near = get_close_matches(name, SETTINGS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ParameterError("a RECRAWL_ setting", f"one of {', '.join(SETTINGS)}", f"{name}{hint}")


def make_scheduler(settings: BaseSettings, spider: Spider, clock: Clock | None) -> Scheduler:
    """recrawl's scheduler as the settings want it; what is wrong with one of them is said by its own name."""
    try:
        return _scheduler(settings, spider, clock)
    except ParameterError as error:
        name = error.argument if error.argument not in OPTIONS else f"RECRAWL_{error.argument.upper()}"
        raise ParameterError(name, error.expected, error.got, error.element) from error


def _scheduler(settings: BaseSettings, spider: Spider, clock: Clock | None) -> Scheduler:
    said = {name: settings.get(f"RECRAWL_{name.upper()}") for name in OPTIONS if name != "store"}
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
    return one_of(name, settings.get(name, allowed[0]), allowed)


def switch(settings: BaseSettings, name: str, default: bool) -> bool:
    """A setting that is on or off."""
    try:
        return settings.getbool(name, default)
    except (ValueError, TypeError) as error:
        raise ParameterError(name, "True or False", shown(settings.get(name))) from error
