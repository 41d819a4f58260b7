"""titan demo: four hospitals fit one regression; see what one of them saw of the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from titan.cli import options
from titan.cli.output import show_json, show_rows
from titan.leastsquares.balls import at_most
from titan.pooling import WIDE, Sums, pool

if TYPE_CHECKING:
    from titan.leastsquares import Regression
    from titan.moments import Model, Moments
    from titan.privacy.view import View

_CURIOUS = "Budapest"
_SHOWN = {"Σ age²": ("age", "age"), "Σ age·thalach": ("age", "thalach")}
_ROWS = "rows"


def command(json: options.Json = False) -> None:
    """Four hospitals fit one regression to 854 patients, and none shows a row.

    Real data (UCI Heart Disease), real agents, every message real. The keys of the JSON:
    `formula`, `parties` (hospital → rows), `seen_by`, `seen` (hospital → moment → its `private`
    value and the residue `seen`, in hexadecimal), `params`, `error_bound` and `together` (column →
    number: pooled, proven bound, all rows in one place), `difference` (the largest between the
    two), `lstsq_difference` (the largest from numpy.linalg.lstsq on all rows), `nobs`, `cost`.

    \b
    Example:
      titan demo
    """
    shown = _run()
    if json:
        show_json(_as_dict(shown))
    else:
        _tell(shown)


@dataclass(frozen=True)
class _Shown:
    """Everything that the demo shows."""

    model: Model
    moments: dict[str, Moments]
    seen: dict[str, list[int]]
    """Hospital → the entries of its masked vector in the first sum, as the curious one got it."""
    pooled: Regression
    together: Regression
    lstsq: dict[str, float]

    def residue(self, hospital: str, moment: str) -> int:
        """The first sum is the diagonal, Aᵀb, bᵀb and the row count, in this order."""
        names = self.model.names
        n = len(names) - 1
        if moment == _ROWS:
            return self.seen[hospital][2 * n + 1]
        one, other = (names.index(column) for column in _SHOWN[moment])
        return self.seen[hospital][one if one == other else n + one]

    def private(self, hospital: str, moment: str) -> int:
        moments = self.moments[hospital]
        if moment == _ROWS:
            return moments.rows
        return int(moments.fraction(*(moments.names.index(c) for c in _SHOWN[moment])))

    @property
    def difference(self) -> float:
        return max(abs(self.pooled.params[c] - b) for c, b in self.together.params.items())

    @property
    def lstsq_difference(self) -> float:
        return max(abs(self.pooled.params[c] - b) for c, b in self.lstsq.items())


def _run() -> _Shown:
    from dataclasses import replace

    from titan import Network, datasets
    from titan.fitting import fit
    from titan.leastsquares import fit_pooled
    from titan.moments import Model, collect, open_source, split_by
    from titan.privacy.view import Record

    facts, source = datasets.facts("heart_disease"), open_source(datasets.path("heart_disease"))
    model = Model.from_columns(facts["response"], facts["predictors"])
    moments = {
        hospital: collect(rows, model).moments
        for hospital, rows in split_by(source, facts["party_column"]).items()
    }
    net = Network.cycle(list(moments))
    sums = Sums(net, tau=1, recovery="flood", record=True)
    pooled, cost = pool(list(moments.values()), sums, "inference")
    out = replace(fit_pooled(pooled, constant=model.constant), cost=cost)
    view = Record(net, tuple(sums.kept)).view([_CURIOUS])
    together = fit(source, formula=model.formula)
    return _Shown(model, moments, _seen(view), out, together, _lstsq(model))


def _seen(view: View) -> dict[str, list[int]]:
    """Of every other hospital, the masked vector that reached the curious one in the first sum."""
    return {
        origin: vector.tolist()
        for message in view.received_by(_CURIOUS)
        if message.sum == 0
        for origin, vector in zip(message.origins, message.numbers, strict=False)
        if origin != _CURIOUS
    }


def _lstsq(model: Model) -> dict[str, float]:
    """The same model by numpy on all rows in one place, from the file itself."""
    import csv

    from titan import datasets

    with datasets.path("heart_disease").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    *explaining, response = model.names
    columns = [
        [1.0 if name == "Intercept" else float(line[name]) for line in lines]
        for name in (*explaining, response)
    ]
    *A, b = np.array(columns)
    params, *_ = np.linalg.lstsq(np.stack(A, axis=1), b)
    return dict(zip(explaining, params.tolist(), strict=True))


# -- answers ----------------------------------------------------------------------------------


def _as_dict(shown: _Shown) -> dict[str, Any]:
    return {
        "formula": shown.model.formula,
        "parties": {hospital: moments.rows for hospital, moments in shown.moments.items()},
        "seen_by": _CURIOUS,
        "seen": {
            hospital: {
                moment: {
                    "private": shown.private(hospital, moment),
                    "seen": f"{shown.residue(hospital, moment):0{WIDE.bits // 4}x}",
                }
                for moment in (_ROWS, *_SHOWN)
            }
            for hospital in shown.seen
        },
        "params": dict(shown.pooled.params),
        "error_bound": dict(shown.pooled.error_bound),
        "together": dict(shown.together.params),
        "difference": shown.difference,
        "lstsq_difference": shown.lstsq_difference,
        "nobs": shown.pooled.nobs,
        "cost": shown.pooled.cost.as_dict(),
    }


def _tell(shown: _Shown) -> None:
    print("Four hospitals ask together what goes with a patient's highest heart rate")
    print("(thalach), and none shows a row. Messages go one way round:\n")
    print(f"  {' -> '.join(shown.moments)} -> ...\n")
    print(f"What {_CURIOUS} received of the others' sums, modulo 2^{WIDE.bits}:\n")
    show_rows(_what_was_seen(shown))
    print("\nMasks hide each of them and cancel in the total; so the fit is that of all rows:\n")
    show_rows(_coefficients(shown))
    n = len(shown.pooled.names)
    lstsq = at_most(Fraction(shown.lstsq_difference))
    print(
        f"\nnumpy.linalg.lstsq on all rows differs by at most {lstsq}.\n"
        f"Every hospital learned the pooled AᵀA ({n}×{n}), Aᵀb, bᵀb, {shown.pooled.nobs} rows; "
        f"nothing else:\nall that {_CURIOUS} saw, the masks it shared with its neighbours "
        "included, is as\nlikely for any other rows of the others with the same pooled sums.\n"
        f"Cost: {options.cost_line(shown.pooled.cost)}."
    )


def _what_was_seen(shown: _Shown) -> list[tuple[str, ...]]:
    table: list[tuple[str, ...]] = [("hospital", "sum", "its value", f"what {_CURIOUS} saw of it")]
    for hospital in (name for name in shown.moments if name != _CURIOUS):
        for at, moment in enumerate((_ROWS, *_SHOWN)):
            value = f"{shown.private(hospital, moment):,}"
            residue = _shortened(shown.residue(hospital, moment))
            table.append(("" if at else hospital, moment, value, residue))
    return table


def _coefficients(shown: _Shown) -> list[tuple[str, ...]]:
    table: list[tuple[str, ...]] = [
        ("", "pooled in private", "± at most", "all rows together", "difference")
    ]
    for name, value in shown.pooled.params.items():
        together = shown.together.params[name]
        bound = at_most(Fraction(shown.pooled.error_bound[name]))
        table.append((name, repr(value), bound, repr(together), f"{value - together:g}"))
    return table


def _shortened(residue: int) -> str:
    """The first and the last digits of very many."""
    digits = f"{residue:0{WIDE.bits // 4}x}"
    return f"{digits[:16]}…{digits[-8:]}"
