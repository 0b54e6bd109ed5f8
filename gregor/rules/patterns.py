"""Regular expressions of the configuration, run by RE2: their time is linear in the text, whatever the pattern.

A time limit would make the answer depend on how busy the machine is, and then two members of one crawl could disagree
about its scope. RE2 has no patterns that need one; what it cannot do (look-around, back-references) the configuration
refuses.
"""

from collections.abc import Callable, Sequence

import re2  # type: ignore[import-untyped]

Matches = Callable[[str], bool]


def any_of(patterns: Sequence[str]) -> Matches:
    """Whether one of the patterns is found in a text."""
    compiled = [re2.compile(pattern, _options()) for pattern in patterns]
    if not compiled:
        return lambda text: False
    return lambda text: any(pattern.search(text) is not None for pattern in compiled)


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 * 1024 * 1024
    return options
