"""`python -m knell` is the command `knell`."""

from knell.faces.cli import script

script()
