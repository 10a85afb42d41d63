"""Jobs done side by side come back in order, with progress, and errors come through."""

from __future__ import annotations

import math

import pytest

from recrawl.papers.parallel import side_by_side


def test_results_keep_the_order_of_the_jobs_and_progress_ends_at_one() -> None:
    heard: list[tuple[str, float]] = []
    found = side_by_side(
        math.sqrt, {"b": 4.0, "a": 9.0}, lambda key: "roots", lambda what, share: heard.append((what, share))
    )
    assert list(found.items()) == [("b", 2.0), ("a", 3.0)]
    assert heard == [("roots", 0.0), ("roots", 0.5), ("roots", 1.0)]


def test_an_error_in_a_job_is_raised() -> None:
    with pytest.raises(ValueError, match=r"math domain|expected a nonnegative"):
        side_by_side(math.sqrt, {0: -1.0}, lambda key: "roots", lambda what, share: None)
