"""Servers whose bodies are not what their Content-Encoding says, or far more than their length says."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
from backports import zstd

from tests.hostile.servers import MIB, Answers, response


class BrokenGzip(Answers):
    body = gzip.compress(b"hello" * 10_000)[:20] + b"\xff" * 100
    bytes_ = response(body, "Content-Encoding: gzip")


class NotGzip(Answers):
    bytes_ = response(b"<html>not compressed at all</html>", "Content-Encoding: gzip")


class NotGzipMissing(Answers):
    bytes_ = response(b"<html>not found</html>", "Content-Encoding: gzip", status="404 Not Found")


class NotGzipLong(Answers):
    """Longer than it may be, and not compressed."""

    bytes_ = response(b"<html>" * MIB, "Content-Encoding: gzip")


class UnfinishedGzip(Answers):
    bytes_ = response(gzip.compress(bytes(range(256)) * 40)[:-12], "Content-Encoding: gzip")


class UnknownCoding(Answers):
    bytes_ = response(b"hello", "Content-Encoding: rot13")


class CompressCoding(Answers):
    """A coding that everybody has heard of and nobody undoes."""

    bytes_ = response(b"\x1f\x9d\x90hello", "Content-Encoding: compress")


class ManyCodings(Answers):
    bytes_ = response(b"hello", "Content-Encoding: gzip, gzip, gzip, gzip")


class ManyMembers(Answers):
    """A gzip body of thousands of empty members."""

    body = gzip.compress(b"") * 3000
    bytes_ = response(body, "Content-Encoding: gzip")


def _bomb(compress: Callable[[bytes], bytes], coding: str) -> bytes:
    return response(compress(bytes(32 * MIB)), f"Content-Encoding: {coding}")


class GzipBomb(Answers):
    bytes_ = _bomb(lambda data: gzip.compress(data, 9), "gzip")


class DeflateBomb(Answers):
    bytes_ = _bomb(lambda data: zlib.compress(data, 9), "deflate")


class BrotliBomb(Answers):
    bytes_ = _bomb(lambda data: bytes(brotli.compress(data, quality=5)), "br")


class ZstdBomb(Answers):
    bytes_ = _bomb(zstd.compress, "zstd")


class DoubleBomb(Answers):
    bytes_ = _bomb(lambda data: gzip.compress(gzip.compress(data)), "gzip, gzip")


class ZstdWindow(Answers):
    """Asks its reader for a window of 128 MiB, to hold five bytes."""

    body = bytes.fromhex("28b52ffd 00 88 290000") + b"hello"
    bytes_ = response(body, "Content-Encoding: zstd")
