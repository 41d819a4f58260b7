"""Results of every kind, from random rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import titan
from titan.errors import RankError
from titan.leastsquares import Regression

NET = titan.Network.cycle(3)
COLUMNS = ("y", "a", "b", "w")


def tables(seed: int, rows: int, *, exact: bool) -> dict[str, dict[str, Any]]:
    """One table per party; with `exact` the response is a sum of the columns."""
    rng = np.random.default_rng(seed)
    found = {}
    for party in NET.parties:
        a, b = rng.normal(size=rows), rng.integers(-9, 10, rows).astype(float)
        noise = 0.0 if exact else rng.normal(size=rows)
        y = np.rint(4 * a) / 4 if exact else 3 * a - b + noise
        found[party] = {"y": y, "a": np.rint(4 * a) / 4, "b": b, "w": rng.integers(1, 5, rows)}
    return found


def random_fit(
    seed: int, *, rows: int, columns: list[str], network: bool, exact: bool, **choices: Any
) -> Regression | None:
    """A fit, or None where these rows have none."""
    data: Any = tables(seed, rows, exact=exact)
    net = NET if network else None
    if net is None:
        data = {key: np.concatenate([data[p][key] for p in NET.parties]) for key in COLUMNS}
    try:
        small: dict[str, Any] = {"allow_small": True} if network else {}
        return titan.fit(data, net, response="y", columns=columns, **small, **choices)
    except RankError:
        return None


@st.composite
def fits(draw: st.DrawFn) -> Regression:
    network = draw(st.booleans())
    kinds = ["nonrobust", "HC0"] + (["cluster"] if network else [])
    found = random_fit(
        draw(st.integers(0, 2**32 - 1)),
        rows=draw(st.integers(2, 12)),
        columns=draw(st.sampled_from([["a"], ["b"], ["a", "b"]])),
        network=network,
        exact=draw(st.booleans()),
        intercept=draw(st.booleans()),
        weights=draw(st.sampled_from([None, "w"])),
        cov_type=draw(st.sampled_from(kinds)),
    )
    return found if found is not None else draw(st.nothing())
