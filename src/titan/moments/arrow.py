"""Arrow, loaded when it is first used: it takes long, and most commands never read a row."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Later:
    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)  # the next time it is there
        return found


pa: Any = _Later("pyarrow")
pc: Any = _Later("pyarrow.compute")
kinds: Any = _Later("pyarrow.types")
arrow_csv: Any = _Later("pyarrow.csv")
parquet: Any = _Later("pyarrow.parquet")
