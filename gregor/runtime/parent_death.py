"""A helper process that does not outlive the one that started it."""

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def die_with_parent(parent: int) -> None:
    """At once, also from a kill -9 of the parent, and also if that was before this call: its successor wants the same folder. Elsewhere
    than on Linux a closed pipe or socket ends the process a little later."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
