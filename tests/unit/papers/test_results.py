import json

import numpy as np
import pytest

from paper_results import read_results
from recrawl.papers.results import (
    Result,
    compare,
    interval_of_runs,
    last_digit,
    results_table,
    stats,
    write_results,
)


def test_a_number_by_arithmetic_is_reproduced_when_ours_rounds_to_it():
    assert compare("x", 260.3006, "260.30").verdict == "reproduced"
    assert compare("x", 260.305, "260.30").verdict == "reproduced"
    assert compare("x", 260.3051, "260.30").verdict == "differs"


def test_a_stated_tolerance_replaces_the_last_digit():
    assert compare("x", 10.4, "10", tolerance=0.3).verdict == "differs"
    assert compare("x", 10.4, "10").verdict == "reproduced"


def test_a_published_run_is_compared_with_what_one_run_may_give():
    mean = {"ci95": (208.3, 208.4)}
    assert compare("x", 208.35, "208.0", **mean).verdict == "differs"
    assert compare("x", 208.35, "208.0", run_sd=0.2, **mean).verdict == "reproduced"
    assert compare("x", 208.35, "207.5", run_sd=0.2, **mean).verdict == "differs"


def test_without_the_spread_of_a_run_the_interval_of_the_mean_decides():
    assert compare("x", 5.0, "5.40", ci95=(4.6, 5.4)).verdict == "reproduced"
    assert compare("x", 5.0, "5.41", ci95=(4.6, 5.4)).verdict == "differs"


def test_two_runs_have_no_interval_worth_showing():
    assert interval_of_runs(np.array([1.0, 2.0])) is None
    low, high = interval_of_runs(np.array([1.0, 2.0, 3.0]))
    assert low < 2.0 < high


def test_what_no_paper_states_is_not_published():
    result = compare("x", 1.0)
    assert (result.published, result.verdict) == (None, "not published")


@pytest.mark.parametrize(("printed", "unit"), [("260.30", 0.01), ("208", 1.0), ("0.055", 0.001)])
def test_the_last_digit_is_read_from_the_printed_number(printed, unit):
    assert last_digit(printed) == unit


def test_results_are_written_exactly_as_documented_and_read_back(tmp_path):
    results = [compare("a/b/c", 260.301, "260.30", note="“why”"), compare("a/b/d", 1.5, ci95=(1.0, 2.0))]
    path = write_results(results, tmp_path / "results.json")
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "results": [
            {
                "id": "a/b/c",
                "published": 260.3,
                "measured": 260.301,
                "ci95": None,
                "verdict": "reproduced",
                "note": "“why”",
            },
            {
                "id": "a/b/d",
                "published": None,
                "measured": 1.5,
                "ci95": [1.0, 2.0],
                "verdict": "not published",
                "note": "",
            },
        ],
        "claims": [],
    }
    assert read_results(path) == results


def test_the_table_and_the_stats_count_every_result():
    results = [Result("a", 1.0, 1.0, None, "reproduced", ""), Result("b", None, 2.0, None, "not published", "n")]
    assert len(results_table(results).rows) == 2
    assert [badge.text for badge in stats(results)] == ["1 reproduced", "1 not published"]
