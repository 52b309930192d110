"""A headless Chromium to open pages in, over its DevTools pipe: console, requests, pictures, a pointer."""

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
_ON_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for place, end in zip((3, 4), ends):
    os.dup2(end, place)
    os.close(end)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium takes its pipe there; a shell's redirections take one digit."""


class Page:
    """One tab. `console` and `requests` are what came so far."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in = to_browser, from_browser
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.console: list[str] = []
        self.requests: list[str] = []
        self._loaded = False

    def attach(self) -> None:
        """To a new tab."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def open(self, path: Path, *, scheme: Literal["light", "dark"] = "light", width: int = 1200, height: int = 900) -> None:
        """A file; returns when it is loaded."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.console, self.requests, self._loaded = [], [], False
        self.ask("Page.navigate", url=path.as_uri())
        end_s = time.monotonic() + TIMEOUT_S
        while not self._loaded:
            self._take(end_s)
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, script: str) -> Any:
        """What an expression (or promise) is in the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def pointer(self, kind: str, x: float, y: float, *, down: bool = False, clicks: int = 1) -> None:
        """`mouseMoved`, `mousePressed`, `mouseReleased`."""
        button = "none" if kind == "mouseMoved" and not down else "left"
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=int(down), clickCount=clicks)

    def picture(self, path: Path, *, whole: bool = True) -> Path:
        """A PNG of the page."""
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    def printed(self, path: Path) -> Path:
        """A PDF, as it would be printed."""
        path.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))
        return path

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end_s = time.monotonic() + TIMEOUT_S
        while True:
            found = self._take(end_s)
            if found.get("id") == self._number:
                assert "error" not in found, found
                result: dict[str, Any] = found["result"]
                return result

    def _take(self, end_s: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end_s - time.monotonic()))
            assert ready, "chromium does not answer"
            read = os.read(self._in, 1 << 16)
            assert read, "chromium ended"
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self.console.append(json.dumps(params))
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Page.loadEventFired":
                self._loaded = True


@contextmanager
def chromium(folder: Path) -> Iterator[Page]:
    """A browser with a profile of its own in `folder`; ended with all its children."""
    assert CHROMIUM is not None
    its_in, to_browser = os.pipe()
    from_browser, its_out = os.pipe()
    command = [sys.executable, "-c", _ON_3_AND_4, str(its_in), str(its_out), CHROMIUM, *_FLAGS, f"--user-data-dir={folder}"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=(its_in, its_out), start_new_session=True
    ) as process:
        os.close(its_in)
        os.close(its_out)
        try:
            page = Page(to_browser, from_browser)
            page.attach()
            yield page
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(to_browser)
            os.close(from_browser)
