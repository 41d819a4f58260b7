"""A Table 1: what all parties' rows are, column by column.

Counts and sums are exact; the floats made of them are correctly rounded, so that half a unit in the
last place is all that they are off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any

from titan import canonical
from titan.canonical import exact_text, read_double, read_exact
from titan.decimals import decimal_text
from titan.errors import NotThereError
from titan.listing import aligned, listing, ruled
from titan.release.dictionary import KINDS
from titan.results import Result
from titan.results.result import Recorded


@dataclass(frozen=True)
class ColumnSummary:
    """One column: numbers have a mean, categories and flags have levels."""

    name: str
    kind: str
    missing: int
    count: int
    """How many values are there."""
    unit: str = ""
    total: Fraction | None = None
    """Σx, of a column of numbers."""
    squares: Fraction | None = None
    """Σx²."""
    levels: tuple[tuple[str, int], ...] = ()
    """Every level with its rows."""
    edges: tuple[Fraction, ...] = ()
    """Of the histogram: from each edge to the next, the last included."""
    histogram: tuple[int, ...] = ()
    """The rows between them."""

    @property
    def exact_mean(self) -> Fraction | None:
        if self.total is None or not self.count:
            return None
        return self.total / self.count

    @property
    def exact_variance(self) -> Fraction | None:
        """With count − 1 below; None where there are fewer than two values."""
        if self.total is None or self.squares is None or self.count < 2:
            return None
        return (self.squares - self.total**2 / self.count) / (self.count - 1)

    @property
    def mean(self) -> float:
        """NaN where there is no value, or none that is a number."""
        return math.nan if self.exact_mean is None else _float(self.exact_mean)

    @property
    def std(self) -> float:
        """The standard deviation; NaN where there are fewer than two values."""
        return math.nan if self.exact_variance is None else _root(self.exact_variance)

    @property
    def error_bound(self) -> dict[str, float]:
        """How far mean and std may be off: by their own rounding to float64."""
        numbers = {"mean": self.mean, "std": self.std}
        return {key: math.ulp(x) / 2 for key, x in numbers.items() if not math.isnan(x)}

    @property
    def shares(self) -> dict[str, float]:
        """The part of the values at each level; nothing where there are no values."""
        return {level: n / self.count for level, n in self.levels if self.count}

    @property
    def outside(self) -> int:
        """The values that no cell of the histogram holds."""
        return self.count - sum(self.histogram) if self.edges else 0

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is not defined is None."""
        found: dict[str, Any] = {"kind": self.kind, "count": self.count, "missing": self.missing}
        if self.unit:
            found["unit"] = self.unit
        if self.total is not None:
            found |= canonical.finite({"mean": self.mean, "std": self.std})
            found["error_bound"] = self.error_bound
        if self.levels:
            found |= {"levels": dict(self.levels), "shares": self.shares}
        if self.edges:
            edges, counts = [_float(edge) for edge in self.edges], list(self.histogram)
            found["histogram"] = {"edges": edges, "counts": counts, "outside": self.outside}
        return found

    def to_state(self) -> dict[str, Any]:
        sums = {"total": self.total, "squares": self.squares}
        return asdict(self) | {
            **{key: None if sum_ is None else exact_text(sum_) for key, sum_ in sums.items()},
            "levels": [list(pair) for pair in self.levels],
            "edges": list(map(exact_text, self.edges)),
            "histogram": list(self.histogram),
        }

    @classmethod
    def from_state(cls, state: object) -> ColumnSummary:
        found = canonical.keys(state, (option.name for option in fields(cls)))
        levels = [canonical.listed(pair, 2) for pair in canonical.listed(found["levels"])]
        edges = tuple(map(read_double, canonical.listed(found["edges"])))
        histogram = canonical.listed(found["histogram"], max(len(edges) - 1, 0))
        if found["kind"] not in KINDS:
            raise ValueError("a column is of a kind that is not known")
        total, squares = (
            None if found[key] is None else read_exact(found[key]) for key in ("total", "squares")
        )
        column = cls(
            canonical.text(found["name"], canonical.MOST_NAME),
            found["kind"],
            canonical.whole(found["missing"]),
            canonical.whole(found["count"]),
            canonical.name(found["unit"]),
            total,
            squares,
            tuple((canonical.text(text), canonical.whole(n)) for text, n in levels),
            edges,
            tuple(map(canonical.whole, histogram)),
        )
        if not column.possible:
            raise ValueError("no numbers have the sums of a column")
        return column

    def lines(self) -> Iterator[tuple[str, ...]]:
        """Of the table: the column, and below it its levels or cells."""
        name = f"{self.name}, {self.unit}" if self.unit else self.name
        numbers = ["" if math.isnan(x) else f"{x:.6g}" for x in (self.mean, self.std)]
        yield (name, f"{self.count:,}", f"{self.missing:,}", *numbers)
        for label, n in self.cells():
            share = f"{n / self.count:.1%}" if self.count else ""
            yield (f"  {label}", f"{n:,}", "", share)

    @property
    def possible(self) -> bool:
        """Whether numbers can have these sums: n Σx² is at least (Σx)²."""
        if self.squares is None or self.total is None:
            return True
        return self.count * self.squares >= self.total**2

    def cells(self) -> Iterator[tuple[str, int]]:
        """Every level, or cell of the histogram, with its rows."""
        yield from self.levels
        texts = [decimal_text(edge) for edge in self.edges]
        for low, high, rows in zip(texts, texts[1:], self.histogram, strict=False):
            yield f"{low} to {high}", rows
        if self.outside:
            yield "outside", self.outside


@dataclass(frozen=True, repr=False)
class Description(Result, Mapping[str, ColumnSummary], kind="description"):
    """All columns that were asked for, by name; what every party ends with."""

    nobs: int
    """The rows of all parties together."""
    columns: tuple[ColumnSummary, ...]
    cost: Any = field(default=None, repr=False, compare=False)
    record: Recorded | None = field(default=None, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> ColumnSummary:
        for column in self.columns:
            if column.name == name:
                return column
        raise NotThereError(f"there is no column {name!r}", hint=f"there are {listing(self.names)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def count(self) -> dict[str, int]:
        """How many values every column has."""
        return {column.name: column.count for column in self.columns}

    @property
    def missing(self) -> dict[str, int]:
        """How many values every column lacks."""
        return {column.name: column.missing for column in self.columns}

    @property
    def mean(self) -> dict[str, float]:
        """Of the columns of numbers."""
        return {column.name: column.mean for column in self.columns if column.total is not None}

    @property
    def std(self) -> dict[str, float]:
        """Of the columns of numbers, with count − 1 below."""
        return {column.name: column.std for column in self.columns if column.total is not None}

    def summary(self) -> str:
        """The table, as papers print it first."""
        heading = ("", "count", "missing", "mean or share", "std")
        lines = aligned([heading, *(line for column in self.columns for line in column.lines())])
        return "\n".join([f"Table 1: {self.nobs:,} rows", *ruled(lines)])

    def to_dict(self) -> dict[str, Any]:
        return {"nobs": self.nobs, "columns": {c.name: c.to_dict() for c in self.columns}}

    def to_state(self) -> dict[str, Any]:
        return {"nobs": self.nobs, "columns": [column.to_state() for column in self.columns]}

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Description:
        found = canonical.keys(state, ("nobs", "columns"))
        nobs = canonical.whole(found["nobs"])
        columns = tuple(map(ColumnSummary.from_state, canonical.listed(found["columns"])))
        canonical.names([column.name for column in columns])
        if any(column.count + column.missing != nobs for column in columns):
            raise ValueError("a column's values and missing values do not add up to the rows")
        return cls(nobs, columns, cost)

    def __repr__(self) -> str:
        return f"Description({', '.join(self.names)}, nobs={self.nobs})"


def _float(number: Fraction) -> float:
    """Correctly rounded."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _root(square: Fraction) -> float:
    """√square, correctly rounded: an integer root of 64 bits or more, its last one sticky."""
    n, m = square.as_integer_ratio()
    shift = max(0, 130 - n.bit_length() + m.bit_length()) // 2 + 1
    root = math.isqrt((n << 2 * shift) // m)
    root |= root * root * m != n << 2 * shift
    return _float(Fraction(root, 1 << shift))
