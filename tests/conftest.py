"""Tests never depend on the clock; in CI hypothesis tries the same examples every time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from titan.study.ledger import Ledger

settings.register_profile("titan", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("titan")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty one."""
    with Ledger.open(tmp_path / "ledger") as opened:
        yield opened


@pytest.fixture
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra `plot` were not installed."""
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tests that count say what they counted: `record_property("counted", text)`."""
    for done in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in done.user_properties if done.when == "call" else ():
            if name == "counted":
                terminalreporter.write_line(text)
