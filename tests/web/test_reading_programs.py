"""The benchmark of readers' programs sees what is wrong with a walk, and calls nothing wrong that is not."""

from __future__ import annotations

import numpy as np
import pytest

programs = pytest.importorskip("benchmarks.reading_programs", reason="benchmarks are not beside the tests")

FOLDERS = {"a": {1}, "b": {2}}
ITEMS = programs.Items(np.arange(1, 9), np.array([1, 2] * 4), np.arange(8) * 10.0)


def walked(
    *items: int, stream: str = programs.READING_LIST, unread: bool = False, at: float = 40.0, since: float = 0.0
):  # type: ignore[no-untyped-def]
    return programs.Act("walked", items, stream, unread, at, since)


def problems(*acts: object) -> list[str]:
    found: list[str] = programs.problems(acts, ITEMS, FOLDERS)
    return found


def test_whole_walks_are_right_whether_what_came_meanwhile_is_in_them_or_not() -> None:
    assert problems(walked(4, 3, 2, 1), walked(6, 5, 4, 3, 2, 1)) == []
    assert problems(walked(6, 5, 4, since=30.0), walked(3, 1, stream="feed/1", at=30.0)) == []
    assert problems(walked(7, 5, 3, 1, stream=programs.LABEL + "a")) == []


@pytest.mark.parametrize(
    ("walk", "said"),
    [
        (walked(4, 2, 1), "1 items were missed"),
        (walked(3, 2, 1, at=60.0), "3 items were missed"),
        (walked(4, 3, 3, 2, 1), "an item came twice"),
        (walked(3, 4, 2, 1), "out of order"),
        (walked(3, 2, 1, stream="feed/1"), "1 items are not of it"),
        (walked(6, 4, since=30.0), "1 items were missed"),
    ],
)
def test_what_is_missed_twice_or_strange_is_seen(walk: object, said: str) -> None:
    assert said in " ".join(problems(walk))


def test_what_was_done_before_counts() -> None:
    acts = [
        programs.Act("swept", stream=programs.LABEL + "a", at=20.0),
        programs.Act("read", [2]),
        programs.Act("starred", [1, 4]),
        programs.Act("unstarred", [1]),
    ]
    assert problems(*acts, walked(5, 4, unread=True), walked(4, stream=programs.STARRED)) == []
    assert problems(*acts, walked(5, 4, 3, unread=True)) != []
    assert problems(*acts, walked(4, 1, stream=programs.STARRED)) != []


def test_what_never_came_is_counted() -> None:
    asked = [walked(5, 4, since=30.0, at=45.0), walked(8, 7, since=60.0, at=70.0)]
    assert programs.missed_since(asked, ITEMS) == 1
    assert programs.missed_since([*asked, walked(6, since=50.0, at=60.0)], ITEMS) == 0
