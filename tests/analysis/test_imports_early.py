"""Analysis imports all of its modules at the start, since a generator that is out of descriptors cannot open a file later."""

from __future__ import annotations

import subprocess
import sys


def test_the_first_percentile_imports_no_further_module() -> None:
    program = (
        "import sys, numpy as np, capexplorer.analysis.epoch.onset; before = set(sys.modules); "
        "np.percentile(np.arange(9.0), 50); print(sorted(set(sys.modules) - before))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
