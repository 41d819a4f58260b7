"""The kinds of question that come with the program, each with the computation that answers it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

from titan.decimals import decimal
from titan.errors import InputError, ReleaseError
from titan.joint.equations import Given, Release
from titan.joint.kinds import TEXT, TEXTS, Asked, Setting, kind
from titan.joint.regression import Regression
from titan.joint.ridge import RidgeRegression
from titan.joint.system import LinearSystem
from titan.leastsquares.robust import OF_ROWS, CovType, clusters_hidden
from titan.moments import Model
from titan.release import Dictionary
from titan.release.cells import ROWS_ALONE, CellCounts
from titan.release.made import MadeColumns
from titan.release.model_cells import cells_of
from titan.release.sizes import INDICATOR, size_of, sizes

_MOST_EXPONENT = 300  # penalties are doubles in the end


def _model(asked: Asked, columns: Dictionary) -> Model:
    weights = asked.get("weights")
    assert weights is None or isinstance(weights, str)  # noqa: S101 - its shape was checked
    model = columns.model(str(asked["formula"]), weights=weights, pooled=True)
    if all(size_of(name, columns) for name in model.number_columns):
        sizes(model, columns)  # every function has a value, wherever a row may lie
    return model


def _pooled(
    model: Model,
    setting: Setting,
    release: Release,
    cells: CellCounts | None = None,
    *,
    squared: bool = False,
) -> dict[str, Any]:
    """With sizes given by the dictionary, which must describe every number that is read."""
    known = setting.columns
    made = MadeColumns.of(model, known, setting.policy.precision)
    weights = size_of(model.weights, known) if model.weights else INDICATOR
    assert weights is not None  # noqa: S101 - described, as all that the model reads
    counted = cells_of(model, known, squared=squared) if cells is None else cells
    parties = len(setting.parties)
    logs = model.weights is not None and release == "inference" and weights.low > 0
    return {
        "equations": Given(model.names, made.sizes, release, weights, counted, parties, logs),
        "tau": setting.tau,
        "parties": parties,
        "policy": setting.policy,
        "model": model,
        "missing": setting.missing,
        "check": known.place,
        "rounding": made.rounding,
    }


# -- regression -------------------------------------------------------------------------------


def _settle_regression(asked: Asked, columns: Dictionary) -> Asked:
    """The formula in its one form, and only choices that are not the usual ones."""
    cov_type, release = asked.get("cov_type", "nonrobust"), asked.get("release", "inference")
    _choice("cov_type", cov_type, get_args(CovType))
    _choice("release", release, get_args(Release))
    if release == "solution" and cov_type != "nonrobust":
        raise InputError(
            "robust errors are asked for, and release is 'solution', which has no errors",
            hint='leave release="solution" out',
        )
    settled = dict(asked) | {"formula": _model(asked, columns).formula}
    usual = {"cov_type": "nonrobust", "release": "inference"}
    return {name: value for name, value in settled.items() if usual.get(name) != value}


@kind(
    "regression",
    options={"formula": TEXT, "weights": TEXT, "cov_type": TEXT, "release": TEXT},
    first="formula",
    required=("formula",),
    settle=_settle_regression,
)
def regression(asked: Asked, setting: Setting) -> Regression | LinearSystem:
    """Least squares with standard errors; with release = "solution", the coefficients alone."""
    model = _model(asked, setting.columns)
    if asked.get("release") == "solution":
        return LinearSystem(**_pooled(model, setting, "solution"))
    cov_type: Any = asked.get("cov_type", "nonrobust")
    parties, tau, n = len(setting.parties), setting.tau, len(model.design)
    if cov_type == "cluster" and not clusters_hidden(parties, tau, n):
        raise ReleaseError(
            f"cov_type is 'cluster', which is not offered over a network of {parties} parties with "
            f"tau = {tau} for {n} coefficients: its sum could tell each party's own",
            hint=f"cov_type=HC0, or at least {n + tau + 2} parties",
            rule="clusters",
        )
    pooled = _pooled(model, setting, "inference", squared=cov_type in OF_ROWS)
    return Regression(**pooled, cov_type=cov_type)


# -- ridge ------------------------------------------------------------------------------------


def _settle_ridge(asked: Asked, columns: Dictionary) -> Asked:
    for text in asked["alphas"]:
        if _alpha(text) < 0:
            raise InputError(f"the penalty {text} is negative", hint="0 or more")
    return dict(asked) | {"formula": _model(asked, columns).formula}


def _alpha(text: str) -> Fraction:
    try:
        return decimal(text, most_exponent=_MOST_EXPONENT)
    except ValueError as error:
        raise InputError(f"the penalty {text[:40]!r}: {error}", hint="such as 0.5") from None


@kind(
    "ridge",
    options={"formula": TEXT, "weights": TEXT, "alphas": TEXTS},
    first="formula",
    required=("formula", "alphas"),
    settle=_settle_ridge,
)
def ridge(asked: Asked, setting: Setting) -> RidgeRegression:
    """Least squares with every penalty asked for."""
    model = _model(asked, setting.columns)
    alphas = tuple(float(_alpha(text)) for text in asked["alphas"])
    return RidgeRegression(**_pooled(model, setting, "solution"), alphas=alphas)


# -- linear systems ---------------------------------------------------------------------------


def _settle_system(asked: Asked, columns: Dictionary) -> Asked:
    unknowns, response = asked["columns"], asked.get("response", "b")
    if response in unknowns:
        raise InputError(f"{response!r} is both a column of A and the right-hand side b")
    if len(set(unknowns)) < len(unknowns):
        raise InputError("a column of A is named twice", hint="name each column once")
    columns.check_numbers([*unknowns, str(response)])
    return dict(asked) | {"response": response}


@kind(
    "solve",
    options={"columns": TEXTS, "response": TEXT},
    first="columns",
    required=("columns",),
    settle=_settle_system,
)
def system(asked: Asked, setting: Setting) -> LinearSystem:
    """A x = b, each party bringing rows (A_i, b_i)."""
    model = Model.from_columns(str(asked["response"]), list(asked["columns"]), intercept=False)
    return LinearSystem(**_pooled(model, setting, "solution", ROWS_ALONE))


def _choice(what: str, given: Any, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise InputError(f"{what} is {given!r}", hint=f"one of {', '.join(allowed)}")
