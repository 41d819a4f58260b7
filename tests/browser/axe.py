"""axe-core, which finds what shuts people out of a page.

`make browser` installs it with npm and says in TITAN_AXE where it is.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FILE = os.environ.get("TITAN_AXE", "")
needed = pytest.mark.skipif(
    not FILE, reason="axe-core is not installed: neither pages nor reports are checked with it"
)


def source() -> str:
    return Path(FILE).read_text(encoding="utf-8")
