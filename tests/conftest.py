"""Tests never depend on the clock; in CI hypothesis tries the same examples every time."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

settings.register_profile("titan", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("titan")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tests that count say what they counted: `record_property("counted", text)`."""
    for done in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in done.user_properties if done.when == "call" else ():
            if name == "counted":
                terminalreporter.write_line(text)
