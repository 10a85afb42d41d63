"""Keys of items are a promise to stores: they never change."""

from __future__ import annotations

from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from recrawl.store.records import item_key


@given(st.text(st.characters()))
def test_a_key_is_eight_bytes_of_its_digest(key: str) -> None:
    digest = blake2b(key.encode("utf-8", "replace"), digest_size=8).digest()
    assert item_key(key) == int.from_bytes(digest, "big", signed=True)


def test_keys_are_what_they_always_were() -> None:
    assert [item_key(key) for key in ("", "https://a.example/1", "\ud800")] == KEYS


KEYS = [-1970711489451281740, 4154222270657463321, -3667457387382392855]
