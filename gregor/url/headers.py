"""A URL as it stands in an HTTP header, Location or Link.

Headers are bytes, and kept as Latin-1, which loses none. A URL in them should be ASCII; where it is not, browsers escape the bytes as
they came, whatever charset the server had in mind, and so ask it for the bytes it sent.
"""

import re

_BEYOND_ASCII = re.compile("[\x80-\xff]")


def from_header(value: str) -> str:
    """The URL in ASCII, to be joined like any link."""
    return value if value.isascii() else _BEYOND_ASCII.sub(lambda byte: f"%{ord(byte[0]):02X}", value)
