"""Attack 7: one patient in a cell that nobody counted.

What was accepted: `x:C(g)` without main effects, so that no column is an indicator; the cells of
`C(a) * C(b)`; nested categories; a column of ones for weights, with which levels were not counted.
And where a level was refused, Aᵀb was open by then.

Invariant: every such cell is counted before anything else, and the refusal comes after the counts
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import titan
from tests.release.asking import Ended, ask
from tests.study.studies import regression
from titan.joint.kinds import Question
from titan.leastsquares import Regression
from titan.release import Dictionary
from titan.release.dictionary import Category, Flag, Number

NAMES = "north", "east", "south", "west"
ROWS, PATIENT = 40, 9
COLUMNS = Dictionary.of(
    {
        "y": Number.read("0", "100", "1"),
        "x": Number.read("1", "100", "1"),
        "g": Category(("a", "b", "c")),
        "h": Category(("u", "v")),
        "ward": Category(("a1", "a2", "b1", "b2", "c1")),
        "f": Flag(),
        "one": Number.read("0", "1", "1"),
        "few": Number.read("1", "2", "1"),
        "w": Number.read("0", "2", "0.001"),
    }
)
Rows = dict[str, list[Any]]


def table(name: str) -> Rows:
    """Every cell has at least three rows of every party, two levels together too."""
    rng = np.random.default_rng(sum(map(ord, name)))
    g = [("a", "b", "c")[i % 3] for i in range(ROWS)]
    return {
        "y": rng.integers(0, 100, ROWS).tolist(),
        "x": rng.integers(1, 100, ROWS).tolist(),
        "g": g,
        "h": [("u", "v")[i // 3 % 2] for i in range(ROWS)],
        "ward": ["c1" if at == "c" else f"{at}{1 + i // 3 % 2}" for i, at in enumerate(g)],
        "f": [i // 6 % 2 for i in range(ROWS)],
        "one": [1] * ROWS,
        "few": [1 + i // 6 % 2 for i in range(ROWS)],
        "w": [1 + i * 37 % 100 / 1000 for i in range(ROWS)],
    }


def everybody() -> dict[str, Rows]:
    return {name: table(name) for name in NAMES}


def but_for_one(**cells: tuple[Any, Any]) -> dict[str, Rows]:
    """In each of these columns one patient of north's has the second value where others that
    would have it have the first."""
    data = everybody()
    for name, rows in data.items():
        for column, (usual, rare) in cells.items():
            rows[column] = [usual if x == rare else x for x in rows[column]]
            if name == "north":
                rows[column][PATIENT] = rare
    return data


def patient(data: Mapping[str, Rows]) -> tuple[int, int]:
    return data["north"]["x"][PATIENT], data["north"]["y"][PATIENT]


def unrefused(data: Mapping[str, Rows], formula: str, **options: Any) -> Regression:
    """What was answered before: all sums of it are open to everybody."""
    network = titan.Network.complete(list(NAMES))
    levels = COLUMNS.levels()
    written = formula
    for name, texts in levels.items():
        written = written.replace(f"C({name})", f"C({name}, levels={list(texts)})")
    return titan.fit(data, network, formula=written, tau=1, allow_small=True, **options)


def sums(fit: Regression, column: str) -> tuple[Any, Any]:
    """Σ column² and Σ column · y, to within rounding."""
    pooled, at = fit.moments, fit.moments.index(column)
    two = Fraction(2) ** pooled.scales[at]
    square = Fraction(int(pooled.gram[at, at]), pooled.denominator) * two**2
    return round(square, 6), round(pooled.rhs[at] * two, 6)


def check_refused(ended: Ended, cell: str) -> None:
    assert ended.refused is not None
    assert ended.opened == ("counts",), "neither AᵀA nor Aᵀb"
    reasons = list(ended.owners.values()) or [ended.refused]
    assert {reason.rule for reason in reasons} == {"cells"}
    assert cell in {reason.cell for reason in reasons}


def test_the_same_models_are_answered_where_no_cell_is_small() -> None:
    for asked in (
        "y ~ x:C(g)",
        "y ~ 0 + x:C(g)",
        "y ~ C(g) * C(h)",
        "y ~ C(ward)",
        "y ~ C(g) + C(h) + f",
        regression("y ~ x", weights="one"),
        regression("y ~ x + C(h)", weights="f"),
        regression("y ~ x", weights="few"),
        regression("y ~ x + C(g)", weights="w"),
    ):
        ended = ask(everybody(), COLUMNS, asked)
        assert ended.refused is None, (asked, ended.refused, ended.owners)


@pytest.mark.parametrize("formula", ["y ~ x:C(g)", "y ~ 0 + x:C(g)"])
def test_a_product_without_main_effects(formula: str) -> None:
    data = but_for_one(g=("b", "c"))
    x, y = patient(data)
    assert sums(unrefused(data, formula), "x:C(g)[c]") == (x * x, x * y), "its x, and its y"
    check_refused(ask(data, COLUMNS, formula), "g = c")


@pytest.mark.parametrize("formula", ["y ~ C(g) * C(h)", "y ~ C(g) + C(h)", "y ~ x:C(g):C(h)"])
def test_a_cell_of_two_categories(formula: str) -> None:
    data = everybody()
    for rows in data.values():
        rows["h"] = ["u" if g == "b" else h for g, h in zip(rows["g"], rows["h"], strict=True)]
    at = data["north"]["g"].index("b", PATIENT)
    data["north"]["h"][at] = "v"
    if "*" in formula:
        _, total = sums(unrefused(data, formula), "C(g)[T.b]:C(h)[T.v]")
        assert total == data["north"]["y"][at]
    check_refused(ask(data, COLUMNS, formula), "g = b, h = v")


def test_nested_categories() -> None:
    """All of wards a1 and a2 are of group a, but for one patient."""
    data = everybody()
    at = data["north"]["ward"].index("b1")
    data["north"]["ward"][at] = "a1"
    wards, groups = (unrefused(data, f"y ~ 0 + C({name})") for name in ("ward", "g"))
    of_wards = sums(wards, "C(ward)[a1]")[1] + sums(wards, "C(ward)[a2]")[1]
    assert of_wards - sums(groups, "C(g)[a]")[1] == data["north"]["y"][at]
    check_refused(ask(data, COLUMNS, "y ~ C(g) + C(ward)"), "g = b, ward = a1")


def test_a_flag_and_an_outcome_that_is_a_flag() -> None:
    data = but_for_one(f=(0, 1))
    assert sums(unrefused(data, "y ~ x + f"), "f") == (1, patient(data)[1])
    check_refused(ask(data, COLUMNS, "y ~ x + f"), "f = 1")
    check_refused(ask(data, COLUMNS, "f ~ x"), "f = 1")


# -- weights ----------------------------------------------------------------------------------


def test_a_column_of_ones_for_weights() -> None:
    data = but_for_one(g=("b", "c"))
    fit = unrefused(data, "y ~ C(g)", weights="one")
    assert sums(fit, "C(g)[T.c]") == (1, patient(data)[1])
    check_refused(ask(data, COLUMNS, regression("y ~ C(g)", weights="one")), "g = c")


def test_a_flag_for_weights_that_one_patient_has() -> None:
    """Nobody else's rows weigh anything: north has one row, before anything leaves."""
    data = but_for_one(f=(0, 1))
    fit = unrefused(data, "y ~ 0 + x", weights="f")
    x, y = patient(data)
    assert sums(fit, "x") == (x * x, x * y)
    ended = ask(data, COLUMNS, regression("y ~ x", weights="f"))
    assert ended.vetoed
    assert ended.opened == ()
    assert {refusal.rule for refusal in ended.owners.values()} == {"rows_per_party"}


def differ(data: Mapping[str, Rows], weights: str) -> list[Any]:
    """Σ (1 - w) x² and Σ (1 - w) x y: those of patients whose weight is not 1."""
    plain, weighted = (unrefused(data, "y ~ 0 + x", weights=w) for w in (None, weights))
    return [a - b for a, b in zip(sums(plain, "x"), sums(weighted, "x"), strict=True)]


def weighted(weights: str, formula: str = "y ~ x") -> list[str | Question]:
    return [formula, regression(formula, weights=weights)]


@pytest.mark.parametrize("weights", ["f", "one", "w"])
def test_a_weight_of_0_for_one_patient(weights: str) -> None:
    """What a question without weights tells, less this, is the patient."""
    data = everybody()
    for rows in data.values():
        rows[weights] = [1] * ROWS
    data["north"][weights][PATIENT] = 0
    x, y = patient(data)
    assert differ(data, weights) == [x * x, x * y]
    for asked in (weighted(weights), weighted(weights)[1:]):
        check_refused(ask(data, COLUMNS, *asked), f"{weights} = 0")
    check_refused(ask(data, COLUMNS, *weighted(weights, "y ~ x + C(h)")), f"{weights} = 0")


def test_a_weight_of_0_for_one_patient_of_a_group() -> None:
    data = everybody()
    for rows in data.values():
        rows["f"] = [int(g != "a") for g in rows["g"]]
    data["north"]["f"][data["north"]["g"].index("b")] = 0
    asked = weighted("f", "y ~ x + C(g)")
    check_refused(ask(data, COLUMNS, *asked), "g = b, f = 0")


def test_a_weight_of_2_for_one_patient() -> None:
    data = everybody()
    for rows in data.values():
        rows["few"] = [1] * ROWS
    data["north"]["few"][PATIENT] = 2
    x, y = patient(data)
    assert differ(data, "few") == [-x * x, -x * y]
    check_refused(ask(data, COLUMNS, *weighted("few")), "few = 2")
