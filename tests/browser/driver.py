"""Chromium, driven over WebDriver with the standard library alone.

with Browser() as browser:
    browser.size(360, 800)
    browser.open("file:///…/report.html")
    browser.requests(), browser.complaints(), browser.script("return document.title")
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

_OPTIONS = (
    "--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
)  # fmt: skip
_SECONDS = 60.0


class Browser:
    """One window, with a profile that is thrown away."""

    def __init__(self) -> None:
        self._profile = tempfile.mkdtemp(prefix="titan-browser-")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._base = f"http://127.0.0.1:{free.getsockname()[1]}"
        port = self._base.rpartition(":")[2]
        self._process = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._open = build_opener(ProxyHandler({})).open
        self._session = ""

    def __enter__(self) -> Self:
        self._wait()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        words = [*_OPTIONS, *sandbox, f"--user-data-dir={self._profile}"]
        asked = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": words},
            "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"},
        }
        found = self._call("POST", "/session", {"capabilities": {"alwaysMatch": asked}})
        self._session = f"/session/{found['sessionId']}"
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._session:
                self._call("DELETE", self._session)
        finally:
            self._process.terminate()
            self._process.wait(_SECONDS)
            shutil.rmtree(self._profile, ignore_errors=True)

    # -- what it does -------------------------------------------------------------------------

    def open(self, address: str) -> None:
        self._call("POST", f"{self._session}/url", {"url": address})

    def size(self, wide: int, high: int) -> None:
        """Of the page, also where a window could not be so narrow."""
        mobile = {"width": wide, "height": high, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", mobile)

    def media(self, scheme: str = "light", kind: str = "") -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", {"media": kind, "features": features})

    def script(self, text: str, *words: Any) -> Any:
        """Run by the tests, not by the page: no policy of the page forbids it."""
        path = f"{self._session}/execute/sync"
        return self._call("POST", path, {"script": text, "args": list(words)})

    def awaited(self, text: str) -> Any:
        """The value of a promise."""
        then = "const done = arguments[arguments.length - 1]; "
        path = f"{self._session}/execute/async"
        return self._call("POST", path, {"script": f"{then}({text}).then(done)", "args": []})

    def violations(self, axe: str) -> list[str]:
        """What axe-core, given as its source, finds in the page."""
        self.script(axe)
        found = "axe.run().then(it => it.violations.map(v => v.id + ': ' + v.nodes[0].html))"
        return list(self.awaited(found))

    def presses(self, xpath: str) -> None:
        """What a person would press, in view."""
        self._call("POST", f"{self._element('xpath', xpath)}/click", {})

    def gives(self, css: str, text: str) -> None:
        """Types it; into a field for a file, the file's name."""
        self._call("POST", f"{self._element('css selector', css)}/value", {"text": text})

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Look again and again until something holds."""
        end = time.monotonic() + 2 * _SECONDS
        while not condition():
            assert time.monotonic() < end, f"waited in vain for {what!r}"
            time.sleep(0.1)

    def _element(self, using: str, value: str) -> str:
        found = self._call("POST", f"{self._session}/element", {"using": using, "value": value})
        return f"{self._session}/element/{next(iter(found.values()))}"

    def command(self, name: str, words: dict[str, Any]) -> Any:
        path = f"{self._session}/goog/cdp/execute"
        return self._call("POST", path, {"cmd": name, "params": words})

    # -- what it saw --------------------------------------------------------------------------

    def requests(self) -> list[str]:
        """Every address that was asked for since the last call."""
        log = self._call("POST", f"{self._session}/se/log", {"type": "performance"})
        told = [json.loads(line["message"])["message"] for line in log]
        sent = [each for each in told if each["method"] == "Network.requestWillBeSent"]
        return [each["params"]["request"]["url"] for each in sent]

    def complaints(self) -> list[str]:
        """Every line of its console since the last call: errors, and what a policy forbade."""
        log = self._call("POST", f"{self._session}/se/log", {"type": "browser"})
        return [line["message"] for line in log]

    def picture(self, file: Path) -> None:
        """The whole page."""
        found = self.command("Page.captureScreenshot", {"captureBeyondViewport": True})
        file.write_bytes(base64.b64decode(found["data"]))

    def print(self, file: Path) -> None:
        found = self.command("Page.printToPDF", {"preferCSSPageSize": True})
        file.write_bytes(base64.b64decode(found["data"]))

    # -- underneath ---------------------------------------------------------------------------

    def _wait(self) -> None:
        end = time.monotonic() + _SECONDS
        while True:
            try:
                self._call("GET", "/status")
                return
            except (URLError, ConnectionError):
                assert time.monotonic() < end, "chromedriver does not answer"
                time.sleep(0.1)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        asked = Request(  # noqa: S310 - to the driver that was started here
            self._base + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with self._open(asked, timeout=_SECONDS) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None
