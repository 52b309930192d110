"""Child processes of a task, started in each way that Python has; a user waits only for its own."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from typing import Any


def started() -> dict[str, Any]:
    """The output or exit code of each."""
    echo = subprocess.run(["echo", "hi"], capture_output=True, text=True, check=True).stdout.strip()
    cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    answer = cat.communicate(b"through")[0].decode()
    pid = os.fork()
    if pid == 0:
        os._exit(5)
    process = multiprocessing.get_context("fork").Process(target=os._exit, args=(6,))
    process.start()
    process.join()
    return {
        "run": echo,
        "communicate": (answer, cat.returncode),
        "fork": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]),
        "multiprocessing": process.exitcode,
        "system": os.waitstatus_to_exitcode(os.system("exit 3")),
    }
