"""What is known of a page that a browser shows, and what a fetch of it costs by that."""

from __future__ import annotations

import pytest

from recrawl.crawl.rendering.messages import Rendered
from recrawl.crawl.rendering.record import DEAREST, NOT_SHOWN, Record, packed, unpacked


def shown(seconds: float, cpu_s: float = 0.0) -> Rendered:
    return Rendered(page=1, html=b"<p>", seconds=seconds, cpu_s=cpu_s, requests=3, received=1000, memory=300_000_000)


def test_the_first_visit_counts_whole_and_later_ones_a_quarter() -> None:
    first = NOT_SHOWN.followed_by(shown(2.0, 1.0), 100.0, 0.5, "shell")
    assert (first.since, first.measured_cost) == (100.0, 6.0)
    later = first.followed_by(shown(4.0, 1.0), 200.0, 0.5, "shell")
    assert (later.since, later.seconds) == (100.0, 2.5)


def test_a_cost_lies_between_one_and_a_hundred() -> None:
    assert NOT_SHOWN.followed_by(shown(0.01), 1.0, 5.0, "shell").measured_cost == 1.0
    assert NOT_SHOWN.followed_by(shown(60.0), 1.0, 0.0, "shell").measured_cost == DEAREST


def test_the_catalogue_is_told_what_differs_by_a_fifth() -> None:
    record, cost = NOT_SHOWN.followed_by(shown(2.0), 1.0, 0.2, "shell").charged(1.0)
    assert (record.cost, cost) == (10.0, 10.0)
    assert record.followed_by(shown(2.2), 2.0, 0.2, "shell").charged(10.0)[1] == 10.0
    assert record.followed_by(shown(9.0), 2.0, 0.2, "shell").charged(10.0)[1] > 12.0


def test_what_its_owner_says_stands_and_is_not_taken_back() -> None:
    record, cost = NOT_SHOWN.followed_by(shown(2.0), 1.0, 0.2, "asked").charged(3.0)
    assert (record.cost, cost) == (0.0, 3.0)
    assert Record(cost=0.0).charged(3.0)[1] == 3.0


def test_a_page_that_needs_no_browser_any_more_costs_what_others_cost() -> None:
    assert Record(cost=10.0).charged(10.0)[1] == 1.0


@pytest.mark.parametrize("record", [NOT_SHOWN, NOT_SHOWN.followed_by(shown(2.0), 1.0, 0.2, "asked")])
def test_it_is_stored_whole(record: Record) -> None:
    assert unpacked(packed(record)) == record
    assert unpacked(None) == NOT_SHOWN


def test_its_words_name_the_requests_that_were_refused() -> None:
    refused = Rendered(page=1, requests=5, refused=2, refusals=("10.0.0.1 is a private address",), seconds=1.0)
    words = NOT_SHOWN.followed_by(refused, 0.0 + 86_400.0, 0.1, "shell").words
    assert words.startswith("It is empty without scripts: shown by a browser since 1970-01-02. A visit takes 1.0 s ")
    assert "5 requests of its own (2 refused, among them: 10.0.0.1 is a private address)" in words
