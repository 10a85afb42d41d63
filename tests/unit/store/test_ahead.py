"""Items of a crowded visit go in ahead of its update, each with its event."""

from __future__ import annotations

import pytest

from recrawl.store.opening import open_store
from recrawl.store.records import Batch, Event, Item, Source


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "recrawl.db")
    yield opened
    opened.close()


def piece(source, keys):
    items = [Item(source=source, key=key, title=f"t{key}") for key in keys]
    return Batch(items=items, events=[Event(at=1.0, body=b"{}") for _ in keys])


def test_items_and_events_of_a_piece_are_committed_together(store):
    (added,) = store.add([Source(url="https://a.example/")])
    store.commit(piece(added.id, [1, 2, 3]))
    assert len(store.items(source=added.id)) == len(store.events(0)) == 3
    assert store.unseen([(added.id, [1, 2, 3, 4])]) == [{4}]


def test_what_belongs_to_a_removed_source_is_left_out(store):
    kept, gone = store.add([Source(url="https://a.example/"), Source(url="https://b.example/")])
    store.remove([gone.id])
    both = Batch(
        items=[Item(source=gone.id, key=1), Item(source=kept.id, key=1)],
        events=[Event(at=1.0, body=b'"gone"'), Event(at=1.0, body=b'"kept"')],
    )
    store.commit(both)
    assert [event.body for event in store.events(0)] == [b'"kept"']
