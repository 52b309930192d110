"""What is printed on descriptors 1 and 2 becomes lines of the log, and never reaches the screen."""

from __future__ import annotations

import json
import subprocess
import sys

from capexplorer.run.capture import LINE_BYTES

PRINTING = """
import ctypes, json, logging, os, sys, threading
from capexplorer.run.capture import Capture, LogHandler

seen = []
before = [os.fstat(1), os.fstat(2)]
print("before")
capture = Capture()
readers = []

def start(body):
    readers.append(threading.Thread(target=body))
    readers[-1].start()

capture.begin(lambda *line: seen.append(line), start)
LogHandler(lambda *line: seen.append(line)).install()
print("printed")
print("printed to stderr", file=sys.stderr)
sys.stdout.write("without an end")
sys.stdout.flush()
os.write(1, b"... and its end\\nby descriptor\\n")
ctypes.CDLL(None).write(2, b"from C\\n", 7)
os.write(1, b"\\xff\\xfe not text\\n")
os.write(1, b"x" * 20000 + b"\\n")
os.write(2, b"torn")
logging.getLogger("locust.runners").warning("logged %s", 1)
logging.getLogger("somebody").error("logged %s", 2)
logging.getLogger("capexplorer.run").info("logged %s", 3)
logging.getLogger("somebody").debug("not this")
logging.getLogger("httpx").info("HTTP Request: GET http://127.0.0.1/")
print("to whoever owns the terminal", file=capture.stdout)
capture.end()
for reader in readers:
    reader.join(20)
    assert not reader.is_alive()
print("after")
print("after on stderr", file=sys.stderr)
assert [os.fstat(1), os.fstat(2)] == before
print(json.dumps(seen))
"""


def captured() -> tuple[list[list[str]], list[str], str]:
    """(what was captured, what stood on stdout, what stood on stderr)."""
    done = subprocess.run([sys.executable, "-c", PRINTING], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    *lines, seen = done.stdout.splitlines()
    return json.loads(seen), lines, done.stderr


def test_prints_descriptors_c_and_logging_are_captured_and_the_descriptors_are_restored() -> None:
    seen, stdout, stderr = captured()
    stdout_lines = [text for source, _, text in seen if source == "stdout"]
    assert stdout_lines[:4] == ["printed", "without an end... and its end", "by descriptor", "\ufffd\ufffd not text"]
    assert "".join(stdout_lines[4:]).count("x") >= LINE_BYTES
    assert all(len(text) <= LINE_BYTES for _, _, text in seen)
    assert [text for source, level, text in seen if source == "stderr" and level == "info"] == [
        "printed to stderr",
        "from C",
        "torn",
    ]
    assert ["locust", "warning", "logged 1"] in seen
    assert ["stderr", "error", "logged 2"] in seen
    assert ["capexplorer", "info", "logged 3"] in seen
    assert not any(text == "not this" for _, _, text in seen)
    assert stdout == ["before", "to whoever owns the terminal", "after"]
    assert stderr == "after on stderr\n"
