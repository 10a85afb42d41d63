"""Reading teaches interest: readers of known taste have programs that speak nothing but the Google Reader API."""

from __future__ import annotations

import pytest

taste = pytest.importorskip("benchmarks.reading_taste", reason="benchmarks are not beside the tests")


def test_what_is_opened_in_programs_tells_readers_taste() -> None:
    """One world of a day and a half, five readers; `python -m benchmarks.reading_taste` has the intervals, and more."""
    agreement, captured, requests = taste.lived(1, 36, 5)
    assert requests > 300, "subscribing and syncing go through the API"
    assert agreement >= 0.4
    assert captured >= 0.95 * taste.lived(1, 36, 0)[1], "too short to gain, but nothing is lost while it is learned"


@pytest.mark.long
def test_a_crawler_that_listens_to_programs_captures_more() -> None:
    """Ten days of one world: what is aimed at is more than by ignoring readers, at the same budget."""
    agreement, captured, _ = taste.lived(2, 240, 5)
    assert agreement >= 0.6
    assert captured >= 1.01 * taste.lived(2, 240, 0)[1]
