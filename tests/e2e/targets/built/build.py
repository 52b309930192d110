"""A build that ends when a test writes a file: with success if the file has the word `built`, else with its text as the error."""

from __future__ import annotations

import sys
import time
from pathlib import Path

gate = Path(sys.argv[1])
print("compiling", flush=True)
while not gate.exists():
    time.sleep(0.05)
if gate.read_text() != "built":
    sys.exit(gate.read_text())
