"""Bodies are unpacked layer by layer, and never to more than is allowed."""

from __future__ import annotations

import contextlib
import gzip
import tracemalloc
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.transport import TransportError
from recrawl.crawl.unpacking import unpacked, zstd

LIMIT = 100_000
TEXT = b"<rss>" + bytes(range(256)) * 40 + b"</rss>"


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstd.compress}


def failure(body: bytes, encoding: str, limit: int = LIMIT) -> str:
    with pytest.raises(TransportError) as caught:
        unpacked(body, encoding, limit)
    return caught.value.reason


@pytest.mark.parametrize("encoding", PACKERS)
def test_every_accepted_encoding_is_undone(encoding: str) -> None:
    assert unpacked(PACKERS[encoding](TEXT), encoding, LIMIT) == TEXT


def test_names_are_read_as_servers_write_them() -> None:
    assert unpacked(gzip.compress(TEXT), "X-GZip", LIMIT) == TEXT
    assert unpacked(TEXT, "identity", LIMIT) == TEXT
    assert unpacked(raw_deflate(TEXT), "deflate", LIMIT) == TEXT
    assert unpacked(b"", "gzip", LIMIT) == b""


def test_layers_are_undone_from_the_last_to_the_first() -> None:
    assert unpacked(brotli.compress(gzip.compress(TEXT)), "gzip, br", LIMIT) == TEXT


def test_a_gzip_file_is_opened_once_and_no_further() -> None:
    assert unpacked(gzip.compress(TEXT), "", LIMIT) == TEXT
    assert unpacked(gzip.compress(gzip.compress(TEXT)), "gzip", LIMIT) == TEXT
    assert unpacked(gzip.compress(gzip.compress(TEXT)), "", LIMIT) == gzip.compress(TEXT)


def test_a_body_that_only_claims_to_be_compressed_is_taken_as_it_is() -> None:
    assert unpacked(TEXT, "gzip", LIMIT) == TEXT
    assert unpacked(TEXT, "zstd", LIMIT) == TEXT


def test_members_and_frames_follow_one_another_and_padding_is_ignored() -> None:
    assert unpacked(gzip.compress(b"one ") + gzip.compress(b"two") + b"\0" * 512, "gzip", LIMIT) == b"one two"
    assert unpacked(zstd.compress(b"one ") + zstd.compress(b"two"), "zstd", LIMIT) == b"one two"


@pytest.mark.parametrize("encoding", PACKERS)
def test_what_is_cut_short_is_damaged(encoding: str) -> None:
    assert failure(PACKERS[encoding](TEXT)[:-9], encoding) == "protocol"


def test_unknown_encodings_and_too_many_layers_are_refused() -> None:
    assert failure(TEXT, "compress") == "protocol"
    assert failure(TEXT, "gzip, gzip, gzip, gzip") == "protocol"


@pytest.mark.parametrize("encoding", PACKERS)
def test_the_limit_is_exact(encoding: str) -> None:
    assert len(unpacked(PACKERS[encoding](b"x" * LIMIT), encoding, LIMIT)) == LIMIT
    assert failure(PACKERS[encoding](b"x" * (LIMIT + 1)), encoding) == "too large"


def bombs() -> dict[str, tuple[bytes, str]]:
    zeros = bytes(24_000_000)
    once = gzip.compress(zeros)
    return {
        "gzip": (once, "gzip"),
        "deflate": (zlib.compress(zeros), "deflate"),
        "br": (brotli.compress(zeros, quality=5), "br"),
        "zstd": (zstd.compress(zeros), "zstd"),
        "nested": (gzip.compress(once), "gzip, gzip"),
        "file": (once, ""),
        "file in transit": (gzip.compress(once), "gzip"),
        "many members": (gzip.compress(bytes(100_000)) * 90, "gzip"),
    }


def test_a_bomb_costs_no_more_than_the_limit() -> None:
    limit = 2_000_000
    for name, (body, encoding) in bombs().items():
        tracemalloc.start()
        assert failure(body, encoding, limit) == "too large", name
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 * limit, f"{name}: {peak}"


def test_empty_members_without_end_cost_bounded_time() -> None:
    assert failure(gzip.compress(b"") * 100_000, "gzip") == "protocol"


def test_a_zstd_frame_that_asks_for_a_huge_window_is_refused() -> None:
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    frame = packer.compress(bytes(1000)) + packer.flush()
    assert failure(frame, "zstd") == "protocol"


def test_what_is_too_large_may_be_cut_instead() -> None:
    assert unpacked(gzip.compress(b"x" * 1000), "gzip", 10, cut=True) == b"x" * 10


@given(st.binary(max_size=200), st.sampled_from([*PACKERS, "", "gzip, br"]))
def test_any_bytes_give_an_answer_or_a_transport_error(body: bytes, encoding: str) -> None:
    with contextlib.suppress(TransportError):
        assert len(unpacked(body, encoding, 1000)) <= 1000
