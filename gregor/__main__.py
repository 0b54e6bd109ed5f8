"""`python -m gregor` is the command `gregor`."""

from gregor.cli import main

main()
