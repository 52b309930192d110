"""SIGKILL at random moments: what was recorded is readable, nothing is left running or listening, the terminal is restored."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests"))  # tests/e2e starts runs and finds their processes
