"""`python -m capexplorer`."""

from .cli import main

main()
