"""A date or a time in a sentence, a heading or a table is content; only what is certainly noise is ignored."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recrawl.cli import run
from watching import Watched, html

CONTENT = {
    "sentence": ("<p>The hearing is on 5 March 2027.</p>", "<p>The hearing is on 12 March 2027.</p>"),
    "time": ("<p>The ferry departs 08:15 daily</p>", "<p>The ferry departs 09:45 daily</p>"),
    "cell": ("<table><tr><td>Ferry<td>08:15</table>", "<table><tr><td>Ferry<td>09:45</table>"),
    "heading": ("<h2>5 March 2027</h2><p>Meeting</p>", "<h2>12 March 2027</h2><p>Meeting</p>"),
    "effective": ("<p>Effective as of 5 March 2027</p>", "<p>Effective as of 12 March 2027</p>"),
    "updated": ("<p>Last updated 5 March 2027</p>", "<p>Last updated 12 March 2027</p>"),
    "moment": ("<p>Opens 2027-03-05 08:15 UTC</p>", "<p>Opens 2027-03-05 09:45 UTC</p>"),
    "alone": ("<p>05.03.2027</p>", "<p>12.03.2027</p>"),
    "limit": ("<p>If you bought it less than 30 days ago you may send it back</p>",
              "<p>If you bought it less than 14 days ago you may send it back</p>"),
    "orders": ("<p>Orders placed more than 3 days ago cannot be cancelled</p>",
               "<p>Orders placed more than 5 days ago cannot be cancelled</p>"),
    "pass": ("<p>Annual pass: 12 visits</p>", "<p>Annual pass: 10 visits</p>"),
}  # fmt: skip


def stamp(form: str, ahead: timedelta = timedelta()) -> str:
    return (datetime.now(UTC) + ahead).strftime(form)


def test_a_date_or_time_is_content(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    selected = {f"{name}-selected": {"select": "body"} for name in CONTENT}
    rounds = [{name: html(pair[k]) for of, pair in CONTENT.items() for name in (of, f"{of}-selected")} for k in (0, 1)]
    asyncio.run(pages.visit(*rounds, told=[selected]))
    assert pages.outcomes() == {name: ["first", "changed"] for name in rounds[0]}


def test_what_is_certainly_noise_is_none(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    east = timedelta(hours=5, minutes=30)
    noise = {
        "clock": lambda: f"<p>Page generated {stamp('%Y-%m-%d %H:%M:%S')} UTC</p>",
        "elsewhere": lambda: f"<p>Current time: {stamp('%H:%M:%S', east)}</p>",
        "alone": lambda: f"<p>{stamp('%d %B %Y, %H:%M:%S', east)}</p>",
        "today": lambda: f"<p>Today is {stamp('%A, %d %B %Y')}</p>",
    }
    steps = iter(range(10_000))
    more = {
        "age": lambda: f"<p>Posted {next(steps)} minutes ago</p>",
        "nonce": lambda: f"<p>Session id: {next(steps):08x}-1b2c-4d5e-8f90-abcdefabcdef</p>",
        "views": lambda: f"<p>By Ann · {next(steps)} views</p>",
    }
    answers = {name: (lambda make=make: html(make())()) for name, make in {**noise, **more}.items()}
    asyncio.run(pages.visit(answers, answers, answers))
    assert pages.outcomes() == {name: ["first", "unchanged", "unchanged"] for name in answers}


def test_under_a_selector_nothing_is_ignored(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    rounds = [{"page": html(f"<p id=count>{count} views</p>")} for count in (12, 13)]
    asyncio.run(pages.visit(*rounds, told=[{"page": {"select": "#count"}}]))
    assert pages.outcomes() == {"page": ["first", "changed"]}


def test_a_selector_that_picks_no_text_is_a_failure_until_there_is_some(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    rounds = [{"page": html(f"<h1>Shop</h1><span id=price>{price}</span>")} for price in ("5 EUR", "", "6 EUR")]
    asyncio.run(pages.visit(*rounds, told=[{"page": {"select": "#price"}}]))
    assert pages.outcomes() == {"page": ["first", "failed", "changed"]}


def test_a_selector_that_picks_no_text_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = Watched(tmp_path)
    body = html("<h1>Shop</h1><input id=price value=5>")
    asyncio.run(pages.visit({"page": body}, told=[{"page": {"select": "#price"}}]))
    why = "the selector '#price' picks elements without text on this page"
    for command, words in ((["sources"], "failing ×1"), (["explain", "/page"], why)):
        assert run([*command, "--store", pages.config.store]) == 0
        assert words in " ".join(capsys.readouterr().out.split()), command
