"""Packages that only some kinds of rows need, and what to install where they are not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from titan.errors import InputError


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Around their import: which extra of ours brings them along."""
    try:
        yield
    except ImportError:
        raise InputError(
            f"{what} is not installed", hint=f"pip install 'titan-consensus[{extra}]'"
        ) from None
