"""The text of URLs that the workload knows as hashes only: 110 bytes each, the average of paper 000, one row of an array each."""

from typing import Final

import numpy as np
import numpy.typing as npt

from bench.engines.interface import U64, Urls

URL_BYTES: Final = 110
_HEX: Final = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), dtype="S2")
_FILLER: Final = b"articles-and-other-pages/of-the-year/that-nobody-reads-twice/"


def with_texts(batch: Urls) -> Urls:
    """The same batch with texts; made before a clock starts, as a crawler gets them from its pages."""
    return batch if batch.texts is not None else Urls(batch.server_hashes, batch.fingerprints, texts_of(batch))


def texts_of(batch: Urls) -> npt.NDArray[np.bytes_]:
    """``http://SERVER.example/FILLER/FINGERPRINT`` with both numbers in hexadecimal, so that equal URLs have equal texts."""
    if batch.texts is not None:
        return batch.texts
    rows = np.empty((len(batch), URL_BYTES), np.uint8)
    parts = (
        b"http://",
        _hexadecimal(batch.server_hashes),
        b".example/",
        _FILLER,
        _hexadecimal(batch.fingerprints),
        b"/",
    )
    at = 0
    for part in parts:
        block = np.frombuffer(part, np.uint8) if isinstance(part, bytes) else part
        rows[:, at : at + block.shape[-1]] = block
        at += block.shape[-1]
    assert at == URL_BYTES
    return rows.view(f"S{URL_BYTES}").ravel()


def _hexadecimal(numbers: U64) -> npt.NDArray[np.uint8]:
    pairs = _HEX[numbers.astype(">u8").view(np.uint8)]
    return pairs.view(np.uint8).reshape(len(numbers), 16)
