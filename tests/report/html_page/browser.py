"""A headless Chromium, controlled by the DevTools protocol over a pipe: opens pages, collects messages, moves the pointer."""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from programs import find, needs

CHROMIUM = find("chromium")
needs_chromium = needs("chromium")

TIMEOUT_S = 60.0
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
_PIPE_ON_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for place, end in zip((3, 4), ends):
    os.dup2(end, place)
    os.close(end)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""A program that starts Chromium with the ends of the pipe as descriptors 3 and 4, where `--remote-debugging-pipe` expects them.

A shell cannot do this, since its redirections accept descriptors of one digit only.
"""


class Page:
    """One tab. `console` and `requests` have the messages and the URLs since the page was opened."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in = to_browser, from_browser
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.console: list[str] = []
        self.requests: list[str] = []
        self._loaded = False

    def attach(self) -> None:
        """Open a tab and attach to it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, path: Path, *, scheme: Literal["light", "dark"] = "light", width: int = 1200, height: int = 900) -> None:
        """Open a file; returns when it is loaded and drawn."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.console, self.requests, self._loaded = [], [], False
        self.call("Page.navigate", url=path.as_uri())
        deadline_s = time.monotonic() + TIMEOUT_S
        while not self._loaded:
            self._receive(deadline_s)
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, script: str) -> Any:
        """The value of a JavaScript expression, or of its promise, in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def pointer(self, kind: str, x: float, y: float, *, down: bool = False, clicks: int = 1) -> None:
        """Move or click the pointer. `kind`: `mouseMoved`, `mousePressed` or `mouseReleased`."""
        button = "none" if kind == "mouseMoved" and not down else "left"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=int(down), clickCount=clicks)

    def picture(self, path: Path, *, whole: bool = True) -> Path:
        """Save a PNG of the page; `whole`: also of what is outside the window."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    def printed(self, path: Path) -> Path:
        """Save a PDF, as the page would be printed."""
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))
        return path

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one DevTools command."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline_s = time.monotonic() + TIMEOUT_S
        while True:
            found = self._receive(deadline_s)
            if found.get("id") == self._number:
                assert "error" not in found, found
                result: dict[str, Any] = found["result"]
                return result

    def _receive(self, deadline_s: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline_s - time.monotonic()))
            assert ready, f"chromium has not answered within {TIMEOUT_S:.0f} s"
            read = os.read(self._in, 1 << 16)
            assert read, "chromium ended"
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._handle_event(message.get("method", ""), message.get("params", {}))
        return message

    def _handle_event(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self.console.append(json.dumps(params))
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Page.loadEventFired":
                self._loaded = True


@contextmanager
def chromium(folder: Path) -> Iterator[Page]:
    """A page of a browser whose profile is in `folder`; the browser and all its child processes are killed at the end."""
    assert CHROMIUM is not None
    browser_in, to_browser = os.pipe()
    from_browser, browser_out = os.pipe()
    command = [
        sys.executable,
        "-c",
        _PIPE_ON_3_AND_4,
        str(browser_in),
        str(browser_out),
        CHROMIUM,
        *_FLAGS,
        f"--user-data-dir={folder}",
    ]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=(browser_in, browser_out), start_new_session=True
    ) as process:
        os.close(browser_in)
        os.close(browser_out)
        try:
            page = Page(to_browser, from_browser)
            page.attach()
            yield page
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(to_browser)
            os.close(from_browser)
