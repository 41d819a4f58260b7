"""titan demo: four hospitals fit one regression; see what one of them saw of the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from titan.cli import options
from titan.cli.output import (
    ask_before_replacing,
    check_writable,
    picture_name,
    show_pairs,
    show_rows,
)
from titan.joint.equations import WIDE
from titan.leastsquares.balls import at_most
from titan_lab.cli.output import show_json

if TYPE_CHECKING:
    from titan.leastsquares import Regression
    from titan.moments import Model, Moments
    from titan.privacy.view import View

_CURIOUS = "Budapest"
_SHOWN = {"Σ age²": ("age", "age"), "Σ age·thalach": ("age", "thalach")}
_ROWS = "rows"
_PICTURE = Path("titan-view.png")


def command(
    view: Annotated[
        bool,
        typer.Option(
            "--view", help=f"Draw what each hospital holds, and what {_CURIOUS} saw of it."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help=f"The picture's file, .png or .svg. [default: {_PICTURE}]"),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Only write the hospitals' rows, a CSV file each, to try other commands on.",
        ),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Four hospitals fit one regression to 854 patients, and none shows a row.

    Real data (UCI Heart Disease), real agents, every message real. The keys of the JSON:
    `formula`, `parties` (hospital → rows), `seen_by`, `seen` (hospital → moment → its `private`
    value and the residue `seen`, in hexadecimal), `params`, `error_bound` and `together` (column →
    number: pooled, proven bound, all rows in one place), `difference` (the largest between the
    two), `lstsq_difference` (the largest from numpy.linalg.lstsq on all rows), `nobs`, `cost`;
    with --view also `picture`, the file; with --rows nothing but `files` (name → rows).

    \b
    Example:
      titan demo
      titan demo --view
      titan demo --rows hospitals
    """
    if rows is not None:
        from titan_lab.cli.demo_rows import tell_rows

        tell_rows(rows, force, json)
        return
    picture = (out or _PICTURE) if view or out is not None else None
    if picture is not None:
        _check(picture, force)
    shown = _run()
    if picture is not None:
        _draw(shown, picture)
    if json:
        show_json(_as_dict(shown) | ({} if picture is None else {"picture": str(picture)}))
    elif picture is not None:
        _tell_view(shown, picture)
    else:
        _tell(shown)


def _check(picture: Path, force: bool) -> None:
    """What would stop the picture is found before anything runs."""
    from titan_lab.pictures.network import plotting

    check_writable(picture)
    picture_name("--out", picture)
    ask_before_replacing([picture], force)
    plotting()


def _draw(shown: _Shown, picture: Path) -> None:
    from titan_lab.cli.demo_view import sight
    from titan_lab.pictures.heatmaps import draw_sight

    draw_sight(sight(shown.view, shown.moments, shown.model.names), picture)


@dataclass(frozen=True)
class _Shown:
    """Everything that the demo shows."""

    model: Model
    moments: dict[str, Moments]
    view: View
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
    from titan import Network
    from titan.fitting import fit, fit_moments
    from titan.joint import SumSettings
    from titan.moments import Model, collect, open_source
    from titan_lab import datasets
    from titan_lab.cli.demo_view import masked_vectors

    facts, source = datasets.facts("heart_disease"), open_source(datasets.path("heart_disease"))
    model = Model.from_columns(facts["response"], facts["predictors"])
    moments = {
        hospital: collect(rows, model).moments
        for hospital, rows in datasets.by_party("heart_disease").items()
    }
    net = Network.cycle(list(moments))
    settings = SumSettings(net, tau=1, recovery="flood", record=True)
    out = fit_moments(list(moments.values()), settings)
    view = out.view([_CURIOUS])
    together = fit(source, formula=model.formula)
    seen = masked_vectors(view, 0)
    del seen[_CURIOUS]
    return _Shown(model, moments, view, seen, out, together, _lstsq(model))


def _lstsq(model: Model) -> dict[str, float]:
    """The same model by numpy on all rows in one place, from the file itself."""
    import csv

    from titan_lab import datasets

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
    print(f"What {_CURIOUS} received of the others' sums, modulo 2^{WIDE.bits}:")
    show_rows(_what_was_seen(shown))
    print("\nMasks hide each of them and cancel in the total; so the fit is that of all rows:")
    show_rows(_coefficients(shown))
    n = len(shown.pooled.names)
    lstsq = at_most(Fraction(shown.lstsq_difference))
    print(
        f"\nnumpy.linalg.lstsq on all rows differs by at most {lstsq}.\n"
        f"Every hospital learned the pooled AᵀA ({n}×{n}), Aᵀb, bᵀb, {shown.pooled.nobs} rows; "
        f"nothing else:\nall that {_CURIOUS} saw, the masks it shared with its neighbours "
        "included, is as\nlikely for any other rows of the others with the same pooled sums.\n"
        f"{options.cost_line(shown.pooled.cost)}"
    )


def _tell_view(shown: _Shown, picture: Path) -> None:
    """What was seen, counted; the picture says the rest."""
    n, view = len(shown.pooled.names), shown.view
    received, sent = view.received_by(_CURIOUS), view.sent_by(_CURIOUS)
    print(f"All that {_CURIOUS} saw: {len(received)} messages received, {len(sent)} sent.\n")
    show_pairs(
        [
            ("of another hospital's rows", "nothing"),
            (f"of its AᵀA ({n}×{n}) and Aᵀb", "every entry, masked: noise"),
            ("of the sum over all", "every entry: there the masks cancel"),
        ]
    )
    print(f"\nThe picture is in {picture}")
    print(f"(above, what each hospital holds; below, what {_CURIOUS} saw of it).")


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
