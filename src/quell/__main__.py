"""`python -m quell`."""

from quell.faces.cli import main

main()
