"""Invariant: every command of the README runs as it stands, from an empty folder."""

from __future__ import annotations

from pathlib import Path

from tests.pages.blocks import ROOT, blocks
from tests.pages.session import Session

SLOW = ("pip install", "titan join")


def test_the_first_session_of_the_readme_runs(tmp_path: Path) -> None:
    """`make docs` runs all of it: the installation, and the study of three processes too."""
    everything = blocks(ROOT / "README.md")
    found = [block for block in everything if not any(word in block.text for word in SLOW)]
    assert [block.language for block in found] == ["sh", "python"]
    assert any("OLS Regression Results" in (block.shows or "") for block in found)
    assert Session(tmp_path).run(found) == len(found) == len(everything) - len(SLOW)
