"""`python -m trueup` is the command line."""

from trueup.cli import main

main()
