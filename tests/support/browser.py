"""A headless Chromium, driven over the DevTools protocol through a pipe: no driver, no network.

with Browser(folder) as browser:
    browser.open(url)
    browser.press("j")
    browser.value("document.title")
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
needs_browser = pytest.mark.skipif(not PROGRAM, reason="no Chromium on this machine")
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--disable-extensions", "--remote-debugging-pipe"),
)
_CODES = {"Enter": "\r", "Tab": "\t", "Escape": ""}


class Browser:
    """One tab. Errors and refusals that the console names are in `said`."""

    def __init__(self, folder: Path) -> None:
        command_read, self._write = os.pipe()
        self._read, answer_write = os.pipe()

        def number_pipes() -> None:  # the browser reads from 3 and writes to 4
            os.dup2(command_read, 13)
            os.dup2(answer_write, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        profile = f"--user-data-dir={folder / 'profile'}"
        self._process = subprocess.Popen(
            [PROGRAM, *_OPTIONS, profile, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=number_pipes,
            close_fds=False,
        )
        os.close(command_read)
        os.close(answer_write)
        self._buffer = b""
        self._number = 0
        self.said: list[str] = []
        self._loaded = False
        self._session = ""
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        opened = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = opened["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        number = self._number
        while True:
            found = self._next()
            if found.get("id") == number:
                assert "error" not in found, found
                return found["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser has ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        found = json.loads(line)
        match found.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                self.said.append(json.dumps(found["params"]["exceptionDetails"]))
            case "Log.entryAdded":
                self.said.append(found["params"]["entry"]["text"])
        return found

    def open(self, url: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=url)
        self.loaded()

    def loaded(self) -> None:
        """Waits until a page that is on its way has loaded."""
        while not self._loaded:
            self._next()
        self._loaded = False

    def value(self, expression: str) -> Any:
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 10) -> Any:
        """The expression's value once it is true."""
        end = time.monotonic() + seconds
        while not (found := self.value(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)
        return found

    def press(self, key: str, *, ctrl: bool = False) -> None:
        text = _CODES.get(key, key if len(key) == 1 else "")
        common = {"key": key, "modifiers": 2 if ctrl else 0}
        if key in ("Enter", "Tab", "Escape"):
            common["windowsVirtualKeyCode"] = {"Enter": 13, "Tab": 9, "Escape": 27}[key]
        typed = {"text": text} if text and not ctrl else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def look(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """The window's size and the system's theme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def too_wide(self) -> list[str]:
        """Elements that reach beyond the window and are in nothing that scrolls."""
        return self.value(
            """[...document.body.querySelectorAll('*')].filter(e => {
              const box = e.getBoundingClientRect(), end = document.documentElement.clientWidth;
              return e.checkVisibility() && box.width && box.right > end + 1
                && !e.closest('.scroll, .hidden, .skip, dialog:not([open])')
                && getComputedStyle(e).position !== 'absolute';
            }).map(e => `${e.tagName}.${e.getAttribute('class')} ${e.textContent.slice(0, 40)}`)"""
        )

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(data["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        height = min(size["height"], 9000)
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
        return {"clip": clip}
