"""Every promise of docs/privacy.md points to a test, and every test pointed at is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
POINTER = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@cache
def names_in(file: Path) -> frozenset[str]:
    """The names of a file's tests, as pytest would collect them."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return frozenset(name for name in names if name.startswith("test_"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_points_to_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    pointers = POINTER.findall(text)
    assert len(pointers) == text.count(".py::"), "a pointer is `tests/file.py::test_name`"
    for file, name in pointers:
        assert (ROOT / file).is_file(), f"{page.name} points to {file}"
        assert Path(file).name.startswith("test_"), f"{file} is not in the normal tests"
        assert name in names_in(ROOT / file), f"{page.name} points to {file}::{name}"


def test_every_promise_has_its_test() -> None:
    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    _, table = text.split("## Each promise and its test\n")
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 30
    for row in rows:
        promise, tests = row.strip("|").split("|")
        assert promise.strip()
        assert POINTER.search(tests), f"nothing defends: {promise.strip()}"
