"""`python -m capexplorer.target.compose FILE TIMEOUT_S CONTAINERS_FILE`: the first process of a target of containers."""

import sys
from pathlib import Path

from .containers_process import run

if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])))
