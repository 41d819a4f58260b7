"""Numbers with names: what a regression reports for every column, and for every pair of them."""

# Rule 1: these are dicts, because pandas takes the names of nothing else; they cannot be changed.
# Rule 2: a number is what `float` makes of its enclosure, which holds more digits.

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from titan.errors import InputError, NotThereError
from titan.leastsquares.balls import Ball
from titan.ring.whole import as_whole

if TYPE_CHECKING:
    from pandas import DataFrame

Quantity = Ball | float
"""A number in a proven ball, or a plain one: zero, infinite or not defined."""

V = TypeVar("V")


class Limits(NamedTuple):
    """The two ends of a confidence interval."""

    lower: float
    upper: float


class _ReadOnly(dict[str, V]):
    """A dict that stays as it was made."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise InputError("numbers of a result cannot be changed", hint="dict(…) makes a copy")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __missing__(self, name: object) -> NoReturn:
        known = ", ".join(list(self)[:8]) + (", …" if len(self) > 8 else "")
        raise NotThereError(f"there is no {name!r}", hint=f"there are {known}")


class Named(_ReadOnly[float]):
    """Numbers by name or by position; `numpy.asarray` and pandas take it as it is."""

    def __init__(self, names: Sequence[str], quantities: Sequence[Quantity]) -> None:
        super().__init__(zip(names, map(float, quantities), strict=True))
        self.enclosures = tuple(quantities)

    def __getitem__(self, key: str | SupportsIndex) -> float:
        if isinstance(key, str):
            return super().__getitem__(key)
        count, at = len(self), as_whole(key)
        if at is None or not -count <= at < count:
            raise NotThereError(f"there is no number {key!r} among {count}", hint="the first is 0")
        return float(self.enclosures[at])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(list(self.values()), dtype or np.float64)

    def enclosure(self, name: str) -> Quantity:
        """The ball around one of the numbers."""
        self[name]  # refuses a name that is not there
        return self.enclosures[list(self).index(name)]

    def __reduce__(self) -> tuple[Any, ...]:
        return Named, (tuple(self), self.enclosures)

    def __repr__(self) -> str:
        return f"Named({', '.join(f'{name}={value:.6g}' for name, value in self.items())})"


class NamedTable(_ReadOnly[Any]):
    """Rows by name; by position it is the matrix that `numpy.asarray` makes of it.

    `pandas.DataFrame(table)` has the names of the rows as its columns, as of any dict;
    `to_frame()` has them as its index, the way statsmodels has them.
    """

    def __init__(self, rows: Mapping[str, Any], columns: Sequence[str]) -> None:
        super().__init__(rows)
        self.columns = tuple(columns)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return super().__getitem__(key)
        if isinstance(key, tuple) and len(key) == 2 and all(isinstance(k, str) for k in key):
            row = np.asarray(super().__getitem__(key[0]))
            return Named(self.columns, row.tolist())[key[1]]
        return np.asarray(self)[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        rows = [np.asarray(row) for row in self.values()]
        return np.array(rows, dtype or np.float64).reshape(self.shape)

    def to_frame(self) -> DataFrame:
        """A pandas DataFrame with names on both sides."""
        try:
            from pandas import DataFrame
        except ImportError:
            hint = "pip install pandas, or use numpy.asarray"
            raise InputError("pandas is not installed", hint=hint) from None
        return DataFrame(np.asarray(self), index=list(self), columns=list(self.columns))

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedTable, (dict(self), self.columns)

    def __repr__(self) -> str:
        return f"<NamedTable {', '.join(self)} by {', '.join(self.columns)}>"


def error_of(quantity: Quantity) -> float:
    """How far `float(quantity)` may be off; nothing is claimed where it is not defined."""
    if isinstance(quantity, Ball):
        return quantity.error
    return math.nan if math.isnan(quantity) else 0.0
