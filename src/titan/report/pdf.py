"""A page of HTML as PDF, printed by a browser of the Chromium family where one is there."""

# Rule: the browser gets a folder of its own that is thrown away, and asks nobody for anything.

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from titan.errors import FileError, InputError
from titan.listing import listing

BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge", "microsoft-edge-stable", "brave-browser",
)  # fmt: skip
_ELSEWHERE = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
_QUIETLY = (
    "--headless", "--disable-gpu", "--no-first-run", "--no-default-browser-check",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--no-pdf-header-footer",
)  # fmt: skip
_SECONDS = 120.0


def browser(given: str | None = None) -> str:
    """The program: the one given, or the first that is found."""
    names = BROWSERS if given is None else (given,)
    for name in names:
        if (found := shutil.which(name)) is not None:
            return found
    for place in _ELSEWHERE if given is None else ():
        if Path(place).exists():
            return place
    if given is not None:
        raise InputError(f"there is no program {given!r}", hint="name a browser such as chromium")
    raise InputError(
        "a PDF is printed by a browser, and none is installed here",
        hint=f"install one of {listing(BROWSERS[:3])}, or name it with --browser; any browser "
        "prints the page by hand, too",
    )


def to_pdf(html: bytes, program: str) -> bytes:
    """The page as this browser prints it."""
    with TemporaryDirectory(prefix="titan-") as folder:
        page, printed = Path(folder) / "page.html", Path(folder) / "page.pdf"
        page.write_bytes(html)
        words = [
            program,
            *_QUIETLY,
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            words.append("--no-sandbox")  # which Chromium does not offer to root; no script runs
        try:
            done = subprocess.run(  # noqa: S603 - no shell, and the program is the user's choice
                [*words, page.as_uri()], capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise _failed(program, f"it was not done after {_SECONDS:.0f} seconds") from None
        except OSError as error:
            raise _failed(program, (error.strerror or "it cannot be run").lower()) from None
        if not printed.is_file() or not (content := printed.read_bytes()).startswith(b"%PDF-"):
            raise _failed(program, f"it ended with status {done.returncode} and no PDF")
        return content


def _failed(program: str, why: str) -> FileError:
    return FileError(
        f"{program} did not print the page: {why}",
        hint="try another browser with --browser; the page itself is written",
    )
