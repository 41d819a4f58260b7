"""Invariant: every command of every page runs as it stands. `make docs` runs this, CI too."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.pages.blocks import ROOT, blocks, pages
from tests.pages.session import Session

INSTALLED = ("src", "pyproject.toml", "README.md", "LICENSE")


@pytest.mark.parametrize("name", [name for name in pages() if name != "README.md"])
def test_a_page_runs(name: str, tmp_path: Path, record_property: Any) -> None:
    found, session = blocks(pages()[name]), Session(tmp_path)
    run = session.run(found)
    assert run, "not one block was run"
    for reason in session.not_run:
        record_property("counted", f"not run: {reason}")


def test_a_newcomer_follows_the_readme(tmp_path: Path) -> None:
    """From nothing but this folder: a new environment, `pip install .`, and every command."""
    for name in INSTALLED:
        copy: Any = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    found, session = blocks(ROOT / "README.md"), Session(tmp_path)
    assert session.run(found) == len(found)
    installed = tmp_path / "titan-env" / "bin"
    assert session.environment["PATH"].startswith(str(installed)), "what was installed was run"
