"""The live view of a run is whole in a terminal of 80 columns, and lines of the log do not break it."""

from __future__ import annotations

import io
import math
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from rich.console import Console
from rich.live import Live

from recrawl import logs
from recrawl.cli.run_display import LiveView
from recrawl.config import Config
from recrawl.crawl.stats import Stats

HEADINGS = ("time", "sources", "requests", "of budget", "new items", "changed", "failed", "captured", "per request")


class Deciding:
    """As much of a decider as is shown."""

    def __init__(self, sources: int, price: float) -> None:
        self._sources, self.policy = sources, SimpleNamespace(price=price)

    def __len__(self) -> int:
        return self._sources


def screen(width: int, sources: int = 0, price: float = math.nan, **counts: Any) -> str:
    view, out = LiveView(), io.StringIO()
    view.begin(Config())
    request_budget = SimpleNamespace(spent=0.0, per_second=1.0, earned=lambda: 0.0)
    crawler: Any = SimpleNamespace(
        stats=Stats(**counts),
        decider=Deciding(sources, price),
        in_flight=0,
        request_budget=request_budget,
        why_nothing=lambda: [],
    )
    Console(file=out, width=width).print(view._screen(crawler))
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 100, 40, 30])
def test_headings_and_figures_are_whole(width: int) -> None:
    shown = screen(width, sources=1_234_567, requests=12_345_678, new=7_654_321, captured=123_456.7, price=0.000123456)
    assert "…" not in shown
    for heading in (*HEADINGS, "price"):
        assert heading in shown, heading
    for figure in ("1234567", "12345678", "7654321", "1.235e+05", "0.000123"):
        assert figure in shown, figure
    assert max(map(len, shown.splitlines())) <= width


def test_figures_are_in_one_row_where_there_is_room() -> None:
    assert sum("──" in line for line in screen(120).splitlines()) == 1


def test_lines_of_the_log_are_printed_above_the_view() -> None:
    before = structlog.get_config()
    try:
        logs.configure()
        log = structlog.get_logger("recrawl").bind(outlet="webhook")  # as an outlet has it, from before the view began
        out = io.StringIO()
        with Live("the figures", console=Console(file=out, force_terminal=True, width=80), auto_refresh=False):
            log.warning("not delivered, will be tried again")
        assert "not delivered, will be tried again" in out.getvalue()
    finally:
        structlog.configure(**before)
