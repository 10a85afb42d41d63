"""A run that brings nothing says why, and what to do."""

from __future__ import annotations

from collections import Counter

import pytest

from recrawl.crawl.explaining.why_nothing import RunState, why_nothing
from recrawl.crawl.hold_causes import Wait
from recrawl.crawl.stats import Stats

NOW = 1_700_000_000.0


def stats(**causes: int) -> Stats:
    failed = sum(causes.values())
    words = {each: Counter({f"<{each}>": count}) for each, count in causes.items()}
    return Stats(crawls=failed, failed=failed, causes=Counter(causes), words=words)


def failed_with(*errors: str) -> Stats:
    """Of fetches that ended in a hold by a status, and one that found nobody."""
    found = Stats(crawls=len(errors) + 1, failed=len(errors) + 1)
    for words in errors:
        found.note_cause("status", words)
    found.note_cause("dns", "no such host")
    return found


def around(active: int = 3, **more: object) -> RunState:
    return RunState(now=NOW, known=3, active=active, **more)  # type: ignore[arg-type]


def test_where_anything_was_fetched_there_is_nothing_to_explain() -> None:
    assert why_nothing(Stats(crawls=3, failed=1, refused=1), around()) == []


def test_what_was_refused_as_private_tells_of_the_setting() -> None:
    (why,) = why_nothing(stats(address=3), around())
    assert (why.cause, why.sources) == ("address", 3)
    assert why.text.startswith("every fetch was refused: <address>; ")
    assert "--allow-private" in why.text
    assert "allow_private = true under [fetch]" in why.text


def test_causes_are_told_the_most_frequent_first() -> None:
    found = why_nothing(stats(dns=1, robots=2, **{"too large": 4}), around())
    assert [why.cause for why in found] == ["too large", "robots", "dns"]
    assert "4 of 7 fetches, all in vain: <too large>" in found[0].text
    assert "robots = false under [politeness]" in found[1].text
    assert "is this machine online?" in found[2].text


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (["HTTP status 404"] * 2, "2 of 3 fetches, all in vain: HTTP status 404; "),
        (["HTTP status 404", "HTTP status 503"], "all in vain: HTTP status 404 and HTTP status 503; "),
        (
            ["HTTP status 404", "HTTP status 503", "HTTP status 503"],
            "all in vain: HTTP status 503 and HTTP status 404; ",
        ),
        (["HTTP status 404", "HTTP status 500", "HTTP status 404", "no"], "all in vain: HTTP status 404 and others; "),
    ],
)
def test_failures_of_one_cause_are_not_all_called_by_the_first(errors: list[str], words: str) -> None:
    assert words in why_nothing(failed_with(*errors), around())[0].text


def test_few_of_many_different_words_are_remembered() -> None:
    found = failed_with(*(f"no answer from {number}.example" for number in range(1000)))
    assert len(found.words["status"]) <= 20
    why = why_nothing(found, around())[0]
    assert why.sources == 1000
    assert "no answer from 0.example and others; " in why.text


def test_a_cause_without_a_setting_points_to_the_list_of_sources() -> None:
    assert "`recrawl sources`" in why_nothing(stats(status=1), around())[0].text


@pytest.mark.parametrize(
    ("circumstances", "cause", "words"),
    [
        (RunState(now=NOW, known=0, active=0), "empty", "recrawl add URL"),
        (around(active=0), "paused", "recrawl pause --resume TARGET"),
        (around(quiet_until=NOW + 3600), "quiet hours", "(in 1h) (politeness.quiet_hours)"),
        (around(next_due=NOW + 7200), "not due", "the next in 2h"),
        (around(), "not due", "nothing is due yet: "),
        (
            around(budget_wait_s=600.0, per_second=1 / 3600),
            "budget",
            "24/day allows the next request in 10m",
        ),
    ],
)
def test_a_run_that_tried_nothing_says_what_kept_it(circumstances: RunState, cause: str, words: str) -> None:
    (why,) = why_nothing(Stats(), circumstances)
    assert why.cause == cause
    assert words in why.text


def test_what_is_held_is_told_by_cause_with_the_first_end_and_the_way_out() -> None:
    waits = (
        Wait("address", "10.0.0.1 is a private address", NOW + 90),
        Wait("address", "10.0.0.2 is a private address", NOW + 60),
        Wait("host", "status 429, 1 in a row", NOW + 30),
    )
    address, host = why_nothing(Stats(), around(waits=waits))
    assert (address.cause, address.sources, host.cause, host.sources) == ("address", 2, "host", 1)
    assert "2 sources wait until" in address.text
    assert "(in 1m) at the earliest: 10.0.0.2 is a private address; to fetch from private" in address.text
    assert "a source waits until" in host.text
    assert "status 429, 1 in a row; `recrawl release TARGET` lifts it now" in host.text
