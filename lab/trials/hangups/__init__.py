"""SSH clients of live runs killed at random moments: no request is disturbed, the run can be attached to, nothing is left."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests"))  # tests/e2e has the sshd and finds a run's processes
