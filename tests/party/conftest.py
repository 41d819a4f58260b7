"""Nobody is there to be told, in most of these tests: who stays away does not look for long."""

from __future__ import annotations

import pytest

from titan.party import attendance


@pytest.fixture(autouse=True)
def _brief_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attendance, "SECONDS", 0.1)
