"""The answer of an average: exact inside, correctly rounded outside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from titan import canonical
from titan.canonical import exact_text, read_exact, read_integer
from titan.listing import aligned, ruled
from titan.results import Result
from titan.results.result import Recorded
from titan.ring.fixed_point import decode, error_bound

Floats = npt.NDArray[np.float64]
_SHOWN = 20
_NUMBERS = ("value", "total", "error_bound")
_STATE = ("sums", "units", "rounding", "bits", "shape", "parties", "names", "recovery")


@dataclass(frozen=True, eq=False, repr=False)
class Average(Result, kind="average"):
    """What every party ends with.

    `value` and `total` have the shape of one party's input, each entry correctly rounded from the
    exact sum of the encoded inputs; `error_bound` is a proven bound on |value - true average|. On a
    study's grid nothing is lost in encoding: the numbers on the grid are what is averaged.
    """

    sums: tuple[int, ...]
    units: tuple[Fraction, ...]
    """What 1 stands for in the sums: of every entry, or one for all."""
    rounding: Fraction
    """How far the encoding may have moved a number."""
    bits: int
    shape: tuple[int, ...]
    parties: tuple[str, ...]
    names: tuple[str, ...] = ()
    """Of the entries, where they are columns."""
    recovery: str = ""
    cost: Any = None
    record: Recorded | None = None

    def __post_init__(self) -> None:
        self.total  # noqa: B018 - refuses what is beyond float64

    @cached_property
    def value(self) -> float | Floats:
        return self._shaped(self._average)

    @cached_property
    def total(self) -> float | Floats:
        return self._shaped(decode(self.sums, self.units))

    @cached_property
    def error_bound(self) -> float | Floats:
        return self._shaped(error_bound(self._average, self.rounding))

    @cached_property
    def _average(self) -> Floats:
        return decode(self.sums, self.units, len(self.parties))

    def _shaped(self, x: Floats) -> float | Floats:
        return x.reshape(self.shape) if self.shape else float(x[0])

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """The average of the encoded inputs, exactly, flattened."""
        units = self.units if len(self.units) == len(self.sums) else self.units * len(self.sums)
        m = len(self.parties)
        return tuple(n * unit / m for n, unit in zip(self.sums, units, strict=True))

    # -- for people and for programs ----------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the numbers of named columns stand under their names."""
        numbers = {key: np.asarray(getattr(self, key)).tolist() for key in _NUMBERS}
        if self.names:
            numbers = {k: dict(zip(self.names, x, strict=True)) for k, x in numbers.items()}
        rest = {"parties": list(self.parties), "recovery": self.recovery, "bits": self.bits}
        return numbers | rest | ({} if self.cost is None else {"cost": self.cost.as_dict()})

    def summary(self) -> str:
        """The numbers with what is proven of them, and what they cost."""
        value, bound = np.ravel(self.value).tolist(), np.ravel(self.error_bound).tolist()
        rows = [("", "average", "proven within")[not self.names :]]
        for at, (x, error) in enumerate(zip(value[:_SHOWN], bound, strict=False)):
            rows.append((*self.names[at : at + 1], repr(x), f"{error:.1e}"))
        lines = ruled(aligned(rows))
        if len(value) > _SHOWN:
            lines.append(f"and {len(value) - _SHOWN} more entries (`value` and --json have all)")
        told, cost = f"{len(self.parties)} parties", self.cost
        if cost is not None:
            told += f"; {self.recovery}, {cost.rounds} rounds, {cost.messages} messages, "
            told += f"at most {cost.bytes_sent.largest} bytes sent by a party"
        return "\n".join([*lines, told])

    def to_state(self) -> dict[str, Any]:
        return {
            "sums": list(map(exact_text, self.sums)),
            "units": list(map(exact_text, self.units)),
            "rounding": exact_text(self.rounding),
            "bits": self.bits,
            "recovery": self.recovery,
            **{key: list(getattr(self, key)) for key in ("shape", "parties", "names")},
        }

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Average:
        found = canonical.keys(state, _STATE)
        sums = tuple(map(read_integer, canonical.listed(found["sums"])))
        units = tuple(map(read_exact, canonical.listed(found["units"])))
        shape = tuple(map(canonical.whole, canonical.listed(found["shape"])))
        named = canonical.names(found["names"]) if found["names"] != [] else ()
        if math.prod(shape) != len(sums) or len(units) not in (1, len(sums)):
            raise ValueError("it does not have as many sums and units as entries")
        if named and len(named) != len(sums):
            raise ValueError("it does not have as many names as entries")
        rounding, bits = read_exact(found["rounding"]), canonical.whole(found["bits"], 1)
        parties, recovery = canonical.names(found["parties"]), canonical.name(found["recovery"])
        return cls(sums, units, rounding, bits, shape, parties, named, recovery, cost)

    def __repr__(self) -> str:
        return f"Average(value={self.value!r}, parties={len(self.parties)})"
