"""Ridge from the same pooled moments; its objective is scikit-learn's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

import numpy as np

from titan import canonical
from titan.errors import InputError
from titan.leastsquares import origins
from titan.leastsquares.balls import Ball
from titan.leastsquares.bounds import Floats
from titan.leastsquares.certified import certify
from titan.leastsquares.criteria import (
    best,
    checked,
    criterion,
    effective_df,
    residual_sum,
    ridge_errors,
    ridge_scale,
)
from titan.leastsquares.lasso import centred
from titan.leastsquares.named import Named, Quantity, error_of
from titan.leastsquares.new_rows import new_rows
from titan.leastsquares.pooled import Exact, PooledMoments
from titan.leastsquares.summary import significant
from titan.listing import aligned, ruled
from titan.moments.centring import Centres
from titan.moments.model import Model
from titan.results.result import Recorded, Result
from titan.ring.whole import real_number

_LATER: dict[str, Any] = {"df": "nan", "rss": None, "errors": []}
"""What older files lack, all together."""


@dataclass(frozen=True, eq=False)
class Ridge(Result, kind="ridge"):
    """The minimiser of ‖b − Ax‖² + alpha‖x‖², certified like an ordinary solution."""

    alpha: float
    params: Named
    error_bound: Named = field(init=False)
    rows: int
    cost: Any = None
    record: Recorded | None = field(default=None, repr=False)
    df: Quantity = math.nan
    """The effective degrees of freedom, tr((AᵀA + alpha P)⁻¹AᵀA), in a ball."""
    rss: Ball | None = field(default=None, repr=False)
    """‖b − Ax‖²; None where bᵀb was not released."""
    errors: tuple[Quantity, ...] = field(default=(), repr=False)
    """Standard errors as enclosures; none where bᵀb was not released."""
    formula: str | None = None
    centres: Centres = field(default_factory=dict)
    weights: str | None = None

    def __post_init__(self) -> None:
        bounds = Named(self.names, list(map(error_of, self.params.enclosures)))
        object.__setattr__(self, "error_bound", bounds)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.params)

    @property
    def nobs(self) -> int:
        return self.rows

    @property
    def df_effective(self) -> float:
        """How many coefficients the penalty leaves, so to speak."""
        return float(self.df)

    @property
    def scale(self) -> float:
        """The residual variance, RSS / (rows − df)."""
        if self.rss is None or not isinstance(self.df, Ball):
            return math.nan
        return float(ridge_scale(self.rss, self.df, self.rows))

    @property
    def bse(self) -> Named:
        """Standard errors about the penalised coefficients' own expectation."""
        if not self.errors:
            raise InputError(
                "standard errors of a ridge need bᵀb, which was not released",
                hint="fit the same model, and take fit.ridge(alpha); of a study, "
                f"{origins.ask(self)} has such a fit",
            )
        return Named(self.names, self.errors)

    @property
    def aic(self) -> float:
        return float(self.criterion("aic"))

    @property
    def bic(self) -> float:
        return float(self.criterion("bic"))

    def criterion(self, which: str) -> Quantity:
        """AIC or BIC as an enclosure; see `criteria`."""
        rss = math.nan if self.rss is None else self.rss
        return criterion(checked(which), rss, self.df, self.rows)

    @cached_property
    def model(self) -> Model | None:
        return origins.model_of(self)

    @property
    def intercept(self) -> str | None:
        """The column that is the constant by itself, as far as the model says so."""
        return None if self.model is None else self.model.constant_column

    def predict(self, rows: Any) -> Floats:
        """The fitted values of new rows, given as to `Regression.predict`."""
        fitted: Floats = new_rows(rows, self) @ np.asarray(self.params)
        return fitted

    def summary(self) -> str:
        """Every coefficient with how far it may be off."""
        cells: list[tuple[str, ...]] = [("", f"ridge, alpha {self.alpha:g}", "proven within")]
        cells += [(n, repr(x), f"{self.error_bound[n]:.1e}") for n, x in self.params.items()]
        if self.errors:
            texts = ["std err", *(significant(each, 4) for each in self.errors)]
            cells = [(*row, text) for row, text in zip(cells, texts, strict=True)]
        lines = ruled(aligned(cells))
        if isinstance(self.df, Ball):
            lines.append(f"effective degrees of freedom {significant(self.df, 6)}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        whole: dict[str, Any] = {
            "alpha": self.alpha,
            "params": dict(self.params),
            "error_bound": dict(self.error_bound),
            "nobs": self.rows,
            "df_effective": self.df_effective,
            "df_effective_error": error_of(self.df),
        }
        if self.errors:
            errors = map(error_of, self.errors)
            whole |= {
                "bse": dict(self.bse),
                "bse_error": dict(zip(self.names, errors, strict=True)),
            }
            whole |= {"scale": self.scale, "aic": self.aic, "bic": self.bic}
        return dict(canonical.finite(whole))

    def to_state(self) -> dict[str, Any]:
        balls = [ball.to_state() for ball in self.params.enclosures if isinstance(ball, Ball)]
        alpha = canonical.float_text(self.alpha)
        found = {"alpha": alpha, "names": list(self.names), "enclosures": balls, "rows": self.rows}
        return found | {
            "df": _state(self.df),
            "rss": None if self.rss is None else self.rss.to_state(),
            "errors": list(map(_state, self.errors)),
            **({} if self.formula is None else {"formula": self.formula}),
            **origins.to_state(self),
        }

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Ridge:
        found = dict(canonical.mapping(state))
        made, formula = origins.taken_from(found), found.pop("formula", None)
        found = canonical.keys(found, ("alpha", "names", "enclosures", "rows"), _LATER)
        names = canonical.names(found["names"])
        balls = list(map(Ball.from_state, canonical.listed(found["enclosures"], len(names))))
        errors = tuple(map(_of_state, canonical.listed(found["errors"])))
        if len(errors) not in (0, len(names)):
            raise ValueError("its standard errors are not as many as its coefficients")
        return cls(
            canonical.read_float(found["alpha"]),
            Named(names, balls),
            canonical.whole(found["rows"]),
            cost,
            df=_of_state(found["df"]),
            rss=None if found["rss"] is None else Ball.from_state(found["rss"]),
            errors=errors,
            formula=origins.read_formula(formula, made.get("centres", {}), names),
            **made,
        )


def _state(quantity: Quantity) -> Any:
    if isinstance(quantity, Ball):
        return quantity.to_state()
    return canonical.float_text(quantity)


def _of_state(state: object) -> Quantity:
    return Ball.from_state(state) if isinstance(state, list) else canonical.read_float(state)


@dataclass(frozen=True, eq=False)
class RidgePath(Result, Sequence[Ridge], kind="ridge path"):
    """The ridge solutions of one model for several alphas, in the order asked for."""

    path: Sequence[Ridge] = field(repr=False)
    cost: Any = None
    record: Recorded | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.path:
            raise InputError("there is no alpha", hint="give at least one, as [0.1, 1, 10]")
        object.__setattr__(self, "path", tuple(self.path))

    def __repr__(self) -> str:
        return f"RidgePath(alphas={self.alphas.tolist()}, nobs={self.nobs})"

    @overload
    def __getitem__(self, at: int) -> Ridge: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Ridge]: ...

    def __getitem__(self, at: int | slice) -> Ridge | Sequence[Ridge]:
        return self.path[at]

    def __len__(self) -> int:
        return len(self.path)

    @property
    def alphas(self) -> Floats:
        return np.array([each.alpha for each in self.path])

    @property
    def coefs(self) -> Floats:
        """One row of coefficients for every alpha, as a LassoPath has them."""
        return np.array([np.asarray(each.params) for each in self.path])

    @property
    def names(self) -> tuple[str, ...]:
        return self.path[0].names

    @property
    def nobs(self) -> int:
        return self.path[0].nobs

    def best(self, which: str = "bic") -> Ridge:
        """The one with the least BIC, or AIC."""
        values = [float(each.criterion(which)) for each in self.path]
        return best(self.path, values, which)

    def summary(self) -> str:
        return "\n\n".join(each.summary() for each in self.path)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        path = [each.to_dict() for each in self.path]
        return {"alphas": self.alphas.tolist(), "path": path, "nobs": self.nobs}

    def to_state(self) -> dict[str, Any]:
        return {"path": [each.to_state() for each in self.path]}

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> RidgePath:
        states = canonical.listed(canonical.keys(state, ("path",))["path"])
        return cls([Ridge.from_state(each) for each in states], cost)


def check_alpha(alpha: object) -> None:
    """A penalty is a number, and not negative."""
    if not 0 <= real_number("alpha", alpha) < math.inf:
        raise InputError(
            f"alpha is {alpha!r}", hint="a number that is not negative", choice="alpha"
        )


def penalised(moments: PooledMoments, alpha: float | Exact, intercept: str | None) -> PooledMoments:
    """AᵀA + alpha·P, P the identity but for the intercept; exact in alpha."""
    check_alpha(alpha)
    return moments.penalised([Fraction(alpha) * (name != intercept) for name in moments.names])


def ridge(moments: PooledMoments, alpha: float | Exact, intercept: str | None) -> Ridge:
    """(AᵀA + alpha·P) x = Aᵀb."""
    certificate = certify(penalised(moments, alpha, intercept))
    exact, shrunk = Fraction(alpha), [j for j, n in enumerate(moments.names) if n != intercept]
    balls, df = certificate.enclosures, effective_df(certificate, exact, shrunk)
    rss = residual_sum(moments, balls)
    errors: list[Quantity] = []
    if rss is not None:
        scale = ridge_scale(rss, df, moments.rows)
        errors = ridge_errors(certificate, exact, shrunk, scale)
    more: Any = {"df": df, "rss": rss, "errors": tuple(errors)}
    return Ridge(float(alpha), Named(moments.names, balls), moments.rows, **more)


def ridge_grid(moments: PooledMoments, intercept: str | None, count: int) -> list[float]:
    """Falling penalties, from ten times the largest column's variation to its millionth."""
    at = None if intercept is None else moments.index(intercept)
    norms = centred(moments, at)[2]
    largest = float(np.max(norms**2, initial=0.0)) or 1.0
    return [float(alpha) for alpha in np.geomspace(10 * largest, largest * 1e-6, count)]
