"""Workers that are killed or stopped under load, at random moments: `make lost-workers`.

Each loss must be marked, its level void, its users back on the other workers, and the session whole.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))  # how runs are started and watched is that of tests/e2e
