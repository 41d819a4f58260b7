"""Invariant: whatever is handed in, an error is ours: no bare TypeError reaches a user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import titan
from titan.errors import InputError
from titan.release import Category, Flag, Number

call: Any = titan
RNG = np.random.default_rng(0)
TABLES = [{"x": RNG.normal(size=20), "y": RNG.normal(size=20)} for _ in range(3)]
ARRAY = np.zeros(3)
FIT: Any = titan.fit(TABLES, "cycle", formula="y ~ x")
CALLS: list[Callable[[], Any]] = [
    lambda: call.fit(None, "cycle", formula="y ~ x"),
    lambda: call.fit(5, "cycle", formula="y ~ x"),
    lambda: call.fit((t for t in TABLES), "cycle", formula="y ~ x"),
    lambda: call.fit(TABLES, "star", formula="y ~ x"),
    lambda: call.fit(TABLES, "cycle", formula=3),
    lambda: call.fit(TABLES, "cycle", response="y", columns=3),
    lambda: call.fit(TABLES, "cycle", response="y", columns="x"),
    lambda: call.fit(TABLES, "cycle", formula="y ~ x", progress=3),
    lambda: call.fit(TABLES, "cycle", formula="y ~ x", bitz=3),
    lambda: call.average(None, "cycle"),
    lambda: call.solve(None, "cycle"),
    lambda: call.count("cycle", at_most=3),
    lambda: call.ridge(TABLES, "cycle", alpha=None, formula="y ~ x"),
    lambda: call.ridge(TABLES, "cycle", alpha=[1], formula="y ~ x"),
    lambda: FIT.ridge("a"),
    lambda: FIT.conf_int("x"),
    lambda: FIT.predict("a"),
    lambda: FIT.params["a":"b"],
    lambda: FIT.params["z"],
    lambda: titan.Results({"a": FIT})[1.5],  # type: ignore[index]
    lambda: titan.Results({"a": FIT})["b"],
    lambda: Category([1, 2]),  # type: ignore[arg-type]
    lambda: Category("fm"),  # type: ignore[arg-type]
    lambda: Category(None),  # type: ignore[arg-type]
    lambda: Number.read(0, 1, unit=3),  # type: ignore[arg-type]
    lambda: call.describe(TABLES, "cycle", dictionary={3: Flag()}),
    lambda: call.join(None, "a", TABLES[0], key="k"),
    lambda: call.join("s", "a", TABLES[0], key=5),
    lambda: call.join("s", "a", TABLES[0], key="k", run=-1),
    lambda: call.join("s", "a", TABLES[0], key="k", run="1"),
    lambda: call.join("s", "a", TABLES[0], key="k", wait="a"),
    lambda: call.join("s", "a", TABLES[0], key="k", listen=5),
    lambda: call.load(5),
    lambda: call.view(None, ["a"]),
    lambda: call.fit(TABLES, "cycle", formula="y ~ x", tau="1"),
    lambda: call.fit(TABLES, "cycle", formula="y ~ x", tau=[1]),
    lambda: call.fit(TABLES, "cycle", formula="y ~ x", recovery=ARRAY),
    lambda: call.fit(TABLES, "cycle", formula="y ~ x", masks=ARRAY),
    lambda: call.fit(TABLES, "cycle", formula="y ~ x", cov_type=ARRAY),
    lambda: call.fit(TABLES, "cycle", formula="y ~ x", missing=ARRAY),
    lambda: call.fit(TABLES, "cycle", formula="y ~ x", csv=ARRAY),
    lambda: call.glm(TABLES, "cycle", formula="y ~ x", family=ARRAY),
    lambda: call.cox(TABLES, "cycle", formula="x", time="x", event="y", ties=ARRAY),
    lambda: call.ridge(TABLES, "cycle", alpha=ARRAY, formula="y ~ x"),
    lambda: call.ridge(TABLES[0], alpha=ARRAY, formula="y ~ x"),
    lambda: call.describe([]),
    lambda: call.describe({"a": pd.DataFrame(TABLES[0])}),
    lambda: call.open_source([]),
    lambda: call.Network.cycle(10**30),
    lambda: titan.Network.cycle(["a", "b"]).index(ARRAY),
    lambda: FIT.lasso_path(3),
    lambda: FIT.lasso_path("x"),
    lambda: FIT.lasso_path(np.ones((2, 2))),
    lambda: FIT.ridge_path(3),
    lambda: FIT.f_test({}),
    lambda: FIT.params[ARRAY],
    lambda: FIT.get_robustcov_results(ARRAY),
    lambda: FIT.anova(ARRAY),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_odd_arguments(number: int) -> None:
    with pytest.raises(InputError):
        CALLS[number]()
