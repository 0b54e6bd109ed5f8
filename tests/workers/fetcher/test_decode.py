"""Content codings come undone whatever the pieces they arrive in, and never in large steps."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from workers.fetcher.decode import PIECE, DecodingFailed, decoder_of


def raw_deflate(data: bytes) -> bytes:
    compress = zlib.compressobj(wbits=-15)
    return compress.compress(data) + compress.flush()


CODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip of members": ("x-gzip", lambda data: gzip.compress(data[:7]) + gzip.compress(data[7:])),
    "gzip with garbage behind": ("gzip", lambda data: gzip.compress(data) + b"\0\0garbage"),
    "deflate": ("deflate", zlib.compress),
    "bare deflate": ("deflate", raw_deflate),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
    "zstd of frames": ("zstd", lambda data: zstd.compress(data[:7]) + zstd.compress(data[7:])),
    "gzip in br": ("gzip, br", lambda data: bytes(brotli.compress(gzip.compress(data)))),
    "identity in gzip": ("Identity, GZIP", gzip.compress),
    "gzip and what is no coding": ("utf-8, gzip, none", gzip.compress),
}


def cut(data: bytes, sizes: Iterable[int]) -> list[bytes]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    return [piece for piece in [*pieces, data[at:]] if piece]


@pytest.mark.parametrize("coding", CODINGS)
@given(data=st.binary(max_size=3000), sizes=st.lists(st.integers(1, 40), max_size=60))
def test_a_coded_body_comes_undone_however_it_was_cut(coding: str, data: bytes, sizes: list[int]) -> None:
    header, encode = CODINGS[coding]
    decoder = decoder_of(header)
    assert decoder is not None
    pieces = [piece for chunk in cut(encode(data), sizes) for piece in decoder.pieces(chunk)]
    assert b"".join(pieces) == data
    assert decoder.complete


@pytest.mark.parametrize("coding", CODINGS)
def test_no_piece_is_larger_than_the_bound(coding: str) -> None:
    header, encode = CODINGS[coding]
    decoder = decoder_of(header)
    assert decoder is not None
    size = 0
    for piece in decoder.pieces(encode(bytes(8 * PIECE + 1))):
        assert len(piece) <= 2 * PIECE
        size += len(piece)
    assert size == 8 * PIECE + 1


@pytest.mark.parametrize("coding", ["gzip", "deflate", "bare deflate", "br", "zstd"])
def test_a_body_that_is_cut_off_is_not_complete(coding: str) -> None:
    header, encode = CODINGS[coding]
    decoder = decoder_of(header)
    assert decoder is not None
    for _ in decoder.pieces(encode(bytes(range(256)) * 20)[:-5]):
        pass
    assert not decoder.complete


@pytest.mark.parametrize("header", ["gzip", "deflate", "br", "zstd", "gzip, zstd"])
@given(data=st.binary(max_size=500))
def test_noise_either_decodes_or_fails_as_undecodable(header: str, data: bytes) -> None:
    decoder = decoder_of(header)
    assert decoder is not None
    try:
        for piece in decoder.pieces(data):
            assert len(piece) <= 2 * PIECE
    except DecodingFailed:
        pass


@pytest.mark.parametrize("header", ["compress", "gzip, x-compress", "utf-8, dcz", "gzip, gzip, gzip"])
def test_codings_that_cannot_be_undone_or_are_too_many_are_refused(header: str) -> None:
    with pytest.raises(DecodingFailed):
        decoder_of(header)


@pytest.mark.parametrize(
    "header", ["", "identity", " , identity,", "utf-8", "None", "text/html; charset=utf-8", "rot13", "a," * 8000]
)
def test_a_body_without_coding_needs_no_decoder(header: str) -> None:
    assert decoder_of(header) is None
