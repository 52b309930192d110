"""What is printed becomes log events: folded, bounded, and never on the screen."""

from __future__ import annotations

import json
import subprocess
import sys

from capexplorer.run.capture import LINE_BYTES, LINES_A_TICK, LogGate

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


def test_prints_descriptors_c_and_logging_land_and_the_descriptors_return() -> None:
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


def test_equal_lines_of_a_tick_are_reported_once_with_their_count_in_the_order_first_seen() -> None:
    gate = LogGate()
    for text in ("a", "b", "a", "a"):
        gate.add("stdout", "info", text)
    gate.add("stderr", "info", "a")
    logs = gate.drain(3.0)
    assert [(log.source, log.text, log.repeated, log.t_s) for log in logs] == [
        ("stdout", "a", 3, 3.0), ("stdout", "b", 1, 3.0), ("stderr", "a", 1, 3.0),
    ]  # fmt: skip
    assert gate.drain(4.0) == []


def test_a_flood_is_cut_and_says_how_much_was_left_out() -> None:
    gate = LogGate()
    for number in range(LINES_A_TICK + 30):
        gate.add("stdout", "info", str(number))
    gate.add("stdout", "info", "0")  # known lines still count
    *logs, last = gate.drain(1.0)
    assert len(logs) == LINES_A_TICK
    assert logs[0].repeated == 2
    assert (last.source, last.level, last.text) == ("capexplorer", "warning", "30 more lines in this second were left out")
    gate.add("stdout", "info", "next second")
    assert [log.text for log in gate.drain(2.0)] == ["next second"]


def test_an_unknown_log_level_counts_as_info() -> None:
    gate = LogGate()
    gate.add("stderr", "level 35", "odd")
    assert gate.drain(1.0)[0].level == "info"
