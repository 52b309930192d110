"""Workers that are killed or stopped under load, at random moments: `make lost-workers`.

Each loss must be marked, its level void, its users running on the other workers, and the session complete.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests"))  # tests/e2e starts runs and finds their processes
