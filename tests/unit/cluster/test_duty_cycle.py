"""How long to rest after work."""

from __future__ import annotations

import pytest

from recrawl.cluster.duty_cycle import BackgroundShare


def test_it_rests_in_proportion_but_not_for_ever_nor_after_what_was_long_but_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.thread_time", lambda: clock[0])

    def work(seconds: float) -> float:
        clock[0] += seconds
        return seconds

    once = BackgroundShare(50.0, 10.0)
    rests = []
    for seconds in (5.0, 0.01, 0.02, 3.0, 0.02, 3.0, 3.0):
        assert once.do(lambda seconds=seconds: work(seconds)) == seconds  # type: ignore[misc]
        rests.append(once.rest_s)
    assert rests == pytest.approx([0.0, 0.5, 0.5, 1.0, 1.0, 1.0, 10.0])
