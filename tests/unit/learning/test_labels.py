"""Texts come back as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recrawl.learning.labels import Labels

TEXTS = st.text(st.characters(), max_size=9)


@given(st.lists(TEXTS), st.lists(st.tuples(st.integers(0, 9), TEXTS), max_size=4))
def test_labels_are_those_of_a_list(texts: list[str], others: list[tuple[int, str]]) -> None:
    labels, plain = Labels(texts), list(texts)
    for place, text in others:
        if place < len(plain):
            plain[place] = text
            labels.replace(place, text)
    assert list(labels) == plain
    assert labels[1:-1] == plain[1:-1]
    assert [labels[-k] for k in range(1, len(plain) + 1)] == plain[::-1]
