"""`python -m capexplorer`. A Python that is too old can read this file, and none of those that it imports."""

import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 14):
    words = "capexplorer: needs Python 3.11, 3.12, 3.13 or 3.14; {} is {}.{}: from a checkout, make setup PYTHON=python3.11\n"
    sys.stderr.write(words.format(sys.executable, *sys.version_info[:2]))
    sys.exit(2)

from .cli import main  # noqa: E402

main()
