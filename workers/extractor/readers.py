"""Who reads pages here: the native reader (native/) if it was built, else the parsers that Python has; both find the same links.

``GREGOR_READER=python`` in the environment keeps to Python where the native one is installed, ``native`` insists on it.
"""

from __future__ import annotations

import os
from typing import Final

from gregor.errors import EXIT_ENVIRONMENT, GregorError
from workers.extractor import python_reader
from workers.extractor.page_links import ExtractLimits, PageLinks

VARIABLE: Final = "GREGOR_READER"
INTERFACE: Final = 1
"""What this version of gregor asks of the native module."""


def _native_version() -> str:
    """Of the module that is installed; empty: there is none that fits."""
    try:
        import gregor_native
    except ImportError:
        return ""
    return gregor_native.__version__ if gregor_native.INTERFACE == INTERFACE else ""


def _chosen(wanted: str, native: str) -> str:
    """The reader's name, for what was asked for and the version that is there."""
    if wanted not in ("", "auto", "native", "python"):
        raise GregorError(
            f"{VARIABLE} must be native, python or auto, found {wanted!r}",
            exit_code=EXIT_ENVIRONMENT,
            remedy="unset it",
        )
    if wanted == "native" and not native:
        raise GregorError(
            f"{VARIABLE} asks for the native reader, which is not installed or belongs to another version",
            exit_code=EXIT_ENVIRONMENT,
            remedy="run `make setup` where cargo is, or unset it",
        )
    return "python" if wanted == "python" or not native else "native"


NATIVE_VERSION: Final = _native_version()
READER = _chosen(os.environ.get(VARIABLE, ""), NATIVE_VERSION)
"""``native`` or ``python``. Tests set it."""

if NATIVE_VERSION:
    from workers.extractor import native_reader


def read_page(body: bytes, content_type: str, url: str, limits: ExtractLimits) -> PageLinks:
    """The links of a page of HTML."""
    if READER == "native":
        return native_reader.read(body, content_type, url, limits)
    return python_reader.read(body, content_type, url, limits)


def described() -> str:
    """For people: who reads pages here."""
    if READER == "native":
        return f"pages are read by gregor_native {NATIVE_VERSION}"
    why = f"{VARIABLE}=python" if NATIVE_VERSION else "gregor_native is not installed"
    return f"pages are read by Python ({why})"
