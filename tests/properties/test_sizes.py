"""What a reviewer reads stays within what can be read: no long file, and a short way in."""

from __future__ import annotations

import re
from pathlib import Path

import titan

ROOT = Path(titan.__file__).parent
README = Path(__file__).parents[2] / "README.md"
LONGEST = 400
READ_FIRST = 1250


def lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def test_no_file_is_long() -> None:
    files = {str(file.relative_to(ROOT)): lines(file) for file in ROOT.rglob("*.py")}
    assert len(files) > 100
    assert {name: n for name, n in files.items() if n > LONGEST} == {}


def test_the_order_of_reading_is_short() -> None:
    """One private sum, then what methods make of sums: the files that the README names."""
    text = README.read_text(encoding="utf-8")
    files = re.findall(r"`((?:ring|protocol|engines|joint)/[a-z_/]+\.py)`", text)
    assert len(files) == 8
    assert sum(lines(ROOT / file) for file in files) < READ_FIRST
