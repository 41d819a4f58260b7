"""Twenty real data sets against statsmodels: both families, with and without offset and weights.

    python -m tests.generalised.against_statsmodels

Full precision, and everything that both results have. Exit status 1 where one number is farther off
than 1e-8 of it.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm

import titan
from tests.generalised import real
from titan.errors import DataError
from titan.generalised.result import GLM
from titan_lab import datasets

MOST_ROWS = 300
MORE: dict[str, tuple[str, tuple[str, ...]]] = {
    "heart": ("exang", ("age", "sex", "oldpeak")),
    "beats": ("thalach", ("age", "sex", "trestbps")),
    "firms": ("invest", ("value", "capital")),
    "murders": ("murder", ("poverty", "hs_grad", "urban")),
    "pupils": ("NABOVE", ("LOWINC", "PERASIAN", "PTRATIO")),
    "sunspots": ("SUNACTIVITY", ("YEAR",)),
    "strikes": ("duration", ("iprod",)),
    "nile": ("volume", ("year",)),
}
_SOURCES = {"murders": "statecrime", "pupils": "star98"}
NAMES = (*real.NAMES, *MORE)
CHOICES: tuple[dict[str, str], ...] = (
    {}, {"offset": "o"}, {"weights": "w"}, {"offset": "o", "weights": "w"}
)  # fmt: skip


def frame_of(name: str) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Some of the rows, the outcome as a whole number, and what explains it."""
    if name in MORE:
        response, columns = MORE[name]
        found = _loaded(name)
    else:
        drawn = real.drawn(name)
        response, *columns = drawn.table  # type: ignore[assignment]
        found = pd.DataFrame(drawn.table)
    every = -(-len(found) // MOST_ROWS)
    frame = found[[response, *columns]][::every].astype(float).reset_index(drop=True)
    frame[response] = frame[response].round()
    at = np.arange(len(frame))
    return frame.assign(o=np.round(0.3 * np.sin(at), 2), w=1 + at % 3), response, tuple(columns)


def _loaded(name: str) -> pd.DataFrame:
    if name in ("heart", "beats"):
        return pd.read_csv(datasets.path("heart_disease"))
    if name == "firms":
        return pd.read_csv(datasets.path("grunfeld"))
    frame: pd.DataFrame = getattr(sm.datasets, _SOURCES.get(name, name)).load_pandas().data
    return frame.reset_index(drop=True)


def outcome_for(frame: pd.DataFrame, response: str, family: str) -> pd.DataFrame:
    """Of a count, for logistic regression: whether it is above its median."""
    y = frame[response]
    if family == "binomial" and not set(y) <= {0.0, 1.0}:
        return frame.assign(**{response: (y > y.median()).astype(float)})
    return frame


def reference(frame: pd.DataFrame, response: str, columns: Any, family: str, **asked: Any) -> Any:
    X = sm.add_constant(frame[list(columns)].to_numpy(float), has_constant="add")
    kind = sm.families.Binomial() if family == "binomial" else sm.families.Poisson()
    offset = frame[asked["offset"]] if "offset" in asked else None
    weights = frame[asked["weights"]] if "weights" in asked else None
    model = sm.GLM(frame[response], X, family=kind, offset=offset, var_weights=weights)
    # its covariance is that of the iteration before the last
    return model.fit(start_params=model.fit(tol=1e-15).params, tol=1e-15)


def compared(out: GLM, r: Any, frame: pd.DataFrame) -> dict[str, tuple[Any, Any]]:
    """All that both have: ours, and statsmodels'."""
    names = [
        "params", "bse", "tvalues", "pvalues", "llf", "deviance", "null_deviance", "pearson_chi2",
        "aic", "llnull", "bic_llf", "bic_deviance", "scale", "df_resid", "df_model", "nobs",
    ]  # fmt: skip
    found = {name: (getattr(out, name), getattr(r, name)) for name in names}
    return found | {
        "conf_int": (out.conf_int(), r.conf_int()),
        "bic": (out.bic, r.bic_llf),
        "cs": (out.pseudo_rsquared(), r.pseudo_rsquared()),
        "mcf": (out.pseudo_rsquared("mcf"), r.pseudo_rsquared("mcf")),
        "cov_params": (out.cov_params(), r.cov_params()),
        "predict": (out.predict(frame), r.predict()),
        "fittedvalues": (out.predict(frame), r.fittedvalues),
    }


def differing(out: GLM, r: Any, frame: pd.DataFrame) -> list[str]:
    """What is farther off than 1e-8, relative to the largest of its kind."""
    found = []
    for name, (ours, theirs) in compared(out, r, frame).items():
        a, b = np.asarray(ours, float), np.asarray(theirs, float)
        if not np.allclose(a, b, rtol=1e-8, atol=1e-10):
            found.append(f"{name} by {float(np.max(np.abs(a - b) / (np.abs(b) + 1e-300))):.1e}")
    return found


def one(name: str, family: Any, asked: dict[str, str], counts: Counter[str]) -> list[str]:
    frame, response, columns = frame_of(name)
    frame = outcome_for(frame, response, family)
    formula = f"{response} ~ {' + '.join(columns)}"
    try:
        out = titan.glm(frame, formula=formula, family=family, precision="exact", **asked)  # type: ignore[arg-type]
    except DataError:
        counts["no proof: separated"] += 1
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        r = reference(frame, response, columns, family, **asked)
    counts["fits compared"] += 1
    counts["attributes compared"] += len(compared(out, r, frame))
    near = titan.glm(frame, formula=formula, family=family, **asked)  # type: ignore[arg-type]
    outside = sum(
        b.mid not in a
        for which in ("params", "bse")
        for a, b in zip(
            getattr(near, which).enclosures, getattr(out, which).enclosures, strict=True
        )
    )
    counts["OUTSIDE at the usual precision"] += outside
    return differing(out, r, frame)


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    counts: Counter[str] = Counter()
    for name in NAMES:
        for family in ("binomial", "poisson"):
            for asked in CHOICES:
                for wrong in one(name, family, asked, counts):
                    counts["DIFFERENT"] += 1
                    print(f"{name}, {family}, {asked}: {wrong}", flush=True)
    for what, count in sorted(counts.items()):
        print(f"{count:6d} {what}")
    return int(bool(counts["DIFFERENT"] or counts["OUTSIDE at the usual precision"]))


if __name__ == "__main__":
    sys.exit(main())
