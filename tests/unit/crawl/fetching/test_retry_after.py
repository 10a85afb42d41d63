"""How long servers ask to be left alone, in all the ways they say it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.fetching.retry_after import retry_after, retry_after_s

NOW = 1_700_000_000.0
LIMIT = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "60"}


def asked(status: int, headers: dict[str, str]) -> float | None:
    return retry_after_s(retry_after(status, headers, NOW), NOW)


@pytest.mark.parametrize("status", [429, 403])
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "60"}, 60.0),
        ({"x-ratelimit-remaining": " 0 ", "x-ratelimit-reset": "59.2"}, 60.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000090"}, 90.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000090.5"}, 91.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000090000"}, 90.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "Tue, 14 Nov 2023 22:14:20 GMT"}, 60.0),
        ({"x-rate-limit-remaining": "0", "x-rate-limit-reset": "60"}, 60.0),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "60"}, 60.0),
        ({"ratelimit": '"default";r=0;t=60'}, 60.0),
        ({"ratelimit": '"burst";r=0;t=5, "daily";r=0;t=3600, "other";r=7;t=99999'}, 3600.0),
        ({"ratelimit": "limit=10, remaining=0, reset=60"}, 60.0),
        ({**LIMIT, "retry-after": "7"}, 7.0),
        ({**LIMIT, "retry-after": "soon"}, 60.0),
        ({"retry-after": "7"}, 7.0),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "60"}, None),
        ({"ratelimit": '"default";r=3;t=60'}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1600000000"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "nonsense"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "-1"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "nan"}, None),
        ({"x-ratelimit-remaining": "0"}, None),
        ({}, None),
    ],
)
def test_a_limit_that_was_reached_says_when_it_starts_anew(
    status: int, headers: dict[str, str], seconds: float | None
) -> None:
    assert asked(status, headers) == seconds


@pytest.mark.parametrize(
    ("headers", "after_429"),
    [({"x-ratelimit-reset": "60"}, 60.0), ({"ratelimit-reset": "60"}, 60.0), ({"ratelimit": '"a";t=60'}, 60.0),
     ({"cache-control": "max-age=60"}, 60.0), ({"cache-control": "max-age=60", "age": "20"}, 40.0),
     ({"cache-control": "max-age=2000000"}, 2_000_000.0), ({"cache-control": "no-store, max-age=60"}, None)],
)  # fmt: skip
def test_only_a_429_is_certain_to_be_about_a_limit(headers: dict[str, str], after_429: float | None) -> None:
    assert asked(429, headers) == after_429
    assert asked(403, headers) is None


@pytest.mark.parametrize("status", [200, 304, 404, 500])
def test_other_answers_do_not_ask_for_time(status: int) -> None:
    assert retry_after(status, {**LIMIT, "retry-after": "7", "cache-control": "max-age=60"}, NOW) is None


def test_a_503_asks_by_retry_after_alone() -> None:
    assert asked(503, {"retry-after": "7"}) == 7.0
    assert asked(503, LIMIT) is None


@given(st.sampled_from([403, 429, 503]), st.dictionaries(
    st.sampled_from(["retry-after", "ratelimit", "ratelimit-reset", "x-ratelimit-reset", "x-ratelimit-remaining"]),
    st.text("0123456789.eE-+ ;=,rtnaif\"", max_size=30)))  # fmt: skip
def test_whatever_is_said_the_time_is_ahead_or_none(status: int, headers: dict[str, str]) -> None:
    seconds = asked(status, headers)
    assert seconds is None or seconds > 0.0


@pytest.mark.parametrize("reset", ["1e308", "inf", "nan"])
def test_a_reset_that_never_comes_asks_for_nothing(reset: str) -> None:
    assert retry_after(403, LIMIT | {"x-ratelimit-reset": reset}, NOW) is None


@given(st.text(max_size=40))
def test_any_retry_after_is_a_time_ahead_or_nothing(words: str) -> None:
    seconds = retry_after_s(words, NOW)
    assert seconds is None or seconds > 0.0
