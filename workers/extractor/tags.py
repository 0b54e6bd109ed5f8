"""A tag as the tokeniser of HTML reads it: its own ">" is one that stands in no quoted value, and blanks are those five, "\\v" is none."""

from __future__ import annotations

import re
from typing import Final

BLANK: Final = rb" \t\n\f\r"
"""For use within brackets."""


def _attribute(bracket: bytes) -> bytes:
    value = rb""""%(open)b[^"]*+)"|'%(open)b[^']*+)'|%(open)b[^%(blank)b>"'][^%(blank)b>]*+)|(?=>)"""
    text = rb"""%(open)b[^%(blank)b/>][^%(blank)b/>=]*+)(?:[%(blank)b]*+=[%(blank)b]*+(?:""" + value + rb"""))?+"""
    return text % {b"open": bracket, b"blank": BLANK}


ATTRIBUTES: Final = rb"(?:[%b/]++|%b)*+" % (BLANK, _attribute(b"(?:"))
"""All that may stand between the name of a tag and its ">"; without groups."""
ATTRIBUTE: Final = re.compile(_attribute(b"("))
"""The next one: its name, and its value from double quotes, from single ones, or from none."""
