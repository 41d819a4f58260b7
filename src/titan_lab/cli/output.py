"""How the laboratory's commands speak, beyond what titan's own do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from titan.cli.output import as_json, waiting


def show_json(answer: Mapping[str, Any]) -> None:
    print(as_json(answer))


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal, nothing in a pipe."""
    with waiting(what) as wait:
        yield wait.rounds
