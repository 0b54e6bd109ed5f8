"""`python -m gregor` is the command `gregor`."""

import os
import sys

# Before anything else is imported: -m put the working folder first, where only a gregor that was found there has its modules.
if not sys.flags.safe_path and sys.path[0] != os.path.dirname(os.path.dirname(os.path.abspath(__file__))):
    del sys.path[0]

from gregor.cli import main

main()
