"""Identities for tests: made once, good from 2024 for a hundred years, whatever the clock says."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from titan.study import Identity

MADE = datetime(2024, 1, 1, tzinfo=UTC)
NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
EXPIRED = datetime(2000, 1, 1, tzinfo=UTC)


@cache
def identity(name: str, made: datetime = MADE, days: int = 36_500, again: int = 0) -> Identity:
    """The same object for the same arguments; `again` makes another key for the same name."""
    return Identity.create(name, f"{name}.example.org:7443", now=made, days=days)


def save_cards(folder: Path, *names: str) -> list[Path]:
    paths = []
    for name in names:
        path = folder / f"{name}.card"
        identity(name).card.save(path)
        paths.append(path)
    return paths
