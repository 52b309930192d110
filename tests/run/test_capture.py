"""Output of the process on descriptors 1 and 2 becomes lines of the log, and does not reach the terminal."""

from __future__ import annotations

import json
import subprocess
import sys

from capexplorer.run.capture import LINE_BYTES

PRINTING = """
import ctypes, json, logging, os, sys, threading
from capexplorer.load import native
from capexplorer.run.capture import Capture, LogHandler

captured_lines = []
before = [os.fstat(1), os.fstat(2)]
print("before")
capture = Capture()
readers = []

def start(body):
    readers.append(threading.Thread(target=body))
    readers[-1].start()

native.start_thread = start
capture.begin(lambda *line: captured_lines.append(line))
LogHandler(lambda *line: captured_lines.append(line)).install()
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
logging.getLogger("library").error("logged %s", 2)
logging.getLogger("capexplorer.run").info("logged %s", 3)
logging.getLogger("library").debug("below the level of the log")
logging.getLogger("httpx").info("HTTP Request: GET http://127.0.0.1/")
print("to the terminal", file=capture.stdout)
capture.end()
for reader in readers:
    reader.join(20)
    assert not reader.is_alive()
print("after")
print("after on stderr", file=sys.stderr)
assert [os.fstat(1), os.fstat(2)] == before
print(json.dumps(captured_lines))
"""


def captured() -> tuple[list[list[str]], list[str], str]:
    """Run PRINTING in a process: the captured lines (source, level, text), its lines on stdout, its stderr."""
    done = subprocess.run([sys.executable, "-c", PRINTING], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    *lines, captured_lines = done.stdout.splitlines()
    return json.loads(captured_lines), lines, done.stderr


def test_output_of_print_descriptors_c_and_logging_is_captured_until_the_capture_ends() -> None:
    captured_lines, stdout, stderr = captured()
    stdout_lines = [text for source, _, text in captured_lines if source == "stdout"]
    assert stdout_lines[:4] == ["printed", "without an end... and its end", "by descriptor", "\ufffd\ufffd not text"]
    assert "".join(stdout_lines[4:]).count("x") >= LINE_BYTES
    assert all(len(text) <= LINE_BYTES for _, _, text in captured_lines)
    assert [text for source, level, text in captured_lines if source == "stderr" and level == "info"] == [
        "printed to stderr",
        "from C",
        "torn",
    ]
    assert ["locust", "warning", "logged 1"] in captured_lines
    assert ["stderr", "error", "logged 2"] in captured_lines
    assert ["capexplorer", "info", "logged 3"] in captured_lines
    assert not any(text == "below the level of the log" for _, _, text in captured_lines)
    assert stdout == ["before", "to the terminal", "after"]
    assert stderr == "after on stderr\n"
