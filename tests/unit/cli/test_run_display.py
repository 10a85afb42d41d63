import io
import json
import math
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from recrawl.cli.run_ import _advise
from recrawl.cli.run_display import JsonLines, LiveView, PlainLines
from recrawl.config import Config
from recrawl.crawl.explaining.why_nothing import ADD
from recrawl.crawl.stats import Stats
from recrawl.policies import compile_ahead
from recrawl.store.records import Source
from recrawl.store.sqlite import SqliteStore


class Catalogue(list):
    policy = SimpleNamespace(price=math.nan)


def crawler(in_flight=0, **counts):
    request_budget = SimpleNamespace(spent=0.0, per_second=1.0, earned=lambda: 0.0)
    return SimpleNamespace(
        stats=Stats(**counts),
        decider=Catalogue(),
        in_flight=in_flight,
        request_budget=request_budget,
        why_nothing=lambda: [],
    )


def drawn(view, crawler):
    out = io.StringIO()
    Console(file=out, width=120).print(view._screen(crawler))
    return out.getvalue()


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        yield opened


def advice(store, once=False):
    out = io.StringIO()
    _advise(store, once, PlainLines(out))
    return out.getvalue()


def test_an_empty_catalogue_is_met_with_how_to_fill_it(store):
    assert "recrawl add URL" in advice(store)
    assert "recrawl import FILE" in advice(store)
    assert "as soon as they are there" in advice(store)
    assert "as soon as they are there" not in advice(store, once=True)


def test_a_catalogue_that_is_all_paused_is_met_with_how_to_resume(store):
    store.add([Source(url="https://example.org/feed", state="paused")])
    assert "recrawl pause --resume" in advice(store)
    assert "recrawl add" not in advice(store)


def test_a_catalogue_with_something_to_fetch_needs_no_advice(store):
    store.add([Source(url="https://example.org/feed"), Source(url="https://example.com/feed", state="paused")])
    assert advice(store) == ""


def test_for_programs_a_hint_is_a_note():
    out = io.StringIO()
    JsonLines(out).hint(ADD)
    assert json.loads(out.getvalue()) == {"type": "note", "text": ADD}


def test_the_live_view_drops_a_hint_once_something_is_fetched():
    view = LiveView()
    view.begin(Config())
    view.hint(ADD)
    assert "recrawl add URL" in drawn(view, crawler())
    assert "recrawl add URL" not in drawn(view, crawler(crawls=1))


@pytest.mark.parametrize("view", [JsonLines, PlainLines, LiveView])
def test_a_run_that_has_ended_does_not_say_that_it_compiles(view, monkeypatch, capsys):
    monkeypatch.setattr(compile_ahead.Compiling, "under_way", True)
    shown = view() if view is LiveView else view(sys.stdout)
    shown.begin(Config())
    shown.end(crawler(requests=7))
    said = capsys.readouterr().out
    assert "7" in said
    assert "compiling, once" not in said
    assert '"compiling":true' not in said


def test_at_the_end_nothing_is_in_flight_whatever_was_at_the_last_launch():
    out = io.StringIO()
    JsonLines(out).end(crawler(in_flight=3, requests=7))
    summary = json.loads(out.getvalue())
    assert (summary["type"], summary["in_flight"], summary["requests"]) == ("summary", 0, 7)
