"""Twelve real data sets, of statsmodels and scikit-learn, with a binary outcome or a count."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.generalised.problems import Drawn

MOST_ROWS = 2000  # of which a twin in mpmath can be had in seconds

_ASKED: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "spector": ("spector", "binomial", "GRADE", ("GPA", "TUCE", "PSI")),
    "vote": ("anes96", "binomial", "vote", ("age", "educ", "income", "PID", "logpopul")),
    "affairs": ("fair", "binomial", "any", ("rate_marriage", "age", "yrs_married", "religious")),
    "travel": ("modechoice", "binomial", "choice", ("ttme", "invc", "invt", "gc")),
    "owner": ("ccard", "binomial", "OWNRENT", ("AGE", "INCOME", "AVGEXP")),
    "tumour": ("breast_cancer", "binomial", "target", ("texture", "smoothness", "symmetry")),
    "executions": ("cpunish", "poisson", "EXECUTIONS", ("INCOME", "PERPOVERTY", "SOUTH")),
    "bills": ("committee", "poisson", "BILLS104", ("SIZE", "SUBS", "PRESTIGE")),
    "cancer": ("cancer", "poisson", "cancer", ("logpopulation",)),
    "visits": ("randhie", "poisson", "mdvis", ("lncoins", "idp", "lpi", "physlm", "disea")),
    "television": ("anes96", "poisson", "TVnews", ("age", "educ", "income")),
    "children": ("fair", "poisson", "rate_marriage", ("age", "educ", "occupation")),
}
NAMES = tuple(_ASKED)


def drawn(name: str) -> Drawn:
    source, family, response, columns = _ASKED[name]
    data = _load(source)
    every = -(-len(data[response]) // MOST_ROWS)  # files may be sorted by their outcome
    table: dict[str, Any] = {n: data[n][::every] for n in (response, *columns)}
    asked = {"formula": f"{response} ~ {' + '.join(columns)}", "family": family}
    rows = len(table[response])
    matrix = np.column_stack([np.ones(rows), *(table[n] for n in columns)])
    return Drawn(table, asked, matrix, np.asarray(table[response], float))


def _load(source: str) -> dict[str, Any]:
    if source == "breast_cancer":
        from sklearn.datasets import load_breast_cancer

        found = load_breast_cancer()
        names = {"texture": 1, "smoothness": 4, "symmetry": 8}
        return {"target": found.target.astype(float)} | {
            n: found.data[:, at] for n, at in names.items()
        }
    import statsmodels.api as sm

    frame = getattr(sm.datasets, source).load_pandas().data
    columns = {name: np.asarray(frame[name], float) for name in frame.columns}
    if source == "fair":
        columns["any"] = (columns["affairs"] > 0).astype(float)
    if source == "cancer":
        columns["logpopulation"] = np.log(columns["population"])
    return columns
